//! Connections on a scripted transport, at times that the tests set. One file, though long: all of it plays
//! on the transport below.

use std::collections::VecDeque;
use std::time::Duration;

use millrace_http::h1::KnownHead;
use millrace_net::{ManualClock, Read};
use proptest::prelude::*;

use super::receiving::Received;
use super::*;
use crate::ErrorKind;
use crate::metrics::in_flight::Loss;
use crate::metrics::window_stats::WindowStats;
use crate::plan::Request;
use crate::rendered::Rendered;

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
        };
        Rendered::new(&request, false, None, 1).unwrap()
    };
    vec![rendered("GET"), rendered("HEAD")]
}

/// A connection, its mix and its recorder.
struct Scene {
    connection: Connection<Script>,
    mix: Vec<Rendered>,
    known_head: KnownHead,
    recorder: Recorder,
    peer_closed: bool,
}

impl Scene {
    /// With an open connection.
    fn new() -> Self {
        let mut scene = Self {
            connection: Connection::default(),
            mix: mix(),
            known_head: KnownHead::default(),
            recorder: Recorder::new(Nanos(0)),
            peer_closed: false,
        };
        scene.open(Script::default());
        scene
    }

    fn open(&mut self, script: Script) {
        self.connection.open(script, Nanos(0));
        assert_eq!(self.connection.establish(&At(0), &mut self.recorder).unwrap(), Some(Nanos(0)));
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
            self.connection.due.push_back(Due { intended: Nanos(now), request: *request });
        }
        let batch = RequestBatch { bytes, count: requests.len(), starts };
        self.connection.send(&batch, Nanos(now), &mut self.recorder)
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
        let Connection { in_flight, buffered: held, due, .. } = &self.connection;
        (in_flight.len(), held.len(), due.len())
    }

    fn feed(&mut self, bytes: &[u8], now: u64) -> Received {
        let mut receiving = Receiving {
            mix: &self.mix,
            known_head: &mut self.known_head,
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
        self.connection.finish(Nanos(now), &mut self.recorder)
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

#[test]
fn opening_goes_from_connect_to_handshake_to_ready() {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.tally();
    let script = Script {
        progress: VecDeque::from([
            Ok(Progress::Connecting),
            // It has connected; then it begins the handshake.
            Ok(Progress::Handshaking),
            Ok(Progress::Handshaking),
            Ok(Progress::Handshaking),
            Ok(Progress::Ready { resumed: Some(true), protocol: None }),
        ]),
        ..Script::default()
    };
    let Scene { connection, recorder, .. } = &mut scene;
    connection.open(script, Nanos(100));
    assert_eq!(connection.establish(&At(150), recorder).unwrap(), None);
    assert_eq!(connection.waiting_since(), Some(Nanos(100)));
    assert!(!connection.is_handshaking());
    assert_eq!(connection.establish(&At(200), recorder).unwrap(), None);
    assert_eq!(
        connection.waiting_since(),
        Some(Nanos(200)),
        "the handshake has a limit of its own"
    );
    assert!(connection.is_handshaking());
    assert_eq!(connection.establish(&At(300), recorder).unwrap(), None);
    assert!(!connection.is_open());
    assert_eq!(connection.establish(&At(450), recorder).unwrap(), Some(Nanos(450)));
    assert!(connection.is_open());
    assert_eq!(connection.waiting_since(), None);
    let WindowStats { counts, connect, tls, .. } = scene.tally();
    assert_eq!((counts.opened, counts.tls_resumed, counts.tls_full), (1, 1, 0));
    assert_eq!(
        (connect.total(), tls.total()),
        (Duration::from_nanos(100), Duration::from_nanos(250))
    );
}

/// A clock whose every reading is a nanosecond after the last.
#[derive(Default)]
struct Ticking(std::cell::Cell<u64>);

impl Clock for Ticking {
    fn now(&self) -> Nanos {
        self.0.set(self.0.get() + 1);
        Nanos(self.0.get())
    }
}

#[test]
fn a_handshake_that_ends_in_the_turn_of_its_connect_took_time() {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.tally();
    let script = Script {
        progress: VecDeque::from([
            Ok(Progress::Handshaking),
            Ok(Progress::Ready { resumed: Some(false), protocol: None }),
        ]),
        ..Script::default()
    };
    scene.connection.open(script, Nanos(0));
    let ready = scene.connection.establish(&Ticking::default(), &mut scene.recorder).unwrap();
    let WindowStats { connect, tls, .. } = scene.tally();
    let nanosecond = Duration::from_nanos(1);
    assert_eq!((ready, connect.total(), tls.total()), (Some(Nanos(2)), nanosecond, nanosecond));
}

#[test]
fn opening_that_fails_is_no_connection() {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.tally();
    let refused = Err(io::ErrorKind::ConnectionRefused.into());
    let script = Script { progress: VecDeque::from([refused]), ..Script::default() };
    scene.connection.open(script, Nanos(5));
    let error = scene.connection.establish(&At(6), &mut scene.recorder).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    assert!(scene.connection.close().is_some());
    assert!(scene.connection.is_closed());
    assert_eq!(scene.tally().counts.opened, 0);
}

#[test]
fn pipelined_responses_belong_to_their_requests_in_order() {
    let mut scene = Scene::new();
    scene.send(&[GET, HEAD], b"1 2", 100).unwrap();
    scene.send(&[GET], b"3", 200).unwrap();
    // The HEAD's response would take the next one for its body if it were taken for a GET's.
    let first =
        b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 404 \r\nContent-Length: 9\r\n\r\n";
    assert_eq!(scene.completes(first, 1000), 2);
    assert_eq!(scene.connection.in_flight(), 1);
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(200)));
    assert_eq!(scene.completes(b"HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n", 5000), 1);
    assert_eq!(scene.connection.waiting_since(), None);
    let tally = scene.tally();
    assert_eq!(statuses(&tally), [(200, 1), (404, 1), (503, 1)]);
    assert_eq!(tally.service_time.total(), Duration::from_nanos(900 + 900 + 4800));
    assert!(tally.adds_up());
}

