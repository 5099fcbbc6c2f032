//! HTTP/2 (RFC 9113) without I/O.

mod field_list;
pub mod hpack;

pub use field_list::FieldList;
