//! Bounds of what processes that share a port know of each other.

/// Maximum prefixes of one process, and of all processes of another user.
pub(crate) const MAX_PREFIXES: usize = 1024;
/// Maximum links to processes of another user.
pub(crate) const MAX_LINKS: usize = 128;
