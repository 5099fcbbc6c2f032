//! Connections with sessions of HTTP/1.1 on a scripted transport, at times that the tests set.

mod ack_probe;
mod ends;
mod gaps;
mod limits;
mod opening;
mod redirections;
mod responses;
mod sending;
mod write_failures;

use std::collections::VecDeque;
use std::time::Duration;

use millrace_net::{ManualClock, Read};

use super::*;
use crate::ErrorKind;
use crate::metrics::in_flight::Loss;
use crate::metrics::window_stats::WindowStats;
use crate::plan::{Request, Versions};
use crate::redirect::RedirectRule;
use crate::rendered::{RenderOptions, Rendered};
use crate::session::{End, Received, Receiving, SharedMemory};

/// What a transport does, in order; beyond that it blocks, takes every byte and has nothing to flush.
#[derive(Debug, Default)]
struct Script {
    progress: VecDeque<io::Result<Progress>>,
    /// How many bytes each write takes.
    writes: VecDeque<io::Result<usize>>,
    flushes: VecDeque<io::Result<bool>>,
    written: Vec<u8>,
}

/// A clock that stands still.
struct At(u64);

impl Clock for At {
    fn now(&self) -> Nanos {
        Nanos(self.0)
    }
}

fn blocked<R>() -> io::Result<R> {
    Err(io::ErrorKind::WouldBlock.into())
}

impl Transport for Script {
    fn establish(&mut self) -> io::Result<Progress> {
        self.progress.pop_front().unwrap_or(Ok(Progress::Ready { resumed: None, protocol: None }))
    }

    fn read(&mut self, _: &mut [u8]) -> io::Result<Read> {
        blocked()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writes.pop_front().unwrap_or(Ok(bytes.len()))?.min(bytes.len());
        self.written.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.flushes.pop_front().unwrap_or(Ok(true))
    }
}

const GET: u32 = 0;
const HEAD: u32 = 1;

fn mix() -> Vec<Rendered> {
    let rendered = |method: &str| {
        let request = Request {
            origin: 0,
            method: method.into(),
            target: "/".into(),
            fields: Vec::new(),
            body: None,
            weight: 1.0,
            name: 0,
            body_format: crate::plan::flow::BodyFormat::Text,
            expected: None,
        };
        Rendered::new(&request, RenderOptions { copies: 1, ..RenderOptions::default() }).unwrap()
    };
    vec![rendered("GET"), rendered("HEAD")]
}

/// HTTP/1.1 alone.
fn options(redirects: Option<RedirectRule>) -> SessionOptions {
    let versions = Versions::Http1;
    SessionOptions { redirects, versions, scheme: "http", window: 1, pipelines: true, grpc: false }
}

/// A connection, its mix and its recorder.
struct Scene {
    connection: Connection<Script>,
    mix: Vec<Rendered>,
    memory: SharedMemory,
    recorder: Recorder,
    peer_closed: bool,
}

impl Scene {
    /// With an open connection.
    fn new() -> Self {
        let mut scene = Self {
            connection: Connection::new(options(None)),
            mix: mix(),
            memory: SharedMemory::default(),
            recorder: Recorder::new(Nanos(0)),
            peer_closed: false,
        };
        scene.open(Script::default());
        scene
    }

    fn establish(&mut self, clock: &impl Clock) -> io::Result<Option<Nanos>> {
        self.connection.establish(clock, &mut self.memory, &mut self.recorder)
    }

    fn open(&mut self, script: Script) {
        self.connection.open(script, Nanos(0));
        assert_eq!(self.establish(&At(0)).unwrap(), Some(Nanos(0)));
    }

    fn script(&mut self) -> &mut Script {
        match &mut self.connection.state {
            State::Open(script) => script,
            other => panic!("{other:?}"),
        }
    }

    /// Requests are due and sent in one write.
    fn send(&mut self, requests: &[u32], bytes: &[u8], now: u64) -> io::Result<()> {
        self.send_batch(requests, bytes, &[], now)
    }

    fn send_batch(
        &mut self,
        requests: &[u32],
        bytes: &[u8],
        starts: &[usize],
        now: u64,
    ) -> io::Result<()> {
        for request in requests {
            self.connection.due.push_back(Due::new(Nanos(now), *request));
        }
        let batch = RequestBatch { bytes, count: requests.len(), starts };
        self.connection.write(&batch, Nanos(now), &mut self.recorder)
    }

    fn flush(&mut self) {
        self.flush_at(0).unwrap();
    }

    fn flush_at(&mut self, now: u64) -> io::Result<()> {
        let clock = ManualClock::default();
        clock.advance(Duration::from_nanos(now));
        self.connection.flush(&clock, &mut self.recorder)
    }

    /// The connection ends, and those that are due begin anew.
    fn put_back(&mut self) -> usize {
        self.connection.close();
        self.connection.requeue_buffered(&mut self.recorder)
    }

    /// In flight, held and due.
    fn places(&self) -> (usize, usize, usize) {
        let connection = &self.connection;
        (connection.in_flight(), connection.buffered(), connection.due.len())
    }

    fn feed(&mut self, bytes: &[u8], now: u64) -> Received {
        let mut receiving = Receiving {
            mix: &self.mix,
            memory: &mut self.memory,
            recorder: &mut self.recorder,
            peer_closed: self.peer_closed,
        };
        self.connection.receive(bytes, Nanos(now), &mut receiving)
    }

    /// Bytes that complete requests and leave the connection open.
    #[track_caller]
    fn completes(&mut self, bytes: &[u8], now: u64) -> usize {
        let fed = self.feed(bytes, now);
        assert!(fed.end.is_none(), "{fed:?}");
        fed.completed
    }

    fn send_ack_probe(&mut self) {
        self.connection.send_ack_probe(&mut self.recorder);
    }

    fn finish(&mut self, now: u64) -> Received {
        self.connection.session.finish(Nanos(now), &mut self.recorder)
    }

    /// The connection is lost as a whole.
    fn lose_all(&mut self, now: u64, loss: Loss) -> usize {
        let loss = |_: usize, _: &InFlight| (loss, "lost".to_owned());
        self.connection.lose_all(Nanos(now), &mut self.recorder, loss)
    }

    fn tally(&mut self) -> WindowStats {
        *self.recorder.roll(Nanos(1 << 40), Box::default())
    }
}

fn statuses(tally: &WindowStats) -> Vec<(u16, u64)> {
    tally.counts.statuses().collect()
}
