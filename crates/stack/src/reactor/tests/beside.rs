//! Turns of the second thread: how much they do, and what they leave for the first.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use millrace_cache::Mode;
use millrace_net::Clock as _;
use socket2::{Domain, Socket, Type};

use self::both_sides::{begin, configure};
use super::turn;
use crate::batch::{Batch, EVENT_LENGTH, Kind};
use crate::reactor::Reactor;
use crate::reactor::standby::STEPS;
use crate::server::MAX_UNREPORTED;
use crate::settings::Settings;

#[expect(dead_code, reason = "of the tests of the crate, of which this takes a part")]
#[path = "../../../tests/integration/both_sides.rs"]
mod both_sides;

const STORED: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OTHER: &[u8] = b"GET /other HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CLIENTS: usize = 100;
const FAR: Duration = Duration::from_secs(20);

/// A server that listens, and whose queue is long enough.
fn serve(settings: Settings) -> (Reactor, usize, SocketAddr) {
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(settings);
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(1024).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    reactor.listen(server, TcpListener::from(listener).into()).unwrap();
    (reactor, server, address)
}

/// The same with a stored answer.
fn serve_stored() -> (Reactor, SocketAddr) {
    let mode = Mode::All(FAR);
    let cache = millrace_cache::Settings { mode, ..millrace_cache::Settings::default() };
    let (mut reactor, _, address) = serve(Settings { cache, ..Settings::default() });
    let mut client = connect(address, STORED);
    while !turn(&mut reactor).contains(&(Kind::Request as i32)) {
        reactor.wake_again();
    }
    reactor.send(0, OK, 1, false).unwrap();
    client.set_nonblocking(false).unwrap();
    client.read_exact(&mut [0; OK.len()]).unwrap();
    reactor.wake_again();
    (reactor, address)
}

fn connect(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(bytes).unwrap();
    client.set_nonblocking(true).unwrap();
    client
}

fn beside(reactor: &mut Reactor) -> bool {
    reactor.standby_turn(&mut vec![0; 256 * 1024], &|| false).unwrap()
}

/// Takes those out that have received something.
fn take_answered(clients: &mut Vec<TcpStream>) -> usize {
    let before = clients.len();
    clients.retain(|client| {
        client.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    });
    before - clients.len()
}

/// Takes turns until all have received something, few in each.
fn answer_few_by_few(reactor: &mut Reactor, mut clients: Vec<TcpStream>) {
    while !clients.is_empty() {
        beside(reactor);
        let answered = take_answered(&mut clients);
        assert!(answered <= STEPS, "{answered} at once");
    }
}

#[test]
fn hits_of_many_clients_are_answered_few_by_few() {
    let (mut reactor, address) = serve_stored();
    let clients = (0..CLIENTS).map(|_| connect(address, STORED)).collect();
    answer_few_by_few(&mut reactor, clients);
}

#[test]
fn a_turn_goes_on_at_once_where_more_clients_have_come_than_it_takes() {
    let (mut reactor, address) = serve_stored();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| connect(address, b"")).collect();
    take_all(&mut reactor);
    for client in &mut clients {
        client.write_all(STORED).unwrap();
    }
    while beside(&mut reactor) {}
    assert_eq!(take_answered(&mut clients), CLIENTS);
}

#[test]
fn hits_of_one_client_are_answered_few_by_few() {
    let (mut reactor, address) = serve_stored();
    let mut client = connect(address, &STORED.repeat(1000));
    let (mut received, mut part) = (0, vec![0; 1 << 20]);
    while received < 1000 {
        beside(&mut reactor);
        let count = client.read(&mut part).unwrap_or(0);
        let answers = part[..count].windows(4).filter(|bytes| bytes == b"200 ").count();
        // When it is accepted, and in the same turn once more.
        assert!(answers <= 2 * 64, "{answers} at once");
        received += answers;
    }
}

