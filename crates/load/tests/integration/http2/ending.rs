//! Streams and connections that a server ends: each request ends once, and is sent once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millrace_load::plan::{Model, Plan};
use millrace_load::{ErrorKind, Outcome};

use super::frames::*;
use super::server::*;
use super::{counted, millis, plan};
use crate::peer::{Peer, errors, get, run};

/// The example of a kind of error.
fn example(outcome: &Outcome, kind: ErrorKind) -> &str {
    let mut errors = outcome.total.counts.errors();
    errors.find(|error| error.0 == kind).and_then(|error| error.2).unwrap()
}

/// Serves the first connections by their numbers, and answers all on the others.
fn by_connection(serve: impl Fn(usize, &mut Server<'_>) + Send + Sync + 'static) -> Peer {
    let connections = AtomicUsize::new(0);
    start(&[], move |server| {
        serve(connections.fetch_add(1, Ordering::SeqCst), server);
        server.answer_all();
    })
}

/// Serves the first connection and closes it; answers all on the others.
fn by_connection_that_closes(serve: impl Fn(&mut Server<'_>) + Send + Sync + 'static) -> Peer {
    let connections = AtomicUsize::new(0);
    start(&[], move |server| match connections.fetch_add(1, Ordering::SeqCst) {
        0 => serve(server),
        _ => server.answer_all(),
    })
}

/// Of eight streams the server answers four, some of them after it has taken its leave.
#[test]
fn what_is_above_the_last_stream_is_refused_and_the_rest_answered() {
    let peer = by_connection(|connection, server| {
        if connection > 0 {
            return;
        }
        let requests = server.requests(8);
        server.answer(requests[3].stream);
        // One more comes behind the first answer.
        server.requests(1);
        server.go_away(7, NO_ERROR);
        // An answer to a stream that was refused is nobody's.
        for request in [7, 0, 2, 1].map(|at: usize| &requests[at]) {
            server.answer(request.stream);
        }
        server.await_end();
        assert_eq!(server.last, 17, "a stream was opened behind GOAWAY");
    });
    let outcome = run(counted(plan(&peer, 8), 40));
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, requests.len()), (2, 40));
    assert_eq!((counts.sent, counts.ok, counts.goaway), (40, 35, 1));
    assert_eq!(errors(&outcome), [("refused-stream", 5)]);
    assert!(example(&outcome, ErrorKind::RefusedStream).contains("GOAWAY"));
    assert_eq!((counts.opened, counts.closed_by_server), (2, 1));
}

/// As servers do that let what is on its way arrive: the first frame refuses nothing.
#[test]
fn a_second_goaway_says_which_was_the_last_stream() {
    let peer = by_connection(|connection, server| {
        if connection > 0 {
            return;
        }
        let requests = server.requests(4);
        server.go_away(u32::MAX >> 1, NO_ERROR);
        server.answer(requests[3].stream);
        server.go_away(3, NO_ERROR);
        server.answer(requests[1].stream);
        server.answer(requests[0].stream);
        server.await_end();
        assert_eq!(server.last, 7);
    });
    let outcome = run(counted(plan(&peer, 4), 20));
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, requests.len(), counts.goaway), (2, 20, 1));
    assert_eq!((counts.ok, errors(&outcome)), (19, vec![("refused-stream", 1)]));
}

#[test]
fn goaway_between_requests_costs_none() {
    let peer = start(&[], |server| {
        for _ in 0..4 {
            server.requests(1);
            server.answer(server.last);
        }
        server.requests(1);
        let last = server.last;
        server.send(&[response(last), go_away(last, NO_ERROR)].concat());
        server.await_end();
        assert_eq!(server.last, last);
    });
    let outcome = run(counted(plan(&peer, 1), 20));
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, requests.len(), counts.ok, counts.goaway), (4, 20, 20, 4));
    assert_eq!(errors(&outcome), []);
}

/// In the open model, what is due while a connection ends waits for the next one.
#[test]
fn arrivals_go_on_behind_goaway() {
    let peer = start(&[], |server| {
        for _ in 0..5 {
            server.requests(1);
            server.answer(server.last);
        }
        server.go_away(9, NO_ERROR);
        while let Some(request) = server.request() {
            assert!(request.stream > 9, "{}", request.stream);
        }
    });
    let model = Model::Open { rate: 300.0, stages: vec![], poisson: false, max_pending: 1000 };
    let outcome = run(counted(Plan { model, connections: 3, ..plan(&peer, 2) }, 60));
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert!(connections >= 12, "{connections}");
    assert_eq!((counts.sent, counts.sent), (60, requests.len() as u64));
    let refused = errors(&outcome).iter().map(|(_, count)| *count).sum::<u64>();
    assert!(errors(&outcome).iter().all(|(kind, _)| *kind == "refused-stream"));
    assert_eq!(counts.ok + refused, 60);
}

