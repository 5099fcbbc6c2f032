//! Long bodies, which the caller receives into its own memory.

use std::io::Write as _;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use millrace_net::{Clock as _, Monotonic};
use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::{Reactor, Settings};
use socket2::SockRef;

/// Longest part.
const PART: usize = 64 * 1024;
const LIMIT: Duration = Duration::from_secs(10);

struct Server {
    reactor: Reactor,
    events: Vec<i32>,
    bytes: Vec<u8>,
    /// Of the body, so far.
    body: Vec<u8>,
    /// Kinds of events, without those of the body.
    told: Vec<i32>,
    /// Receives nothing when it is told that it could.
    waits: bool,
}

impl Server {
    /// A client and its connection.
    fn adopt() -> (Self, TcpStream, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nonblocking(true).unwrap();
        let (other, _) = listener.accept().unwrap();
        other.set_nonblocking(true).unwrap();
        let mut reactor = Reactor::new().unwrap();
        let server = reactor.add_server(Settings::default());
        let connection = reactor.adopt(server, other.into()).unwrap();
        let server = Self {
            reactor,
            events: vec![0; EVENT_LENGTH * 256],
            bytes: vec![0; 1024 * 1024],
            body: Vec::new(),
            told: Vec::new(),
            waits: false,
        };
        (server, client, connection)
    }

    /// Takes a batch; gives whether a part of the body was told, or could be received.
    fn turn(&mut self) -> bool {
        let mut batch = Batch::new(&mut self.events, &mut self.bytes);
        self.reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        let mut has_body = false;
        for event in self.events[..count * EVENT_LENGTH].as_chunks::<EVENT_LENGTH>().0 {
            let [kind, connection, start, length, ..] = *event;
            let number = |value: i32| usize::try_from(value).unwrap();
            let is_part = kind == Kind::Body as i32;
            let is_readable = kind == Kind::BodyReadable as i32;
            has_body |= is_part || is_readable;
            if is_part {
                self.body.extend_from_slice(&self.bytes[number(start)..][..number(length)]);
            } else if is_readable && !self.waits {
                let mut part = [0; PART];
                let length = self.reactor.receive_body(number(connection), &mut part);
                self.body.extend_from_slice(&part[..length]);
            } else if !is_readable {
                self.told.push(kind);
            }
        }
        self.reactor.wake_again();
        has_body
    }

    /// Takes turns until this is so.
    fn turn_until(&mut self, mut is_so: impl FnMut(&mut Self) -> bool) {
        let clock = Monotonic::new();
        let began = clock.now();
        while !is_so(self) {
            assert!(clock.now().since(began) < LIMIT, "{:?}, {}", self.told, self.body.len());
            self.turn();
        }
    }

    /// Receives the rest of a body of four parts.
    fn finish(&mut self, upload: &mut Upload) {
        self.waits = false;
        self.turn_until(|server| {
            upload.send();
            server.told.len() >= 2
        });
        assert_eq!(self.told, [Kind::Request, Kind::End].map(|kind| kind as i32));
        assert!(self.body == filling(4 * PART));
    }
}

fn head(length: usize) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n").into_bytes()
}

/// Bytes of a body: each differs from its neighbors.
fn filling(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// A client and what it sends.
struct Upload {
    client: TcpStream,
    bytes: Vec<u8>,
    /// So much of it has left.
    at: usize,
}

impl Upload {
    /// Sends what the system takes.
    fn send(&mut self) {
        while self.at < self.bytes.len()
            && let Ok(count) = self.client.write(&self.bytes[self.at..])
        {
            self.at += count;
        }
    }
}

#[test]
fn bodies_arrive_whole_and_the_next_request_behind_them() {
    for length in [PART, 2 * PART, 2 * PART + 1, 3 * PART - 1, 3 * PART, 50 * PART + 7] {
        let (mut server, client, _) = Server::adopt();
        let next = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let bytes = [head(length), filling(length), next.to_vec()].concat();
        let mut upload = Upload { client, bytes, at: 0 };
        server.turn_until(|server| {
            upload.send();
            server.told.len() >= 3
        });
        assert_eq!(server.told, [Kind::Request, Kind::End, Kind::Request].map(|kind| kind as i32));
        assert!(server.body == filling(length), "of {length}: {}", server.body.len());
    }
}

/// A body of four parts, of which the caller has received none, though it was told of them.
fn readable() -> (Server, Upload, usize) {
    let (mut server, client, connection) = Server::adopt();
    let mut upload = Upload { client, bytes: [head(4 * PART), filling(4 * PART)].concat(), at: 0 };
    server.waits = true;
    server.turn_until(|server| {
        upload.send();
        server.turn() && !server.body.is_empty()
    });
    (server, upload, connection)
}

#[test]
fn what_is_not_received_is_told_again() {
    let (mut server, mut upload, _) = readable();
    let before = server.body.len();
    assert!(server.turn() && server.turn());
    assert_eq!(server.body.len(), before);
    server.finish(&mut upload);
}

#[test]
fn a_paused_connection_gives_nothing_until_it_is_resumed() {
    let (mut server, mut upload, connection) = readable();
    server.reactor.pause(connection, true);
    assert_eq!(server.reactor.receive_body(connection, &mut [0; PART]), 0);
    for _ in 0..10 {
        assert!(!server.turn(), "told while it is paused");
    }
    server.reactor.pause(connection, false);
    server.finish(&mut upload);
}

#[test]
fn the_end_of_a_peer_within_a_body_is_told_behind_what_has_come() {
    let (mut server, client, _) = Server::adopt();
    let mut upload = Upload { client, bytes: [head(40 * PART), filling(5 * PART)].concat(), at: 0 };
    server.turn_until(|server| {
        upload.send();
        if upload.at == upload.bytes.len() {
            upload.client.shutdown(Shutdown::Write).ok();
        }
        server.told.len() >= 2
    });
    assert_eq!(server.told, [Kind::Request, Kind::Eof].map(|kind| kind as i32));
    assert!(server.body == filling(5 * PART));
}

#[test]
fn a_peer_that_resets_within_a_body_is_told_to_be_gone() {
    let (mut server, client, connection) = Server::adopt();
    let mut upload = Upload { client, bytes: [head(40 * PART), filling(PART)].concat(), at: 0 };
    server.turn_until(|server| {
        upload.send();
        server.body.len() == PART
    });
    // Before the system has told of it, the caller has received once more.
    server.waits = true;
    upload.bytes.extend(filling(2 * PART));
    server.turn_until(|server| {
        upload.send();
        server.turn()
    });
    SockRef::from(&upload.client).set_linger(Some(Duration::ZERO)).unwrap();
    drop(upload);
    let clock = Monotonic::new();
    let began = clock.now();
    // Each of these fills its memory, so the last one meets the reset.
    while server.reactor.receive_body(connection, &mut [0]) > 0 {
        assert!(clock.now().since(began) < LIMIT, "bytes without end");
    }
    server.waits = false;
    server.turn_until(|server| server.told.len() >= 2);
    assert_eq!(server.told, [Kind::Request, Kind::Closed].map(|kind| kind as i32));
}
