//! One client: what it has sent and received, and what the caller was told of it.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use millrace_http::h1::HeadLimits;
use millrace_stack::Settings;
use millrace_stack::batch::{Kind, flag};

use super::expected::{Told, add, begins, expected, trailers};

/// A client sends no more; enough to fill what the reactor reads at once, twice.
const MAX_SENT: usize = 256 * 1024;

/// How the caller reads the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Requests, by the reactor's parsers.
    Requests,
    /// It was asked, and has not answered.
    Asked,
    /// The next bytes as they come; then it is asked about them.
    Raw,
    AskedAgain,
    /// All bytes as they come.
    Through,
    /// After calls against the rules: only that events are sound is known.
    Anyhow,
}

pub(crate) struct Client {
    socket: Option<UnixStream>,
    /// The number of its connection while that lives.
    pub(crate) id: Option<usize>,
    pub(crate) reading: Reading,
    sent: Vec<u8>,
    told: Vec<Told>,
    /// Where raw bytes begin, and what of them was told.
    raw_from: usize,
    raw: Vec<u8>,
    pub(crate) answered: Vec<u8>,
    received: Vec<u8>,
    pub(crate) in_flight: u32,
    pub(crate) paused: bool,
    /// Nothing more is read: the end was told.
    over: bool,
    /// All that the client has sent was read.
    whole: bool,
    /// The caller has ended its side.
    pub(crate) ended: bool,
    /// Nobody knows how much of an answer has left.
    pub(crate) broken: bool,
}

