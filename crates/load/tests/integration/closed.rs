//! Runs of the closed model against a real server: what was sent is what arrived.

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millrace_load::plan::{ConnectionStage, Model, Plan, Request, Table};
use millrace_load::{Run, RunError, SnapshotPhase};

use crate::peer::{self, OK, Peer, errors, get, run};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn counted(plan: Plan, count: u64) -> Plan {
    Plan { duration: None, max_requests: Some(count), ..plan }
}

#[test]
fn a_run_for_a_time_accounts_for_what_arrived() {
    let peer = Peer::prompt();
    let outcome = run(Plan { connections: 5, initial_connections: 5, threads: 2, ..peer.plan() });
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert!(counts.ok > 10, "{} requests", counts.ok);
    assert_eq!(counts.sent, requests.len() as u64);
    assert!(counts.in_flight_at_end <= 5);
    assert_eq!((counts.opened, connections), (5, 5));
    assert_eq!(counts.reused, counts.sent - 5);
    assert_eq!(errors(&outcome), []);
    assert!(outcome.duration >= millis(200));
    assert!(!outcome.interrupted);
}

#[test]
fn a_run_of_a_number_sends_that_number_over_all_threads() {
    for (count, threads, connections, pipelining) in
        [(1, 1, 1, 1), (2, 3, 4, 1), (100, 3, 7, 1), (101, 2, 3, 4), (1000, 3, 4, 16)]
    {
        let peer = Peer::prompt();
        let initial_connections = connections;
        let plan = Plan { threads, connections, initial_connections, pipelining, ..peer.plan() };
        let outcome = run(counted(plan, count));
        let (_, requests) = peer.finish();
        let counts = &outcome.total.counts;
        assert_eq!((counts.sent, counts.ok, requests.len() as u64), (count, count, count));
        let sent: Vec<u64> = outcome.workers.iter().map(|worker| worker.requests).collect();
        let remainder = (count as usize) % threads;
        let share = |index| count / threads as u64 + u64::from(index < remainder);
        assert_eq!(sent, (0..threads).map(share).collect::<Vec<_>>());
    }
}

#[test]
fn bytes_are_counted_on_both_sides() {
    let peer = Peer::prompt();
    let request = "GET / HTTP/1.1\r\nHost: peer\r\n\r\n".len() as u64;
    let outcome = run(counted(peer.plan(), 10));
    let counts = &outcome.total.counts;
    assert_eq!(counts.bytes_sent, 10 * request);
    assert_eq!(counts.bytes_received, 10 * OK.len() as u64);
    peer.finish();
}

#[test]
fn pipelined_responses_find_their_requests() {
    let head = |target: &str| Request { method: "HEAD".into(), ..get(target) };
    let peer = Peer::start(|exchange| {
        exchange.answer_all(|request| match request.split_once(' ').unwrap() {
            // With its length, and without the body that a GET's response would have.
            ("HEAD", _) => b"HTTP/1.1 202 \r\nContent-Length: 500\r\n\r\n".to_vec(),
            (_, "/a") => {
                b"HTTP/1.1 201 \r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n".to_vec()
            }
            _ => b"HTTP/1.1 404 \r\nContent-Length: 3\r\n\r\nnot".to_vec(),
        });
    });
    let requests = vec![get("/a"), head("/b"), get("/c")];
    let outcome = run(counted(Plan { pipelining: 8, requests, ..peer.plan() }, 300));
    let (connections, arrived) = peer.finish();
    assert_eq!(connections, 1);
    let in_turn = ["GET /a", "HEAD /b", "GET /c"].into_iter().cycle().take(300);
    assert_eq!(arrived, in_turn.collect::<Vec<_>>());
    let statuses: Vec<_> = outcome.total.counts.statuses().collect();
    assert_eq!(statuses, [(201, 100), (202, 100), (404, 100)]);
    let counts = &outcome.total.counts;
    assert_eq!((counts.ok, counts.status_errors), (200, 100));
}