#[test]
fn a_refused_stream_is_not_sent_again() {
    let peer = start(&[], |server| {
        while let Some(request) = server.request() {
            match request.stream % 3 {
                0 => server.reset(request.stream, REFUSED_STREAM),
                _ => server.answer(request.stream),
            }
        }
    });
    let requests = vec![get("/{{seq}}")];
    let outcome = run(counted(Plan { requests, ..plan(&peer, 6) }, 60));
    let (connections, mut arrived) = peer.finish();
    arrived.sort();
    arrived.dedup();
    assert_eq!((connections, arrived.len()), (1, 60));
    assert_eq!((outcome.total.counts.ok, errors(&outcome)), (40, vec![("refused-stream", 20)]));
}

/// With its code by name, and the status if there was one.
#[test]
fn a_reset_ends_its_stream_alone() {
    let peer = start(&[], |server| {
        while let Some(request) = server.request() {
            let stream = request.stream;
            let begin = headers(stream, 0, &[(":status", "206")]);
            match request.path() {
                "/reset" => server.reset(stream, INTERNAL_ERROR),
                "/begun" => {
                    server.send(&[begin, number(RST_STREAM, stream, 0xbeef)].concat());
                }
                // The server wants no more of the request; the response is complete.
                "/complete" => {
                    server.send(&[response(stream), number(RST_STREAM, stream, NO_ERROR)].concat());
                }
                _ => server.answer(stream),
            }
        }
    });
    let requests = ["/reset", "/", "/complete", "/"].map(get).to_vec();
    let outcome = run(counted(Plan { requests, ..plan(&peer, 3) }, 40));
    let counts = &outcome.total.counts;
    assert_eq!((counts.ok, errors(&outcome)), (30, vec![("stream-reset", 10)]));
    assert!(example(&outcome, ErrorKind::StreamReset).contains("INTERNAL_ERROR"));
    let outcome = run(counted(Plan { requests: vec![get("/begun")], ..plan(&peer, 3) }, 5));
    let text = example(&outcome, ErrorKind::StreamReset);
    assert!(text.contains("206") && text.contains("0xbeef"), "{text}");
    assert_eq!(peer.finish().0, 2);
}

/// A response that breaks a rule is an error of its stream; the others do not notice.
#[test]
fn a_response_that_breaks_a_rule_spares_the_others() {
    let resets = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&resets);
    let peer = start(&[], move |server| {
        while let Some(request) = server.request() {
            let stream = request.stream;
            match request.path() {
                "/missing" => server.send(&headers(stream, END_STREAM, &[("x", "y")])),
                "/short" => {
                    let head = headers(stream, 0, &[(":status", "200"), ("content-length", "9")]);
                    server.send(&[head, data(stream, END_STREAM, b"hi")].concat());
                }
                _ => server.answer(stream),
            }
        }
        seen.lock().unwrap().extend(server.resets.iter().map(|(_, code)| *code));
    });
    let requests = ["/missing", "/", "/short", "/"].map(get).to_vec();
    let outcome = run(counted(Plan { requests, ..plan(&peer, 4) }, 40));
    assert_eq!(peer.finish().0, 1);
    assert_eq!((outcome.total.counts.ok, errors(&outcome)), (20, vec![("protocol", 20)]));
    assert_eq!(*resets.lock().unwrap(), [PROTOCOL_ERROR; 20]);
}

/// A violation of the connection ends all of its streams, and is told to the server.
#[test]
fn a_violation_of_the_connection_ends_it() {
    fn violation(number: usize) -> (Vec<u8>, u32, &'static str) {
        match number {
            0 => (data(0, 0, b"x"), PROTOCOL_ERROR, "protocol"),
            1 => (frame(PING, 0, 0, &[0; 7]), 6, "protocol"),
            2 => (frame(HEADERS, END_HEADERS, 1, &[0x80]), 9, "protocol"),
            3 => (frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2]), PROTOCOL_ERROR, "protocol"),
            _ => (number_of_windows(), FLOW_CONTROL_ERROR, "flow-control"),
        }
    }
    fn number_of_windows() -> Vec<u8> {
        number(WINDOW_UPDATE, 0, u32::MAX >> 1)
    }
    for case in 0..5 {
        let peer = by_connection(move |connection, server| {
            if connection > 0 {
                return;
            }
            let requests = server.requests(3);
            server.answer(requests[1].stream);
            let (bytes, code, _) = violation(case);
            server.send(&bytes);
            server.await_end();
            assert_eq!(server.farewell, Some(code), "case {case}");
        });
        let outcome = run(counted(plan(&peer, 3), 10));
        let (connections, requests) = peer.finish();
        let counts = &outcome.total.counts;
        assert_eq!((connections, requests.len() as u64), (2, counts.sent));
        assert_eq!(counts.sent, 10);
        let (_, _, kind) = violation(case);
        assert_eq!(errors(&outcome), [(kind, 10 - counts.ok)]);
        // The two that were not answered, and maybe the one behind the answer.
        assert!((7..=8).contains(&counts.ok), "case {case}: {}", counts.ok);
    }
}

