use crate::heads::Heads;
use crate::responses::Responses;

/// Turns the bytes of requests into the bytes of responses, for all connections of a thread.
pub struct Answers {
    heads: Heads,
    responses: Responses,
    /// Requests answered since the last [`Answers::take_requests`].
    requests: usize,
}

impl Answers {
    pub fn new(body: usize) -> Self {
        Self { heads: Heads::default(), responses: Responses::new(body), requests: 0 }
    }

    /// The responses to the complete heads in `partial` and `input`, and whether the connection
    /// ends with them. What is incomplete stays in `partial`.
    pub fn to(&mut self, partial: &mut Vec<u8>, input: &[u8]) -> (&[u8], bool) {
        let found = if partial.is_empty() {
            let found = self.heads.find(input);
            partial.extend_from_slice(&input[found.length..]);
            found
        } else {
            partial.extend_from_slice(input);
            let found = self.heads.find(partial);
            partial.drain(..found.length);
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
