//! A worker's turns, one by one.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use super::*;
use crate::plan::tests::plan;
use crate::plan::{Endpoint, Plan};

const TIMEOUT: Duration = Duration::from_millis(20);

/// A worker that has sent a request, and the server's end of its connection.
fn waiting() -> (Worker, TcpStream, Receiver<Message>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut plan = Plan { threads: 1, connections: 1, initial_connections: 1, ..plan() };
    let port = listener.local_addr().unwrap().port();
    plan.origins[0].endpoint = Endpoint::Host("127.0.0.1".into(), port);
    (plan.duration, plan.max_requests, plan.timeout) = (None, Some(1), TIMEOUT);
    let shared = Arc::new(RunContext::new(Arc::new(plan), None).unwrap());
    let (sender, messages) = mpsc::channel();
    let (gate, recycled) = (Arc::new(StartBarrier::new(1, None)), mpsc::channel().1);
    let mut worker = Worker::new(0, shared, gate, Monotonic::new(), sender, recycled).unwrap();
    let Signal::Start(_) = worker.set_up().unwrap() else { panic!("unreachable") };
    let start = worker.clock.now();
    worker.engine.recorder.measure_from(start);
    worker.engine.start(start, Nanos::NEVER);
    at_once(&mut worker);
    let (mut peer, _) = listener.accept().unwrap();
    assert!(peer.read(&mut [0; 1000]).unwrap() > 0);
    (worker, peer, messages)
}

/// A turn that does not wait.
fn at_once(worker: &mut Worker) {
    let now = worker.clock.now();
    worker.turn(now, Wake { precise: now, coarse: now }).unwrap();
}

/// What was recorded since the last time.
fn tally(worker: &mut Worker) -> Box<WindowStats> {
    worker.engine.recorder.roll(worker.clock.now(), Box::default())
}

#[test]
fn a_response_that_has_come_is_no_timeout_however_late_the_worker_is() {
    let (mut worker, mut peer, _messages) = waiting();
    peer.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    // The worker has no core meanwhile.
    thread::sleep(2 * TIMEOUT);
    at_once(&mut worker);
    let counts = tally(&mut worker).counts;
    assert_eq!((counts.ok, counts.timeouts), (1, 0));
}

#[test]
fn a_response_that_has_not_come_is_a_timeout() {
    let (mut worker, _peer, _messages) = waiting();
    thread::sleep(2 * TIMEOUT);
    at_once(&mut worker);
    assert_eq!(tally(&mut worker).counts.timeouts, 1);
}

#[test]
fn a_turn_that_does_not_wait_is_not_idle() {
    let (mut worker, _peer, _messages) = waiting();
    tally(&mut worker);
    at_once(&mut worker);
    assert_eq!(tally(&mut worker).counts.idle, Duration::ZERO);
    let now = worker.clock.now();
    let coarse = now + Duration::from_millis(1);
    worker.turn(now, Wake { precise: Nanos::NEVER, coarse }).unwrap();
    assert!(tally(&mut worker).counts.idle > Duration::ZERO);
}
