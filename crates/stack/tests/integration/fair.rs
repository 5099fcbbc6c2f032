//! Connections that could go on for ever leave room for the others.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::{Reactor, Settings};
use socket2::SockRef;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const CHUNKED: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
/// As many connections as send without end.
const MANY: usize = 8;
/// Bytes of one that the reactor may wait for, in tests that count its turns.
const PART: usize = 64 * 1024;
/// Events of one connection before the others have their turn.
const SHARE: usize = 64;
/// Lines of a body for the caller's parser.
const LINES: usize = 4 * SHARE;

struct Server {
    reactor: Reactor,
    id: usize,
    events: Vec<i32>,
    bytes: Vec<u8>,
}

impl Server {
    /// A batch has room for so many events.
    fn new(events: usize, settings: Settings) -> Self {
        let mut reactor = Reactor::new().unwrap();
        let id = reactor.add_server(settings);
        Self { reactor, id, events: vec![0; EVENT_LENGTH * events], bytes: vec![0; 1024 * 1024] }
    }

    fn adopt(&mut self) -> (UnixStream, usize) {
        let (client, other) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        other.set_nonblocking(true).unwrap();
        let connection = self.reactor.adopt(self.id, other.into()).unwrap();
        (client, connection)
    }

    /// One that listens, and that many clients keep busy with chunks of one byte.
    fn busy(events: usize) -> (Self, SocketAddr, Endless) {
        let mut server = Self::new(events, Settings::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        server.reactor.listen(server.id, listener.into()).unwrap();
        let mut others = Endless::new(&mut server, MANY, CHUNKED, one_byte_chunks());
        for _ in 0..10 {
            others.send();
            server.turn();
        }
        (server, address, others)
    }

    /// What two turns tell, in which others go on sending.
    fn two_turns(&mut self, others: &mut Endless) -> Vec<(i32, usize)> {
        let mut told = Vec::new();
        for _ in 0..2 {
            others.send();
            told.extend(self.turn());
        }
        told
    }

    /// What a turn tells.
    fn events(&mut self) -> Vec<Vec<i32>> {
        let mut batch = Batch::new(&mut self.events, &mut self.bytes);
        self.reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        self.reactor.wake_again();
        self.events.chunks(EVENT_LENGTH).take(count).map(<[i32]>::to_vec).collect()
    }

    /// Kinds and connections of what a turn tells. What is told to be readable is received.
    fn turn(&mut self) -> Vec<(i32, usize)> {
        let events = self.events();
        let mut told = Vec::new();
        for event in &events {
            let connection = usize::try_from(event[1]).unwrap();
            let is_readable = event[0] == Kind::BodyReadable as i32;
            if is_readable && self.reactor.receive_body(connection, &mut [0; PART]) > 0 {
                told.push((Kind::Body as i32, connection));
            } else {
                told.push((event[0], connection));
            }
        }
        told
    }
}

/// Clients whose bytes never end.
struct Endless {
    clients: Vec<(UnixStream, usize)>,
    body: Vec<u8>,
    /// Where each of them is in that.
    at: Vec<usize>,
}

impl Endless {
    fn new(server: &mut Server, count: usize, head: &[u8], body: Vec<u8>) -> Self {
        let clients: Vec<_> = (0..count).map(|_| server.adopt()).collect();
        for (client, _) in &clients {
            (&*client).write_all(head).unwrap();
        }
        Self { at: vec![0; clients.len()], clients, body }
    }

