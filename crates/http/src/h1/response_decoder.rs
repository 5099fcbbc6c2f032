//! Decoder of consecutive responses (RFC 9112, sections 4 and 6).

use memchr::memchr;

use super::Error;
use super::response_body::ResponseBody;
use super::response_head::{Framing, ResponseHead, STATUS_LINE_START};

/// Maximum bytes of the head of a response.
pub const MAX_HEAD: usize = 256 * 1024;

/// The result of [`ResponseDecoder::decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// The response has not ended. Pass the bytes behind `consumed` (a part of a head) again, with those that follow.
    More {
        /// Number of consumed bytes.
        consumed: usize,
    },
    /// The final response to a request has ended after `consumed` bytes.
    Complete {
        /// Number of consumed bytes; those behind them belong to the next response.
        consumed: usize,
        /// 101 or 200 to 999.
        status: u16,
        /// Another response may follow on this connection.
        persistent: bool,
    },
}

/// Decodes responses in the order of their requests. Skips interim responses (1xx).
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseDecoder {
    body: Option<PendingBody>,
    /// Number of bytes of an incomplete head that contain no end of it. They are parsed again only when it has arrived, so
    /// that a head in many pieces takes linear time.
    scanned: usize,
    /// Whether they contain the whole status line, and it is valid.
    status_line: bool,
}

/// Cache of the last parsed head. Most servers send the same head for a second, until their `Date` changes; comparing is
/// ten times faster than parsing. The result depends only on the bytes of the head: equal bytes at the start of the input
/// are the same head.
#[derive(Clone, Debug, Default)]
pub struct KnownHead {
    bytes: Vec<u8>,
    head: Option<ResponseHead>,
}

impl KnownHead {
    /// Maximum bytes of a cached head.
    const MAX: usize = 4096;

    fn recall(&self, input: &[u8]) -> Option<ResponseHead> {
        self.head.filter(|_| input.starts_with(&self.bytes))
    }

    /// Returns the length of its body, if the head says so.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        match self.head?.framing {
            Framing::Length(length) => Some(length),
            Framing::Chunked | Framing::UntilClose => None,
        }
    }

    /// Returns the length of the head; zero if there is none.
    #[must_use]
    pub fn length(&self) -> usize {
        self.head.map_or(0, |head| head.length)
    }

    fn learn(&mut self, input: &[u8], head: ResponseHead) -> ResponseHead {
        if head.length <= Self::MAX {
            self.bytes.clear();
            self.bytes.extend_from_slice(&input[..head.length]);
            self.head = Some(head);
        }
        head
    }
}

/// The body that is being decoded, and the values to report at its end.
#[derive(Clone, Copy, Debug)]
struct PendingBody {
    /// Bytes from the start of the input in which the head ended to its end.
    head: usize,
    status: u16,
    persistent: bool,
    rest: ResponseBody,
}

impl ResponseDecoder {
    /// Continues decoding the response to a request; `head`: the request's method was HEAD, whose response has no body
    /// whatever its fields say.
    pub fn decode(&mut self, input: &[u8], head: bool) -> Result<Decoded, Error> {
        self.decode_with(&mut KnownHead::default(), input, head)
    }

    /// Does the same as `decode`, without parsing a head that equals the previous one.
    pub fn decode_with(
        &mut self,
        known: &mut KnownHead,
        input: &[u8],
        head: bool,
    ) -> Result<Decoded, Error> {
        let mut consumed = 0;
        while self.body.is_none() {
            consumed += self.count_blank_lines(&input[consumed..]);
            let rest = &input[consumed..];
            if rest == b"\r" {
                return Ok(Decoded::More { consumed });
            }
            let response = match known.recall(rest) {
                Some(response) => {
                    (self.scanned, self.status_line) = (0, false);
                    response
                }
                None => match self.parse_head(rest)? {
                    Some(response) => known.learn(rest, response),
                    None => return Ok(Decoded::More { consumed }),
                },
            };
            consumed += response.length;
            let interim = (100..200).contains(&response.status) && response.status != 101;
            if !interim {
                if response.contradictory {
                    // It may be two responses in one (RFC 9112, section 6.3, item 3).
                    return Err(Error::Framing);
                }
                self.body = Some(PendingBody::of(&response, head, consumed));
            }
        }
        self.decode_body(input, consumed)
    }

