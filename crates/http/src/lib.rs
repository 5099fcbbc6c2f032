//! HTTP/1.1 messages without I/O: bytes in, events out.
//!
//! ```text
//!   bytes from a peer ──> ResponseDecoder ──> More | Complete { status, persistent }
//!   method, target, fields ──> RequestHead ──> bytes for a peer
//!
//!   bytes from a client ──> HeadParser ──> Partial | Complete(ReceivedHead) | Unsure(UnsureReason)
//!                           BodyDecoder ──> Data | End | More | Unsure { at, reason }
//!   bytes for a client ──> ResponseSplitter ──> heads, bodies and ends, for a ResponseSink
//! ```
//!
//! No sockets, no clock, no threads, no logging: what this crate does depends on its input alone, so a
//! fuzz target for it is ten lines long.
//!
//! - [`h1`]: HTTP/1.1. For clients, [`h1::RequestHead`] and [`h1::ResponseDecoder`]; for servers, [`h1::HeadParser`], which
//!   reads as Node's parser does, [`h1::BodyDecoder`] and [`h1::ResponseSplitter`]
//! - [`syntax`], [`authority`]: rules of the grammar that are the same in every version
//!
//! ```
//! use millrace_http::h1::{Decoded, ResponseDecoder};
//!
//! let mut decoder = ResponseDecoder::default();
//! let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1";
//! let Ok(Decoded::Complete { consumed, status, persistent }) = decoder.decode(bytes, false) else {
//!     panic!("the first response is complete");
//! };
//! assert_eq!((consumed, status, persistent), (40, 200, true));
//! ```

#![forbid(unsafe_code)]

pub mod authority;
pub mod h1;
pub mod h2;
pub mod syntax;
