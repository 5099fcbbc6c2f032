/// The canned responses, repeated so that several leave in one write.
pub struct Responses {
    response: Vec<u8>,
    repeated: Vec<u8>,
    closing: Vec<u8>,
}

impl Responses {
    /// Responses with a body of `body` bytes.
    pub fn new(body: usize) -> Self {
        let response = response(body, "keep-alive\r\nKeep-Alive: timeout=5");
        Self { repeated: response.clone(), response, closing: response_with_close(body) }
    }

    /// The responses to `count` requests; the last one says `Connection: close` if `close`.
    pub fn bytes(&mut self, count: usize, close: bool) -> &[u8] {
        if close && count == 1 {
            return &self.closing;
        }
        let kept = count - usize::from(close);
        let length = kept * self.response.len();
        if self.repeated.len() < length || close {
            self.repeated = self.response.repeat(kept);
        }
        if close {
            self.repeated.extend_from_slice(&self.closing);
            return &self.repeated;
        }
        &self.repeated[..length]
    }
}

fn response_with_close(body: usize) -> Vec<u8> {
    response(body, "close")
}

/// The header fields of a plain answer of `node:http`.
fn response(body: usize, connection: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
         Connection: {connection}\r\nContent-Length: {body}\r\n\r\n"
    );
    [head.into_bytes(), vec![b'x'; body]].concat()
}
