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
        _ => headers(stream, END_STREAM, &[(":status", "503"), ("grpc-status", "0")]),
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
    let paths = ["/ok", "/late", "/alone", "/unknown", "/none", "/http"];
    let requests = paths.map(call).to_vec();
    let expected = [0].into_iter().collect::<StatusSet>();
    let plan = Plan { requests, grpc: true, expected, ..plan(&peer, 3) };
    let outcome = run(counted(plan, 60));
    let (connections, arrived) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!((connections, arrived.len(), counts.sent), (1, 60, 60));
    let statuses: Vec<_> = counts.statuses().collect();
    assert_eq!(statuses, [(0, 10), (2, 20), (13, 10), (14, 10), (503, 10)]);
    assert_eq!((counts.ok, counts.status_errors), (10, 50));
    assert_eq!(counts.messages, 10 * (2 + 2 + 1));
    assert_eq!(errors(&outcome), []);
    // Of each the first is kept, with what ended it and nothing of the others.
    for (status, path) in [(13, "/late"), (14, "/alone"), (2, "/unknown")] {
        let kept = kept(&outcome, status);
        assert!(kept.contains(&format!("grpc-message: {path}")), "{status}: {kept}");
    }
    let kept = kept(&outcome, 503);
    assert!(kept.starts_with("HTTP/2 503") && !kept.contains("grpc-message"), "{kept}");
}

/// Without trailers there is no message of another call either.
#[test]
fn a_call_without_trailers_is_told_as_one() {
    let peer = start(&[], |server| {
        while let Some(request) = server.request() {
            let path = if request.stream == 1 { "/ok" } else { "/none" };
            let answer = answer(request.stream, path);
            server.send(&answer);
        }
    });
    let expected = [0].into_iter().collect::<StatusSet>();
    let outcome = run(counted(Plan { grpc: true, expected, ..plan(&peer, 1) }, 2));
    peer.finish();
    let kept = kept(&outcome, 2);
    assert!(!kept.contains("grpc-status"), "{kept}");
}
