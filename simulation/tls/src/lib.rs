//! What rustls is to `crates/net`, with the same names, and a toy protocol in place of TLS: it hides and proves nothing, but
//! whoever loses, doubles, swaps or changes a byte of it is found out. Nothing in it is random.
//!
//! ```text
//!   client                                             server
//!   Hello: versions, name, protocols      ────────>
//!                                         <────────    Hello, Finished           (1.2: Hello, Done)
//!   Certificate if asked, Finished, text  ────────>
//!                                         <────────    Ticket, if there are any  (1.2: Finished; then text)
//! ```
//!
//! - [`record`]: what all of it is sent in
//! - [`message`]: the messages of handshakes
//! - [`common`], [`server`]: the session of a server, as rustls has it
//! - [`client`]: the session of a client, which can misbehave

#![forbid(unsafe_code)]

pub mod client;
pub mod common;
pub mod error;
pub mod message;
pub mod record;
pub mod server;

pub use common::{ConnectionCommon, SideData};
pub use error::{AlertDescription, Error};
pub use message::{HandshakeKind, ProtocolVersion};
pub use server::ServerConnection;
