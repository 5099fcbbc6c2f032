//! Sessions whose requests end one by one: the engine has to know nothing else about their protocol.

use super::*;
use crate::session::Session;
use crate::session::streams::StreamSession;

/// A run on one connection with requests that end one by one.
fn streams(depth: usize, capacity: usize, change: impl FnOnce(&mut Plan)) -> (Scene, TcpStream) {
    let mut scene = Scene::new(|plan| {
        (plan.connections, plan.initial_connections, plan.pipelining) = (1, 1, depth);
        change(plan);
    });
    let session = Session::Streams(StreamSession::new(capacity));
    scene.engine.slots[0].connection.set_session(session);
    let peer = scene.peers.remove(0);
    // A request that does not come fails the test.
    peer.set_read_timeout(Some(LATE)).unwrap();
    (scene, peer)
}

/// Reads what the client sends next.
#[track_caller]
fn assert_reads(peer: &mut TcpStream, expected: &[u8]) {
    let mut bytes = vec![0; expected.len()];
    peer.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, expected);
}

#[test]
fn requests_may_end_in_any_order_and_without_the_connection() {
    let (mut scene, mut peer) = streams(3, 100, |_| ());
    scene.start();
    assert_reads(&mut peer, &[0, 1, 2]);
    peer.write_all(&[b'a', 1, b'r', 2]).unwrap();
    scene.turn_until(|engine| engine.slots[0].productive);
    assert_reads(&mut peer, &[3, 4]);
    peer.write_all(&[b'r', 0]).unwrap();
    assert_reads_after(&mut scene, &mut peer, &[5]);
    let counts = scene.tally().counts;
    assert_eq!((counts.ok, counts.opened, counts.closed_by_server), (1, 1, 0));
}

#[test]
fn a_request_that_is_late_may_end_alone() {
    let (mut scene, mut peer) = streams(2, 100, |_| ());
    scene.start();
    assert_reads(&mut peer, &[0, 1]);
    peer.write_all(&[b'a', 0]).unwrap();
    scene.turn_until(|engine| engine.slots[0].productive);
    assert_reads(&mut peer, &[2]);
    let sent = expire(&mut scene);
    assert_reads(&mut peer, &[b'!', 1, 3]);
    let connection = &scene.engine.slots[0].connection;
    assert!(connection.is_open() && connection.in_flight() == 2);
    let oldest = connection.waiting_since().unwrap();
    assert!(oldest > sent);
    // The limit of the next one is in force.
    expire(&mut scene);
    assert_reads(&mut peer, &[b'!', 2]);
    let counts = scene.tally().counts;
    assert_eq!((counts.ok, counts.timeouts, counts.opened), (1, 2, 1));
}

#[test]
fn a_session_carries_as_many_requests_as_it_says() {
    let (mut scene, mut peer) = streams(5, 2, |_| ());
    scene.start();
    assert_reads(&mut peer, &[0, 1]);
    peer.write_all(&[b's', 4]).unwrap();
    scene.turn_until(|engine| engine.recorder.in_flight() == 4);
    assert_reads(&mut peer, &[2, 3]);
    peer.write_all(&[b's', 3, b'a', 0]).unwrap();
    scene.turn_until(|engine| engine.slots[0].productive);
    assert_eq!(scene.engine.recorder.in_flight(), 3, "the server has become narrower");
    peer.write_all(&[b'a', 1]).unwrap();
    assert_reads_after(&mut scene, &mut peer, &[4]);
}

#[test]
fn arrivals_wait_for_a_session_to_grow() {
    let (mut scene, mut peer) = streams(5, 2, |plan| {
        (plan.model, plan.max_requests) = (at_once(), Some(4));
    });
    scene.start();
    assert_reads(&mut peer, &[0, 1]);
    assert_eq!(scene.engine.recorder.under_way(), 2);
    peer.write_all(&[b's', 3]).unwrap();
    assert_reads_after(&mut scene, &mut peer, &[2]);
    peer.write_all(&[b'r', 1]).unwrap();
    assert_reads_after(&mut scene, &mut peer, &[3]);
    peer.write_all(&[b'a', 0, b'a', 2, b'a', 3]).unwrap();
    scene.turn_until(Engine::is_over);
    let counts = scene.tally().counts;
    assert_eq!((counts.ok, counts.transport_errors, counts.sent), (3, 1, 4));
}

/// Turns until the client has sent as many bytes.
#[track_caller]
fn assert_reads_after(scene: &mut Scene, peer: &mut TcpStream, expected: &[u8]) {
    let mut bytes = vec![0; expected.len()];
    let limit = scene.now() + LATE;
    peer.set_nonblocking(true).unwrap();
    while peer.peek(&mut bytes).unwrap_or(0) < expected.len() {
        assert!(scene.now() < limit, "not within {LATE:?}");
        scene.turn();
    }
    peer.set_nonblocking(false).unwrap();
    assert_reads(peer, expected);
}
