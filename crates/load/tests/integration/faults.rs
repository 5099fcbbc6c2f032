//! Servers that refuse, hang, close, reset and lie: every request has one end, and the right one.

use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Duration;

use millrace_load::plan::{Endpoint, Model, Plan, Request};
use millrace_load::{ErrorKind, Outcome, Run, RunError};

use crate::peer::{OK, Peer, errors, get, plan, run};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn counted(plan: Plan, count: u64) -> Plan {
    Plan { duration: None, max_requests: Some(count), ..plan }
}

fn unreachable(plan: Plan) -> (ErrorKind, String) {
    match Run::new(plan).run(&mut |_| ()) {
        Err(RunError::Unreachable { kind, message }) => (kind, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_nobody_runs_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let endpoint = Endpoint::Host("127.0.0.1".into(), address.port());
    let refused = Plan { threads: 2, connections: 4, initial_connections: 4, ..plan(endpoint) };
    let (kind, message) = unreachable(refused);
    assert_eq!(kind, ErrorKind::ConnectRefused);
    assert_eq!(message, format!("cannot connect to {address}: connection refused"));
}

#[test]
fn a_name_without_address_is_unreachable() {
    let (kind, message) = unreachable(plan(Endpoint::Host("no\0name".into(), 80)));
    assert_eq!(kind, ErrorKind::Dns);
    assert!(message.starts_with("cannot resolve no\0name: "), "{message}");
}

#[test]
fn a_handshake_that_is_not_answered_is_unreachable_at_its_limit() {
    let peer = Peer::start(|exchange| drop(exchange.request()));
    let mut plan = Plan { connect_timeout: millis(100), ..peer.plan() };
    plan.origins[0].server_name = Some("localhost".into());
    let (kind, message) = unreachable(plan);
    assert_eq!(kind, ErrorKind::Tls);
    assert!(message.ends_with("TLS handshake not finished within 100ms"), "{message}");
    peer.finish();
}

#[test]
fn a_server_that_has_closed_its_connections_before_the_start_is_loaded() {
    let closing = Peer::start(|_| ());
    // The start waits for a handshake that is not answered.
    let mute = Peer::start(|exchange| drop(exchange.request()));
    let mut plan = Plan { connections: 2, initial_connections: 2, ..closing.plan() };
    let mut secure = mute.plan();
    secure.origins[0].server_name = Some("localhost".into());
    plan.origins.append(&mut secure.origins);
    plan.requests.push(Request { origin: 1, ..plan.requests[0].clone() });
    let outcome = run(Plan { connect_timeout: millis(100), ..plan });
    assert!(errors(&outcome).iter().any(|(kind, _)| *kind == "tls"), "{:?}", errors(&outcome));
    assert!(outcome.total.counts.opened > 0 && outcome.total.counts.sent > 0);
    closing.finish();
    mute.finish();
}

#[test]
fn a_hung_server_is_seen_at_the_limit() {
    let peer = Peer::hung();
    let hung = Plan { timeout: millis(100), connections: 2, initial_connections: 2, ..peer.plan() };
    let outcome = run(Plan { duration: Some(millis(350)), ..hung });
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((counts.ok, counts.sent), (0, requests.len() as u64));
    // Two slots; their first requests end at 100 ms, and each next one at the earliest 100 ms later.
    assert!((2..=6).contains(&counts.timeouts), "{} timeouts", counts.timeouts);
    assert_eq!(errors(&outcome), [("timeout", counts.timeouts)]);
    assert!(connections > 2, "a connection whose response is late is not used again");
    let age = outcome.total.service_time.quantile(0.5).unwrap();
    assert!(age >= millis(99), "given up after {age:?}");
    assert_eq!(outcome.total.service_time.censored(), counts.sent);
    assert!(outcome.duration < Duration::from_secs(5), "the run ends on time all the same");
}

#[test]
fn a_number_of_requests_ends_with_a_hung_server_too() {
    let peer = Peer::hung();
    let plan = Plan { timeout: millis(50), connections: 2, initial_connections: 2, ..peer.plan() };
    let outcome = run(counted(plan, 4));
    assert_eq!((outcome.total.counts.sent, outcome.total.counts.timeouts), (4, 4));
    assert_eq!(peer.finish().1.len(), 4);
}

#[test]
fn a_server_that_announces_its_closes_loses_nothing() {
    let peer = Peer::start(|exchange| {
        for _ in 0..4 {
            exchange.request();
            exchange.send(OK);
        }
        exchange.request();
        exchange.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi");
    });
    let outcome = run(counted(peer.plan(), 100));
    let (_, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((counts.sent, counts.ok, requests.len()), (100, 100, 100));
    assert_eq!((counts.opened, counts.reused), (20, 80));
    assert_eq!(errors(&outcome), []);
}

/// The server answers some requests of each connection and closes without a word.
fn closes_after(answered: usize, pipelining: usize) {
    let peer = Peer::start(move |exchange| {
        for _ in 0..answered {
            if exchange.request().is_none() {
                return;
            }
            exchange.send(OK);
        }
    });
    let requests = vec![get("/{{seq}}")];
    let initial_connections = 3;
    let plan = Plan { requests, pipelining, connections: 3, initial_connections, ..peer.plan() };
    let outcome = run(counted(plan, 200));
    let (_, mut arrived) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!(counts.sent, 200);
    assert_eq!(counts.sent, counts.ok + counts.transport_errors);
    // Each that arrived was answered, but the close may have overtaken its response as a reset.
    assert!(counts.ok <= arrived.len() as u64, "{} of {}", counts.ok, arrived.len());
    assert!(counts.ok > 0 && arrived.len() <= 200);
    let count = arrived.len();
    arrived.sort();
    arrived.dedup();
    assert_eq!(arrived.len(), count, "a request has arrived twice");
}

#[test]
fn a_server_that_closes_without_a_word_is_sent_nothing_twice() {
    closes_after(3, 1);
    closes_after(3, 8);
    closes_after(1, 2);
}

#[test]
fn a_close_in_the_middle_of_a_body_is_an_early_one() {
    let peer = Peer::start(|exchange| {
        exchange.request();
        exchange.send(&OK[..OK.len() - 1]);
    });
    let outcome = run(counted(peer.plan(), 3));
    assert_eq!(outcome.total.counts.ok, 0);
    assert_eq!(errors(&outcome), [("closed-early", 3)]);
    assert_eq!(peer.finish().1.len(), 3);
}

#[test]
fn a_close_in_the_middle_of_a_head_is_an_early_one() {
    let peer = Peer::start(|exchange| {
        exchange.request();
        exchange.send(b"HTTP/1.1 200 O");
    });
    assert_eq!(errors(&run(counted(peer.plan(), 2))), [("closed-early", 2)]);
    peer.finish();
}

#[test]
fn a_close_ends_a_body_of_unknown_length() {
    let peer = Peer::start(|exchange| {
        exchange.request();
        exchange.send(b"HTTP/1.1 200 OK\r\n\r\nall there is");
    });
    let outcome = run(counted(peer.plan(), 5));
    let counts = &outcome.total.counts;
    assert_eq!((counts.ok, counts.opened, peer.finish().1.len()), (5, 5, 5));
    assert_eq!(errors(&outcome), []);
}

#[test]
fn a_reset_is_told_from_a_close() {
    let peer = Peer::start(|exchange| {
        // A close with bytes that nobody has read is a reset.
        exchange.stream.peek(&mut [0]).unwrap();
    });
    let outcome = run(counted(peer.plan(), 2));
    assert_eq!(errors(&outcome), [("reset", 2)]);
    assert_eq!(peer.finish().0, 2);
}

#[test]
fn what_is_no_response_is_a_fault_of_the_protocol() {
    for nonsense in [
        &b"SSH-2.0-peer\r\n"[..],
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    ] {
        let peer = Peer::start(move |exchange| exchange.answer_all(|_| nonsense.to_vec()));
        let outcome = run(counted(peer.plan(), 2));
        assert_eq!(errors(&outcome), [("protocol", 2)], "{nonsense:?}");
        assert_eq!(peer.finish().1.len(), 2);
    }
}

#[test]
fn a_response_too_many_ends_the_connection_and_answers_nothing() {
    let peer = Peer::start(|exchange| exchange.answer_all(|_| [OK, OK].concat()));
    let outcome = run(counted(peer.plan(), 10));
    let (connections, requests) = peer.finish();
    assert_eq!((outcome.total.counts.ok, requests.len()), (10, 10));
    assert_eq!(connections, 10, "a connection that is out of step is not used again");
}

/// The server is gone after its first response.
#[test]
fn requests_that_cannot_be_sent_any_more_are_counted_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Host("127.0.0.1".into(), listener.local_addr().unwrap().port());
    let listener = Mutex::new(Some(listener));
    let server = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let listener = listener.lock().unwrap().take().unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
        let last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(last).unwrap();
    });
    let outcome = run(counted(plan(endpoint), 4));
    server.join().unwrap();
    let counts = &outcome.total.counts;
    assert_eq!((counts.sent, counts.ok, counts.connect_failed), (1, 1, 3));
    assert_eq!((counts.opened, counts.failed), (1, 3));
    assert_eq!(errors(&outcome), [("connect-refused", 3)]);
}

