//! The engine turn by turn, with a server that does what a test tells it between them.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use millrace_net::{Poller, Wake};

use super::*;
use crate::metrics::window_stats::WindowStats;
use crate::plan::tests::plan;
use crate::plan::{Endpoint, Model};

const OK: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

/// A frame of SETTINGS without a setting (RFC 9113, section 6.5).
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Longer than anything here takes.
const LATE: Duration = Duration::from_secs(10);

struct Scene {
    listener: TcpListener,
    poller: Poller,
    engine: Engine,
    /// The server's ends of the first connections, in the order of their slots.
    peers: Vec<TcpStream>,
}

impl Scene {
    /// A run on one thread, set up.
    fn new(change: impl FnOnce(&mut Plan)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut plan = Plan { threads: 1, duration: None, max_requests: Some(1 << 30), ..plan() };
        let port = listener.local_addr().unwrap().port();
        plan.origins[0].endpoint = Endpoint::Host("127.0.0.1".into(), port);
        change(&mut plan);
        let shared = Arc::new(RunContext::new(Arc::new(plan), None).unwrap());
        let poller = Poller::new(512).unwrap();
        let registry = poller.registry().try_clone().unwrap();
        let engine = Engine::new(shared, 0, registry, Monotonic::new()).unwrap();
        let mut scene = Self { listener, poller, engine, peers: Vec::new() };
        while !scene.engine.set_up(scene.now()) {
            scene.turn();
            let accepted = scene.peers.len();
            scene.peers.extend(scene.listener.incoming().map_while(Result::ok));
            if scene.engine.shared.plan.origins[0].http2 {
                scene.peers[accepted..]
                    .iter_mut()
                    .for_each(|peer| peer.write_all(SETTINGS).unwrap());
            }
        }
        while scene.peers.len() < scene.engine.slots.len() {
            let peer = scene.accept();
            scene.peers.push(peer);
        }
        scene
    }

    fn now(&self) -> Nanos {
        self.engine.clock.now()
    }

    /// The load began with the clock. Nothing goes out yet.
    fn begin(&mut self) {
        self.engine.recorder.measure_from(Nanos(0));
        self.engine.start(Nanos(0), Nanos::NEVER);
    }

    fn start(&mut self) {
        self.begin();
        self.engine.on_arrivals();
        while self.engine.is_starting() {
            self.engine.continue_starting();
        }
    }

    /// The next connection at the server.
    fn accept(&mut self) -> TcpStream {
        let limit = self.now() + LATE;
        loop {
            match self.listener.accept() {
                Ok((peer, _)) => return peer,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.turn(),
                Err(error) => panic!("{error}"),
            }
            assert!(self.now() < limit, "not within {LATE:?}");
        }
    }

    /// Waits for events, a millisecond at the most, and lets the engine act on them.
    fn turn(&mut self) {
        let now = self.now();
        let wake = Wake { precise: Nanos::NEVER, coarse: now + Duration::from_millis(1) };
        self.poller.wait(&self.engine.clock, now, wake).unwrap();
        for event in self.poller.events() {
            self.engine.on_event(event);
        }
    }

    /// Turns until something holds.
    fn turn_until(&mut self, what: impl Fn(&Engine) -> bool) {
        let limit = self.now() + LATE;
        while !what(&self.engine) {
            assert!(self.now() < limit, "not within {LATE:?}");
            self.turn();
        }
    }

    fn tally(&mut self) -> WindowStats {
        *self.engine.recorder.roll(self.now(), Box::default())
    }
}

/// All arrivals are due at the start.
fn at_once() -> Model {
    Model::Open { rate: 1e9, stages: Vec::new(), poisson: false, max_pending: 1000 }
}

/// Reads a request without body and sends a response.
fn answer(peer: &mut TcpStream, response: &[u8]) {
    assert!(peer.read(&mut [0; 1000]).unwrap() > 0);
    peer.write_all(response).unwrap();
}

