//! Splits the bytes of responses on their way out into heads, bodies and ends.

use super::Error;
use super::method::Method;
use super::request_body::{BodyDecoder, BodyEvent};
use super::request_head::{HeadLimits, RequestFraming};
use super::response_decoder::MAX_HEAD;
use super::response_head::{Framing, ResponseHead};

/// Limits of a trailer section.
const LIMITS: HeadLimits = HeadLimits { bytes: 256 * 1024, fields: 10_000 };

/// Takes what a [`ResponseSplitter`] finds, in order.
pub trait ResponseSink {
    /// An interim response (RFC 9110, section 15.2) has this head.
    fn interim(&mut self, _head: &ResponseHead, _bytes: &[u8]) {}
    /// A final response begins, whose head are these bytes. Gives the method of its request; `None` if none is due.
    fn head(&mut self, head: &ResponseHead, bytes: &[u8]) -> Option<Method>;
    /// A part of its body, without the framing of chunks. `is_last`: nothing but [`Self::end`] follows.
    fn data(&mut self, bytes: &[u8], is_last: bool);
    /// Its body has a trailer section: these field lines.
    fn trailers(&mut self, lines: &[u8]);
    /// It is complete.
    fn end(&mut self);
}

/// Where the bytes of a connection's responses stand. After an error they are no longer understood.
#[derive(Debug, Default)]
pub struct ResponseSplitter {
    place: Place,
    /// A part of a head, or of a line between chunks.
    kept: Vec<u8>,
}

#[derive(Debug, Default)]
enum Place {
    #[default]
    Head,
    Body(BodyDecoder),
    UntilEnd,
}

impl ResponseSplitter {
    /// Whether no byte has come behind the last response.
    #[must_use]
    pub fn is_between_responses(&self) -> bool {
        matches!(self.place, Place::Head) && self.kept.is_empty()
    }

    /// Whether the end of the response that has begun is the connection's.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.place, Place::UntilEnd)
    }

    /// Takes the bytes that come next, however the responses are split.
    ///
    /// # Errors
    /// A head or a chunk is malformed or too large, or no request is due for a response.
    pub fn split(&mut self, bytes: &[u8], sink: &mut impl ResponseSink) -> Result<(), Error> {
        if self.kept.is_empty() {
            let taken = self.take(bytes, sink)?;
            self.kept.extend_from_slice(&bytes[taken..]);
        } else {
            let mut kept = std::mem::take(&mut self.kept);
            kept.extend_from_slice(bytes);
            let taken = self.take(&kept, sink)?;
            kept.drain(..taken);
            self.kept = kept;
        }
        Ok(())
    }

    /// Gives how many of the bytes are done with.
    fn take(&mut self, bytes: &[u8], sink: &mut impl ResponseSink) -> Result<usize, Error> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.place {
                Place::Head => match ResponseHead::parse(rest)? {
                    Some(head) => {
                        self.begin(&rest[..head.length], &head, sink)?;
                        at += head.length;
                    }
                    None if rest.len() <= MAX_HEAD => return Ok(at),
                    None => return Err(Error::TooLarge),
                },
                Place::Body(decoder) => match decoder.next(rest, &LIMITS) {
                    BodyEvent::Data { start, end } => {
                        at += end;
                        // An end without further bytes is found now.
                        let ends = matches!(decoder.next(&[], &LIMITS), BodyEvent::End { .. });
                        sink.data(&rest[start..end], ends);
                        if ends {
                            self.complete(sink);
                        }
                    }
                    BodyEvent::More { consumed } => return Ok(at + consumed),
                    BodyEvent::End { consumed, trailers } => {
                        at += consumed;
                        if trailers.0 < trailers.1 {
                            sink.trailers(&rest[trailers.0..trailers.1]);
                        }
                        self.complete(sink);
                    }
                    BodyEvent::Unsure { .. } => return Err(Error::ChunkSize),
                },
                Place::UntilEnd => {
                    sink.data(rest, false);
                    at = bytes.len();
                }
            }
        }
        Ok(at)
    }

    fn begin(
        &mut self,
        bytes: &[u8],
        head: &ResponseHead,
        sink: &mut impl ResponseSink,
    ) -> Result<(), Error> {
        // What follows is another protocol.
        if head.status == 101 {
            return Err(Error::StatusLine);
        }
        if head.status < 200 {
            sink.interim(head, bytes);
            return Ok(());
        }
        let method = sink.head(head, bytes).ok_or(Error::StatusLine)?;
        // RFC 9112, section 6.3.
        let is_bodiless = method == Method::Head || matches!(head.status, 204 | 304);
        match head.framing {
            _ if is_bodiless => self.complete(sink),
            Framing::Length(0) => self.complete(sink),
            Framing::Length(length) => {
                self.place = Place::Body(BodyDecoder::new(RequestFraming::Length(length)));
            }
            Framing::Chunked => {
                self.place = Place::Body(BodyDecoder::new(RequestFraming::Chunked));
            }
            Framing::UntilClose => self.place = Place::UntilEnd,
        }
        Ok(())
    }

    fn complete(&mut self, sink: &mut impl ResponseSink) {
        self.place = Place::Head;
        sink.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was found, as text.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Found {
        methods: Vec<Method>,
        text: String,
    }

    impl ResponseSink for Found {
        fn head(&mut self, head: &ResponseHead, _: &[u8]) -> Option<Method> {
            self.text += &format!("{} ", head.status);
            self.methods.pop()
        }

        fn interim(&mut self, head: &ResponseHead, _: &[u8]) {
            self.text += &format!("{} interim\n", head.status);
        }

        fn data(&mut self, bytes: &[u8], _: bool) {
            self.text += &String::from_utf8_lossy(bytes);
        }

        fn trailers(&mut self, lines: &[u8]) {
            self.text += &format!(" {}", String::from_utf8_lossy(lines).trim_end());
        }

        fn end(&mut self) {
            self.text += "\n";
        }
    }

    const RESPONSES: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\
        HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\
        HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n\
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nA: b\r\n\r\n\
        HTTP/1.0 200 OK\r\n\r\nuntil the end";

    #[test]
    fn responses_are_told_apart_however_they_are_split() {
        for size in 1..RESPONSES.len() {
            let methods = [Method::Get, Method::Get, Method::Get, Method::Head, Method::Get].into();
            let mut found = Found { methods, text: String::new() };
            let mut splitter = ResponseSplitter::default();
            for part in RESPONSES.chunks(size) {
                splitter.split(part, &mut found).expect("they are well-formed");
            }
            let expected = "100 interim\n200 hello\n200 \n304 \n200 abc A: b\n200 until the end";
            assert_eq!(found.text, expected, "in parts of {size}");
            assert!(splitter.ends_with_connection() && !splitter.is_between_responses());
        }
    }

    #[test]
    fn what_is_no_response_is_an_error() {
        let once = |bytes: &[u8], methods: Vec<Method>| {
            ResponseSplitter::default().split(bytes, &mut Found { methods, text: String::new() })
        };
        let get = || vec![Method::Get];
        let ok = b"HTTP/1.1 204 No Content\r\n\r\n";
        assert!(once(ok, get()).is_ok());
        assert!(once(ok, Vec::new()).is_err(), "none is due");
        assert!(once(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", get()).is_err());
        assert!(once(b"hello", get()).is_err());
        let chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n";
        assert!(once(chunk, get()).is_err());
        let endless = [&b"HTTP/1.1 200 OK\r\nA: "[..], &vec![b'a'; 2 * MAX_HEAD]].concat();
        assert!(once(&endless, get()).is_err());
    }
}
