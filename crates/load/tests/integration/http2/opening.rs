//! The beginning of a connection, and servers that speak something else.

use std::sync::atomic::{AtomicUsize, Ordering};

use millrace_load::plan::Plan;
use millrace_load::{ErrorKind, Run, RunError};

use super::frames::*;
use super::server::*;
use super::{counted, millis, plan};
use crate::peer::{Peer, errors, run};

fn unreachable(plan: Plan) -> (ErrorKind, String) {
    match Run::new(plan).run(&mut |_| ()) {
        Err(RunError::Unreachable { kind, message }) => (kind, message),
        Err(other) => panic!("{other:?}"),
        Ok(outcome) => panic!("it was reached: {:?}", errors(&outcome)),
    }
}

/// Each with what the server says to the preface, whether it closes then, and what is said of it.
#[test]
fn a_server_that_speaks_something_else_is_named() {
    let cases: [(&[u8], ErrorKind, &str); 6] = [
        (
            b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
            ErrorKind::Protocol,
            "the server speaks HTTP/1.1: leave out --h2c",
        ),
        (b"SSH-2.0-OpenSSH_9.6\r\n", ErrorKind::Protocol, "the server speaks SSH"),
        // As short as an alert is.
        (b"\x15\x03\x03\0\x02\x02\x46", ErrorKind::Protocol, "the server speaks TLS: use https://"),
        (b"", ErrorKind::ClosedEarly, "closed the connection before its SETTINGS frame"),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x04", ErrorKind::ClosedEarly, "before its SETTINGS frame"),
        (b"\0\0\x08\x06\0\0\0\0\0pingpong", ErrorKind::Protocol, "first frame is not SETTINGS"),
    ];
    for (said, kind, words) in cases {
        for piece in [1, usize::MAX] {
            let peer = Peer::start(move |exchange| {
                let Some(mut server) = Server::accept(exchange) else { return };
                said.chunks(piece).for_each(|bytes| server.send(bytes));
                // A close with bytes that nobody has read would be a reset.
                // The client may have gone already.
                let _ = server.stream().shutdown(std::net::Shutdown::Write);
                server.await_end();
            });
            let (found, message) = unreachable(plan(&peer, 1));
            peer.finish();
            assert_eq!(found, kind, "{message}");
            assert!(message.contains(words), "{message}: {words}");
        }
    }
}

#[test]
fn a_server_without_settings_is_unreachable_at_the_limit() {
    let peer = Peer::start(|exchange| {
        let Some(mut server) = Server::accept(exchange) else { return };
        // A part of a frame is none.
        server.send(&settings(&[])[..5]);
        std::io::copy(&mut server.stream(), &mut std::io::sink()).unwrap();
    });
    let limited = Plan { connect_timeout: millis(100), ..plan(&peer, 1) };
    let (kind, message) = unreachable(limited);
    peer.finish();
    assert_eq!(kind, ErrorKind::ConnectTimeout);
    assert!(message.contains("no SETTINGS frame within 100ms"), "{message}");
}

#[test]
fn a_reset_before_the_settings_is_unreachable() {
    let peer = Peer::start(|exchange| {
        // A close with bytes that nobody has read is a reset.
        exchange.stream.peek(&mut [0]).unwrap();
    });
    assert_eq!(unreachable(plan(&peer, 1)).0, ErrorKind::Reset);
    peer.finish();
}

#[test]
fn a_server_that_takes_its_leave_at_once_is_unreachable_for_its_reason() {
    const ENHANCE_YOUR_CALM: u32 = 11;
    let peer = Peer::start(|exchange| {
        let Some(mut server) = Server::accept(exchange) else { return };
        server.send(&[settings(&[]), go_away(0, ENHANCE_YOUR_CALM)].concat());
        server.await_end();
    });
    let (kind, message) = unreachable(plan(&peer, 1));
    peer.finish();
    assert_eq!(kind, ErrorKind::ClosedEarly);
    assert!(message.contains("ENHANCE_YOUR_CALM"), "{message}");
}

/// What comes first is not one piece: the settings, a part of the next frame, and so on.
#[test]
fn settings_may_come_in_pieces() {
    let peer = Peer::start(|exchange| {
        let Some(mut server) = Server::accept(exchange) else { return };
        let first = [settings(&[(MAX_CONCURRENT_STREAMS, 100)]), frame(PING, 0, 0, &[1; 8])];
        first.concat().chunks(1).for_each(|byte| server.send(byte));
        server.answer_all();
    });
    let outcome = run(counted(plan(&peer, 4), 20));
    assert_eq!(peer.finish().1.len(), 20);
    assert_eq!((outcome.total.counts.ok, errors(&outcome)), (20, vec![]));
}

/// One of three connections fails before its settings: the run goes on with the others.
#[test]
fn a_connection_that_fails_to_open_is_counted() {
    let count = AtomicUsize::new(0);
    let peer = Peer::start(move |exchange| {
        let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
        let Some(mut server) = Server::accept(exchange) else { return };
        if is_first {
            server.stream().shutdown(std::net::Shutdown::Write).unwrap();
            return server.await_end();
        }
        server.send(&settings(&[]));
        server.answer_all();
    });
    let three = Plan { connections: 3, initial_connections: 3, ..plan(&peer, 2) };
    let outcome = run(three);
    let (connections, requests) = peer.finish();
    let counts = &outcome.total.counts;
    assert_eq!(requests.len() as u64, counts.sent);
    assert_eq!(counts.opened + 1, connections as u64);
    assert_eq!((counts.failed, errors(&outcome)), (1, vec![("closed-early", 1)]));
}
