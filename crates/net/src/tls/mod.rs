//! TLS with rustls: for clients and for servers.

mod cipher_suites;
mod client;
mod client_session;
mod client_stream;
mod der;
pub mod secure_context;
#[cfg(unix)]
pub mod server;
mod server_verifier;
mod socket_io;
pub mod tickets;

pub use cipher_suites::seed_random;
pub use client::{
    ClientTlsConfig, ConfigError, TlsOptions, TlsTarget, describe, is_protocol_refused,
    is_tls_error,
};
pub use client_stream::ClientTlsStream;
