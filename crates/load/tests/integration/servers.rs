//! Closed runs with several servers, and open runs with connections that are idle.

use std::thread;
use std::time::Duration;

use millrace_load::plan::{ConnectionStage, Endpoint, Model, Origin, Plan};

use crate::peer::{OK, Peer, errors, get, run};

/// Two servers, and a plan with a request to each.
fn two(first: &Peer, second: &Peer) -> Plan {
    let origin = |peer: &Peer| peer.plan().origins.remove(0);
    let request = |origin| {
        let mut request = get(if origin == 0 { "/a" } else { "/b" });
        (request.origin, request.name) = (origin, origin as u32);
        request
    };
    Plan {
        origins: vec![origin(first), origin(second)],
        requests: vec![request(0), request(1)],
        names: 2,
        duration: None,
        ..first.plan()
    }
}

fn slow() -> Peer {
    Peer::start(|exchange| {
        exchange.answer_all(|_| {
            // The time of a response.
            thread::sleep(Duration::from_millis(10));
            OK.to_vec()
        });
    })
}

#[test]
fn servers_are_taken_in_turn_however_slow_one_is() {
    for (threads, connections, pipelining) in [(1, 1, 1), (1, 4, 1), (2, 3, 1), (1, 2, 3)] {
        let (fast, slow) = (Peer::prompt(), slow());
        let plan = Plan {
            threads,
            connections,
            initial_connections: connections,
            pipelining,
            max_requests: Some(60),
            ..two(&fast, &slow)
        };
        let outcome = run(plan);
        let counts = &outcome.total.counts;
        assert_eq!((counts.sent, counts.ok), (60, 60));
        let ((opened_fast, fast), (opened_slow, slow)) = (fast.finish(), slow.finish());
        let apart = fast.len().abs_diff(slow.len());
        assert!(apart <= threads * connections * pipelining, "{} and {}", fast.len(), slow.len());
        assert_eq!((opened_fast, opened_slow), (connections, connections), "one to each server");
        assert_eq!(outcome.names[0].counts.sent, fast.len() as u64);
    }
}

/// A connection of the stages is one to each server.
#[test]
fn stages_begin_and_end_connections_to_all_servers() {
    let (first, second) = (Peer::prompt(), Peer::prompt());
    let stage = |length, connections| ConnectionStage {
        duration: Duration::from_millis(length),
        connections,
    };
    let plan = Plan {
        threads: 1,
        pipelining: 2,
        connections: 4,
        initial_connections: 1,
        connection_stages: vec![stage(200, 4), stage(100, 4), stage(0, 1)],
        duration: Some(Duration::from_millis(500)),
        ..two(&first, &second)
    };
    let outcome = run(plan);
    let ((opened_first, first), (opened_second, second)) = (first.finish(), second.finish());
    assert_eq!((opened_first, opened_second), (4, 4));
    let counts = &outcome.total.counts;
    assert_eq!((counts.opened, counts.failed, counts.closed_by_server), (8, 0, 0));
    assert_eq!(counts.sent, (first.len() + second.len()) as u64);
    assert!(counts.in_flight_at_end <= 2, "{} in flight", counts.in_flight_at_end);
    let apart = first.len().abs_diff(second.len());
    assert!(apart <= 4 * 2, "{} and {}", first.len(), second.len());
    assert_eq!(errors(&outcome), []);
}

#[test]
fn by_weight_a_server_has_its_share_however_slow_it_is() {
    let (fast, slow) = (Peer::prompt(), slow());
    let mut plan = Plan { weighted: true, max_requests: Some(200), ..two(&fast, &slow) };
    plan.requests[1].weight = 3.0;
    (plan.connections, plan.initial_connections) = (4, 4);
    run(plan);
    let (_, fast) = fast.finish();
    slow.finish();
    // A quarter of them, five standard deviations apart at the most.
    assert!(fast.len().abs_diff(50) <= 31, "{}", fast.len());
}

#[test]
fn a_server_that_cannot_be_connected_to_does_not_hold_up_the_others() {
    let alive = Peer::prompt();
    let gone = Peer::prompt();
    let plan = two(&alive, &gone);
    gone.finish();
    let plan = Plan { connections: 2, initial_connections: 2, max_requests: Some(2000), ..plan };
    let outcome = run(plan);
    let counts = &outcome.total.counts;
    let (_, requests) = alive.finish();
    assert_eq!(counts.ok, requests.len() as u64);
    assert_eq!(counts.ok + counts.connect_failed, 2000, "in turn, and none is forgotten");
    assert!(counts.ok.abs_diff(1000) <= 2, "{} were answered", counts.ok);
    assert_eq!(outcome.names[1].counts.connect_failed, counts.connect_failed);
    // Only the first attempts of the pauses: a refused connect does not cost a pause for each request.
    assert!(outcome.duration < Duration::from_secs(5), "{:?}", outcome.duration);
}

