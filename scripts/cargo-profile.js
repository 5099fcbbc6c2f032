// Arguments for cargo's profile: MILLRACE_CARGO_PROFILE names one of the profiles of Cargo.toml.
const name = process.env.MILLRACE_CARGO_PROFILE;

/** Profile of lints and tests; by default cargo's own. */
export const profile = name ? ['--profile', name] : [];

/** Profile of the addon; by default optimized. */
export const addonProfile = name ? profile : ['--release'];