/// Closes with a reset, which has arrived when this returns.
fn reset(peer: TcpStream) {
    socket2::SockRef::from(&peer).set_linger(Some(Duration::ZERO)).unwrap();
}

#[test]
fn responses_to_the_first_requests_do_not_wait_for_all_of_them_to_be_sent() {
    let connections = START_BATCH + 20;
    let mut scene = Scene::new(|plan| {
        (plan.connections, plan.initial_connections) = (connections, connections);
    });
    let mut peers = std::mem::take(&mut scene.peers);
    scene.begin();
    assert!(scene.engine.wake().precise < scene.now(), "the loop is not to sleep");
    scene.engine.continue_starting();
    assert_eq!(scene.engine.recorder.under_way(), START_BATCH as u64);
    assert!(scene.engine.wake().precise < scene.now(), "nor now");
    let (first, last) = peers.split_at_mut(START_BATCH);
    first.iter_mut().for_each(|peer| answer(peer, OK));
    last.iter().for_each(|peer| peer.set_nonblocking(true).unwrap());
    assert!(last.iter_mut().all(|peer| peer.read(&mut [0]).is_err()), "nothing has come there");
    scene.turn();
    scene.engine.continue_starting();
    assert_eq!(scene.engine.recorder.under_way(), connections as u64);
    assert_eq!(scene.tally().counts.ok, START_BATCH as u64);
    assert!(scene.engine.wake().coarse > scene.now(), "all have started");
}

#[test]
fn an_arrival_that_a_broken_connection_puts_back_goes_to_a_free_one_at_once() {
    let mut scene = Scene::new(|plan| {
        (plan.model, plan.max_requests) = (at_once(), Some(3));
        (plan.connections, plan.initial_connections) = (3, 3);
    });
    let mut peers = std::mem::take(&mut scene.peers);
    scene.start();
    peers.iter_mut().for_each(|peer| answer(peer, OK));
    scene.turn_until(|engine| engine.recorder.under_way() == 0);
    let last = peers.remove(0);
    peers.into_iter().for_each(reset);
    // Nothing is known of the resets; the connection that was used last is used first.
    scene.engine.budget = 1;
    scene.engine.on_arrivals();
    let open = scene.engine.slots.iter().filter(|slot| slot.connection.is_open()).count();
    assert_eq!((scene.engine.recorder.under_way(), open), (1, 1));
    assert!((&last).read(&mut [0; 1000]).unwrap() > 0);
    let counts = scene.tally().counts;
    assert_eq!((counts.sent, counts.ok, counts.transport_errors), (4, 3, 0));
}

#[test]
fn an_arrival_that_waits_has_the_connection_that_replaces_another() {
    let mut scene = Scene::new(|plan| {
        (plan.model, plan.max_requests) = (at_once(), Some(2));
        (plan.connections, plan.initial_connections) = (1, 1);
    });
    let mut peer = scene.peers.remove(0);
    scene.start();
    answer(&mut peer, b"HTTP/1.1 204 \r\nConnection: close\r\n\r\n");
    answer(&mut scene.accept(), OK);
    scene.turn_until(Engine::is_exhausted);
    assert_eq!(scene.tally().counts.ok, 2);
}

#[test]
fn a_server_that_has_not_closed_yet_has_until_the_next_connection_ends() {
    let mut scene = Scene::new(|plan| {
        (plan.model, plan.max_requests, plan.close) = (at_once(), Some(1), true);
        (plan.connections, plan.initial_connections) = (1, 1);
    });
    let mut first = scene.peers.remove(0);
    scene.start();
    answer(&mut first, OK);
    scene.turn_until(Engine::is_exhausted);
    scene.engine.budget = 1;
    scene.engine.on_arrivals();
    let mut second = scene.accept();
    first.set_nonblocking(true).unwrap();
    let open = first.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(open, Err(io::ErrorKind::WouldBlock), "this side has not closed");
    answer(&mut second, OK);
    scene.turn_until(Engine::is_exhausted);
    scene.engine.budget = 1;
    scene.engine.on_arrivals();
    assert_eq!(first.read(&mut [0]).unwrap(), 0, "now it has");
}