#[test]
fn each_request_has_a_connection_of_its_own_in_close_mode() {
    let peer = Peer::start(|exchange| {
        exchange.request();
        exchange.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    });
    let plan = Plan { close: true, connections: 3, initial_connections: 3, ..peer.plan() };
    let outcome = run(counted(plan, 100));
    let (_, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((counts.sent, counts.ok, requests.len()), (100, 100, 100));
    assert_eq!((counts.reused, counts.opened), (0, 100));
    assert_eq!(errors(&outcome), []);
}

#[test]
fn the_client_closes_in_close_mode_if_the_server_does_not() {
    let peer = Peer::prompt();
    let outcome = run(counted(Plan { close: true, ..peer.plan() }, 20));
    let (connections, requests) = peer.finish();
    assert_eq!((connections, requests.len()), (20, 20));
    assert_eq!(outcome.total.counts.ok, 20);
}

#[test]
fn each_request_has_a_number_and_a_row_of_its_own() {
    let row = |user: &str| vec![user.to_owned()];
    let table = Table {
        name: "users.csv".into(),
        columns: vec!["user".into()],
        rows: vec![row("ann"), row("bob"), row("eve")],
    };
    let peer = Peer::prompt();
    let plan = Plan {
        requests: vec![get("/{{seq}}/{{csv:users.csv:user}}")],
        tables: vec![table],
        threads: 3,
        connections: 5,
        initial_connections: 5,
        pipelining: 2,
        ..peer.plan()
    };
    let outcome = run(counted(plan, 100));
    assert_eq!(outcome.total.counts.ok, 100);
    let arrived: HashSet<String> = peer.finish().1.into_iter().collect();
    let user = |seq: usize| ["ann", "bob", "eve"][seq % 3];
    let expected: HashSet<_> = (0..100).map(|seq| format!("GET /{seq}/{}", user(seq))).collect();
    assert_eq!(arrived, expected);
}

#[test]
fn a_body_arrives_whole() {
    let peer = Peer::start(|exchange| {
        exchange.answer_all(|_| b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
    });
    // More than a socket's buffers hold.
    let body = Some(vec![b'x'; 4_000_000]);
    let request = Request { method: "POST".into(), body, ..get("/upload") };
    let outcome = run(counted(Plan { requests: vec![request], ..peer.plan() }, 5));
    let (connections, requests) = peer.finish();
    assert_eq!((connections, requests.len(), outcome.total.counts.ok), (1, 5, 5));
    assert!(outcome.total.counts.bytes_sent > 20_000_000);
}

#[test]
fn a_slot_thinks_between_its_requests() {
    let peer = Peer::prompt();
    let model = Model::Closed { think_time: millis(40) };
    let plan = Plan { model, connections: 3, initial_connections: 3, ..peer.plan() };
    let outcome = run(plan);
    let (_, requests) = peer.finish();
    let sent = outcome.total.counts.sent;
    assert_eq!(sent, requests.len() as u64);
    // 200 ms hold the first request of a slot and at most five more.
    assert!((6..=18).contains(&sent), "{sent} requests");
    // Requests after a pause have a time at which they are due; the last ones may not go out any more.
    assert!(outcome.total.lateness.count() >= sent - 3);
}

#[test]
fn the_warm_up_is_no_part_of_the_figures() {
    let peer = Peer::prompt();
    let outcome = run(Plan { warmup: millis(100), duration: Some(millis(100)), ..peer.plan() });
    let (_, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert!(outcome.warmup_requests > 0 && counts.sent > 0);
    assert_eq!(outcome.warmup_requests + counts.sent, requests.len() as u64);
    assert!(outcome.duration < millis(200), "{:?}", outcome.duration);
}

#[test]
fn a_number_of_requests_does_not_count_the_warm_up() {
    let peer = Peer::prompt();
    let outcome = run(counted(Plan { warmup: millis(50), threads: 1, ..peer.plan() }, 30));
    let (_, requests) = peer.finish();
    assert_eq!(outcome.total.counts.sent, 30);
    assert_eq!(outcome.warmup_requests + 30, requests.len() as u64);
}

#[test]
fn a_run_can_be_stopped_and_gives_the_outcome_so_far() {
    let peer = Peer::prompt();
    let run = Run::new(Plan { duration: Some(Duration::from_secs(60)), ..peer.plan() });
    let stop = run.stopper();
    let seen = AtomicBool::new(false);
    let outcome = run
        .run(&mut |snapshot| {
            if snapshot.phase == SnapshotPhase::Measure {
                seen.store(snapshot.completed > 0, Ordering::Relaxed);
                stop.stop();
            }
        })
        .unwrap();
    assert!(seen.into_inner(), "a snapshot shows responses");
    assert!(outcome.interrupted);
    assert_eq!(outcome.total.counts.sent, peer.finish().1.len() as u64);
    assert!(outcome.duration < Duration::from_secs(30));
}

#[cfg(unix)]
#[test]
fn unix_sockets_are_servers_too() {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    use millrace_load::plan::Endpoint;

    let name = format!("millrace-load-{}.sock", std::process::id());
    let path = std::env::temp_dir().join(name);
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 1000];
        let mut count = 0;
        while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
            stream.write_all(OK).unwrap();
            count += 1;
        }
        count
    });
    let outcome = run(counted(peer::plan(Endpoint::Unix(path.clone())), 10));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(outcome.total.counts.ok, 10);
    assert_eq!(server.join().unwrap(), 10);
    assert_eq!(outcome.addresses, [format!("unix:{}", path.display())]);
}