impl Client {
    pub(crate) fn new(socket: UnixStream, id: Option<usize>) -> Self {
        socket.set_nonblocking(true).unwrap();
        Self {
            socket: Some(socket),
            id,
            reading: Reading::Requests,
            sent: Vec::new(),
            told: Vec::new(),
            raw_from: 0,
            raw: Vec::new(),
            answered: Vec::new(),
            received: Vec::new(),
            in_flight: 0,
            paused: false,
            over: false,
            whole: false,
            ended: false,
            broken: false,
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let room = MAX_SENT - self.sent.len();
        let Some(mut socket) = self.socket.as_ref() else { return };
        // The connection may be full or gone.
        let count = socket.write(&bytes[..bytes.len().min(room)]).unwrap_or(0);
        self.sent.extend_from_slice(&bytes[..count]);
    }

    pub(crate) fn shut(&mut self) {
        if let Some(socket) = &self.socket {
            // Fails where the other side is gone.
            socket.shutdown(Shutdown::Write).ok();
        }
    }

    pub(crate) fn leave(&mut self) {
        self.socket = None;
    }

    /// Takes what has arrived; `true` if there was something.
    pub(crate) fn receive(&mut self) -> bool {
        let Some(mut socket) = self.socket.as_ref() else { return false };
        let before = self.received.len();
        // Ends with an error unless the other side has ended.
        socket.read_to_end(&mut self.received).ok();
        assert!(self.broken || self.answered.starts_with(&self.received), "not what was sent");
        self.received.len() > before
    }

    /// The next bytes of answers: each differs from its neighbors.
    pub(crate) fn next_answer(&mut self, length: usize) -> Vec<u8> {
        let from = self.answered.len();
        let bytes: Vec<u8> = (from..from + length).map(|at| (at % 251) as u8).collect();
        self.answered.extend_from_slice(&bytes);
        bytes
    }

    /// One of the four ways of going on is taken.
    pub(crate) fn proceed(&mut self, way: usize) {
        self.reading = match (self.reading, way) {
            (Reading::Asked, 1) | (Reading::AskedAgain, 1) => Reading::Raw,
            (Reading::Asked, 3) => {
                // What it was asked about is told again.
                self.raw.clear();
                Reading::Through
            }
            _ => Reading::Anyhow,
        };
    }

    /// Takes an event; `true` if it belongs to the order of things.
    pub(crate) fn take(
        &mut self,
        kind: i32,
        details: &[i32],
        bytes: &[u8],
        settings: &Settings,
    ) -> bool {
        if kind == Kind::Request as i32 {
            self.in_flight += 1;
        }
        let lawful = self.reading != Reading::Anyhow;
        if !lawful && kind != Kind::Request as i32 {
            self.over |= kind == Kind::Closed as i32;
            return false;
        }
        if lawful {
            assert!(self.in_flight <= settings.max_pipelined, "more requests than allowed");
        }
        match kind {
            kind if kind == Kind::Closed as i32 => self.over = true,
            kind if kind == Kind::Idle as i32 => {
                assert_eq!(self.in_flight, 0, "idle with a request");
            }
            kind if kind == Kind::Drained as i32 => {}
            kind => {
                assert!(!self.over, "{kind} after the end");
                assert!(!self.paused, "{kind} while paused");
                self.read(kind, details, bytes, settings.head);
            }
        }
        lawful
    }

    fn read(&mut self, kind: i32, details: &[i32], bytes: &[u8], limits: HeadLimits) {
        let number = |at: usize| usize::try_from(details[at]).unwrap();
        let part = || &bytes[number(0)..][..number(1)];
        if kind == Kind::Eof as i32 {
            (self.over, self.whole) = (true, true);
        } else if kind == Kind::Raw as i32 {
            self.raw.extend_from_slice(part());
            self.reading = match self.reading {
                Reading::Raw => Reading::AskedAgain,
                Reading::Through => Reading::Through,
                reading => panic!("raw bytes, {reading:?}"),
            };
        } else if kind == Kind::Fallback as i32 {
            let Some(&Told::Unsure(at)) = expected(&self.sent, limits).get(self.told.len()) else {
                panic!("a doubt where there is none");
            };
            assert!(self.sent[at..].starts_with(part()), "other bytes");
            self.told.push(Told::Unsure(at));
            (self.raw_from, self.raw) = (at, part().to_vec());
            self.reading = Reading::Asked;
        } else if kind == Kind::Request as i32 {
            let bytes = part().to_vec();
            let target = bytes[number(3)..number(4)].to_vec();
            self.told.push(Told::Head { bytes, target });
            if details[2] & flag::BODY == 0 {
                self.told.push(Told::End(Vec::new()));
            }
        } else if kind == Kind::Body as i32 {
            add(&mut self.told, Told::Data(part().to_vec()));
        } else {
            assert_eq!(kind, Kind::End as i32);
            self.told.push(trailers(part()));
        }
    }

    /// The connection went to somebody else, with bytes that were not told; `whole`: and no error behind them.
    pub(crate) fn given_away(&mut self, rest: &[u8], whole: bool, limits: HeadLimits) {
        if whole {
            assert!(self.sent.ends_with(rest), "other bytes were given away");
        }
        if whole && self.reading == Reading::Asked {
            let Some(&Told::Unsure(at)) = expected(&self.sent, limits).last() else {
                panic!("a doubt where there is none");
            };
            assert!(self.sent[at..] == *rest, "not all was given away");
        }
    }

    /// When all has come to rest.
    pub(crate) fn check(&self, limits: HeadLimits) {
        let whole = expected(&self.sent, limits);
        let reads_requests = matches!(self.reading, Reading::Requests | Reading::Asked);
        if reads_requests {
            assert!(begins(&whole, &self.told), "{:?} is not how {whole:?} begins", self.told);
        }
        let served = self.id.is_some() && self.socket.is_some() && !self.broken;
        let raw = matches!(self.reading, Reading::Raw | Reading::AskedAgain | Reading::Through);
        if raw {
            assert!(self.sent[self.raw_from..].starts_with(&self.raw), "other bytes");
        }
        if self.reading == Reading::Through && served && !self.over {
            assert!(self.sent.ends_with(&self.raw), "some bytes were not told");
        }
        if reads_requests && (self.whole || served && !self.over) {
            assert_eq!(self.told, whole, "something was not told");
        }
        if served {
            assert!(self.received == self.answered, "something has not arrived");
        }
    }
}