    /// Sends as much as the system takes.
    fn send(&mut self) {
        for ((client, _), at) in self.clients.iter().zip(&mut self.at) {
            while let Ok(count) = (&*client).write(&self.body[*at..]) {
                *at = (*at + count) % self.body.len();
            }
        }
    }
}

fn one_byte_chunks() -> Vec<u8> {
    b"1\r\nx\r\n".repeat(PART / 6)
}

#[test]
fn who_comes_is_told_soon_while_others_send_one_byte_chunks() {
    let (mut server, address, mut others) = Server::busy(4096);
    for _ in 0..10 {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(REQUEST).unwrap();
        let told = server.two_turns(&mut others);
        let opened = told.iter().find(|event| event.0 == Kind::Open as i32).map(|event| event.1);
        let opened = opened.expect("accepted within two turns");
        assert!(told.contains(&(Kind::Request as i32, opened)), "asks within two turns");
        // All of these turns together, as far as others go.
        let before = told.iter().take_while(|event| event.1 != opened).count();
        assert!(before <= 2 * 128 * MANY, "{before} events before it");
        server.reactor.close(opened, false);
    }
}

/// Events of each connection, of so many turns.
fn count(server: &mut Server, others: &mut Endless, turns: usize) -> BTreeMap<usize, usize> {
    let mut counts: BTreeMap<_, _> = others.clients.iter().map(|&(_, id)| (id, 0)).collect();
    for _ in 0..turns {
        others.send();
        for (kind, connection) in server.turn() {
            *counts.get_mut(&connection).unwrap() += usize::from(kind == Kind::Body as i32);
        }
    }
    counts
}

#[test]
fn more_connections_than_a_batch_has_room_for_have_their_turns_one_after_the_other() {
    // For three of them.
    let mut server = Server::new(192, Settings::default());
    let mut others = Endless::new(&mut server, MANY, CHUNKED, one_byte_chunks());
    server.turn();
    let counts = count(&mut server, &mut others, 80);
    let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
    assert!(*least > 0 && most - least <= 192, "{counts:?}");
}

#[test]
fn who_comes_is_accepted_while_batches_are_full() {
    let (mut server, address, mut others) = Server::busy(192);
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(REQUEST).unwrap();
    let told = server.two_turns(&mut others);
    assert!(told.iter().any(|event| event.0 == Kind::Request as i32));
}

#[test]
fn large_bodies_of_many_have_their_turns_one_after_the_other() {
    let known = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n".to_vec();
    // A batch has memory for fifteen parts of such.
    let chunked = [CHUNKED, b"ffffffffff\r\n"].concat();
    for head in [known, chunked] {
        let mut server = Server::new(4096, Settings::default());
        let mut others = Endless::new(&mut server, 40, &head, vec![b'x'; PART]);
        server.turn();
        let counts = count(&mut server, &mut others, 80);
        let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
        assert!(*least > 0 && *most <= 2 * least, "{counts:?}");
    }
}

#[test]
fn what_is_due_is_told_while_batches_are_full() {
    let keep_alive = Some(Duration::from_millis(5));
    let mut server = Server::new(192, Settings { keep_alive, ..Settings::default() });
    let (mut client, idle) = server.adopt();
    client.write_all(REQUEST).unwrap();
    assert_eq!(server.turn(), [(Kind::Request as i32, idle)]);
    server.reactor.send(idle, b"x", 1, false).unwrap();
    let mut others = Endless::new(&mut server, MANY, CHUNKED, one_byte_chunks());
    for _ in 0..100_000 {
        others.send();
        let told = server.turn();
        if told.contains(&(Kind::Idle as i32, idle)) {
            return;
        }
    }
    panic!("not told");
}

#[test]
fn who_takes_nothing_is_told_one_more_request_until_it_does() {
    let mut server = Server::new(4096, Settings::default());
    let (mut client, id) = server.adopt();
    let request = (Kind::Request as i32, id);
    client.write_all(REQUEST).unwrap();
    assert_eq!(server.turn(), [request]);
    while server.reactor.queued(id) <= 256 * 1024 {
        server.reactor.send(id, &[b'x'; PART], 0, false).unwrap();
    }
    client.write_all(&REQUEST.repeat(50)).unwrap();
    assert_eq!(server.turn(), [request]);
    server.reactor.finish(id, 2);
    for _ in 0..3 {
        assert_eq!(server.turn(), []);
    }
    let mut told = Vec::new();
    let mut part = vec![0; 1 << 20];
    while told.len() < 50 {
        while client.read(&mut part).is_ok_and(|count| count > 0) {}
        told.extend(server.turn());
    }
    assert_eq!(told[0], (Kind::Drained as i32, id));
    assert!(told[1..].iter().all(|&event| event == request), "{told:?}");
}

/// What a turn tells of a client that has sent this, and of another that asks behind it.
fn told(bytes: &[u8], ends: bool) -> (Vec<Vec<i32>>, i32) {
    let mut server = Server::new(4096, Settings::default());
    let ((mut client, id), (mut other, _)) = (server.adopt(), server.adopt());
    client.write_all(bytes).unwrap();
    other.write_all(REQUEST).unwrap();
    if ends {
        client.shutdown(Shutdown::Write).unwrap();
    }
    (server.events(), i32::try_from(id).unwrap())
}

#[test]
fn a_head_and_the_first_of_its_body_are_told_side_by_side() {
    let post = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    let (events, id) = told(&[&REQUEST.repeat(SHARE - 1)[..], post].concat(), false);
    let told: Vec<_> = events[SHARE - 1..=SHARE].iter().map(|event| (event[0], event[1])).collect();
    assert_eq!(told, [(Kind::Request as i32, id), (Kind::Body as i32, id)]);
}

#[test]
fn an_end_that_has_come_with_the_last_request_is_told_behind_it() {
    let (events, id) = told(&REQUEST.repeat(SHARE), true);
    assert_eq!(events[SHARE][..2], [Kind::Eof as i32, id]);
}

#[test]
fn what_only_the_caller_s_parser_reads_has_its_packet_though_others_had_their_turn_before() {
    let (events, id) = told(&[&REQUEST.repeat(SHARE)[..], b"no request\r\n\r\n"].concat(), false);
    assert_ne!(events[SHARE][1], id, "the other's turn");
    let event = events.iter().find(|event| event[0] == Kind::Fallback as i32).unwrap();
    let (start, length, packet) = (event[2], event[3], event[6]);
    assert_eq!(length, 14);
    assert!(packet <= start, "{packet} is behind {start}");
}

#[test]
fn requests_that_have_come_before_a_reset_are_told_before_it() {
    const MANY_REQUESTS: usize = 3 * SHARE;
    for is_read_before in [false, true] {
        let mut server = Server::new(4096, Settings { max_pipelined: 1000, ..Settings::default() });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        server.reactor.listen(server.id, listener.into()).unwrap();
        client.write_all(&REQUEST.repeat(MANY_REQUESTS)).unwrap();
        let mut told = Vec::new();
        if is_read_before {
            told.extend(server.turn());
            let (_, id) = told[0];
            server.reactor.send(id, b"x", 1, false).unwrap();
        }
        SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
        drop(client);
        for _ in 0..100_000 {
            told.extend(server.turn());
            if told.last().is_some_and(|event| event.0 == Kind::Closed as i32) {
                break;
            }
        }
        let kinds: Vec<_> = told.iter().map(|event| event.0).collect();
        let count = |kind: Kind| kinds.iter().filter(|&&it| it == kind as i32).count();
        assert_eq!((count(Kind::Request), count(Kind::Closed)), (MANY_REQUESTS, 1));
        assert_eq!(kinds.last(), Some(&(Kind::Closed as i32)));
    }
}

/// Chunks whose lines the caller's parser reads.
const ODD_CHUNK: &[u8] = b"1;a=1;b=2\r\nx\r\n";

#[test]
fn a_body_for_the_caller_s_parser_comes_in_parts_of_a_few_lines() {
    let chunks = ODD_CHUNK.repeat(2_000);
    let request = [CHUNKED, &chunks, b"0\r\n\r\n", REQUEST].concat();
    let mut server = Server::new(4096, Settings::default());
    let ((mut client, id), (mut other, _)) = (server.adopt(), server.adopt());
    client.write_all(&request).unwrap();
    let (mut seen, mut turns) = (Vec::new(), 0);
    loop {
        // Who asks meanwhile has its turn behind each part.
        other.write_all(REQUEST).unwrap();
        let events = server.events();
        turns += 1;
        let of_other = events.iter().filter(|event| event[1] != id as i32);
        assert_eq!(of_other.filter(|event| event[0] == Kind::Request as i32).count(), 1);
        let raw = |event: &&Vec<i32>| {
            [Kind::Raw as i32, Kind::Fallback as i32].contains(&event[0]) && event[1] == id as i32
        };
        let Some(part) = events.iter().find(raw) else { continue };
        let (start, length) = (part[2] as usize, part[3] as usize);
        let bytes = &server.bytes[start..start + length];
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        assert!(lines <= LINES, "{lines} lines in a turn");
        seen.extend_from_slice(bytes);
        match bytes.windows(5).position(|it| it == b"0\r\n\r\n") {
            Some(at) => {
                let taken = at + 5;
                seen.truncate(seen.len() - length + taken);
                server.reactor.proceed_behind(id, taken);
                break;
            }
            None => server.reactor.proceed_raw(id),
        }
    }
    assert!(seen == [&chunks[..], b"0\r\n\r\n"].concat(), "other bytes");
    assert!(turns >= 2 * 2_000 / LINES, "{turns} turns");
    let told: Vec<_> = (0..3).flat_map(|_| server.turn()).collect();
    assert!(told.contains(&(Kind::Request as i32, id)), "what follows the body: {told:?}");
}
