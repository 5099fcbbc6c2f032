//! HTTP/1.1 messages without I/O: bytes in, events out.
//!
//! ```text
//!   bytes from a peer ──> ResponseDecoder ──> More | Complete { status, persistent }
//!   method, target, fields ──> RequestHead ──> bytes for a peer
//!
//!   bytes from a client ──> HeadParser ──> Partial | Complete(ReceivedHead) | Unsure
//!                           BodyDecoder ──> Data | End | More | Unsure
//! ```
//!
//! No sockets, no clock, no threads, no logging: what this crate does depends on its input alone, so a
//! fuzz target for it is ten lines long.
//!
//! - [`response`]: one response after the other out of a stream of bytes (RFC 9112, sections 4 and 6)
//! - [`head`]: status line and fields of one response
//! - [`chunked`]: the chunked transfer coding (RFC 9112, section 7.1)
//! - [`request`]: the head of a request, checked and rendered
//! - [`received`]: the head of a request that a server receives, as Node's parser reads it
//! - [`body`]: its body
//!
//! ```
//! use millrace_http::{Decoded, ResponseDecoder};
//!
//! let mut decoder = ResponseDecoder::default();
//! let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1";
//! let Ok(Decoded::Complete { consumed, status, persistent }) = decoder.decode(bytes, false) else {
//!     panic!("the first response is complete");
//! };
//! assert_eq!((consumed, status, persistent), (40, 200, true));
//! ```

#![forbid(unsafe_code)]

pub mod body;
pub mod chunked;
mod error;
mod fields;
pub mod head;
mod method;
pub mod received;
pub mod request;
pub mod response;

pub use body::{BodyDecoder, BodyEvent};
pub use error::Error;
pub use fields::field_lines;
pub use method::Method;
pub use received::{HeadLimits, HeadParser, Parsed, ReceivedHead, RequestFraming};
pub use request::RequestHead;
pub use response::{Decoded, KnownHead, ResponseDecoder};