#[test]
fn a_response_is_done_with_its_last_byte_wherever_it_is_split() {
    let responses: [&[u8]; 5] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n",
        b"HTTP/1.1 202 Accepted\r\nContent-Length: 77\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n",
    ];
    let requests = [GET, GET, HEAD, GET, GET];
    let stream = responses.concat();
    for split in 1..stream.len() {
        let mut scene = Scene::new();
        scene.send(&requests, b"requests", 0).unwrap();
        let mut ends = responses.iter().scan(0, |end, response| {
            *end += response.len();
            Some(*end)
        });
        let early = ends.by_ref().take_while(|end| *end <= split).count();
        assert_eq!(scene.completes(&stream[..split], 10), early, "split at {split}");
        assert_eq!(scene.completes(&stream[split..], 20), 5 - early, "split at {split}");
        let tally = scene.tally();
        assert_eq!(statuses(&tally), [(200, 1), (201, 1), (202, 1), (204, 1), (304, 1)]);
        let expected = 10 * early + 20 * (5 - early);
        assert_eq!(tally.latency.total(), Duration::from_nanos(expected as u64));
        assert_eq!(tally.counts.bytes_received, stream.len() as u64);
    }
}

#[test]
fn a_response_may_come_byte_by_byte() {
    let mut scene = Scene::new();
    scene.send(&[GET], b"r", 0).unwrap();
    let response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    let (last, before) = response.split_last().unwrap();
    for (time, byte) in before.iter().enumerate() {
        assert_eq!(scene.completes(&[*byte], time as u64), 0);
    }
    assert_eq!(scene.completes(&[*last], 500), 1);
    assert_eq!(scene.tally().latency.total(), Duration::from_nanos(500));
}

#[test]
fn what_a_transport_does_not_take_goes_out_later_and_in_order() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(3), blocked()]);
    scene.send(&[GET], b"first request ", 0).unwrap();
    assert_eq!(scene.script().written, b"fir");
    // It has to wait although there would be room by now.
    scene.send(&[GET], b"second request", 10).unwrap();
    assert_eq!(scene.script().written, b"fir");
    scene.script().writes = VecDeque::from([Ok(9), blocked()]);
    scene.flush();
    assert_eq!(scene.script().written, b"first reques");
    scene.flush();
    assert_eq!(scene.script().written, b"first request second request");
    scene.flush();
    assert_eq!(scene.script().written.len(), 28, "nothing is sent twice");
    assert_eq!(scene.connection.in_flight(), 2);
    assert_eq!(scene.tally().counts.bytes_sent, 28);
}

