use crate::body::Body;
use crate::{http1, http2};

/// The protocol that the server speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    Http2,
    /// HTTP/2, the responses being those of gRPC.
    Grpc,
}

impl Protocol {
    /// The protocol of this name.
    ///
    /// # Errors
    /// One line naming what is accepted.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "http1" => Ok(Self::Http1),
            "http2" => Ok(Self::Http2),
            "grpc" => Ok(Self::Grpc),
            other => Err(format!("--protocol {other}: http1, http2 or grpc")),
        }
    }

    /// Its name in TLS (ALPN).
    pub fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 | Self::Grpc => b"h2",
        }
    }
}

/// What has arrived on a connection without being answered.
#[derive(Default)]
pub struct Unfinished {
    http1: http1::Unfinished,
    http2: http2::Unfinished,
}

/// Turns the bytes of requests into the bytes of responses, for all connections of a thread.
pub struct Answers {
    protocol: Answering,
    /// Requests answered since the last [`Answers::take_requests`].
    requests: usize,
}

enum Answering {
    Http1(http1::Answers),
    Http2(http2::Answers),
}

impl Answers {
    /// # Errors
    /// One line if the protocol has no such responses.
    pub fn new(protocol: Protocol, body: &Body) -> Result<Self, String> {
        let protocol = match protocol {
            Protocol::Http1 => Answering::Http1(http1::Answers::new(body)),
            Protocol::Http2 => Answering::Http2(http2::Answers::new(http2::response(body)?)),
            Protocol::Grpc => Answering::Http2(http2::Answers::new(http2::grpc_response(body)?)),
        };
        Ok(Self { protocol, requests: 0 })
    }

    /// The answer to what is complete in `unfinished` and `input`, and whether the connection ends
    /// with it. What is incomplete stays in `unfinished`.
    pub fn to(&mut self, unfinished: &mut Unfinished, input: &[u8]) -> (&[u8], bool) {
        let (bytes, close, requests) = match &mut self.protocol {
            Answering::Http1(answers) => answers.to(&mut unfinished.http1, input),
            Answering::Http2(answers) => answers.to(&mut unfinished.http2, input),
        };
        self.requests += requests;
        (bytes, close)
    }

    /// The number of requests answered since the last call.
    pub fn take_requests(&mut self) -> usize {
        std::mem::take(&mut self.requests)
    }
}