#[test]
fn a_response_is_read_before_a_failed_write_gives_the_connection_up() {
    let mut scene = Scene::new(|plan| {
        (plan.connections, plan.initial_connections) = (1, 1);
        plan.max_requests = Some(1);
        // More than the socket's buffers hold.
        plan.requests[0].body = Some(vec![b'x'; 20_000_000]);
    });
    let mut peer = scene.peers.remove(0);
    scene.start();
    answer(&mut peer, b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
    // With bytes that it has not read: a reset.
    drop(peer);
    scene.turn_until(|engine| !engine.slots[0].connection.is_open());
    let counts = scene.tally().counts;
    assert_eq!((counts.sent, counts.status_errors, counts.transport_errors), (1, 1, 0));
}

#[test]
fn a_response_ends_the_longer_and_longer_pauses() {
    let mut scene = Scene::new(|plan| (plan.connections, plan.initial_connections) = (1, 1));
    let pause = |scene: &mut Scene| {
        scene.turn_until(|engine| engine.slots[0].backing_off);
        scene.engine.timers.next().since(scene.now())
    };
    let mut peer = scene.peers.remove(0);
    scene.start();
    for doublings in 0..3 {
        reset(peer);
        let pause = pause(&mut scene);
        let longest = Duration::from_millis(10 << doublings);
        assert!(pause > longest / 2 && pause <= longest, "{pause:?}, not {longest:?}");
        let end = scene.engine.timers.next();
        scene.engine.on_timers(end);
        peer = scene.accept();
    }
    answer(&mut peer, OK);
    scene.turn_until(|engine| engine.slots[0].productive);
    reset(peer);
    // Another one is opened without a pause.
    reset(scene.accept());
    assert!(pause(&mut scene) <= Duration::from_millis(10));
}

#[test]
fn a_slot_has_a_timer_for_each_kind_of_limit_and_no_more() {
    for connect_timeout in [Duration::from_micros(1), LATE] {
        let mut scene = Scene::new(|plan| {
            (plan.connections, plan.initial_connections, plan.close) = (1, 1, true);
            (plan.connect_timeout, plan.timeout) = (connect_timeout, LATE);
        });
        let mut peer = scene.peers.remove(0);
        scene.start();
        for _ in 0..20 {
            answer(&mut peer, OK);
            peer = scene.accept();
            scene.engine.on_timers(scene.now());
        }
        let timers = std::iter::from_fn(|| scene.engine.timers.pop_due(Nanos::NEVER));
        assert!(timers.count() <= 2);
    }
}

#[test]
fn a_response_in_parts_is_probed_if_the_plan_says_so() {
    let (begin, end) = OK.split_at(10);
    for (probe, wanted) in [(true, "\r\nGET "), (false, "GET ")] {
        let mut scene = Scene::new(|plan| {
            (plan.connections, plan.initial_connections, plan.early_ack_probe) = (1, 1, probe);
        });
        let mut peer = scene.peers.remove(0);
        scene.start();
        scene.tally();
        answer(&mut peer, begin);
        let limit = scene.now() + LATE;
        let counts = loop {
            scene.turn();
            let counts = scene.tally().counts;
            if counts.bytes_received > 0 {
                break counts;
            }
            assert!(scene.now() < limit, "not within {LATE:?}");
        };
        assert_eq!(counts.bytes_sent, if probe { 2 } else { 0 });
        peer.write_all(end).unwrap();
        scene.turn_until(|engine| engine.slots[0].productive);
        let mut next = vec![0; wanted.len()];
        peer.read_exact(&mut next).unwrap();
        assert_eq!(next, wanted.as_bytes());
    }
}

/// A response with a body of so many bytes.
fn with_body(bytes: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
    [head.as_bytes(), &vec![b'x'; bytes]].concat()
}

#[test]
fn bodies_are_counted_to_the_byte_whether_they_are_read_or_discarded() {
    const SIZES: [usize; 8] = [100, 40_000, 40_000, 10, 300_000, 300_000, 0, 100_000];
    for pipelining in [1, 3] {
        let mut scene = Scene::new(|plan| {
            (plan.connections, plan.initial_connections) = (1, 1);
            (plan.pipelining, plan.max_requests) = (pipelining, Some(SIZES.len() as u64));
        });
        let mut peer = scene.peers.remove(0);
        let responses = SIZES.map(with_body).concat();
        let total = responses.len() as u64;
        scene.start();
        let server = std::thread::spawn(move || {
            let mut asked = 0;
            for size in SIZES {
                while asked < 1 {
                    let mut bytes = [0; 1000];
                    let count = peer.read(&mut bytes).unwrap();
                    asked += bytes[..count].windows(4).filter(|it| it == b"GET ").count();
                }
                asked -= 1;
                peer.write_all(&with_body(size)).unwrap();
            }
        });
        scene.turn_until(Engine::is_exhausted);
        server.join().unwrap();
        let tally = scene.tally();
        assert_eq!((tally.counts.ok, tally.counts.sent), (8, 8));
        assert_eq!(tally.counts.bytes_received, total);
        assert!(tally.adds_up());
    }
}

#[test]
fn a_large_response_that_has_come_whole_has_no_gap() {
    let mut scene = Scene::new(|plan| (plan.connections, plan.initial_connections) = (1, 1));
    let mut peer = scene.peers.remove(0);
    let response = with_body(50_000);
    let (begin, rest) = response.split_at(20_000);
    scene.start();
    answer(&mut peer, &response);
    scene.turn_until(|engine| engine.slots[0].productive);
    scene.tally();
    // It is known now how large they are.
    let gaps = |scene: &mut Scene| {
        let limit = scene.now() + LATE;
        loop {
            scene.turn();
            let tally = scene.tally();
            if tally.counts.ok > 0 {
                return tally.gap.count();
            }
            assert!(scene.now() < limit, "not within {LATE:?}");
        }
    };
    answer(&mut peer, &response);
    assert_eq!(gaps(&mut scene), 0, "whole");
    answer(&mut peer, begin);
    scene.turn_until(|engine| engine.slots[0].connection.is_within_response());
    peer.write_all(rest).unwrap();
    assert_eq!(gaps(&mut scene), 1, "in two parts");
}

/// Lets the time of the oldest request of the first slot run out. Returns when it was sent.
fn expire(scene: &mut Scene) -> Nanos {
    let sent = scene.engine.slots[0].connection.waiting_since().unwrap();
    scene.engine.on_timers(sent + scene.engine.shared.plan.timeout);
    sent
}

#[test]
fn a_response_that_drips_is_late_as_a_whole() {
    let mut scene = Scene::new(|plan| (plan.connections, plan.initial_connections) = (1, 1));
    let mut peer = scene.peers.remove(0);
    scene.start();
    answer(&mut peer, b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    let sent = scene.engine.slots[0].connection.waiting_since();
    for _ in 0..3 {
        while scene.tally().counts.bytes_received == 0 {
            scene.turn();
        }
        assert_eq!(scene.engine.slots[0].connection.waiting_since(), sent, "since it was sent");
        peer.write_all(b"x").unwrap();
    }
    expire(&mut scene);
    let counts = scene.tally().counts;
    assert_eq!((counts.timeouts, counts.ok), (1, 0));
    let is_used = peer.read(&mut [0]).is_ok_and(|count| count > 0);
    assert!(!is_used, "the connection is closed");
}

/// Two requests are in flight when the first one's time is up: the second one's is not.
#[test]
fn requests_behind_a_late_one_lose_their_connection_and_not_their_time() {
    let mut scene = Scene::new(|plan| {
        (plan.connections, plan.initial_connections, plan.pipelining) = (1, 1, 2);
    });
    let mut peer = scene.peers.remove(0);
    scene.start();
    answer(&mut peer, OK);
    // The third request goes out when the first one has been answered.
    scene.turn_until(|engine| engine.slots[0].productive);
    let sent = expire(&mut scene);
    assert!(scene.engine.slots[0].connection.waiting_since() > Some(sent), "the next connection");
    let counts = scene.tally().counts;
    assert_eq!((counts.ok, counts.timeouts, counts.transport_errors), (1, 1, 1));
    let errors: Vec<_> = counts.errors().filter(|(_, count, _)| *count > 0).collect();
    let given_up = "given up with an earlier request's timeout";
    assert!(errors.contains(&(crate::ErrorKind::ClosedEarly, 1, Some(given_up))), "{errors:?}");
}

#[test]
fn the_end_of_a_socket_that_is_kept_is_not_the_present_connection_s() {
    let mut scene = Scene::new(|plan| {
        (plan.connections, plan.initial_connections, plan.close) = (1, 1, true);
    });
    let mut first = scene.peers.remove(0);
    scene.start();
    answer(&mut first, OK);
    let mut second = scene.accept();
    assert!(!scene.engine.peer_closed);
    drop(first);
    scene.turn();
    assert!(!scene.engine.peer_closed, "the second one is open");
    answer(&mut second, OK);
    scene.turn_until(|engine| engine.recorder.under_way() == 1 && engine.slots[0].ended.is_some());
    let mut third = scene.accept();
    answer(&mut third, OK);
    scene.accept();
    assert_eq!(scene.tally().counts.ok, 3);
}

#[test]
fn the_end_of_a_reset_connection_is_not_read_of_the_next_one_that_waits_for_settings() {
    let mut scene = Scene::new(|plan| {
        (plan.connections, plan.initial_connections) = (1, 1);
        plan.origins[0].http2 = true;
    });
    drop(scene.engine.slots[0].connection.close());
    scene.engine.open(0);
    assert!(scene.engine.slots[0].connection.is_greeting());
    assert!(!scene.engine.establish(0, true), "nothing has come");
    assert!(scene.engine.slots[0].connection.is_greeting());
}

#[test]
fn a_connection_that_times_out_in_mid_run_is_a_reset() {
    let mut scene = Scene::new(|plan| (plan.connections, plan.initial_connections) = (1, 1));
    scene.start();
    let now = scene.now();
    scene.engine.broken(0, &io::ErrorKind::TimedOut.into(), now);
    let tally = scene.tally();
    assert_eq!(tally.counts.transport_errors, 1);
    let errors: Vec<_> = tally.counts.errors().filter(|(_, count, _)| *count > 0).collect();
    assert_eq!(errors, [(crate::ErrorKind::Reset, 1, Some("connection timed out"))]);
}

#[test]
fn a_response_is_read_before_a_failed_first_write_gives_the_connection_up() {
    let mut scene = Scene::new(|plan| {
        (plan.connections, plan.initial_connections) = (1, 1);
        (plan.pipelining, plan.max_requests) = (2, Some(2));
    });
    let mut peer = scene.peers.remove(0);
    scene.begin();
    // Not all that was sent is read, and the response comes before the reset.
    let now = scene.now();
    scene.engine.add_due(0, 1, now);
    scene.engine.pump(0, now);
    peer.write_all(b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n").unwrap();
    drop(peer);
    scene.engine.add_due(0, 1, now);
    scene.engine.pump(0, now);
    let counts = scene.tally().counts;
    assert_eq!((counts.status_errors, counts.transport_errors), (1, 0));
}