#[test]
fn connections_begin_and_end_as_the_stages_say() {
    let peer = Peer::prompt();
    let stage = |length, connections| ConnectionStage { duration: millis(length), connections };
    let mut in_flight = Vec::new();
    let plan = Plan {
        connections: 6,
        // One per thread at least.
        initial_connections: 2,
        threads: 2,
        connection_stages: vec![stage(200, 6), stage(100, 6), stage(0, 2)],
        duration: Some(millis(600)),
        ..peer.plan()
    };
    let outcome = Run::new(plan).run(&mut |snapshot| in_flight.push(snapshot.in_flight)).unwrap();
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((counts.opened, connections), (6, 6));
    assert_eq!(
        (counts.sent, counts.failed, counts.closed_by_server),
        (requests.len() as u64, 0, 0)
    );
    assert!(counts.in_flight_at_end <= 2, "{} in flight", counts.in_flight_at_end);
    assert!(in_flight.iter().all(|count| *count <= 6), "{in_flight:?}");
    assert!(in_flight.last().is_some_and(|count| *count <= 2), "{in_flight:?}");
    assert_eq!(errors(&outcome), []);
}

#[test]
fn connections_come_from_the_local_addresses_in_turn() {
    let sources = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&sources);
    let peer = Peer::start(move |exchange| {
        seen.lock().unwrap().push(exchange.stream.peer_addr().unwrap().ip().to_string());
        exchange.answer_all(|_| OK.to_vec());
    });
    let local = ["::1", "127.0.0.2", "127.0.0.3"];
    let local_addresses = local.iter().map(|address| address.parse().unwrap()).collect();
    let plan = Plan { connections: 4, initial_connections: 4, local_addresses, ..peer.plan() };
    let outcome = run(plan);
    peer.finish();
    let mut sources = sources.lock().unwrap().clone();
    sources.sort();
    assert_eq!(sources, ["127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3"]);
    assert_eq!(errors(&outcome), []);
}

#[test]
fn a_local_address_that_this_host_does_not_have_is_named() {
    let peer = Peer::prompt();
    let plan = Plan { local_addresses: vec!["192.0.2.1".parse().unwrap()], ..peer.plan() };
    let error = Run::new(plan).run(&mut |_| {}).expect_err("it cannot connect");
    peer.finish();
    let RunError::Unreachable { message, .. } = error else { panic!("{error:?}") };
    assert!(message.contains("local address 192.0.2.1: "), "{message}");
    assert!(!message.contains("TIME-WAIT"), "{message}");
}

#[test]
fn a_response_without_an_end_is_told_by_its_head_and_bytes() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    let peer = Peer::start(move |exchange| {
        while exchange.request().is_some() {
            exchange.stream.write_all(head).unwrap();
            exchange.stream.write_all(b"tick").unwrap();
        }
    });
    let plan = || Plan { connections: 3, initial_connections: 3, ..peer.plan() };
    let counts = run(plan()).total.counts;
    let unended = counts.unended;
    assert_eq!((counts.in_flight_at_end, unended.at_end, unended.succeeding), (3, 3, 3));
    assert_eq!((unended.timed_out, unended.bytes), (0, 3 * (head.len() as u64 + 4)));
    assert!(unended.head < millis(600), "{unended:?}");
    let late = run(Plan { timeout: millis(80), ..plan() }).total.counts;
    assert!(late.timeouts >= 3, "{}", late.timeouts);
    assert_eq!(late.unended.timed_out, late.timeouts);
    peer.finish();
}

#[test]
fn a_head_that_has_not_arrived_as_a_whole_is_no_response() {
    let peer = Peer::start(|exchange| {
        while exchange.request().is_some() {
            exchange.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-").unwrap();
        }
    });
    let counts = run(peer.plan()).total.counts;
    assert_eq!((counts.in_flight_at_end, counts.unended.at_end), (1, 0));
    peer.finish();
}
