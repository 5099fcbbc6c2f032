//! The server's side of TLS: the stream of `crates/net`, over sessions of a toy protocol.

pub mod secure_context;
#[path = "../../../crates/net/src/tls/server.rs"]
pub mod server;
#[path = "../../../crates/net/src/tls/socket_io.rs"]
mod socket_io;

/// Does nothing: no random bytes are needed.
pub fn seed_random() {}

/// Session tickets.
mod tickets {
    /// Does nothing: each session has one at most.
    pub(super) fn allow(_: u32) {}
}