/// More DATA than the window allows, of which the client has said how large it is.
#[test]
fn a_server_that_ignores_the_window_is_told_so() {
    let peer = start(&[], |server| {
        while let Some(request) = server.request() {
            let head = headers(request.stream, 0, &[(":status", "200")]);
            let content = data(request.stream, END_STREAM, &[0; 1001]);
            server.send(&[head, content].concat());
        }
    });
    let mut limited = plan(&peer, 1);
    limited.http2.window = 1000;
    // The acknowledgement makes the client strict.
    let outcome = run(counted(limited, 20));
    let (_, requests) = peer.finish();
    assert_eq!(requests.len(), 20);
    let found = errors(&outcome);
    assert_eq!(found, [("flow-control", 20 - outcome.total.counts.ok)]);
    assert!(found[0].1 >= 18, "{found:?}");
}

/// The end of the connection, announced by nothing, at each point of a response.
#[test]
fn an_end_within_a_response_loses_what_is_in_flight() {
    let length = response(1).len();
    for cut in [0, 1, 9, 10, length - 12, length - 11, length - 2, length - 1] {
        for (is_reset, kind) in [(false, "closed-early"), (true, "reset")] {
            let peer = by_connection_that_closes(move |server| {
                assert_eq!(server.requests(2).len(), 2);
                server.send(&response(1)[..cut]);
                if is_reset {
                    // Without lingering, a close is a reset.
                    let socket = socket2::SockRef::from(server.stream());
                    socket.set_linger(Some(Duration::ZERO)).unwrap();
                }
            });
            let outcome = run(counted(plan(&peer, 2), 10));
            let (connections, requests) = peer.finish();
            assert_eq!((connections, requests.len()), (2, 10), "cut at {cut}");
            assert_eq!(outcome.total.counts.ok, 8, "cut at {cut}");
            assert_eq!(errors(&outcome), [(kind, 2)], "cut at {cut}");
        }
    }
}

/// A server that has taken its leave does not answer all that it has promised.
#[test]
fn an_end_behind_goaway_loses_the_rest() {
    let peer = by_connection_that_closes(|server| {
        let requests = server.requests(3);
        server.go_away(5, NO_ERROR);
        server.answer(requests[2].stream);
    });
    let outcome = run(counted(plan(&peer, 3), 10));
    assert_eq!(peer.finish().0, 2);
    assert_eq!((outcome.total.counts.ok, errors(&outcome)), (8, vec![("closed-early", 2)]));
}

/// What is late behind GOAWAY ends the connection with the last stream.
#[test]
fn a_connection_ends_with_its_last_stream_though_that_is_late() {
    let peer = by_connection(|connection, server| {
        if connection == 0 {
            let requests = server.requests(2);
            server.go_away(3, NO_ERROR);
            server.answer(requests[1].stream);
            server.await_end();
            assert_eq!(server.resets, [(1, CANCEL)]);
        }
    });
    let plan = Plan { timeout: millis(50), ..plan(&peer, 2) };
    let outcome = run(counted(plan, 10));
    let (connections, requests) = peer.finish();
    assert_eq!((connections, requests.len()), (2, 10));
    assert_eq!((outcome.total.counts.ok, errors(&outcome)), (9, vec![("timeout", 1)]));
}

/// A server that answers what it has not been asked.
#[test]
fn an_answer_to_a_stream_that_was_not_opened_ends_the_connection() {
    let peer = by_connection(|connection, server| {
        if connection == 0 {
            server.requests(1);
            server.answer(3);
            server.await_end();
        }
    });
    let outcome = run(counted(plan(&peer, 1), 5));
    assert_eq!(peer.finish().0, 2);
    assert_eq!((outcome.total.counts.ok, errors(&outcome)), (4, vec![("protocol", 1)]));
}
