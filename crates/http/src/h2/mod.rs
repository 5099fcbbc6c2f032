//! HTTP/2 (RFC 9113) without I/O, for both sides: [`Connection`] makes events of received bytes, and frames of what is sent.

mod closed_streams;
mod connection;
mod error;
mod field_list;
mod field_section;
mod flow;
mod frame;
mod header_blocks;
pub mod hpack;
mod limits;
mod settings;
mod streams;

pub use connection::{Connection, Event, Role};
pub use error::{ConnectionError, ErrorCode, StreamError};
pub use field_list::FieldList;
pub use field_section::{FieldSection, is_connection_field};
pub use flow::MAX_WINDOW;
pub use frame::PREFACE;
pub use settings::Settings;
pub use streams::StreamKey;