#[test]
fn pinned_connections_keep_to_their_server() {
    let (fast, slow) = (Peer::prompt(), slow());
    let plan = Plan {
        pinned: true,
        connections: 2,
        initial_connections: 2,
        max_requests: Some(100),
        ..two(&fast, &slow)
    };
    assert_eq!(run(plan).total.counts.ok, 100);
    let ((opened_fast, fast), (opened_slow, slow)) = (fast.finish(), slow.finish());
    assert_eq!((opened_fast, opened_slow), (1, 1));
    assert!(fast.len() > 2 * slow.len(), "{} and {}", fast.len(), slow.len());
}

/// An open run over up to 20 connections, of which 10 are opened before the start.
fn open(peer: &Peer, rate: f64) -> Plan {
    Plan {
        model: Model::Open { rate, stages: Vec::new(), poisson: false, max_pending: 1000 },
        connections: 20,
        initial_connections: 10,
        ..peer.plan()
    }
}

#[test]
fn a_low_rate_uses_few_connections_again_and_again() {
    let peer = Peer::prompt();
    let plan = Plan { duration: Some(Duration::from_millis(400)), ..open(&peer, 100.0) };
    let outcome = run(plan);
    peer.finish();
    let counts = &outcome.total.counts;
    // Each first request of a connection is one that reuses none.
    let used = counts.sent - counts.reused;
    assert!(used <= 4, "{used} connections were used for {} requests", counts.sent);
}

#[test]
fn the_end_of_a_used_connection_without_a_byte_is_counted_apart() {
    // Answers one request, and ends with the second.
    let peer = Peer::start(|exchange| {
        exchange.request();
        exchange.send(OK);
        exchange.request();
    });
    let outcome = run(Plan { duration: None, max_requests: Some(10), ..peer.plan() });
    let counts = &outcome.total.counts;
    assert_eq!((counts.ok, counts.transport_errors, counts.unanswered_on_reuse), (5, 5, 5));
    assert_eq!(errors(&outcome), [("closed-early", 5)]);
    peer.finish();

    // A new connection that ends without a byte, and a used one that ends within a response, are something else.
    let peer = Peer::start(|exchange| {
        exchange.request();
        exchange.send(OK);
        exchange.request();
        exchange.send(b"HTTP/1.1 2");
    });
    let outcome = run(Plan { duration: None, max_requests: Some(4), ..peer.plan() });
    assert_eq!(outcome.total.counts.unanswered_on_reuse, 0);
    peer.finish();
    let peer = Peer::start(|exchange| drop(exchange.request()));
    let outcome = run(Plan { duration: None, max_requests: Some(2), ..peer.plan() });
    let counts = &outcome.total.counts;
    assert_eq!((counts.transport_errors, counts.unanswered_on_reuse), (2, 0));
    peer.finish();
}

#[cfg(target_os = "linux")]
#[test]
fn names_in_the_abstract_namespace_are_sockets_padded_or_not() {
    use std::io::{Read as _, Write as _};
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};

    for padded in [false, true] {
        let name = format!("millrace-{}-{padded}", std::process::id());
        let mut bytes = name.clone().into_bytes();
        if padded {
            bytes.resize(107, 0);
        }
        let address = SocketAddr::from_abstract_name(bytes).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
            stream.write_all(OK).unwrap();
        });
        let endpoint = Endpoint::Unix(format!("@{name}").into());
        let plan = Plan { duration: None, max_requests: Some(1), ..crate::peer::plan(endpoint) };
        assert_eq!(run(plan).total.counts.ok, 1);
        server.join().unwrap();
    }
}

#[test]
fn the_first_arrival_is_not_late() {
    let peer = Peer::prompt();
    let first = || {
        let plan = Plan { duration: None, max_requests: Some(1), ..open(&peer, 1.0) };
        run(plan).total.lateness.max().unwrap()
    };
    // On a busy machine some are; what was not made ready before the start makes all of them.
    let least = (0..9).map(|_| first()).min().unwrap();
    assert!(least < Duration::from_micros(500), "{least:?}");
    peer.finish();
}

#[test]
fn an_origin_with_several_hosts_uses_those_that_answer() {
    let peer = Peer::prompt();
    let Endpoint::Host(host, port) = peer.plan().origins[0].endpoint.clone() else { panic!() };
    // Reserved for documentation (RFC 5737): nobody answers there, or the network refuses it at once.
    let endpoint = Endpoint::Hosts(vec!["192.0.2.1".into(), host], port);
    let origins = vec![Origin { endpoint, server_name: None, http2: false }];
    let plan = Plan { connections: 3, initial_connections: 3, ..peer.plan() };
    let outcome = run(Plan { origins, ..plan });
    assert_eq!(outcome.addresses.len(), 1);
    assert_eq!((outcome.total.counts.opened, outcome.total.counts.failed), (3, 0));
    assert!(outcome.set_up < Duration::from_secs(2), "{:?}", outcome.set_up);
    peer.finish();
}
