use crate::body::Body;

/// The canned responses, repeated so that several leave in one write.
pub struct Responses {
    response: Vec<u8>,
    repeated: Vec<u8>,
    closing: Vec<u8>,
}

impl Responses {
    /// Responses with this body.
    pub fn new(body: &Body) -> Self {
        let kept = response(body, "keep-alive\r\nKeep-Alive: timeout=5");
        Self { repeated: kept.clone(), response: kept, closing: response(body, "close") }
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

/// The header fields of a plain answer of `node:http`.
fn response(body: &Body, connection: &str) -> Vec<u8> {
    let (media_type, content) = (body.media_type(), body.content());
    let length = content.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
         Connection: {connection}\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.into_bytes(), content].concat()
}
