// The profile by which cargo compiles, as arguments: of Cargo.toml's profiles the one that MILLRACE_CARGO_PROFILE names.
const name = process.env.MILLRACE_CARGO_PROFILE;

/** For lints and tests; cargo's own choice where none is named. */
export const profile = name ? ['--profile', name] : [];

/** For the addon: optimised where none is named. */
export const addonProfile = name ? profile : ['--release'];
