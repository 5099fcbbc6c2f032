//! Redirections that are followed as streams of the same connection.

use millrace_load::StatusSet;
use millrace_load::plan::{Plan, Request};

use super::frames::*;
use super::server::*;
use super::{counted, plan};
use crate::peer::{errors, get, run};

fn redirection(stream: u32, status: &str, location: &str) -> Vec<u8> {
    headers(stream, END_STREAM, &[(":status", status), ("location", location)])
}

#[test]
fn redirections_are_followed_as_streams() {
    let peer = start(&[], |server| {
        while let Some(request) = server.request() {
            match request.path() {
                "/" => server.send(&redirection(request.stream, "302", "/second?x=1")),
                "/second?x=1" => server.send(&redirection(request.stream, "308", "/third")),
                _ => server.answer(request.stream),
            }
        }
    });
    let outcome = run(counted(Plan { follow: 5, ..plan(&peer, 4) }, 20));
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, requests.len()), (1, 60));
    assert_eq!((counts.sent, counts.ok, counts.followed), (20, 20, 40));
    assert_eq!(counts.statuses().collect::<Vec<_>>(), [(200, 20)]);
    assert_eq!(errors(&outcome), []);
    // Not beyond the bound.
    let peer = start(&[], |server| {
        while let Some(request) = server.request() {
            server.send(&redirection(request.stream, "302", "/"));
        }
    });
    let outcome = run(counted(Plan { follow: 2, ..plan(&peer, 4) }, 20));
    assert_eq!(peer.finish().1.len(), 60);
    assert_eq!(outcome.total.counts.statuses().collect::<Vec<_>>(), [(302, 20)]);
}

/// The server has not read the body of the first request: its stream ends, and the next one has the body as a whole, or
/// none.
#[test]
fn a_redirection_before_the_end_of_the_body_begins_anew() {
    for (status, expected) in [("307", 5000), ("303", 0)] {
        let peer = start(&[(INITIAL_WINDOW_SIZE, 1000)], move |server| {
            while let Some(said) = server.next() {
                match said {
                    Said::Head { stream, fields, ends } => {
                        let is_first = fields.contains(&(":path".into(), "/".into()));
                        assert!(is_first || ends == (expected == 0));
                        server.begin(stream, fields);
                        if is_first {
                            server.send(&redirection(stream, status, "/next"));
                        } else if ends {
                            server.answer(stream);
                        }
                    }
                    Said::Data { stream, bytes, ends } => {
                        server.send(&number(WINDOW_UPDATE, 0, bytes.len().max(1) as u32));
                        let path = server.add(stream, &bytes).map(|it| it.path().to_owned());
                        match path.as_deref() {
                            Some("/") => assert!(!ends, "the rest of a body that nobody wants"),
                            Some(_) if ends => {
                                assert_eq!(server.end(stream).body, vec![b'x'; expected]);
                                server.answer(stream);
                            }
                            Some(_) => {
                                server.send(&number(WINDOW_UPDATE, stream, bytes.len() as u32));
                            }
                            None => {}
                        }
                    }
                    _ => {}
                }
            }
            // No stream of a redirection is left open.
            assert_eq!(server.resets.len(), 10);
        });
        let body = Some(vec![b'x'; 5000]);
        let requests = vec![Request { method: "POST".into(), body, ..get("/") }];
        let outcome = run(counted(Plan { requests, follow: 1, ..plan(&peer, 3) }, 10));
        let (connections, arrived) = peer.finish();
        let counts = &outcome.total.counts;
        assert_eq!((connections, arrived.len(), counts.followed), (1, 20, 10), "{status}");
        assert_eq!((counts.ok, errors(&outcome)), (10, vec![]), "{status}");
    }
}

/// A server that has taken its leave takes no other request: the redirection is the answer.
#[test]
fn behind_goaway_no_redirection_is_followed() {
    let peer = start(&[], |server| {
        server.requests(1);
        server.go_away(1, NO_ERROR);
        server.send(&redirection(1, "302", "/next"));
        server.await_end();
    });
    let outcome = run(counted(Plan { follow: 5, ..plan(&peer, 1) }, 3));
    assert_eq!(peer.finish().1, ["GET /"; 3]);
    assert_eq!(outcome.total.counts.statuses().collect::<Vec<_>>(), [(302, 3)]);
}

/// A server that ends the connection instead of answering the next request: the redirection is the answer, as with HTTP/1.1.
#[test]
fn a_redirection_that_ends_the_connection_is_the_answer() {
    for by_goaway in [false, true] {
        let peer = start(&[], move |server| {
            server.requests(2);
            let redirections: Vec<_> =
                [1, 3].iter().flat_map(|it| redirection(*it, "302", "/next")).collect();
            server.send(&redirections);
            server.requests(2);
            if by_goaway {
                server.go_away(3, NO_ERROR);
                server.await_end();
            }
        });
        let expected = [200].into_iter().collect::<StatusSet>();
        let plan = Plan { follow: 5, pipelining: 2, expected, ..plan(&peer, 1) };
        let outcome = run(counted(plan, 4));
        let (connections, arrived) = peer.finish();
        assert_eq!((connections, arrived.len()), (2, 8), "GOAWAY: {by_goaway}");
        let counts = &outcome.total.counts;
        assert_eq!(counts.statuses().collect::<Vec<_>>(), [(302, 4)], "GOAWAY: {by_goaway}");
        assert_eq!(errors(&outcome), [], "GOAWAY: {by_goaway}");
        let kept = outcome.total.kept.first().map(|kept| kept.bytes.to_vec()).unwrap_or_default();
        let kept = String::from_utf8_lossy(&kept).into_owned();
        assert!(kept.starts_with("HTTP/2 302") && kept.contains("location: /next"), "{kept}");
    }
}
