//! Responses on their way out, told apart again: however their bytes are split. The fuzz target `following` runs the same with
//! bytes that libFuzzer finds.

use proptest::prelude::*;

use crate::followed;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn splits_make_no_difference(control: [u8; 8], parts in prop::collection::vec(part(), 0..24)) {
        followed::run(&[&control[..], &parts.concat()].concat());
    }
}

/// A part of a response, of the kind that gets far.
fn part() -> impl Strategy<Value = Vec<u8>> {
    let text = prop::sample::select(vec![
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 201 Created\r\nLocation: /0\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n",
        "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Cache-Control: max-age=5\r\n",
        "Vary: accept\r\n",
        "\r\n",
        "3\r\nabc\r\n",
        "0\r\n\r\n",
        "0\r\nTrailer: x\r\n\r\n",
        "abc",
    ]);
    prop_oneof![
        9 => text.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..16),
    ]
}