#[test]
fn handshakes_of_many_clients_are_answered_few_by_few() {
    let (context, client) = configure(None);
    let (mut reactor, server, address) = serve(Settings { tls: Some(FAR), ..Settings::default() });
    reactor.set_context(server, Some(context));
    let hello = |_| {
        let mut hello = Vec::new();
        begin(&client).write_tls(&mut hello).unwrap();
        connect(address, &hello)
    };
    answer_few_by_few(&mut reactor, (0..CLIENTS).map(hello).collect());
}

#[test]
fn a_turn_ends_at_once_where_the_reactor_is_wanted() {
    let (mut reactor, address) = serve_stored();
    // Half of them are known already.
    let mut clients: Vec<_> = (0..CLIENTS / 2).map(|_| connect(address, b"")).collect();
    take_all(&mut reactor);
    for client in &mut clients {
        client.write_all(STORED).unwrap();
    }
    clients.extend((0..CLIENTS / 2).map(|_| connect(address, STORED)));
    assert!(reactor.standby_turn(&mut vec![0; 256 * 1024], &|| true).unwrap());
    assert_eq!(take_answered(&mut clients), 0);
    let asked = std::cell::Cell::new(0);
    let after_three = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    assert!(reactor.standby_turn(&mut vec![0; 256 * 1024], &after_three).unwrap());
    let answered = take_answered(&mut clients);
    assert!((1..=3).contains(&answered), "{answered}");
    // The first thread goes on with what is left.
    take_all(&mut reactor);
    assert_eq!(clients.len(), take_answered(&mut clients));
}

/// Turns of the first thread, until there is nothing more. Gives how many connections and requests are told.
fn take_all(reactor: &mut Reactor) -> (usize, usize) {
    let (mut opened, mut asked) = (0, 0);
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 4096], vec![0; 1024 * 1024]);
    loop {
        let mut batch = Batch::new(&mut events, &mut bytes);
        let more = reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        for event in events.chunks(EVENT_LENGTH).take(count) {
            opened += usize::from(event[0] == Kind::Open as i32);
            asked += usize::from(event[0] == Kind::Request as i32);
        }
        reactor.wake_again();
        if count == 0 && !more {
            return (opened, asked);
        }
    }
}

#[test]
fn so_many_are_accepted_that_nobody_hears_of_and_the_rest_when_somebody_does() {
    const MORE: usize = 50;
    let (mut reactor, _, address) = serve(Settings::default());
    // Those that are gone by then count as well.
    for _ in 0..MAX_UNREPORTED {
        connect(address, b"");
    }
    let clients: Vec<_> = (0..MORE).map(|_| connect(address, OTHER)).collect();
    while beside(&mut reactor) {}
    // One that comes is no reason to look again and again.
    let last = connect(address, OTHER);
    assert!(!beside(&mut reactor));
    assert_eq!(reactor.connections.iter().count(), MAX_UNREPORTED);
    // The first thread is called.
    assert!(reactor.woken);
    assert_eq!(take_all(&mut reactor), (MAX_UNREPORTED + MORE + 1, MORE + 1));
    // It has heard of all of them: there is room for more.
    let _more: Vec<_> = (0..MORE).map(|_| connect(address, OTHER)).collect();
    let before = reactor.connections.iter().count();
    while beside(&mut reactor) {}
    assert_eq!(reactor.connections.iter().count(), before + MORE);
    drop((clients, last));
}

#[test]
fn no_more_are_accepted_than_a_server_may_have_before_its_caller_decides() {
    let settings =
        Settings { max_connections: Some(3), requires_admission: true, ..Settings::default() };
    let (mut reactor, _, address) = serve(settings);
    let clients: Vec<_> = (0..10).map(|_| connect(address, OTHER)).collect();
    while beside(&mut reactor) {}
    assert_eq!(reactor.connections.iter().count(), 3);
    assert_eq!(take_all(&mut reactor), (10, 10));
    while beside(&mut reactor) {}
    let more: Vec<_> = (0..10).map(|_| connect(address, OTHER)).collect();
    while beside(&mut reactor) {}
    assert_eq!(reactor.connections.iter().count(), 10, "none beyond them");
    drop((clients, more));
}

