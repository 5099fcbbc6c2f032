//! HPACK: header blocks, decoded and encoded.

mod rfc_examples;
