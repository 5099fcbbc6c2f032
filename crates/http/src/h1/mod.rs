//! HTTP/1.1 (RFC 9112): one module for each part of a request and of a response.

mod chunked;
mod error;
mod field_lines;
mod method;
mod request_body;
mod request_encoder;
mod request_head;
mod response_body;
mod response_decoder;
mod response_head;
mod response_splitter;
mod unsure_reason;

pub use error::Error;
pub use field_lines::field_lines;
pub use method::Method;
pub use request_body::{BodyDecoder, BodyEvent};
pub use request_encoder::{RequestHead, is_target, is_value};
pub use request_head::{HeadLimits, HeadParser, Parsed, ReceivedHead, RequestFraming};
pub use response_decoder::{Decoded, KnownHead, MAX_HEAD, ResponseDecoder};
pub use response_head::{Framing, ResponseHead, parse_field_line, parse_status_line};
pub use response_splitter::{ResponseSink, ResponseSplitter};
pub use unsure_reason::UnsureReason;
