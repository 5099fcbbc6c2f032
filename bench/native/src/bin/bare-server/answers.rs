use crate::heads::Heads;
use crate::responses::{Body, Responses};

/// What has arrived of a request that is not complete.
#[derive(Default)]
pub struct Unfinished {
    /// The start of a head whose end has not arrived.
    head: Vec<u8>,
    /// The bytes that its body lacks, once the head has arrived.
    missing: Option<usize>,
}

/// Turns the bytes of requests into the bytes of responses, for all connections of a thread.
pub struct Answers {
    heads: Heads,
    responses: Responses,
    /// Requests answered since the last [`Answers::take_requests`].
    requests: usize,
}

impl Answers {
    pub fn new(body: &Body) -> Self {
        Self { heads: Heads::default(), responses: Responses::new(body), requests: 0 }
    }

    /// The responses to the complete requests in `unfinished` and `input`, and whether the connection
    /// ends with them. What is incomplete stays in `unfinished`.
    pub fn to(&mut self, unfinished: &mut Unfinished, input: &[u8]) -> (&[u8], bool) {
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
        self.requests += found.requests;
        (self.responses.bytes(found.requests, found.close), found.close)
    }

    /// The number of requests answered since the last call.
    pub fn take_requests(&mut self) -> usize {
        std::mem::take(&mut self.requests)
    }
}