#[test]
fn a_caller_that_takes_no_connections_hears_of_each() {
    let (mut reactor, _, address) =
        serve(Settings { max_connections: Some(0), ..Settings::default() });
    let client = connect(address, OTHER);
    assert!(!beside(&mut reactor));
    assert!(reactor.woken);
    assert_eq!(take_all(&mut reactor), (1, 1));
    drop(client);
}

#[test]
fn late_responses_are_given_up_few_by_few_whoever_else_is_there() {
    const LATE: usize = 40;
    let mut reactor = Reactor::new().unwrap();
    let limit = Some(Duration::from_millis(1));
    let server = reactor.add_server(Settings { response_limit: limit, ..Settings::default() });
    let mut clients = Vec::new();
    for number in 0..4 * LATE {
        let (mut client, other) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        other.set_nonblocking(true).unwrap();
        let id = reactor.adopt(server, other.into()).unwrap();
        client.write_all(STORED).unwrap();
        assert_eq!(turn(&mut reactor), [Kind::Request as i32]);
        reactor.wake_again();
        match number % 4 {
            // Late.
            0 => {}
            1 => drop(reactor.send(id, OK, 1, false).unwrap()),
            2 => reactor.finish(id, 1),
            _ => reactor.close(id, false),
        }
        clients.push(client);
    }
    let (mut count, end) = (0, reactor.clock.now() + FAR);
    while count < LATE as u64 && reactor.clock.now() < end {
        reactor.give_up(&|| false);
        let now = reactor.counts(server).timed_out;
        assert!(now - count <= STEPS as u64);
        count = now;
    }
    assert!(!reactor.give_up(&|| false));
    assert_eq!(reactor.counts(server).timed_out, LATE as u64);
    for (number, client) in clients.iter_mut().enumerate().filter(|(at, _)| at % 4 == 0) {
        let mut received = [0; 12];
        client.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"HTTP/1.1 408", "client {number}");
    }
}

#[test]
fn no_response_is_late_behind_the_end_of_our_side() {
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings { response_limit: Some(FAR), ..Settings::default() });
    let (mut client, other) = UnixStream::pair().unwrap();
    other.set_nonblocking(true).unwrap();
    let id = reactor.adopt(server, other.into()).unwrap();
    reactor.end(id);
    client.write_all(STORED).unwrap();
    assert_eq!(turn(&mut reactor), [Kind::Request as i32]);
    assert_eq!(reactor.servers[server].unanswered.first(|_, _| true), None);
}

#[test]
fn handshakes_end_in_their_time_one_by_one() {
    let limit = Duration::from_millis(50);
    let mut reactor = Reactor::new().unwrap();
    let server = reactor.add_server(Settings { tls: Some(limit), ..Settings::default() });
    let mut clients = Vec::new();
    for _ in 0..3 {
        let (client, other) = UnixStream::pair().unwrap();
        other.set_nonblocking(true).unwrap();
        clients.push((client, reactor.adopt(server, other.into()).unwrap()));
    }
    reactor.close(clients[1].1, false);
    let (mut failed, end) = (Vec::new(), reactor.clock.now() + FAR);
    while failed.len() < 2 && reactor.clock.now() < end {
        let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
        let mut batch = Batch::new(&mut events, &mut bytes);
        reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        for event in events.chunks(EVENT_LENGTH).take(count) {
            assert_eq!(event[0], Kind::Failed as i32);
            failed.push(usize::try_from(event[1]).unwrap());
        }
        reactor.wake_again();
    }
    assert_eq!(failed, [clients[0].1, clients[2].1]);
}
