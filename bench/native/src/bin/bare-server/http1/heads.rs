const END: &[u8] = b"\r\n\r\n";

/// Finds the requests in what was read. A load consists of equal requests, so a head that equals the
/// one before costs one comparison. Bodies are skipped.
#[derive(Default)]
pub struct Heads {
    last: Vec<u8>,
    last_closes: bool,
    /// Bytes of the body after the head.
    last_body: usize,
}

/// What a stretch of input holds.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Requests that are complete.
    pub requests: usize,
    /// Bytes of them, and of the one whose body is under way.
    pub length: usize,
    /// The last of them ends the connection.
    pub close: bool,
}

impl Heads {
    /// Takes the requests at the start of `input`, up to one that ends the connection. `missing` are
    /// the bytes that a body still lacks; what lacks of the last one is left there.
    pub fn find(&mut self, missing: &mut Option<usize>, input: &[u8]) -> Found {
        let mut found = Found { requests: 0, length: 0, close: false };
        while !found.close {
            let rest = &input[found.length..];
            if let Some(lacking) = *missing {
                let skipped = lacking.min(rest.len());
                found.length += skipped;
                if skipped < lacking {
                    *missing = Some(lacking - skipped);
                    break;
                }
                *missing = None;
                found.requests += 1;
                found.close = self.last_closes;
                continue;
            }
            if self.last.is_empty() || !rest.starts_with(&self.last) {
                let Some(end) = rest.windows(END.len()).position(|window| window == END) else {
                    break;
                };
                self.last = rest[..end + END.len()].to_vec();
                self.last_closes = closes(&self.last);
                self.last_body = body_length(&self.last);
            }
            found.length += self.last.len();
            if self.last_body > 0 {
                *missing = Some(self.last_body);
            } else {
                found.requests += 1;
                found.close = self.last_closes;
            }
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

/// The value of `Content-Length`; 0 without one.
fn body_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let value = head.split("\r\n").find_map(|line| line.strip_prefix("content-length:"));
    value.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
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
            let found = heads.find(&mut None, &input);
            assert_eq!(found, Found { requests: 2, length: 2 * get.len(), close: false });
        }
        assert_eq!(heads.find(&mut None, b"GET /"), Found { requests: 0, length: 0, close: false });
    }

    #[test]
    fn stops_at_a_head_that_ends_the_connection() {
        let close = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n".as_slice();
        let found = Heads::default().find(&mut None, &[close, close].concat());
        assert_eq!(found, Found { requests: 1, length: close.len(), close: true });
        assert!(Heads::default().find(&mut None, b"GET / HTTP/1.0\r\n\r\n").close);
        assert!(
            !Heads::default()
                .find(&mut None, b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
                .close
        );
    }

    #[test]
    fn a_request_is_complete_with_its_body_wherever_it_is_split() {
        let post = b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab\r\n\r".as_slice();
        let input = [post, post].concat();
        let head = post.len() - 5;
        for at in head..=input.len() {
            let mut heads = Heads::default();
            let mut missing = None;
            let first = heads.find(&mut missing, &input[..at]);
            let second = heads.find(&mut missing, &input[first.length..]);
            assert_eq!(first.requests + second.requests, 2, "split at {at}");
            assert_eq!(first.requests, at / post.len(), "split at {at}");
            assert_eq!(first.length + second.length, input.len(), "split at {at}");
        }
    }
}
