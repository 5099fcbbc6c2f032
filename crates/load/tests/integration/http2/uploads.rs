//! Request bodies within the windows of a server, and servers that do not read.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use millrace_load::plan::{Plan, Request};

use super::frames::*;
use super::server::{Request as Arrived, *};
use super::{counted, millis, plan};
use crate::peer::{errors, get, run};

/// Ten bodies of this length are more than a socket's buffers hold.
const LARGE: usize = 2_000_000;

fn upload(target: &str, body: Vec<u8>) -> Request {
    Request { method: "POST".into(), body: Some(body), ..get(target) }
}

/// A body of which no two parts are alike.
fn body(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

/// Checks that what arrived is `expected`, and answers.
fn answer_if(server: &mut Server<'_>, request: &Arrived, expected: &[u8]) {
    assert!(request.body == expected, "a body of {} bytes is another one", request.body.len());
    let length = expected.len().to_string();
    assert_eq!(request.field("content-length"), Some(&length[..]));
    server.answer(request.stream);
}

/// The windows are those that a connection begins with, and are opened as the body arrives.
#[test]
fn a_body_arrives_whole() {
    let sent = body(400_000);
    let expected = sent.clone();
    let peer = start(&[], move |server| {
        while let Some(request) = server.request() {
            answer_if(server, &request, &expected);
        }
    });
    let outcome = run(counted(Plan { requests: vec![upload("/", sent)], ..plan(&peer, 3) }, 9));
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, requests.len(), counts.ok), (1, 9, 9));
    assert!(counts.bytes_sent > 3_600_000, "{}", counts.bytes_sent);
    assert_eq!(counts.window_waited, 9);
    assert!(counts.window_wait > Duration::ZERO);
    assert_eq!(errors(&outcome), []);
}

/// Within windows that never close nothing waits, and nothing is said of it.
#[test]
fn a_body_in_a_window_that_is_large_enough_does_not_wait() {
    let expected = body(60_000);
    let sent = expected.clone();
    let peer = start(&[], move |server| {
        server.send(&number(WINDOW_UPDATE, 0, 1_000_000_000));
        while let Some(request) = server.request() {
            answer_if(server, &request, &expected);
        }
    });
    let requests = [upload("/", sent), upload("/empty", Vec::new())];
    // The connection's window opens behind the settings: it may be read after the first request was sent.
    let outcome = run(counted(Plan { requests: requests[..1].to_vec(), ..plan(&peer, 1) }, 10));
    assert_eq!((peer.finish().1.len(), outcome.total.counts.ok), (10, 10));
    assert_eq!(outcome.total.counts.window_waited, 0);
}

