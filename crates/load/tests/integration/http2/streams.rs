//! Streams of a connection: in any order, in any pieces, at most as many as the server allows.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use millrace_load::plan::{Model, Plan, Request};

use super::frames::*;
use super::server::*;
use super::{counted, millis, plan};
use crate::peer::{errors, get, run};

#[test]
fn requests_end_in_any_order() {
    const COUNT: usize = 400;
    const DEPTH: usize = 10;
    let server = start(&[], |server| {
        let (mut open, mut answered, mut random) = (Vec::new(), 0, 1_usize);
        while answered < COUNT {
            let wanted = DEPTH.min(COUNT - answered);
            let missing = wanted - open.len();
            open.extend(server.requests(missing));
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            for at in 0..=random % open.len() {
                let request = open.swap_remove((random >> (at + 3)) % open.len());
                server.answer(request.stream);
                answered += 1;
            }
        }
        server.await_end();
    });
    let outcome = run(counted(plan(&server, DEPTH), COUNT as u64));
    let (connections, requests) = server.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, requests.len(), counts.ok), (1, COUNT, COUNT as u64));
    assert_eq!((counts.opened, counts.http2, counts.goaway), (1, 1, 0));
    assert_eq!((counts.reused, counts.max_streams), (counts.sent - 1, None));
    assert_eq!(errors(&outcome), []);
}

/// Every framing that a response may have, whole and byte by byte.
#[test]
fn a_response_has_one_meaning_however_it_is_framed() {
    fn framed(stream: u32, path: &str) -> Vec<u8> {
        let ok = block(&[(":status", "200"), ("content-length", "4")]);
        let priority = [&[0, 0, 0, 0, 9][..], &ok].concat();
        let trailers = headers(stream, END_STREAM, &[("x-end", "1")]);
        match path {
            "/parts" => [
                frame(HEADERS, 0, stream, &ok[..1]),
                frame(CONTINUATION, 0, stream, &[]),
                frame(CONTINUATION, 0, stream, &ok[1..3]),
                frame(CONTINUATION, END_HEADERS, stream, &ok[3..]),
                data(stream, 0, b"b"),
                data(stream, 0, b"od"),
                data(stream, 0, b""),
                data(stream, END_STREAM, b"y"),
            ]
            .concat(),
            "/padded" => [
                frame(HEADERS, END_HEADERS | PADDED | PRIORITIZED, stream, &padded(&priority, 7)),
                frame(DATA, PADDED, stream, &padded(b"bo", 0)),
                frame(DATA, PADDED, stream, &padded(b"dy", 255)),
                frame(DATA, PADDED | END_STREAM, stream, &padded(b"", 3)),
            ]
            .concat(),
            "/interim" => [
                headers(stream, 0, &[(":status", "100")]),
                headers(stream, 0, &[(":status", "103"), ("link", "</x>")]),
                frame(HEADERS, END_HEADERS, stream, &ok),
                data(stream, 0, b"body"),
                trailers,
            ]
            .concat(),
            "/between" => [
                frame(HEADERS, END_HEADERS, stream, &ok),
                frame(PING, 0, 0, b"87654321"),
                frame(77, 0xff, stream, b"unknown"),
                frame(PRIORITY, 0, stream, &[0, 0, 0, 0, 9]),
                settings(&[(0xffff, 7)]),
                data(stream, 0, b"body"),
                number(WINDOW_UPDATE, stream, 1),
                data(stream, END_STREAM, b""),
            ]
            .concat(),
            "/head" => {
                headers(stream, END_STREAM, &[(":status", "200"), ("content-length", "999")])
            }
            "/304" => headers(stream, END_STREAM, &[(":status", "304"), ("content-length", "999")]),
            // Its end comes in a frame of its own.
            _ => {
                [headers(stream, 0, &[(":status", "204")]), data(stream, END_STREAM, b"")].concat()
            }
        }
    }
    let paths = ["/parts", "/padded", "/interim", "/between", "/304", "/204"];
    let mut requests: Vec<_> = paths.iter().map(|path| get(path)).collect();
    requests.push(Request { method: "HEAD".into(), ..get("/head") });
    for piece in [1, 7, usize::MAX] {
        let server = start(&[], move |server| {
            while let Some(request) = server.request() {
                for bytes in framed(request.stream, request.path()).chunks(piece) {
                    server.send(bytes);
                }
            }
        });
        let requests = requests.clone();
        let outcome = run(counted(Plan { requests, ..plan(&server, 3) }, 70));
        assert_eq!(server.finish().0, 1);
        let statuses: Vec<_> = outcome.total.counts.statuses().collect();
        assert_eq!(statuses, [(200, 50), (204, 10), (304, 10)]);
        assert_eq!(errors(&outcome), []);
    }
}

