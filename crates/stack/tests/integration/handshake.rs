//! What leaves when, while several TLS handshakes go on in the same turn.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use millrace_net::{Clock as _, Monotonic};
use millrace_stack::batch::{EVENT_LENGTH, Kind};
use millrace_stack::tls::secure_context::{SecureContext, TicketOptions};
use millrace_stack::{Batch, Reactor, Settings};
use rustls::{ClientConfig, ClientConnection};

use crate::both_sides::{begin, configure};

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(10);
/// What was written to a loopback socket is there at once; this is far more than enough.
const TURNS: usize = 100_000;
/// A record that no key has sealed.
const UNSEALED: [u8; 25] = {
    let mut record = [0; 25];
    (record[0], record[1], record[2], record[4]) = (0x17, 3, 3, 20);
    record
};
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

struct Server {
    reactor: Reactor,
    listener: TcpListener,
    context: SecureContext,
    client: Arc<ClientConfig>,
}

impl Server {
    fn new() -> Self {
        Self::within(LIMIT)
    }

    /// Handshakes have so much time.
    fn within(limit: Duration) -> Self {
        let tickets = TicketOptions { keys: [1; 48], context: Vec::new(), lifetime: 300 };
        let (context, client) = configure(Some(tickets));
        let mut reactor = Reactor::new().unwrap();
        let server = reactor.add_server(Settings { tls: Some(limit), ..Settings::default() });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        reactor.listen(server, listener.as_fd().try_clone_to_owned().unwrap()).unwrap();
        Self { reactor, listener, context, client }
    }

    /// A client whose connection the reactor has accepted; and that connection.
    fn connect(&mut self) -> (Client, usize) {
        let socket = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        let session = begin(&self.client);
        let [id] = self.events(&[Kind::Open])[..] else { unreachable!("one event") };
        (Client { socket, session }, id)
    }

    /// A client that has agreed with the server on TLS, and has not said so. `defers`: requests wait for the caller's word.
    fn agree(&mut self, defers: bool) -> (Client, usize) {
        let (mut client, id) = self.connect();
        client.send();
        self.events(&[Kind::Hello]);
        assert!(self.reactor.choose(id, &self.context, defers));
        while client.session.is_handshaking() {
            client.receive();
        }
        (client, id)
    }

    /// Kinds of what a turn tells.
    fn turn(&mut self) -> Vec<i32> {
        let (mut events, mut bytes) = (vec![0; 64 * EVENT_LENGTH], vec![0; 1 << 20]);
        let mut batch = Batch::new(&mut events, &mut bytes);
        self.reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        events.chunks(EVENT_LENGTH).take(count).map(|event| event[0]).collect()
    }

    /// Turns until events have come, which have to be these; gives their connections.
    fn events(&mut self, expected: &[Kind]) -> Vec<usize> {
        let (mut events, mut bytes) = (vec![0; 64 * EVENT_LENGTH], vec![0; 1 << 20]);
        for _ in 0..TURNS {
            let mut batch = Batch::new(&mut events, &mut bytes);
            self.reactor.turn(&mut batch).unwrap();
            let count = batch.count();
            if count > 0 {
                let told: Vec<_> = events.chunks(EVENT_LENGTH).take(count).collect();
                let kinds: Vec<_> = told.iter().map(|event| event[0]).collect();
                assert_eq!(kinds, expected.iter().map(|&kind| kind as i32).collect::<Vec<_>>());
                return told.iter().map(|event| usize::try_from(event[1]).unwrap()).collect();
            }
        }
        panic!("nothing happened instead of {expected:?}");
    }
}

struct Client {
    socket: TcpStream,
    session: ClientConnection,
}

impl Client {
    fn send(&mut self) {
        self.send_with(b"");
    }

    /// What the session has, and more behind it.
    fn send_with(&mut self, more: &[u8]) {
        let mut flight = Vec::new();
        while self.session.wants_write() {
            self.session.write_tls(&mut flight).unwrap();
        }
        flight.extend_from_slice(more);
        self.socket.write_all(&flight).unwrap();
    }

    /// One read of the socket; gives the text that came.
    fn receive(&mut self) -> Vec<u8> {
        self.session.read_tls(&mut self.socket).unwrap();
        let state = self.session.process_new_packets().unwrap();
        let mut text = vec![0; state.plaintext_bytes_to_read()];
        self.session.reader().read_exact(&mut text).unwrap();
        text
    }

