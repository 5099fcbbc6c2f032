//! HPACK (RFC 7541): fields as header blocks, with a table that both ends keep.
//!
//! ```
//! use millrace_http::h2::FieldList;
//! use millrace_http::h2::hpack::{Decoder, Encoder, Indexing};
//!
//! let mut block = Vec::new();
//! let mut encoder = Encoder::default();
//! encoder.begin(&mut block);
//! encoder.encode(b":status", b"200", Indexing::IfRoom, &mut block);
//! encoder.encode(b"server", b"millrace", Indexing::IfRoom, &mut block);
//!
//! let mut fields = FieldList::default();
//! let decoded = Decoder::default().decode(&block, &mut fields, 16 * 1024).unwrap();
//! assert!(!decoded.is_too_large);
//! let expected: [(&[u8], &[u8]); 2] = [(b":status", b"200"), (b"server", b"millrace")];
//! assert!(fields.iter().eq(expected));
//! ```

mod decoder;
mod dynamic_table;
mod encoder;
mod huffman;
mod huffman_table;
mod integer;
mod lookup;
mod static_table;

pub use decoder::{DecodeError, Decoded, Decoder};
pub use encoder::{Encoder, Indexing};

/// The size of a table until something else is said (RFC 9113, section 6.5.2).
pub const DEFAULT_TABLE_SIZE: usize = 4096;