#[test]
fn pings_and_settings_are_answered() {
    let server = start(&[], |server| {
        server.await_acknowledgement();
        server.send(&[frame(PING, 0, 0, b"question"), settings(&[])].concat());
        let mut answers = Vec::new();
        while answers.len() < 2 {
            match server.next().expect("the client answers") {
                Said::Pong(payload) => answers.push(payload.to_vec()),
                Said::Acknowledged => answers.push(Vec::new()),
                Said::Head { stream, .. } => server.answer(stream),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(answers, [&b"question"[..], b""]);
        server.answer_all();
    });
    let outcome = run(plan(&server, 2));
    let (_, requests) = server.finish();
    assert_eq!(requests.len() as u64, outcome.total.counts.sent);
    assert_eq!(errors(&outcome), []);
}

/// The late ones are told so, and the connection goes on with the others.
#[test]
fn a_late_request_is_reset_alone() {
    let resets = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&resets);
    let server = start(&[], move |server| {
        let mut late = VecDeque::new();
        while let Some(said) = server.next() {
            match said {
                Said::Head { stream, fields, .. } if fields.contains(&late_path()) => {
                    late.push_back(stream);
                }
                Said::Head { stream, .. } => server.answer(stream),
                // An answer that comes after the reset is nobody's.
                Said::Reset { stream, .. } => server.answer(stream),
                _ => {}
            }
        }
        seen.lock().unwrap().extend(server.resets.iter().copied());
        assert_eq!(late.len(), server.resets.len());
    });
    fn late_path() -> (String, String) {
        (":path".into(), "/late".into())
    }
    let requests = vec![get("/"), get("/"), get("/"), get("/late")];
    let plan = Plan { requests, timeout: millis(40), ..plan(&server, 2) };
    let outcome = run(counted(plan, 24));
    let (connections, arrived) = server.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, arrived.len()), (1, 24));
    assert_eq!((counts.ok, counts.timeouts), (18, 6));
    assert_eq!(errors(&outcome), [("timeout", 6)]);
    let resets = resets.lock().unwrap();
    assert_eq!(resets.len(), 6);
    assert!(resets.iter().all(|(_, code)| *code == CANCEL), "{resets:?}");
    let age = outcome.total.service_time.max().unwrap();
    assert!(age >= millis(39), "{age:?}");
}

/// Reads until the client has read all that was said to it; the streams that it has opened meanwhile.
fn catch_up(server: &mut Server<'_>) -> Vec<u32> {
    let mut opened = Vec::new();
    server.send(&frame(PING, 0, 0, &[0; 8]));
    loop {
        match server.next().expect("the client is there") {
            Said::Head { stream, .. } => opened.push(stream),
            Said::Pong(_) => return opened,
            Said::Acknowledged | Said::Window { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Raised and lowered while requests are in flight.
#[test]
fn the_server_bounds_the_streams_at_any_time() {
    let most_seen = Arc::new(AtomicUsize::new(0));
    let most = Arc::clone(&most_seen);
    let server = start(&[(MAX_CONCURRENT_STREAMS, 3)], move |server| {
        let mut open = VecDeque::new();
        for limit in [3, 7, 2, 0, 5] {
            // Nothing but the settings lets the client open another stream, or keeps it from it.
            open.extend(catch_up(server));
            server.send(&settings(&[(MAX_CONCURRENT_STREAMS, limit as u32)]));
            open.extend(catch_up(server));
            // What is too many now ends; nothing new begins meanwhile.
            while open.len() > limit {
                let stream = open.pop_front().unwrap();
                server.answer(stream);
            }
            for _ in 0..10 * limit {
                while open.len() < limit {
                    match server.next().expect("the client is there") {
                        Said::Head { stream, .. } => open.push_back(stream),
                        other => panic!("{other:?}"),
                    }
                }
                most.fetch_max(open.len(), Ordering::SeqCst);
                assert!(catch_up(server).is_empty(), "a stream beyond {limit}");
                let stream = open.pop_front().unwrap();
                server.answer(stream);
            }
        }
        for stream in open {
            server.answer(stream);
        }
        server.answer_all();
    });
    let outcome = run(counted(plan(&server, 10), 300));
    let (connections, requests) = server.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, requests.len(), counts.ok), (1, 300, 300));
    assert_eq!((most_seen.load(Ordering::SeqCst), counts.max_streams), (7, Some(0)));
    assert_eq!(errors(&outcome), []);
}

#[test]
fn arrivals_wait_for_a_stream() {
    let server = start(&[(MAX_CONCURRENT_STREAMS, 3)], |server| server.await_end());
    let model = Model::Open { rate: 200.0, stages: vec![], poisson: false, max_pending: 1000 };
    let outcome = run(Plan { model, ..plan(&server, 10) });
    let (connections, requests) = server.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, requests.len()), (1, 3));
    assert_eq!((counts.sent, counts.in_flight_at_end, counts.queued_at_end), (3, 3, 37));
    let latency = &outcome.total.latency;
    assert_eq!((latency.count(), latency.censored()), (40, 40), "those that wait have an age too");
    assert!(latency.max().unwrap() >= millis(199));
}

/// Two threads, several connections, an open model: what was due has arrived or waited.
#[test]
fn an_open_run_shares_connections_and_streams() {
    let server = start(&[(MAX_CONCURRENT_STREAMS, 4)], |server| server.answer_all());
    let model = Model::Open { rate: 2000.0, stages: vec![], poisson: true, max_pending: 10_000 };
    let plan =
        Plan { model, threads: 2, connections: 6, initial_connections: 2, ..plan(&server, 8) };
    let outcome = run(plan);
    let (connections, requests) = server.finish();
    let counts = &outcome.total.counts;
    assert_eq!(requests.len() as u64, counts.sent);
    assert_eq!(counts.opened, connections as u64);
    assert_eq!(counts.sent + counts.queued_at_end, counts.offered);
    assert_eq!(counts.ok + counts.in_flight_at_end, counts.sent);
    assert!(counts.ok > 50, "{}", counts.ok);
    assert_eq!(errors(&outcome), []);
}

#[test]
fn each_request_has_a_connection_of_its_own_in_close_mode() {
    let server = start(&[], |server| server.answer_all());
    let plan = Plan { close: true, connections: 2, initial_connections: 2, ..plan(&server, 1) };
    let outcome = run(counted(plan, 20));
    let (connections, requests) = server.finish();
    // Both may be on their way to the last request.
    assert!((20..=21).contains(&connections), "{connections}");
    assert_eq!((requests.len(), outcome.total.counts.ok), (20, 20));
    assert_eq!(outcome.total.counts.reused, 0);
}