/// A window of 0, opened byte by byte, then lowered below zero, then wide.
#[test]
fn a_body_waits_for_its_window() {
    let expected = body(5000);
    let sent = expected.clone();
    let peer = start(&[(INITIAL_WINDOW_SIZE, 0)], move |server| {
        let mut arrived = Vec::new();
        let mut has_ended = false;
        let mut read = |server: &mut Server<'_>, until: usize| {
            while arrived.len() < until {
                match server.next().expect("the client is there") {
                    Said::Data { stream: 1, bytes, ends } => {
                        arrived.extend(bytes);
                        has_ended = ends;
                    }
                    Said::Acknowledged | Said::Pong(_) => {}
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(arrived.len(), until, "more than the window allows");
            has_ended
        };
        loop {
            if let Some(Said::Head { ends, .. }) = server.next() {
                assert!(!ends);
                break;
            }
        }
        for until in 1..=10 {
            server.send(&number(WINDOW_UPDATE, 1, 1));
            assert!(!read(server, until));
        }
        // 1000 for all streams, and at once 600 below zero for this one.
        server.send(&settings(&[(INITIAL_WINDOW_SIZE, 1000)]));
        assert!(!read(server, 1010));
        server.send(&settings(&[(INITIAL_WINDOW_SIZE, 400)]));
        server.send(&[number(WINDOW_UPDATE, 1, 600), frame(PING, 0, 0, &[0; 8])].concat());
        while !matches!(server.next().expect("the client is there"), Said::Pong(_)) {}
        server.send(&number(WINDOW_UPDATE, 1, 1));
        assert!(!read(server, 1011));
        server.send(&settings(&[(INITIAL_WINDOW_SIZE, 100_000)]));
        assert!(read(server, 5000));
        assert!(arrived == expected);
        server.answer(1);
        server.await_end();
    });
    let outcome = run(counted(Plan { requests: vec![upload("/", sent)], ..plan(&peer, 1) }, 1));
    assert_eq!(peer.finish().0, 1);
    let counts = &outcome.total.counts;
    assert_eq!((counts.ok, counts.window_waited), (1, 1));
    assert_eq!(errors(&outcome), []);
}

/// One that waits is given up on; those that come after it, on the same connection, have bodies of their own.
#[test]
fn a_late_upload_leaves_nothing_to_the_streams_behind_it() {
    let bodies = [body(70_000), vec![b'b'; 66_000], vec![b'c'; 67_000]];
    let expected = bodies.clone();
    let peer = start(&[(INITIAL_WINDOW_SIZE, 50_000)], move |server| {
        // Nobody reads what comes for `/late`, but the connection's window is not theirs alone.
        let mut late = 0;
        while let Some(said) = server.next() {
            let (stream, path) = match said {
                Said::Head { stream, fields, .. } => {
                    let path = fields.iter().find(|field| field.0 == ":path").unwrap().1.clone();
                    server.begin(stream, fields);
                    (stream, path)
                }
                Said::Data { stream, bytes, ends } => {
                    server.send(&number(WINDOW_UPDATE, 0, bytes.len().max(1) as u32));
                    let Some(request) = server.add(stream, &bytes) else { continue };
                    let path = request.path().to_owned();
                    if path != "/late" && !ends {
                        server.send(&number(WINDOW_UPDATE, stream, bytes.len() as u32));
                    }
                    if ends {
                        let request = server.end(stream);
                        let which = if path == "/b" { 1 } else { 2 };
                        answer_if(server, &request, &expected[which]);
                    }
                    continue;
                }
                _ => continue,
            };
            late += u32::from(path == "/late");
            assert!(stream > 0);
        }
        assert_eq!(server.resets.len() as u32, late);
    });
    let [a, b, c] = bodies;
    let requests = vec![upload("/late", a), upload("/b", b), upload("/c", c)];
    let plan = Plan { requests, timeout: millis(60), ..plan(&peer, 3) };
    let outcome = run(counted(plan, 18));
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, requests.len()), (1, 18));
    assert_eq!((counts.ok, errors(&outcome)), (12, vec![("timeout", 6)]));
}

/// The answer comes before the body has been read: the rest of it is not sent, and the connection goes on.
#[test]
fn an_answer_before_the_end_of_the_body_ends_the_request() {
    let resets = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&resets);
    let peer = start(&[(INITIAL_WINDOW_SIZE, 1000)], move |server| {
        while let Some(said) = server.next() {
            match said {
                Said::Head { stream, ends: false, .. } => server.send(&empty(stream, "413")),
                Said::Data { ends, .. } => assert!(!ends),
                _ => {}
            }
        }
        seen.lock().unwrap().extend(server.resets.iter().copied());
    });
    let requests = vec![upload("/", body(50_000))];
    let outcome = run(counted(Plan { requests, ..plan(&peer, 2) }, 10));
    assert_eq!(peer.finish().0, 1);
    let statuses: Vec<_> = outcome.total.counts.statuses().collect();
    assert_eq!((statuses, errors(&outcome)), (vec![(413, 10)], vec![]));
    assert_eq!(outcome.total.counts.window_waited, 0);
    let resets = resets.lock().unwrap();
    assert_eq!(resets.len(), 10);
    // Nothing is wrong with the response: the request has only become needless.
    assert!(resets.iter().all(|(_, code)| [NO_ERROR, CANCEL].contains(code)), "{resets:?}");
}

/// The server reads one request and no other: the socket is full, and requests wait in the write buffer. When it has gone
/// they are sent on the next connection; what had begun to leave is lost.
#[test]
fn requests_that_have_not_left_are_sent_on_the_next_connection() {
    send_again(false);
}

/// The same where the server says first that it reads none of them.
#[test]
fn requests_that_have_not_left_are_not_refused_by_goaway() {
    let errors = send_again(true);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].0, "refused-stream");
}