#[test]
fn what_a_transport_keeps_itself_goes_first() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(0)]);
    scene.send(&[GET], b"request", 0).unwrap();
    scene.script().flushes = VecDeque::from([Ok(false)]);
    scene.flush();
    assert!(scene.script().written.is_empty());
    scene.flush();
    assert_eq!(scene.script().written, b"request");
}

#[test]
fn a_response_may_end_before_its_request_has_gone_out() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.send(&[GET], b"a long upload", 0).unwrap();
    assert_eq!(scene.completes(b"HTTP/1.1 413 \r\nContent-Length: 0\r\n\r\n", 5), 1);
    scene.flush();
    assert_eq!(scene.script().written, b"a long upload");
}

#[test]
fn a_request_whose_write_fails_at_once_was_not_sent_and_remains_due() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Err(io::ErrorKind::BrokenPipe.into())]);
    let error = scene.send(&[GET, HEAD], b"request", 0).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(scene.put_back(), 2);
    assert_eq!(scene.places(), (0, 0, 2));
    let counts = scene.tally().counts;
    assert_eq!((counts.sent, counts.bytes_sent), (0, 0));
}

#[test]
fn a_request_whose_write_fails_later_was_sent() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(3), Err(io::ErrorKind::BrokenPipe.into())]);
    let error = scene.send(&[GET], b"request", 0).unwrap_err();
    assert_eq!((error.kind(), scene.places()), (io::ErrorKind::BrokenPipe, (1, 0, 0)));
    assert_eq!(scene.lose_all(7, Loss::Transport(ErrorKind::Reset)), 1);
    let tally = scene.tally();
    assert_eq!((tally.counts.sent, tally.counts.transport_errors), (1, 1));
    assert_eq!(tally.counts.bytes_sent, 3);
    assert!(tally.adds_up());
}

#[test]
fn a_request_is_sent_when_its_first_byte_goes_out() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(4), blocked()]);
    scene.send_batch(&[GET, HEAD, GET, GET], b"1 22 333 4", &[0, 2, 5, 9], 100).unwrap();
    assert_eq!(scene.places(), (2, 2, 0), "the second has begun");
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.flush_at(200).unwrap();
    assert_eq!(scene.places(), (2, 2, 0), "the third has not");
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.flush_at(300).unwrap();
    assert_eq!((scene.places(), scene.recorder.under_way()), ((3, 1, 0), 4));
    scene.flush_at(400).unwrap();
    assert_eq!((scene.places(), scene.recorder.under_way()), ((4, 0, 0), 4));
    let responses = b"HTTP/1.1 204 \r\n\r\n".repeat(4);
    assert_eq!(scene.completes(&responses, 1000), 4);
    let tally = scene.tally();
    assert_eq!((tally.counts.sent, tally.counts.reused), (4, 3));
    assert_eq!(tally.service_time.total(), Duration::from_nanos(900 + 900 + 700 + 600));
    assert_eq!(tally.latency.total(), Duration::from_nanos(4 * 900));
}

#[test]
fn requests_of_which_nothing_has_gone_out_are_due_again_in_order() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(2), Err(io::ErrorKind::BrokenPipe.into())]);
    scene.send(&[GET, HEAD, GET], b"112233", 1).unwrap_err();
    scene.send(&[HEAD], b"44", 2).unwrap();
    scene.connection.due.push_back(Due { intended: Nanos(3), request: GET });
    assert_eq!(scene.places(), (1, 3, 1));
    assert_eq!(scene.lose_all(5, Loss::Transport(ErrorKind::Reset)), 1);
    assert_eq!(scene.put_back(), 3);
    let due: Vec<_> =
        scene.connection.due.iter().map(|due| (due.intended.0, due.request)).collect();
    assert_eq!(due, [(1, HEAD), (1, GET), (2, HEAD), (3, GET)]);
    assert_eq!(scene.recorder.under_way(), 0);
    let tally = scene.tally();
    assert_eq!((tally.counts.sent, tally.counts.bytes_sent), (1, 2));
    assert!(tally.adds_up());
}

#[test]
fn a_request_that_is_held_behind_none_has_a_limit_too() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.send(&[GET], b"upload", 100).unwrap();
    scene.send(&[GET], b"second", 200).unwrap();
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(100)));
    assert_eq!(scene.completes(b"HTTP/1.1 413 \r\nContent-Length: 0\r\n\r\n", 250), 1);
    assert_eq!(scene.places(), (0, 1, 0));
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(200)));
}

