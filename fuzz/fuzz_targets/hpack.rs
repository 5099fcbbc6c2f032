//! Header blocks of HTTP/2: any bytes are bounded, and what is decoded is what a second implementation decodes.
#![no_main]

use millrace_http::h2::FieldList;
use millrace_http::h2::hpack::Decoder;

/// A bound on a list.
const MAX_LIST: usize = 4096;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (mut decoder, mut other) = (Decoder::new(4096), fluke_hpack::Decoder::new());
    // The blocks of a connection, divided by an octet that begins no field: an index of 0.
    for block in bytes.split(|byte| *byte == 0x80) {
        let mut list = FieldList::default();
        let Ok(decoded) = decoder.decode(block, &mut list, MAX_LIST) else { return };
        assert!(list.size() <= MAX_LIST);
        // The other one refuses a block that has nothing but a size.
        if decoded.is_too_large || list.is_empty() {
            return;
        }
        let fields = list.iter().map(|(name, value)| (name.to_vec(), value.to_vec()));
        assert_eq!(Some(fields.collect()), other.decode(block).ok());
    }
});
