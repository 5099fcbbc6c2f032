const END: &[u8] = b"\r\n\r\n";

/// Finds the request heads in what was read. A load consists of equal requests, so a head that
/// equals the one before costs one comparison.
#[derive(Default)]
pub struct Heads {
    last: Vec<u8>,
    last_closes: bool,
}

/// What a stretch of input holds.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Complete heads.
    pub requests: usize,
    /// Their bytes.
    pub length: usize,
    /// The last of them ends the connection.
    pub close: bool,
}

impl Heads {
    /// Takes the complete heads at the start of `input`, up to one that ends the connection.
    pub fn find(&mut self, input: &[u8]) -> Found {
        let mut found = Found { requests: 0, length: 0, close: false };
        while !found.close {
            let rest = &input[found.length..];
            if self.last.is_empty() || !rest.starts_with(&self.last) {
                let Some(end) = rest.windows(END.len()).position(|window| window == END) else {
                    break;
                };
                self.last = rest[..end + END.len()].to_vec();
                self.last_closes = closes(&self.last);
            }
            found.requests += 1;
            found.length += self.last.len();
            found.close = self.last_closes;
        }
        found
    }
}

/// RFC 9112, section 9.3: HTTP/1.1 persists unless told to close, HTTP/1.0 only if told to.
fn closes(head: &[u8]) -> bool {
    let head = head.to_ascii_lowercase();
    let has = |text: &[u8]| head.windows(text.len()).any(|window| window == text);
    if has(b" http/1.0\r\n") {
        !has(b"\r\nconnection: keep-alive\r\n")
    } else {
        has(b"\r\nconnection: close\r\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_complete_heads() {
        let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_slice();
        let mut heads = Heads::default();
        for _ in 0..2 {
            let input = [get, get, b"GET / HT"].concat();
            let found = heads.find(&input);
            assert_eq!(found, Found { requests: 2, length: 2 * get.len(), close: false });
        }
        assert_eq!(heads.find(b"GET /"), Found { requests: 0, length: 0, close: false });
    }

    #[test]
    fn stops_at_a_head_that_ends_the_connection() {
        let close = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n".as_slice();
        let found = Heads::default().find(&[close, close].concat());
        assert_eq!(found, Found { requests: 1, length: close.len(), close: true });
        assert!(Heads::default().find(b"GET / HTTP/1.0\r\n\r\n").close);
        assert!(!Heads::default().find(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").close);
    }
}