proptest! {
    /// Requests of these lengths are sent some at a time; the transport takes so many bytes at a time,
    /// and fails in the end.
    #[test]
    fn the_requests_that_were_sent_are_those_that_have_bytes_outside(
        batches in prop::collection::vec(prop::collection::vec(1..9usize, 1..5), 1..6),
        writes in prop::collection::vec(0..12usize, 0..24),
    ) {
        let mut scene = Scene::new();
        let writes = writes.into_iter().map(|count| if count == 0 { blocked() } else { Ok(count) });
        scene.script().writes = writes.collect();
        let broken = std::iter::repeat_with(|| Err(io::ErrorKind::BrokenPipe.into()));
        scene.script().writes.extend(broken.take(50));
        let mut starts = Vec::new();
        let mut end = 0;
        for lengths in &batches {
            let before = end;
            for length in lengths {
                starts.push(end);
                end += length;
            }
            let (count, bytes) = (lengths.len(), vec![b'x'; end - before]);
            let local: Vec<_> =
                starts[starts.len() - count..].iter().map(|start| start - before).collect();
            if scene.send_batch(&vec![GET; count], &bytes, &local, 0).is_err()
                || scene.flush_at(0).is_err()
            {
                break;
            }
        }
        let total = starts.len();
        let outside = scene.script().written.len();
        let sent = starts.iter().filter(|start| **start < outside).count();
        prop_assert_eq!(scene.lose_all(1, Loss::Timeout), sent);
        scene.put_back();
        prop_assert_eq!(scene.places(), (0, 0, total - sent));
        let tally = scene.tally();
        prop_assert_eq!((tally.counts.sent, tally.counts.bytes_sent), (sent as u64, outside as u64));
        prop_assert!(tally.adds_up());
    }
}

#[test]
fn bytes_count_when_they_go_out() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(3), blocked()]);
    scene.send(&[GET], b"request", 0).unwrap();
    assert_eq!(scene.tally().counts.bytes_sent, 3);
    scene.flush();
    assert_eq!(scene.tally().counts.bytes_sent, 4);
}

#[test]
fn a_close_in_the_middle_loses_the_requests_at_their_age() {
    let bytes = b"HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello";
    for cut in 1..bytes.len() {
        let mut scene = Scene::new();
        scene.send(&[GET, GET], b"1 2", 100).unwrap();
        assert_eq!(scene.completes(&bytes[..cut], 150), 0);
        let fed = scene.finish(300);
        assert_eq!(fed.completed, 0);
        assert!(matches!(fed.end, Some(End::Eof)));
        assert_eq!(scene.lose_all(300, Loss::Transport(ErrorKind::ClosedEarly)), 2);
        let tally = scene.tally();
        assert_eq!((tally.counts.transport_errors, tally.service_time.censored()), (2, 2));
        assert_eq!(tally.service_time.total(), Duration::from_nanos(400));
        assert!(tally.adds_up());
    }
}

#[test]
fn a_close_between_two_responses_completes_nothing() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.completes(b"HTTP/1.1 204 \r\n\r\n", 1);
    let fed = scene.finish(2);
    assert_eq!((fed.completed, scene.connection.in_flight()), (0, 1));
    assert!(matches!(fed.end, Some(End::Eof)));
}

#[test]
fn a_body_without_length_ends_with_the_connection() {
    let mut scene = Scene::new();
    scene.send(&[GET], b"1", 100).unwrap();
    assert_eq!(scene.completes(b"HTTP/1.1 200 \r\n\r\nsome", 200), 0);
    assert_eq!(scene.completes(b" more", 300), 0);
    let fed = scene.finish(400);
    assert_eq!(fed.completed, 1);
    assert_eq!(scene.lose_all(400, Loss::Transport(ErrorKind::ClosedEarly)), 0);
    let tally = scene.tally();
    assert_eq!((tally.counts.ok, tally.latency.total()), (1, Duration::from_nanos(300)));
}

#[test]
fn requests_behind_a_body_without_length_are_lost() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.completes(b"HTTP/1.1 200 \r\n\r\nHTTP/1.1 204 \r\n\r\n", 1);
    assert_eq!(scene.finish(2).completed, 1);
    assert_eq!(scene.lose_all(2, Loss::Transport(ErrorKind::ClosedEarly)), 1);
    assert!(scene.tally().adds_up());
}

