//! What holds for requests and responses of any bytes. The fuzz target `cache` runs the same with bytes that
//! libFuzzer finds.

use proptest::prelude::*;
use proptest::sample::select;

use crate::exchange;

/// Lines that are well-formed, and now and then something else.
fn lines(known: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        40 => select(known).prop_map(|line| format!("{line}\r\n").into_bytes()),
        1 => select(&["\r\n", ":", "\"", ",", "\n", "\0", "X"][..]).prop_map(|text| text.into()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(fragment, 0..6).prop_map(|parts| parts.concat())
}

const REQUEST: &[&str] = &[
    "Accept-Encoding: gzip, br",
    "Accept-Encoding: gzip,br",
    "Accept-Encoding: br",
    "X-A: 1",
    "X-A: 2",
    "If-None-Match: \"a\"",
    "If-None-Match: *",
    "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
    "Cache-Control: no-cache",
    "Cache-Control: max-age=8",
    "Cache-Control: only-if-cached",
    "Pragma: no-cache",
    "Cookie: a=b",
    "Authorization: x",
    "Authorization: Negotiate x",
    "X-API-Key: x",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: b",
    "Forwarded: for=1;host=b",
    "Forwarded: host=\"b",
    "X-HTTP-Method-Override: PUT",
    "Range: bytes=0-1",
    "Location: /",
];

const RESPONSE: &[&str] = &[
    "Cache-Control: public, max-age=20",
    "Cache-Control: max-age=5, stale-while-revalidate=9",
    "Cache-Control: s-maxage=20, must-revalidate",
    "Cache-Control: no-store",
    "Cache-Control: private",
    "Vary: Accept-Encoding",
    "Vary: x-a, Accept-Encoding",
    "Vary: *",
    "ETag: \"a\"",
    "ETag: W/\"b\"",
    "Last-Modified: Sun Nov  6 08:49:37 1994",
    "Date: Sun, 06 Nov 1994 08:49:30 GMT",
    "Date: today",
    "Expires: Sunday, 06-Nov-94 09:49:37 GMT",
    "Age: 3",
    "Connection: X-A, close",
    "Keep-Alive: timeout=5",
    "X-A: 1",
    "Transfer-Encoding: chunked",
    "Content-Length: 2",
    "Content-Length: 3",
    "Set-Cookie: a=b",
    "Content-Type: text/plain",
];

fn exchanges() -> impl Strategy<Value = Vec<u8>> {
    let status = prop_oneof![
        8 => Just("200 OK"),
        1 => select(&["404 Not Found", "204 No Content", "304 Not Modified", "206 Part", "103 X"][..]),
    ];
    let body = prop_oneof![6 => Just("hi"), 1 => Just(""), 1 => Just("hello")];
    let (first, second) = (lines(REQUEST), lines(REQUEST));
    (any::<u8>(), first, status, lines(RESPONSE), body, second).prop_map(
        |(switches, first, status, response, body, second)| {
            let status = format!("{status}\r\n").into_bytes();
            let response = [status, response].concat();
            [&[switches][..], &first, b"\0", &response, b"\0", body.as_bytes(), b"\0", &second]
                .concat()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_exchange_keeps_the_rules(input in exchanges()) {
        exchange::run(&input);
    }
}
