//! The end of a handshake and the first response.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::both_sides::{both_sides, receive};
use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::{Reactor, Settings};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// The kinds of what has happened.
fn turn(reactor: &mut Reactor) -> Vec<i32> {
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    let mut batch = Batch::new(&mut events, &mut bytes);
    reactor.turn(&mut batch).unwrap();
    let count = batch.count();
    events.chunks(EVENT_LENGTH).take(count).map(|event| event[0]).collect()
}

#[test]
fn that_a_queue_has_left_is_told_also_when_the_handshake_has_just_ended() {
    let (context, mut client) = both_sides();
    let (socket, other) = UnixStream::pair().unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut reactor = Reactor::new().unwrap();
    let tls = Some(Duration::from_secs(10));
    let server = reactor.add_server(Settings { tls, ..Settings::default() });
    let id = reactor.adopt(server, other.into()).unwrap();

    client.write_tls(&mut &socket).unwrap();
    assert_eq!(turn(&mut reactor), [Kind::Hello as i32]);
    assert!(reactor.choose(id, &context, false));
    turn(&mut reactor);
    receive(&mut client, &socket);
    client.writer().write_all(REQUEST).unwrap();
    while client.wants_write() {
        client.write_tls(&mut &socket).unwrap();
    }
    assert_eq!(turn(&mut reactor), [Kind::Secure as i32, Kind::Request as i32]);

    let part = [0; 16 * 1024];
    let mut sent = 0;
    while reactor.send(id, &part, 0, false).unwrap() == 0 {
        sent += part.len();
    }
    sent += part.len();
    let mut received = receive(&mut client, &socket).len();
    // What is left has room now.
    reactor.wake_again();
    let mut told = Vec::new();
    while received < sent {
        received += receive(&mut client, &socket).len();
        told.extend(turn(&mut reactor));
    }
    assert_eq!(told, [Kind::Drained as i32]);
}