#[test]
fn a_response_that_says_close_ends_the_connection_for_those_behind_it() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET, GET], b"1 2 3", 0).unwrap();
    let fed = scene.feed(
        b"HTTP/1.1 204 \r\n\r\nHTTP/1.1 200 \r\nConnection: close\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 \r\n\r\n",
        5,
    );
    assert_eq!(fed.completed, 2);
    assert!(matches!(fed.end, Some(End::Agreed)));
    assert_eq!(scene.connection.in_flight(), 1);
}

#[test]
fn bytes_that_answer_no_request_are_an_error() {
    let mut scene = Scene::new();
    let fed = scene.feed(b"HTTP/1.1 503 \r\n\r\n", 1);
    assert!(matches!(fed.end, Some(End::Failed(ErrorKind::Protocol, _))), "{fed:?}");
    let mut scene = Scene::new();
    scene.send(&[GET], b"1", 0).unwrap();
    let fed = scene.feed(b"HTTP/1.1 204 \r\n\r\nHTTP/1.1 204 \r\n\r\n", 1);
    assert_eq!(fed.completed, 1);
    assert!(matches!(fed.end, Some(End::Failed(ErrorKind::Protocol, _))), "{fed:?}");
}

#[test]
fn bytes_that_are_no_response_are_an_error() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    let fed = scene.feed(b"HTTP/1.1 204 \r\n\r\nnonsense\r\n", 1);
    assert_eq!(fed.completed, 1);
    match fed.end {
        Some(End::Failed(ErrorKind::Protocol, why)) => assert_eq!(why, "invalid status line"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_next_connection_begins_afresh() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    // In the middle of a body, and of a head after that.
    for rest in [&b"HTTP/1.1 200 \r\nContent-Length: 99\r\n\r\nhi"[..], b"HTTP/1.1 20"] {
        assert_eq!(scene.completes(rest, 1), 0);
        assert!(scene.connection.close().is_some());
        assert!(scene.connection.close().is_none());
        scene.lose_all(1, Loss::Timeout);
        scene.open(Script::default());
        scene.send(&[GET], b"again", 2).unwrap();
        assert_eq!(scene.script().written, b"again", "nothing is left of the last connection");
    }
    assert_eq!(scene.completes(b"HTTP/1.1 204 \r\n\r\n", 3), 1);
}

#[test]
fn a_request_is_on_a_used_connection_from_the_second_on() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.send(&[GET], b"3", 1).unwrap();
    assert_eq!(scene.recorder.roll(Nanos(2), Box::default()).counts.reused, 2);
    scene.connection.close();
    scene.lose_all(3, Loss::Timeout);
    scene.open(Script::default());
    scene.send(&[GET], b"4", 4).unwrap();
    assert_eq!(scene.recorder.roll(Nanos(5), Box::default()).counts.reused, 0);
}

#[test]
fn the_limit_of_a_request_runs_from_the_oldest_in_flight() {
    let mut scene = Scene::new();
    assert_eq!(scene.connection.waiting_since(), None, "an idle connection has no limit");
    scene.send(&[GET], b"1", 100).unwrap();
    scene.send(&[GET], b"2", 200).unwrap();
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(100)));
    scene.completes(b"HTTP/1.1 204 \r\n\r\n", 900);
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(200)));
    assert_eq!(scene.lose_all(1200, Loss::Timeout), 1);
    assert_eq!(scene.connection.waiting_since(), None);
    let tally = scene.tally();
    assert_eq!((tally.counts.timeouts, tally.counts.ok), (1, 1));
    assert_eq!(tally.service_time.total(), Duration::from_nanos(800 + 1000));
}

