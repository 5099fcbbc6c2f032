//! HTTP/1.1.

mod heads;
mod responses;

use crate::body::Body;
use heads::Heads;
use responses::Responses;

/// What has arrived of a request that is not complete.
#[derive(Default)]
pub struct Unfinished {
    /// The start of a head whose end has not arrived.
    head: Vec<u8>,
    /// The bytes that its body lacks, once the head has arrived.
    missing: Option<usize>,
}

/// Turns the bytes of requests into the bytes of responses.
pub struct Answers {
    heads: Heads,
    responses: Responses,
}

impl Answers {
    pub fn new(body: &Body) -> Self {
        Self { heads: Heads::default(), responses: Responses::new(body) }
    }

    /// The responses to the complete requests in `unfinished` and `input`, whether the connection ends
    /// with them, and their number. What is incomplete stays in `unfinished`.
    pub fn to(&mut self, unfinished: &mut Unfinished, input: &[u8]) -> (&[u8], bool, usize) {
        let Unfinished { head, missing } = unfinished;
        let found = if head.is_empty() {
            let found = self.heads.find(missing, input);
            head.extend_from_slice(&input[found.length..]);
            found
        } else {
            head.extend_from_slice(input);
            let found = self.heads.find(missing, head);
            head.drain(..found.length);
            found
        };
        (self.responses.bytes(found.requests, found.close), found.close, found.requests)
    }
}
