//! HPACK: header blocks, decoded and encoded.

mod properties;
mod rfc_examples;