#[test]
fn the_gap_of_a_response_is_from_its_first_byte_to_its_last() {
    let responses: [&[u8]; 3] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ];
    let stream = responses.concat();
    let mut ends = vec![0];
    for response in responses {
        ends.push(ends[ends.len() - 1] + response.len());
    }
    for first in 1..stream.len() {
        for second in [1, 2, 7, 40, 90].map(|distance| first + distance) {
            let second = second.min(stream.len());
            let mut scene = Scene::new();
            scene.send(&[GET; 3], b"requests", 0).unwrap();
            scene.completes(&stream[..first], 100);
            scene.completes(&stream[first..second], 110);
            scene.completes(&stream[second..], 130);
            // The read that brought a byte ended at this time.
            let read = |byte: usize| match byte {
                byte if byte < first => 100,
                byte if byte < second => 110,
                _ => 130,
            };
            let gaps = ends.windows(2).map(|ends| read(ends[1] - 1) - read(ends[0]));
            let gaps: Vec<u64> = gaps.filter(|gap| *gap > 0).collect();
            let tally = scene.tally();
            let total = Duration::from_nanos(gaps.iter().sum());
            assert_eq!(
                (tally.gap.count(), tally.gap.censored(), tally.gap.total()),
                (gaps.len() as u64, 0, total),
                "split at {first} and {second}"
            );
            assert_eq!(tally.counts.ok, 3);
        }
    }
}

#[test]
fn a_response_that_breaks_off_has_its_gap_at_its_age() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.completes(b"HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhe", 100);
    scene.completes(b"ll", 200);
    assert_eq!(scene.lose_all(350, Loss::Timeout), 2);
    // Nothing is left of it on the next connection.
    scene.connection.close();
    scene.open(Script::default());
    scene.send(&[GET], b"3", 400).unwrap();
    assert_eq!(scene.completes(b"HTTP/1.1 204 \r\n\r\n", 500), 1);
    let WindowStats { gap, .. } = scene.tally();
    assert_eq!((gap.count(), gap.censored(), gap.total()), (1, 1, Duration::from_nanos(250)));
}

#[test]
fn a_body_that_ends_with_the_connection_has_its_last_byte_there() {
    let mut scene = Scene::new();
    scene.send(&[GET], b"1", 0).unwrap();
    scene.completes(b"HTTP/1.1 200 \r\n\r\nsome", 100);
    assert_eq!(scene.finish(300).completed, 1);
    let WindowStats { gap, .. } = scene.tally();
    assert_eq!((gap.count(), gap.censored(), gap.total()), (1, 0, Duration::from_nanos(200)));
}

#[test]
fn gaps_of_the_warm_up_are_not_recorded() {
    let mut scene = Scene::new();
    scene.recorder.measure_from(Nanos(50));
    scene.send(&[GET, GET], b"1 2", 49).unwrap();
    scene.completes(b"HTTP/1.1 204 \r\n", 60);
    assert_eq!(scene.completes(b"\r\nHTTP/1.1 204 \r\n", 70), 1);
    scene.lose_all(80, Loss::Timeout);
    assert_eq!(scene.tally().gap.count(), 0);
}

/// A connection with a response of which the first part has arrived.
fn begun() -> Scene {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.completes(b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n", 1);
    scene.script().written.clear();
    scene.tally();
    scene
}

#[test]
fn an_acknowledgement_probe_is_one_empty_line_for_each_response_in_parts() {
    let mut scene = Scene::new();
    scene.send_ack_probe();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"1 2", "nothing has begun");
    scene.completes(b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n", 1);
    scene.send_ack_probe();
    scene.completes(b"h", 2);
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"1 2\r\n", "once");
    scene.completes(b"i", 3);
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"1 2\r\n", "it has ended");
    scene.completes(b"HTTP/1.1 ", 4);
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"1 2\r\n\r\n");
    assert_eq!(scene.completes(b"204 \r\n\r\n", 5), 1);
    let tally = scene.tally();
    assert_eq!((tally.counts.bytes_sent, tally.counts.sent), (7, 2));
    assert!(tally.adds_up());
}

#[test]
fn an_acknowledgement_probe_does_not_come_between_the_bytes_of_a_request() {
    let mut scene = begun();
    scene.script().writes = VecDeque::from([Ok(2), blocked()]);
    scene.send(&[GET], b"upload", 2).unwrap();
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"up");
    scene.flush();
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"upload\r\n");
}

#[test]
fn an_acknowledgement_probe_that_a_transport_does_not_take_goes_out_before_the_next_request() {
    for (taken, waits) in [(0, "\r\n"), (1, "\n")] {
        let mut scene = begun();
        let room = (0..taken).map(|_| Ok(1));
        scene.script().writes = room.chain([blocked()]).collect();
        scene.send_ack_probe();
        assert_eq!(scene.connection.write_buf, waits.as_bytes());
        scene.send(&[GET], b"3", 2).unwrap();
        assert_eq!(scene.places(), (2, 1, 0), "the request waits behind it");
        scene.flush();
        assert_eq!(scene.script().written, b"\r\n3");
        assert_eq!((scene.places(), scene.tally().counts.bytes_sent), ((3, 0, 0), 3));
    }
}