fn send_again(says_so: bool) -> Vec<(&'static str, u64)> {
    const COUNT: u64 = 12;
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let wide = &[(INITIAL_WINDOW_SIZE, u32::MAX >> 1)];
    let peer = start(wide, move |server| {
        server.send(&number(WINDOW_UPDATE, 0, (u32::MAX >> 1) - 65_535));
        let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
        while let Some(request) = server.request() {
            assert_eq!(request.body.len(), LARGE);
            server.answer(request.stream);
            if is_first {
                if says_so {
                    server.go_away(request.stream, NO_ERROR);
                    server.await_end();
                }
                return;
            }
        }
    });
    let number = |number| upload(&format!("/{number:02}"), vec![b'x'; LARGE]);
    // More than are sent: what a connection without an answer leaves is drawn anew.
    let requests = (0..4 * COUNT).map(number).collect();
    let outcome = run(counted(Plan { requests, ..plan(&peer, 10) }, COUNT));
    let (_, arrived) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    assert_eq!(counts.sent, COUNT);
    let lost: u64 = errors(&outcome).iter().map(|(_, count)| *count).sum();
    assert_eq!(counts.ok + lost, COUNT);
    // On a busy machine the system may have taken all of them.
    assert!((1..=10).contains(&lost), "{lost} of 10 were lost: {:?}", errors(&outcome));
    // None twice, and in order, unless both connections are read at the same time.
    let distinct: HashSet<_> = arrived.iter().collect();
    assert_eq!(distinct.len(), arrived.len(), "{arrived:?}");
    assert!(says_so || arrived.is_sorted(), "{arrived:?}");
    errors(&outcome)
}

/// A server that answers what it cannot know: the first of ten requests fills the socket, the others wait.
#[test]
fn an_answer_to_a_request_that_has_not_left_ends_it_once() {
    for wrong in [19, 13] {
        let wide = &[(INITIAL_WINDOW_SIZE, u32::MAX >> 1)];
        let peer = start(wide, move |server| {
            server.send(&number(WINDOW_UPDATE, 0, (u32::MAX >> 1) - 65_535));
            while !matches!(server.next().expect("the client is there"), Said::Head { .. }) {}
            match wrong {
                19 => server.answer(wrong),
                _ => server.reset(wrong, INTERNAL_ERROR),
            }
            server.begin(1, vec![(":path".into(), "/".into())]);
            while let Some(request) = server.request() {
                if request.stream != wrong {
                    server.answer(request.stream);
                }
            }
        });
        let requests = vec![upload("/", vec![b'x'; LARGE])];
        let outcome = run(counted(Plan { requests, ..plan(&peer, 10) }, 12));
        let (connections, arrived) = peer.finish();
        let counts = &outcome.total.counts;
        assert_eq!((connections, arrived.len(), counts.sent), (1, 12, 12));
        let lost = u64::from(wrong == 13);
        assert_eq!((counts.ok, counts.transport_errors), (12 - lost, lost));
    }
}

/// A run ends while requests wait in the write buffer: they are counted as those that wait for a connection are.
#[test]
fn requests_that_have_not_left_at_the_end_are_no_sent_ones() {
    let wide = &[(INITIAL_WINDOW_SIZE, u32::MAX >> 1)];
    let (over, until) = mpsc::channel::<()>();
    let until = Mutex::new(until);
    let peer = start(wide, move |server| {
        server.send(&number(WINDOW_UPDATE, 0, (u32::MAX >> 1) - 65_535));
        let _ = until.lock().unwrap().recv();
    });
    let requests = vec![upload("/", vec![b'x'; LARGE])];
    let outcome = run(Plan { requests, ..plan(&peer, 10) });
    drop(over);
    peer.finish();
    let counts = &outcome.total.counts;
    assert!((1..10).contains(&counts.sent), "{}", counts.sent);
    assert_eq!(counts.in_flight_at_end, counts.sent);
}

/// What cannot even be sent in time ends the connection, and the next one begins with it.
#[test]
fn requests_that_cannot_leave_in_time_end_the_connection() {
    let wide = &[(INITIAL_WINDOW_SIZE, u32::MAX >> 1)];
    let connections = AtomicUsize::new(0);
    let (over, until) = mpsc::channel::<()>();
    let until = Mutex::new(until);
    let peer = start(wide, move |server| {
        server.send(&number(WINDOW_UPDATE, 0, (u32::MAX >> 1) - 65_535));
        match connections.fetch_add(1, Ordering::SeqCst) {
            0 => drop(until.lock().unwrap().recv()),
            _ => server.answer_all(),
        }
    });
    let requests = vec![upload("/", vec![b'x'; LARGE])];
    // On the second connection all have time enough, on a busy machine as well.
    let plan = Plan { requests, timeout: millis(500), ..plan(&peer, 10) };
    let outcome = run(counted(plan, 12));
    drop(over);
    peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!(counts.sent, 12);
    assert!(counts.timeouts >= 1 && counts.ok >= 1, "{}, {}", counts.timeouts, counts.ok);
    assert_eq!(counts.ok + counts.timeouts + counts.transport_errors, 12);
}