#[test]
fn an_open_run_by_count_ends_when_the_server_has_gone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Host("127.0.0.1".into(), listener.local_addr().unwrap().port());
    let server = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut socket, _) = listener.accept().unwrap();
        drop(listener);
        let _ = socket.read(&mut [0; 4096]);
        let _ =
            socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    let model = Model::Open { rate: 200.0, stages: vec![], poisson: false, max_pending: 1000 };
    let outcome = run(counted(Plan { model, connections: 20, ..plan(endpoint) }, 20));
    server.join().unwrap();
    let counts = &outcome.total.counts;
    assert_eq!((counts.ok, counts.sent + counts.connect_failed), (1, 20));
}

/// A server that answers one request and is gone. Gives what a run of 1000 requests came to.
fn without_a_server(model: Model) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Host("127.0.0.1".into(), listener.local_addr().unwrap().port());
    let server = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut socket, _) = listener.accept().unwrap();
        drop(listener);
        assert!(socket.read(&mut [0; 4096]).unwrap() > 0);
        socket.write_all(OK).unwrap();
    });
    let outcome = run(counted(Plan { model, connections: 3, threads: 3, ..plan(endpoint) }, 1000));
    server.join().unwrap();
    outcome
}

#[test]
fn a_run_by_count_is_given_up_when_no_connection_can_be_opened() {
    let open = Model::Open { rate: 10.0, stages: vec![], poisson: false, max_pending: 1000 };
    let runs = [Model::Closed { think_time: Duration::ZERO }, open]
        .map(|model| std::thread::spawn(|| without_a_server(model)));
    for run in runs {
        let outcome = run.join().unwrap();
        let counts = &outcome.total.counts;
        assert_eq!(counts.ok, 1);
        assert_eq!((counts.sent + counts.connect_failed, counts.queued_at_end), (1000, 0));
        assert!(!outcome.interrupted);
        assert!((10..20).contains(&outcome.duration.as_secs()), "{:?}", outcome.duration);
    }
}

/// Of four requests in one write the server takes a part of the first and closes.
#[test]
fn requests_behind_one_that_has_not_gone_out_whole_are_not_lost_with_it() {
    let peer = Peer::start(|exchange| {
        exchange.stream.peek(&mut [0]).unwrap();
    });
    // More than the socket's buffers hold.
    let request = Request { body: Some(vec![b'x'; 20_000_000]), ..get("/") };
    let outcome = run(counted(Plan { pipelining: 4, requests: vec![request], ..peer.plan() }, 4));
    assert_eq!(peer.finish().0, 4);
    assert_eq!((outcome.total.counts.sent, outcome.total.counts.transport_errors), (4, 4));
}

#[test]
fn a_server_that_no_request_goes_to_is_refused() {
    let peer = Peer::start(|exchange| exchange.send(OK));
    let mut plan = Plan { connections: 2, initial_connections: 2, ..peer.plan() };
    plan.origins.push(plan.origins[0].clone());
    assert!(matches!(Run::new(plan).run(&mut |_| ()), Err(RunError::Usage(_))));
}