#[test]
fn an_acknowledgement_probe_that_fails_leaves_the_end_to_be_read() {
    let mut scene = begun();
    scene.script().writes = VecDeque::from([Err(io::ErrorKind::BrokenPipe.into())]);
    scene.send_ack_probe();
    assert_eq!(scene.completes(b"hi", 2), 1);
    assert!(scene.connection.is_open());
}

#[test]
fn what_has_gone_out_is_not_kept_behind_a_server_that_is_always_a_little_late() {
    let mut scene = Scene::new();
    let request = vec![b'x'; 50_000];
    // The first half of each goes out with the second half of the one before.
    scene.script().writes = [Ok(25_000), blocked()].into();
    scene.send(&[GET], &request, 0).unwrap();
    for round in 1..200 {
        scene.send(&[GET], &request, round).unwrap();
        scene.script().writes = [Ok(50_000), blocked()].into();
        scene.flush_at(round).unwrap();
        assert_eq!(scene.places(), (round as usize + 1, 0, 0));
    }
    assert_eq!(scene.connection.write_buf.len() - scene.connection.flushed, 25_000);
    assert!(scene.connection.write_buf.len() < 300_000, "{}", scene.connection.write_buf.len());
    scene.flush();
    assert_eq!(scene.script().written.len(), 200 * 50_000);
}

#[test]
fn requests_that_are_held_keep_their_place_when_the_outbox_is_shortened() {
    let mut scene = Scene::new();
    scene.script().writes = [Ok(1), blocked()].into();
    scene.send(&[GET, GET], &[b'x'; 100_000], 0).unwrap();
    scene.send(&[GET], &[b'y'; 1000], 0).unwrap();
    // The first two and all but the last byte before the third.
    scene.script().writes = [Ok(99_998), blocked(), Ok(1), blocked()].into();
    scene.flush();
    assert_eq!(scene.places(), (2, 1, 0));
    scene.flush();
    assert_eq!(scene.places(), (2, 1, 0), "not a byte of the third is out");
    scene.script().writes = [Ok(1), blocked()].into();
    scene.flush();
    assert_eq!(scene.places(), (3, 0, 0));
}

#[test]
fn what_comes_while_nothing_is_in_flight() {
    let ended = |bytes: &[u8]| {
        let mut scene = Scene::new();
        scene.feed(bytes, 0).end
    };
    assert!(ended(b"\r\n").is_none(), "a line end too many");
    let timed_out = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    assert!(matches!(ended(timed_out), Some(End::Eof)), "the server has closed an idle connection");
    for (bytes, wanted) in [
        (&b"HTTP/1.1 200 OK\r\n\r\n"[..], "bytes that answer no request"),
        (b"SSH-2.0-x\r\n", "the server speaks SSH, not HTTP: see the port"),
    ] {
        let Some(End::Failed(ErrorKind::Protocol, why)) = ended(bytes) else { panic!("{wanted}") };
        assert_eq!(why, wanted);
    }
}

#[test]
fn a_response_in_another_protocol_names_it() {
    for (bytes, wanted) in [
        (&b"\x15\x03\x03\0\x02\x02\x46"[..], "the server speaks TLS: use https://"),
        (b"hello", "invalid status line"),
        (b"HTTP/3 200 OK\r\n\r\n", "not HTTP/1.0 or HTTP/1.1"),
    ] {
        let mut scene = Scene::new();
        scene.send(&[GET], b"1", 0).unwrap();
        let end = scene.feed(bytes, 1).end;
        let Some(End::Failed(ErrorKind::Protocol, why)) = end else { panic!("{end:?}") };
        assert_eq!(why, wanted);
    }
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: one.test\r\n\r\n";
const NEXT: &[u8] = b"GET /next HTTP/1.1\r\nHost: one.test\r\n\r\n";
const REDIRECTION: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n";
const NO_CONTENT: &[u8] = b"HTTP/1.1 204 \r\n\r\n";

/// With a connection that follows redirections, on which a request has been sent.
fn following() -> Scene {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.connection = Connection::new(Some(RedirectFollower::new(5, false)));
    scene.open(Script::default());
    scene.send(&[GET], REQUEST, 0).unwrap();
    scene.script().written.clear();
    scene
}

#[test]
fn a_redirection_is_followed_in_place_of_its_completion() {
    let mut scene = following();
    assert_eq!(scene.completes(REDIRECTION, 1), 0);
    assert_eq!(scene.script().written, NEXT);
    assert_eq!(scene.completes(NO_CONTENT, 2), 1);
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(204, 1)], 1));
}

