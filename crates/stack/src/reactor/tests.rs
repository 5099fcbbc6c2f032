//! What no caller sees: turns of the second thread that the first one does not follow, and memory.

mod beside;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use millrace_net::{Clock as _, Nanos};

use super::Reactor;
use crate::batch::{Batch, EVENT_LENGTH, Kind};
use crate::connection::Effects;
use crate::connection::blocked::Blocked;
use crate::router::{Detached, Route, RoutedRequest, Router, RouterContext};
use crate::settings::Settings;

/// A router of a single address, for which all servers accept.
#[derive(Debug)]
struct AllHere;

impl Router for AllHere {
    fn address_of(&self, _: usize) -> Option<usize> {
        Some(0)
    }

    fn route(&mut self, _: &RoutedRequest<'_>) -> Route {
        Route::Here
    }

    fn route_session(&mut self, _: usize, _: usize, _: &str, _: Nanos) -> Route {
        Route::Here
    }

    fn give(&mut self, _: usize, _: usize, _: Detached, _: &mut RouterContext<'_>) {}
}

/// Of a shared port nothing is told yet, so nobody comes to watch the connection.
#[test]
fn what_is_accepted_beside_is_watched_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings::default());
    reactor.set_router(Box::new(AllHere));
    reactor.listen(server, listener.into()).unwrap();
    let _client = TcpStream::connect(address).unwrap();
    reactor.standby_turn(&mut vec![0; 256 * 1024], &|| false).unwrap();
    let watched: Vec<bool> = reactor.connections.iter().map(|it| !it.is_unregistered()).collect();
    assert_eq!(watched, [true]);
}

#[test]
fn what_was_held_back_keeps_no_memory() {
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings { max_pipelined: 1, ..Settings::default() });
    let (mut client, other) = UnixStream::pair().unwrap();
    let id = reactor.adopt(server, other.into()).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n", "a".repeat(10_000));
    client.write_all(request.repeat(4).as_bytes()).unwrap();
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    let mut kept = Vec::new();
    for _ in 0..5 {
        reactor.turn(&mut Batch::new(&mut events, &mut bytes)).unwrap();
        reactor.finish(id, 1);
        kept.push(reactor.connections.at(id).unwrap().channel.kept_memory());
    }
    assert!(kept[0] > 30_000 && kept[4] == 0, "{kept:?}");
}

#[test]
fn timers_of_connections_that_are_gone_leave() {
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings::default());
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    for _ in 0..1000 {
        let (mut client, other) = UnixStream::pair().unwrap();
        let id = reactor.adopt(server, other.into()).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        reactor.turn(&mut Batch::new(&mut events, &mut bytes)).unwrap();
        reactor.finish(id, 1);
        reactor.close(id, false);
        assert!(reactor.timers.len() < 100);
    }
}

/// A batch may still contain the number of a connection that was closed while it is taken.
#[test]
fn a_number_is_given_anew_from_the_next_turn_on() {
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings::default());
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    let mut pairs = Vec::new();
    let mut adopt = |reactor: &mut Reactor| {
        let (client, other) = UnixStream::pair().unwrap();
        pairs.push(client);
        reactor.adopt(server, other.into()).unwrap()
    };
    let first = adopt(&mut reactor);
    let key = reactor.connections.at(first).unwrap().id;
    reactor.turn(&mut Batch::new(&mut events, &mut bytes)).unwrap();
    reactor.close(first, false);
    assert_ne!(adopt(&mut reactor), first);
    reactor.turn(&mut Batch::new(&mut events, &mut bytes)).unwrap();
    assert_eq!(adopt(&mut reactor), first);
    assert!(reactor.connections.get(key).is_none(), "another generation");
    assert!(reactor.connections.remove(key).is_none());
}

/// What waits for the end of a connection leaves in time, though no turn comes by itself.
#[test]
fn last_bytes_leave_without_a_turn() {
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings::default());
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let id = reactor.adopt(server, listener.accept().unwrap().0.into()).unwrap();
    reactor.turn(&mut Batch::new(&mut events, &mut bytes)).unwrap();
    reactor.wake_again();
    reactor.send(id, b"HTTP/1.1 204 No Content\r\n\r\n", 1, true).unwrap();
    assert_eq!(reactor.next_timer(), Some(Duration::ZERO));
    reactor.turn(&mut Batch::new(&mut events, &mut bytes)).unwrap();
    client.read_exact(&mut [0; 27]).unwrap();
}

/// Kinds of events, as numbers, of a turn.
fn turn(reactor: &mut Reactor) -> Vec<i32> {
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    let mut batch = Batch::new(&mut events, &mut bytes);
    reactor.turn(&mut batch).unwrap();
    let count = batch.count();
    (0..count).map(|event| events[event * EVENT_LENGTH]).collect()
}

/// What waits for the peer to take all hears of it, also where the end of a handshake has taken the rest along.
#[test]
fn what_leaves_with_a_handshake_is_told_to_have_left() {
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings::default());
    let (mut client, other) = UnixStream::pair().unwrap();
    let index = reactor.adopt(server, other.into()).unwrap();
    while reactor.send(index, &[0; 64 * 1024], 0, false).unwrap() == 0 {}
    turn(&mut reactor);
    let connection = reactor.connections.at_mut(index).unwrap();
    let id = connection.id;
    connection.lane.blocked = Blocked::Room;
    let mut part = vec![0; 1 << 20];
    client.set_nonblocking(true).unwrap();
    while client.read(&mut part).is_ok() {}
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    let mut batch = Batch::new(&mut events, &mut bytes);
    let effects = Effects { handshake_done: true, ..Effects::default() };
    let now = reactor.clock.now();
    reactor.follow_up(id, effects, &mut batch, now);
    assert_eq!((reactor.queued(index), batch.count()), (0, 1));
    assert_eq!(events[0], Kind::Drained as i32);
    let connection = reactor.connections.at(index).unwrap();
    assert!(connection.lane.blocked == Blocked::No && connection.goes_on());
}

/// Where the caller decides about connections, it has seen one before it hears of a request on it.
#[test]
fn what_is_accepted_beside_waits_for_its_admission() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings { requires_admission: true, ..Settings::default() });
    reactor.listen(server, listener.into()).unwrap();
    let mut bytes = vec![0; 256 * 1024];
    reactor.standby_turn(&mut bytes, &|| false).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    reactor.standby_turn(&mut bytes, &|| false).unwrap();
    assert_eq!(turn(&mut reactor), [Kind::Open as i32]);
    reactor.wake_again();
    assert_eq!(turn(&mut reactor), [Kind::Request as i32]);
}

/// A peer that takes nothing gets one late answer, however often it is looked for late responses.
#[test]
fn a_response_is_given_up_once() {
    let mut reactor = Reactor::new().unwrap();
    let limit = Some(Duration::ZERO);
    let server = reactor.add_server(Settings { response_limit: limit, ..Settings::default() });
    let (mut client, other) = UnixStream::pair().unwrap();
    let id = reactor.adopt(server, other.into()).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    turn(&mut reactor);
    while reactor.send(id, &[0; 64 * 1024], 0, false).unwrap() == 0 {}
    reactor.finish(id, 1);
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(turn(&mut reactor), [Kind::Request as i32]);
    while reactor.counts(server).timed_out == 0 {
        reactor.give_up(&|| false);
    }
    let queued = reactor.queued(id);
    reactor.give_up(&|| false);
    assert_eq!((reactor.counts(server).timed_out, reactor.queued(id)), (1, queued));
}
