// Arguments for cargo's profile: MILLRACE_CARGO_PROFILE names one of the profiles of Cargo.toml.
const name = process.env.MILLRACE_CARGO_PROFILE;

/** Profile of lints and tests; by default cargo's own. */
export const profile = name ? ['--profile', name] : [];

/** Profile of the addon; by default optimized. */
export const addonProfile = name ? profile : ['--release'];

/**
 * What the addon is compiled with, for cargo. With MILLRACE_CARGO_WORKSPACE it is the workspace and its tests: cargo takes the
 * features of dependencies from all that it compiles at once, so the addon shares these and the crates with the tests.
 */
export const addonWorkspace = process.env.MILLRACE_CARGO_WORKSPACE
  ? ['--', '--workspace', '--lib', '--tests', '--examples']
  : [];