#[test]
fn a_large_head_of_a_redirection_is_kept_until_its_body_has_ended() {
    for (length, followed) in [(9 * 1024, 1), (60 * 1024, 1), (70 * 1024, 0)] {
        let mut scene = following();
        let head = format!(
            "HTTP/1.1 302 Found\r\nX-Long: {}\r\nLocation: /next\r\nContent-Length: 4\r\n\r\n",
            "y".repeat(length)
        );
        assert_eq!(scene.completes(head.as_bytes(), 1), 0);
        assert_eq!(scene.completes(b"mo", 2), 0);
        assert_eq!(scene.completes(b"ve", 3), 1 - followed, "{length}");
        assert_eq!(scene.script().written.is_empty(), followed == 0, "{length}");
        assert_eq!(scene.tally().counts.followed, followed as u64, "{length}");
    }
}

#[test]
fn bytes_that_came_with_a_redirection_do_not_answer_the_next_request() {
    let mut scene = following();
    let fed = scene.feed(&[REDIRECTION, NO_CONTENT].concat(), 1);
    assert_eq!(fed.completed, 1);
    match fed.end {
        Some(End::Failed(ErrorKind::Protocol, why)) => {
            assert_eq!(why, "bytes that answer no request");
        }
        other => panic!("{other:?}"),
    }
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(302, 1)], 0));
    // A line end too many is no answer.
    let mut scene = following();
    assert_eq!(scene.completes(&[REDIRECTION, b"\r\n"].concat(), 1), 0);
    assert_eq!(scene.completes(NO_CONTENT, 2), 1);
    assert_eq!(statuses(&scene.tally()), [(204, 1)]);
}

#[test]
fn a_redirection_is_not_followed_while_its_request_is_still_on_its_way() {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.connection = Connection::new(Some(RedirectFollower::new(5, false)));
    scene.open(Script::default());
    scene.script().writes = VecDeque::from([Ok(60), blocked()]);
    let request =
        [&b"PUT / HTTP/1.1\r\nHost: one.test\r\nContent-Length: 99\r\n\r\n"[..], &[b'x'; 99]];
    scene.send(&[GET], &request.concat(), 0).unwrap();
    let redirection = b"HTTP/1.1 307 R\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(scene.completes(redirection, 1), 1);
    assert_eq!(scene.connection.write_buf.len(), request.concat().len() - 60);
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(307, 1)], 0));
}

#[test]
fn a_request_counts_as_its_redirection_if_the_server_closes_before_the_next_response() {
    let mut scene = following();
    scene.completes(REDIRECTION, 1);
    scene.completes(b"\r\n", 2);
    let fed = scene.finish(3);
    assert_eq!(fed.completed, 1);
    assert!(matches!(fed.end, Some(End::Eof)), "{fed:?}");
    assert_eq!(scene.connection.in_flight(), 0);
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(302, 1)], 1));
    assert_eq!(&*tally.kept[0].bytes, REDIRECTION, "the first redirection tells where it leads");
    // A response that has begun is one that breaks off.
    for begun in ["H", "HTTP/1.1 103 \r\n\r\n", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n"] {
        let mut scene = following();
        scene.completes(REDIRECTION, 1);
        scene.completes(begun.as_bytes(), 2);
        assert_eq!(scene.finish(3).completed, 0, "{begun}");
        assert_eq!(scene.connection.in_flight(), 1, "{begun}");
    }
    // The redirection of an earlier request is not that of the present one.
    let mut scene = following();
    scene.completes(REDIRECTION, 1);
    scene.completes(NO_CONTENT, 2);
    scene.send(&[GET], REQUEST, 3).unwrap();
    assert_eq!(scene.finish(4).completed, 0);
}

#[test]
fn a_redirection_is_not_followed_if_the_peer_has_closed() {
    let mut scene = following();
    scene.peer_closed = true;
    assert_eq!(scene.completes(REDIRECTION, 1), 1);
    assert_eq!(scene.script().written, b"");
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(302, 1)], 0));
}
