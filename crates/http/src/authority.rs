//! The authority of a URI (RFC 3986, section 3.2), as `Host` holds it.

/// Maximum length of a host name in bytes (RFC 1035, section 2.3.4).
pub const MAX_HOST: usize = 255;

/// Splits an authority into host and port. The host may be an address in brackets.
#[must_use]
pub fn split_port(authority: &[u8]) -> (&[u8], Option<&[u8]>) {
    // A colon within brackets is part of the address.
    let from = authority.iter().position(|&byte| byte == b']').unwrap_or(0);
    match authority[from..].iter().position(|&byte| byte == b':') {
        Some(colon) => (&authority[..from + colon], Some(&authority[from + colon + 1..])),
        None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::split_port;

    #[test]
    fn the_port_begins_behind_the_first_colon_outside_brackets() {
        let split = |authority: &'static str| {
            let (host, port) = split_port(authority.as_bytes());
            (str::from_utf8(host).unwrap(), port.map(|port| str::from_utf8(port).unwrap()))
        };
        assert_eq!(split("one.test"), ("one.test", None));
        assert_eq!(split("one.test:80"), ("one.test", Some("80")));
        assert_eq!(split("one.test:"), ("one.test", Some("")));
        assert_eq!(split("[::1]"), ("[::1]", None));
        assert_eq!(split("[::1]:80"), ("[::1]", Some("80")));
        assert_eq!(split(""), ("", None));
    }
}
