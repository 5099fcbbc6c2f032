//! Calls of gRPC: their statuses are those of the trailers, or of a head that is all there is.

use millrace_load::metrics::kept::KeepReason;
use millrace_load::plan::{Plan, Request};
use millrace_load::{Outcome, StatusSet};

use super::frames::*;
use super::server::*;
use super::{counted, plan};
use crate::peer::{errors, get, run};

/// The kept response with this status, as text.
fn kept(outcome: &Outcome, status: u16) -> String {
    let mut kept = outcome.total.kept.iter();
    let kept = kept.find(|kept| kept.why == KeepReason::Status(status)).unwrap();
    String::from_utf8(kept.bytes.to_vec()).unwrap()
}

fn answer(stream: u32, path: &str) -> Vec<u8> {
    let ok: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc")];
    let head = headers(stream, 0, ok);
    let alone = |more: &[(&str, &str)]| headers(stream, END_STREAM, &[ok, more].concat());
    let trailers = |status: &str| {
        headers(stream, END_STREAM, &[("grpc-status", status), ("grpc-message", path)])
    };
    // Two messages, the second one in two frames.
    let message: &[u8] = &[0, 0, 0, 0, 3, b'a', b'b', b'c'];
    let messages =
        [data(stream, 0, &[message, &message[..4]].concat()), data(stream, 0, &message[4..])];
    match path {
        "/ok" => [head, messages.concat(), trailers("0")].concat(),
        "/late" => [head, messages.concat(), trailers("13")].concat(),
        "/alone" => alone(&[("grpc-status", "14"), ("grpc-message", "/alone")]),
        "/unknown" => [head, trailers("99")].concat(),
        "/none" => [head, data(stream, END_STREAM, message)].concat(),
        "/cut" => [head, data(stream, 0, &message[..6]), trailers("0")].concat(),
        "/mapped" => headers(stream, END_STREAM, &[(":status", "503"), ("grpc-status", "8")]),
        _ => headers(stream, END_STREAM, &[(":status", "503"), ("content-type", "text/html")]),
    }
}

#[test]
fn a_call_has_its_status_from_what_ends_it() {
    let peer = start(&[], |server| {
        while let Some(request) = server.request() {
            let answer = answer(request.stream, request.path());
            server.send(&answer);
        }
    });
    let call = |path: &str| Request {
        method: "POST".into(),
        body: Some(vec![0; 5]),
        fields: vec![("Host".into(), "peer".into()), ("TE".into(), "trailers".into())],
        ..get(path)
    };
    let paths = ["/ok", "/late", "/alone", "/unknown", "/none", "/cut", "/mapped", "/http"];
    let requests = paths.map(call).to_vec();
    let expected = [0].into_iter().collect::<StatusSet>();
    let plan = Plan { requests, grpc: true, expected, ..plan(&peer, 3) };
    let outcome = run(counted(plan, 80));
    let (connections, arrived) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, arrived.len(), counts.sent), (1, 80, 80));
    let statuses: Vec<_> = counts.statuses().collect();
    assert_eq!(statuses, [(0, 10), (2, 10), (8, 10), (13, 10), (14, 10), (503, 10)]);
    assert_eq!((counts.ok, counts.status_errors), (10, 50));
    assert_eq!(counts.messages, 10 * (2 + 2 + 1));
    // Responses without a status, and those that end within a message, break the protocol.
    assert_eq!(errors(&outcome), [("protocol", 20)]);
    // Of each the first is kept, with what ended it and nothing of the others.
    for (status, path) in [(13, "/late"), (14, "/alone"), (2, "/unknown")] {
        let kept = kept(&outcome, status);
        assert!(kept.contains(&format!("grpc-message: {path}")), "{status}: {kept}");
    }
    let kept = kept(&outcome, 503);
    assert!(kept.starts_with("HTTP/2 503") && !kept.contains("grpc-message"), "{kept}");
}

/// What a response without trailers lacks, and one that is cut off, is told.
#[test]
fn a_broken_response_is_told_as_one() {
    for (path, expected) in [("/none", "has no grpc-status"), ("/cut", "ended within a message")] {
        let peer = start(&[], move |server| {
            while let Some(request) = server.request() {
                // The trailers of the first call are not those of the second.
                let path = if request.stream == 1 { "/ok" } else { path };
                let answer = answer(request.stream, path);
                server.send(&answer);
            }
        });
        let expected_statuses = [0].into_iter().collect::<StatusSet>();
        let plan = Plan { grpc: true, expected: expected_statuses, ..plan(&peer, 1) };
        let outcome = run(counted(plan, 2));
        peer.finish();
        let (kind, count, example) = outcome.total.counts.errors().next().unwrap();
        assert_eq!((kind.name(), count), ("protocol", 1), "{path}");
        assert!(example.is_some_and(|it| it.contains(expected)), "{path}: {example:?}");
    }
}
