use super::*;

const MAX: usize = 1000;

/// `{"token": "aaa..."}` of 71 bytes, in each coding.
const CODED: [(&str, &str); 5] = [
    ("gzip", "1f8b0800000000000003ab562ac9cf4ecd53b252504a241b28d50200c2e9fad847000000"),
    ("deflate", "789cab562ac9cf4ecd53b252504a241b28d50200963a19f6"),
    // As some servers send it.
    ("deflate", "ab562ac9cf4ecd53b252504a241b28d50200"),
    ("br", "1b4600f88dd462cd19eed42261207b4ba72fff90649280e533c05425"),
    ("zstd", "28b52ffd2047a50000707b22746f6b656e223a202261227d01003e4112"),
];

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn parse(text: &[u8]) -> Response {
    Response::parse(text, false, false, MAX).unwrap()
}

fn coded(coding: &str, content: &[u8]) -> Response {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    parse(&[head.as_bytes(), content].concat())
}

#[test]
fn every_coding_is_removed() {
    let plain = format!("{{\"token\": \"{}\"}}", "a".repeat(58));
    for (coding, hex) in CODED {
        let response = coded(coding, &bytes(hex));
        assert_eq!(response.text().unwrap(), plain, "{coding} {hex}");
    }
    let twice = coded("identity, GZIP", &bytes(CODED[0].1));
    assert_eq!(twice.text().unwrap(), plain);
    assert_eq!(coded("gzip", b"").text().unwrap(), "");
}

#[test]
fn what_cannot_be_decoded_or_is_too_long_is_an_error() {
    for (coding, hex) in CODED {
        let whole = bytes(hex);
        let cut = &whole[..whole.len() / 2];
        assert_eq!(
            coded(coding, cut).content(),
            Err(ContentError::Encoding(coding.to_owned())),
            "{hex}"
        );
        let content = bytes(hex);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
            content.len()
        );
        let text = [head.as_bytes(), &content].concat();
        let response = Response::parse(&text, false, false, 70).unwrap();
        assert_eq!(response.content(), Err(ContentError::TooLong(70)), "{coding} {hex}");
    }
    assert!(matches!(coded("rot13", b"x").content(), Err(ContentError::Encoding(_))));
    let long = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(MAX + 1));
    assert_eq!(parse(long.as_bytes()).content(), Err(ContentError::TooLong(MAX)));
    let cut = Response::parse(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", true, false, MAX);
    assert_eq!(cut.unwrap().content(), Err(ContentError::TooLong(MAX)));
}

#[test]
fn each_framing_is_understood() {
    let chunked = parse(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nX: 1\r\nx:  2 \r\n\r\n\
          3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n",
    );
    assert_eq!(chunked.text().unwrap(), "abcde");
    assert_eq!(chunked.values("X").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(parse(b"HTTP/1.0 200 OK\r\n\r\nto the end").text().unwrap(), "to the end");
    assert_eq!(parse(b"HTTP/1.1 204 No Content\r\n\r\n").text().unwrap(), "");
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(Response::parse(head, false, true, MAX).unwrap().text().unwrap(), "");
    assert!(Response::parse(b"HTTP/1.1 200 OK\r\nContent-", false, false, MAX).is_none());
}

#[test]
fn the_beginning_is_one_short_line() {
    let text = format!("HTTP/1.1 200 OK\r\n\r\na\n  b\t{}", "é".repeat(100));
    let beginning = parse(text.as_bytes()).beginning();
    assert_eq!(beginning, format!("a b {}...", "é".repeat(76)));
}