    fn has_nothing_to_read(&self) -> bool {
        self.socket.set_nonblocking(true).unwrap();
        let seen = self.socket.peek(&mut [0]);
        self.socket.set_nonblocking(false).unwrap();
        matches!(seen, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }
}

#[test]
fn parts_of_records_are_progress_before_and_after_the_handshake() {
    let mut server = Server::new();
    let (mut client, id) = server.connect();
    let clock = Monotonic::new();
    let mut flight = Vec::new();
    client.session.write_tls(&mut flight).unwrap();
    let (first, second) = flight.split_at(100);
    let mut send = |server: &mut Server, bytes: &[u8]| {
        // Time in which nothing arrives, so that what is measured from then on is told apart.
        std::thread::sleep(Duration::from_millis(20));
        let began = clock.now();
        client.socket.write_all(bytes).unwrap();
        let is_recent = |it: &Server| it.reactor.inactive_for(id) <= Some(clock.now().since(began));
        for _ in 0..TURNS {
            let kinds = server.turn();
            if is_recent(server) {
                return kinds;
            }
        }
        panic!("no progress");
    };
    assert_eq!(send(&mut server, first), []);
    assert_eq!(send(&mut server, second), [Kind::Hello as i32]);
    assert!(server.reactor.choose(id, &server.context, false));
    server.turn();
    client.receive();
    client.session.writer().write_all(REQUEST).unwrap();
    let mut flight = Vec::new();
    while client.session.wants_write() {
        client.session.write_tls(&mut flight).unwrap();
    }
    let last = flight.split_off(flight.len() - 10);
    for (bytes, told) in [(flight, Kind::Secure), (last, Kind::Request)] {
        // Time in which nothing arrives, so that what is measured from then on is told apart.
        std::thread::sleep(Duration::from_millis(20));
        let began = clock.now();
        client.socket.write_all(&bytes).unwrap();
        server.events(&[told]);
        assert!(server.reactor.inactive_for(id) <= Some(clock.now().since(began)));
    }
}

#[test]
fn what_came_with_a_hello_is_told_without_another_event() {
    let mut server = Server::new();
    let (mut client, id) = server.connect();
    client.send_with(&UNSEALED);
    server.events(&[Kind::Hello]);
    assert!(server.reactor.choose(id, &server.context, false));
    server.events(&[Kind::Failed]);

    let (mut client, id) = server.connect();
    client.send();
    client.socket.shutdown(Shutdown::Write).unwrap();
    server.events(&[Kind::Hello]);
    assert!(server.reactor.choose(id, &server.context, false));
    server.events(&[Kind::Eof]);
}

#[test]
fn tickets_leave_with_the_first_response_though_another_handshake_goes_on() {
    let mut server = Server::new();
    let (mut first, one) = server.connect();
    let (mut second, other) = server.connect();
    first.send();
    assert_eq!(server.events(&[Kind::Hello]), [one]);
    assert!(server.reactor.choose(one, &server.context, false));
    while first.session.is_handshaking() {
        first.receive();
    }
    first.session.writer().write_all(REQUEST).unwrap();

    // The server has to see to its connection once more, in this turn.
    second.send_with(&UNSEALED);
    first.send();
    assert_eq!(server.events(&[Kind::Hello, Kind::Secure, Kind::Request]), [other, one, one]);
    assert!(server.reactor.choose(other, &server.context, false));
    assert!(!second.has_nothing_to_read(), "the other handshake goes on");
    assert!(first.has_nothing_to_read(), "tickets left without the response");
    server.reactor.send(one, RESPONSE, 1, false).unwrap();
    assert_eq!(first.receive(), RESPONSE);
    assert_eq!(first.session.tls13_tickets_received(), 2);
}

#[test]
fn tickets_do_not_wait_for_a_response_that_is_late() {
    let mut server = Server::new();
    let (mut client, _) = server.agree(false);
    client.session.writer().write_all(REQUEST).unwrap();
    client.send();
    server.events(&[Kind::Secure, Kind::Request]);
    assert!(client.has_nothing_to_read());
    server.reactor.wake_again();
    assert_eq!(client.receive(), b"");
    assert_eq!(client.session.tls13_tickets_received(), 2);
}

#[test]
fn what_came_before_a_bad_record_is_told_before_its_failure() {
    let mut server = Server::new();
    // With the end of the handshake, and behind it.
    let (mut client, _) = server.agree(false);
    client.session.writer().write_all(REQUEST).unwrap();
    client.send_with(&UNSEALED);
    server.events(&[Kind::Secure, Kind::Request, Kind::Failed]);

    let (mut client, _) = server.agree(false);
    client.send();
    server.events(&[Kind::Secure]);
    client.session.writer().write_all(REQUEST).unwrap();
    client.send_with(&UNSEALED);
    server.events(&[Kind::Request, Kind::Failed]);
}

#[test]
fn a_caller_takes_everything_as_it_is_where_requests_wait_for_its_word() {
    for goes_on in [Reactor::through, Reactor::proceed_raw] {
        let mut server = Server::new();
        let (mut client, id) = server.agree(true);
        client.session.writer().write_all(REQUEST).unwrap();
        client.send();
        server.events(&[Kind::Secure]);
        goes_on(&mut server.reactor, id);
        server.events(&[Kind::Raw]);
    }
}

#[test]
fn a_handshake_that_has_taken_too_long_goes_on_if_the_caller_lets_it() {
    let limit = Duration::from_millis(50);
    for ends in [true, false] {
        let mut server = Server::within(limit);
        let (mut client, id) = server.connect();
        std::thread::sleep(2 * limit);
        server.events(&[Kind::Failed]);
        if ends {
            client.socket.shutdown(Shutdown::Write).unwrap();
            server.events(&[Kind::Eof]);
            continue;
        }
        client.send();
        server.events(&[Kind::Hello]);
        assert!(server.reactor.choose(id, &server.context, false));
        while client.session.is_handshaking() {
            server.turn();
            client.receive();
        }
        client.session.writer().write_all(REQUEST).unwrap();
        client.send();
        // Once more than the limit: it is told once.
        std::thread::sleep(2 * limit);
        server.events(&[Kind::Secure, Kind::Request]);
    }
}