    /// Returns the length of the head of a response whose body is being decoded, in the input that ended the head.
    #[must_use]
    pub fn head_length(&self) -> Option<usize> {
        self.body.as_ref().map(|body| body.head)
    }

    /// Returns the status of a response whose head has been decoded and whose end has not.
    #[must_use]
    pub fn pending_status(&self) -> Option<u16> {
        self.body.as_ref().map(|body| body.status)
    }

    /// Returns how many of the bytes that come next are certainly data of a body, which [`Self::skip`] passes over.
    #[must_use]
    pub fn data_ahead(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.rest.data_ahead())
    }

    /// Continues decoding with so many bytes of data, at most [`Self::data_ahead`], that nobody looks at.
    pub fn skip(&mut self, count: usize) -> Decoded {
        let ended = self.body.as_mut().is_some_and(|body| body.rest.skip(count as u64));
        match self.body.take_if(|_| ended) {
            None => Decoded::More { consumed: count },
            Some(PendingBody { status, persistent, .. }) => {
                Decoded::Complete { consumed: count, status, persistent }
            }
        }
    }

    /// Processes the end of the stream. `Some` if it completes a response; `None` between two responses, when `pending` (the
    /// number of unconsumed bytes) is zero.
    pub fn finish(&mut self, pending: usize) -> Result<Option<Decoded>, Error> {
        match self.body.take() {
            Some(PendingBody { rest: ResponseBody::UntilClose, status, .. }) => {
                Ok(Some(Decoded::Complete { consumed: 0, status, persistent: false }))
            }
            None if pending == 0 => Ok(None),
            _ => Err(Error::UnexpectedEnd),
        }
    }

    /// Counts the bytes of empty lines before a status line. Some servers send one more line end than a body's length says;
    /// clients pass it over, as servers do before a request line (RFC 9112, section 2.2).
    fn count_blank_lines(&self, input: &[u8]) -> usize {
        if self.scanned > 0 {
            return 0;
        }
        let mut rest = input;
        while let [b'\n', after @ ..] | [b'\r', b'\n', after @ ..] = rest {
            rest = after;
        }
        input.len() - rest.len()
    }

    fn parse_head(&mut self, input: &[u8]) -> Result<Option<ResponseHead>, Error> {
        if self.scanned > 0 && !self.may_decide(input) {
            self.scanned = input.len();
            return if input.len() > MAX_HEAD { Err(Error::TooLarge) } else { Ok(None) };
        }
        let parsed = ResponseHead::parse(&input[..input.len().min(MAX_HEAD)])?;
        self.scanned = match parsed {
            Some(_) => 0,
            None if input.len() > MAX_HEAD => return Err(Error::TooLarge),
            None => input.len(),
        };
        self.status_line = parsed.is_none() && memchr(b'\n', input).is_some();
        Ok(parsed)
    }

    /// Whether the bytes since the last call may end the head or its status line, or show that it is invalid.
    fn may_decide(&self, input: &[u8]) -> bool {
        let scanned = self.scanned.min(input.len());
        let line_may_end = !self.status_line
            && (scanned < STATUS_LINE_START.len() || memchr(b'\n', &input[scanned..]).is_some());
        line_may_end || has_head_end(&input[scanned.saturating_sub(3)..])
    }

    fn decode_body(&mut self, input: &[u8], start: usize) -> Result<Decoded, Error> {
        let Some(body) = &mut self.body else { return Ok(Decoded::More { consumed: start }) };
        let (taken, ended) = body.rest.decode(&input[start..])?;
        let consumed = start + taken;
        if !ended {
            return Ok(Decoded::More { consumed });
        }
        let PendingBody { status, persistent, .. } = *body;
        self.body = None;
        Ok(Decoded::Complete { consumed, status, persistent })
    }
}

/// An empty line, which ends a head, in either of its spellings.
fn has_head_end(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes)
        .any(|at| matches!(bytes[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

impl PendingBody {
    /// RFC 9112, section 6.3, items 1 and 2: no body for HEAD, 1xx, 204 and 304. After 101 the
    /// connection no longer speaks HTTP.
    fn of(response: &ResponseHead, head: bool, length: usize) -> Self {
        let &ResponseHead { status, framing, persistent, .. } = response;
        let bodiless = head || matches!(status, 101 | 204 | 304);
        let rest = if bodiless { ResponseBody::Length(0) } else { ResponseBody::new(framing) };
        Self { head: length, status, persistent: persistent && status != 101, rest }
    }
}
