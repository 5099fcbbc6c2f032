//! Detection of the protocol of a server that does not answer in HTTP/1.1, by its first bytes.

/// Whether these bytes begin a connection of HTTP/2: a frame of type SETTINGS on stream 0 comes first (RFC 9113, section 3.4).
pub(super) fn is_http2(bytes: &[u8]) -> bool {
    const SETTINGS: u8 = 4;
    matches!(bytes, [0, _, _, SETTINGS, _, 0, 0, 0, 0, ..])
}

/// Names the protocol of these bytes and what to do; `None` if it is unknown.
pub(super) fn detect_other(bytes: &[u8]) -> Option<&'static str> {
    if is_http2(bytes) || bytes.starts_with(b"HTTP/2") {
        return Some("the server speaks HTTP/2: use --h2c");
    }
    Some(match bytes {
        [0x15 | 0x16, 3, 0..=4, ..] => "the server speaks TLS: use https://",
        [b'S', b'S', b'H', b'-', ..] => "the server speaks SSH, not HTTP: see the port",
        [b'2', b'2', b'0', b' ' | b'-', ..] => {
            "the server speaks SMTP or FTP, not HTTP: see the port"
        }
        [b'-' | b'+', b'A'..=b'Z', ..] => {
            "the server speaks Redis, POP3 or NATS, not HTTP: see the port"
        }
        [_, _, 0, 0, 10 | 0xff, ..] => "the server speaks MySQL, not HTTP: see the port",
        [b'<', ..] => "the server sends text without an HTTP head (HTTP/0.9)",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_by_what_they_say_first() {
        for (bytes, named) in [
            (&b"\x15\x03\x03\x00\x02\x02\x46"[..], "TLS"),
            (b"\0\0\x12\x04\0\0\0\0\0\0\x03", "HTTP/2"),
            (b"HTTP/2 200\r\n", "HTTP/2"),
            (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH"),
            (b"220 mail.example ESMTP\r\n", "SMTP"),
            (b"-ERR wrong number of arguments\r\n", "Redis"),
            (b"\x4a\0\0\0\x0a8.0.36\0", "MySQL"),
            (b"<!doctype html>", "HTTP/0.9"),
        ] {
            assert!(detect_other(bytes).is_some_and(|text| text.contains(named)), "{named}");
        }
        for bytes in [&b""[..], b"HTTP/1.1 200 OK\r\n", b"hello", b"\0\0", b"2"] {
            assert_eq!(detect_other(bytes), None);
        }
    }
}
