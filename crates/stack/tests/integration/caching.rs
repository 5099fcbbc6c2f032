//! The output cache within the reactor: what a caller is not told, and what is stored of what it sends.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind, flag};
use millrace_stack::cache::{self, Mode};
use millrace_stack::{Reactor, Settings};
use proptest::prelude::*;

const MINUTE: Duration = Duration::from_secs(60);

struct Server {
    reactor: Reactor,
    id: usize,
}

struct Client {
    stream: UnixStream,
    connection: usize,
}

impl Server {
    fn new() -> Self {
        let mut reactor = Reactor::new().unwrap();
        let cache = cache::Settings { mode: Mode::All(MINUTE), ..cache::Settings::default() };
        let id = reactor.add_server(Settings { cache, ..Settings::default() });
        Self { reactor, id }
    }

    fn client(&mut self) -> Client {
        let (stream, other) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        other.set_nonblocking(true).unwrap();
        let connection = self.reactor.adopt(self.id, other.into()).unwrap();
        Client { stream, connection }
    }

    /// What has happened: kind, connection, and a request's flags.
    fn turn(&mut self) -> Vec<(i32, usize, i32)> {
        let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
        let mut batch = Batch::new(&mut events, &mut bytes);
        self.reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        self.reactor.wake_again();
        let told = events.chunks(EVENT_LENGTH).take(count);
        told.map(|event| (event[0], usize::try_from(event[1]).unwrap(), event[4])).collect()
    }

    /// The connections that requests are told of after this one of `client`.
    fn ask(&mut self, client: &Client, request: &[u8]) -> Vec<usize> {
        (&client.stream).write_all(request).unwrap();
        self.requests()
    }

    fn requests(&mut self) -> Vec<usize> {
        let told = self.turn();
        assert!(told.iter().all(|&(kind, ..)| kind == Kind::Request as i32), "{told:?}");
        told.into_iter().map(|(_, connection, _)| connection).collect()
    }

    fn answer(&mut self, client: &Client, bytes: &[u8]) {
        self.reactor.send(client.connection, bytes, 1, false).unwrap();
    }

    fn statistics(&self) -> cache::Statistics {
        self.reactor.cache(self.id).unwrap().statistics()
    }
}

impl Client {
    fn received(&self) -> String {
        let (mut bytes, mut part) = (Vec::new(), [0; 64 * 1024]);
        while let Ok(count) = (&self.stream).read(&mut part) {
            if count == 0 {
                break;
            }
            bytes.extend_from_slice(&part[..count]);
        }
        String::from_utf8(bytes).unwrap()
    }
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OTHER: &[u8] = b"GET /other HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn body(received: &str) -> &str {
    received.split("\r\n\r\n").last().unwrap()
}

#[test]
fn a_hit_is_told_nobody() {
    let mut server = Server::new();
    let (first, second) = (server.client(), server.client());
    assert_eq!(server.ask(&first, GET), [first.connection]);
    server.answer(&first, OK);
    assert_eq!(body(&first.received()), "ok");
    assert_eq!(server.ask(&second, GET), []);
    let received = second.received();
    assert!(received.starts_with("HTTP/1.1 200 OK\r\nDate: "), "{received}");
    assert!(received.ends_with(
        "Content-Length: 2\r\nAge: 0\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\nok"
    ));
}

#[test]
fn those_that_wait_get_what_the_first_gets() {
    let mut server = Server::new();
    let clients: Vec<_> = (0..10).map(|_| server.client()).collect();
    assert_eq!(server.ask(&clients[0], GET), [clients[0].connection]);
    for client in &clients[1..] {
        assert_eq!(server.ask(client, GET), []);
    }
    assert_eq!(server.statistics().waiting, 9);
    server.answer(&clients[0], OK);
    assert_eq!(server.requests(), []);
    assert!(clients.iter().all(|client| body(&client.received()) == "ok"));
}

#[test]
fn a_connection_that_closes_while_it_waits_is_waited_for_by_nobody() {
    let mut server = Server::new();
    let (first, second, third) = (server.client(), server.client(), server.client());
    assert_eq!(server.ask(&first, GET), [first.connection]);
    assert_eq!(server.ask(&second, GET), []);
    assert_eq!(server.ask(&third, GET), []);
    server.reactor.close(second.connection, false);
    assert_eq!(server.statistics().waiting, 1);
    // The one that was to answer goes: the next one asks.
    server.reactor.close(first.connection, false);
    assert_eq!(server.requests(), [third.connection]);
    assert_eq!(server.statistics().fills, 1);
    server.reactor.close(third.connection, false);
    assert_eq!(server.statistics().fills, 0);
}

#[test]
fn answers_are_in_order() {
    let mut server = Server::new();
    let client = server.client();
    assert_eq!(server.ask(&client, GET), [client.connection]);
    server.answer(&client, OK);
    client.received();
    let requests = [OTHER, GET, GET].concat();
    assert_eq!(server.ask(&client, &requests), [client.connection]);
    assert_eq!(client.received(), "", "the first one is with the caller");
    server.answer(&client, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother");
    assert_eq!(server.requests(), []);
    let received = client.received();
    let bodies: Vec<_> = received.split("HTTP/1.1 200 OK").skip(1).map(body).collect();
    assert_eq!(bodies, ["other", "ok", "ok"]);
}

#[test]
fn the_last_answer_of_a_connection_is_told() {
    let mut server = Server::new();
    let client = server.client();
    assert_eq!(server.ask(&client, GET), [client.connection]);
    server.answer(&client, OK);
    let last = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    (&client.stream).write_all(last).unwrap();
    let told = server.turn();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].0, told[0].1), (Kind::Answered as i32, client.connection));
    assert!(client.received().contains("Connection: close\r\n"));
}

#[test]
fn the_application_says_how_long() {
    let mut server = Server::new();
    let client = server.client();
    for (number, request) in [OTHER, GET].into_iter().enumerate() {
        (&client.stream).write_all(request).unwrap();
        let told = server.turn();
        assert!(told.iter().all(|&(.., flags)| flags & flag::STORED != 0));
        if number == 1 {
            server.reactor.cache_for(client.connection, 1, Duration::ZERO);
        }
        server.answer(&client, OK);
    }
    assert_eq!(server.statistics().stores, 1);
    assert_eq!(server.statistics().not_stored(cache::NotStored::Stale), 1);
}

#[test]
fn more_is_done_than_was_sent() {
    let mut server = Server::new();
    let client = server.client();
    assert_eq!(server.ask(&client, GET), [client.connection]);
    server.answer(&client, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok");
    assert_eq!(server.statistics().stores, 0);
    assert_eq!(server.statistics().fills, 0);
    // From here on nobody knows where responses begin.
    assert_eq!(server.ask(&client, GET), [client.connection]);
    server.answer(&client, OK);
    assert_eq!(server.statistics().stores, 0);

    let other = server.client();
    assert_eq!(server.ask(&other, OTHER), [other.connection]);
    server.answer(&other, OK);
    assert_eq!(server.statistics().entries, 1);
    // Nor how a request comes out: one that may change something is taken to have done so.
    let post = b"POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(server.ask(&client, post), [client.connection]);
    assert_eq!(server.statistics().entries, 0);
}

#[test]
fn until_the_connection_ends() {
    let mut server = Server::new();
    let clients = [server.client(), server.client()];
    for (client, ends) in clients.iter().zip([true, false]) {
        assert_eq!(server.ask(client, GET), [client.connection]);
        server.reactor.send(client.connection, b"HTTP/1.1 200 OK\r\n\r\nrest", 1, true).unwrap();
        if ends {
            server.reactor.end(client.connection);
            assert_eq!(server.statistics().stores, 1);
            server.reactor.forget(server.id, None);
        } else {
            server.reactor.close(client.connection, false);
            assert_eq!(server.statistics().stores, 1);
        }
    }
}

proptest! {
    #[test]
    fn what_is_stored_does_not_depend_on_how_it_was_sent(
        sizes in prop::collection::vec(1usize..40, 0..60),
        chunked: bool,
        interim: bool,
    ) {
        let text = "0123456789abcdefghijklmnopqrstuvwxyz";
        let mut response = Vec::new();
        if interim {
            response.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        }
        response.extend_from_slice(b"HTTP/1.1 200 OK\r\nX-Field: value\r\n");
        if chunked {
            response.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for part in [&text[..10], &text[10..]] {
                response.extend_from_slice(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes());
            }
            response.extend_from_slice(b"0\r\n\r\n");
        } else {
            response.extend_from_slice(format!("Content-Length: 36\r\n\r\n{text}").as_bytes());
        }
        let mut server = Server::new();
        let (first, second) = (server.client(), server.client());
        prop_assert_eq!(server.ask(&first, GET), [first.connection]);
        let mut rest = &response[..];
        for size in sizes {
            let (part, behind) = rest.split_at(size.min(rest.len()));
            let half = part.len() / 2;
            server.reactor.send_two(first.connection, &part[..half], &part[half..], 0).unwrap();
            rest = behind;
        }
        server.answer(&first, rest);
        prop_assert_eq!(server.ask(&second, GET), []);
        let received = second.received();
        prop_assert_eq!(body(&received), text);
        prop_assert!(received.contains("X-Field: value\r\n"));
        prop_assert!(!received.contains("Early Hints"));
    }
}

/// Clients of a server whose application answers in any order and any pieces.
struct World {
    server: Server,
    clients: Vec<Option<(Client, Vec<u8>, String)>>,
    /// Requests that are with the application, the oldest first: connection and target.
    pending: Vec<(usize, u8)>,
    answers: usize,
}

/// Targets from here on are not stored.
const NOT_STORED: u8 = 4;

impl World {
    fn new(clients: usize) -> Self {
        let mut server = Server::new();
        let clients = (0..clients).map(|_| Some((server.client(), Vec::new(), String::new())));
        let clients = clients.collect();
        Self { server, clients, pending: Vec::new(), answers: 0 }
    }

    fn turn(&mut self) -> bool {
        let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
        let mut batch = Batch::new(&mut events, &mut bytes);
        self.server.reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        for event in events[..count * EVENT_LENGTH].as_chunks::<EVENT_LENGTH>().0 {
            assert_eq!(event[0], Kind::Request as i32);
            let [_, id, offset, _, _, target, ..] = event.map(|n| usize::try_from(n).unwrap());
            self.pending.push((id, bytes[offset + target + 1] - b'0'));
        }
        self.server.reactor.wake_again();
        let mut received = false;
        for (client, _, all) in self.clients.iter_mut().flatten() {
            let new = client.received();
            received |= !new.is_empty();
            all.push_str(&new);
        }
        count > 0 || received
    }

    fn ask(&mut self, client: usize, target: u8) {
        if let Some((client, asked, _)) = &mut self.clients[client] {
            asked.push(target);
            let request = format!("GET /{target} HTTP/1.1\r\nHost: a\r\n\r\n");
            (&client.stream).write_all(request.as_bytes()).unwrap();
        }
    }

    /// Answers the oldest request of the connection of one of those that are pending.
    fn answer(&mut self, which: usize, cut: usize) {
        if self.pending.is_empty() {
            return;
        }
        let (id, _) = self.pending[which % self.pending.len()];
        let at = self.pending.iter().position(|&(other, _)| other == id).unwrap();
        let (_, target) = self.pending.remove(at);
        self.answers += 1;
        let body = format!("{target} {}", self.answers);
        let control = if target >= NOT_STORED { "no-store" } else { "max-age=60" };
        let response = format!(
            "HTTP/1.1 200 OK\r\nCache-Control: {control}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (first, second) = response.as_bytes().split_at(cut % response.len());
        self.server.reactor.send(id, first, 0, false).unwrap();
        self.server.reactor.send(id, second, 1, false).unwrap();
    }

    fn close(&mut self, client: usize) {
        if let Some((client, ..)) = self.clients[client].take() {
            self.server.reactor.close(client.connection, false);
            self.pending.retain(|&(id, _)| id != client.connection);
        }
    }

    fn rest(&mut self) {
        for _ in 0..10_000 {
            let told = self.turn();
            if !told && self.pending.is_empty() {
                return;
            }
            self.answer(0, 7);
        }
        panic!("does not come to rest");
    }

    fn check(&self) {
        for (_, asked, received) in self.clients.iter().flatten() {
            let bodies: Vec<u8> = received
                .split("HTTP/1.1 200 OK\r\n")
                .skip(1)
                .map(|one| body(one).as_bytes()[0] - b'0')
                .collect();
            assert_eq!(&bodies, asked, "{received}");
        }
        let statistics = self.server.statistics();
        assert_eq!((statistics.fills, statistics.waiting), (0, 0));
    }
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Ask(usize, u8),
    Answer(usize, usize),
    Close(usize),
    Turn,
    Clear,
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![
        6 => (0..6usize, 0..6u8).prop_map(|(client, target)| Order::Ask(client, target)),
        4 => (0..20usize, 0..200usize).prop_map(|(which, cut)| Order::Answer(which, cut)),
        1 => (0..6usize).prop_map(Order::Close),
        6 => Just(Order::Turn),
        1 => Just(Order::Clear),
    ]
}

proptest! {
    #[test]
    fn everybody_gets_answers_to_its_own_requests_in_order(
        orders in prop::collection::vec(order(), 0..150),
    ) {
        let mut world = World::new(6);
        for order in orders {
            match order {
                Order::Ask(client, target) => world.ask(client, target),
                Order::Answer(which, cut) => world.answer(which, cut),
                Order::Close(client) => world.close(client),
                Order::Turn => {
                    world.turn();
                }
                Order::Clear => {
                    world.server.reactor.forget(world.server.id, None);
                }
            }
        }
        world.rest();
        world.check();
    }
}

#[test]
fn what_was_told_of_a_connection_stays_though_its_answer_fails() {
    const BODY: &[u8] = b"the rest of a body";
    let mut server = Server::new();
    let (first, leaves, other) = (server.client(), server.client(), server.client());
    assert_eq!(server.ask(&first, GET), [first.connection]);
    let stored =
        format!("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{}", "a".repeat(100_000));
    server.answer(&first, stored.as_bytes());
    let post = format!("POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", BODY.len());
    assert_eq!(server.ask(&leaves, post.as_bytes()), [leaves.connection]);
    // Answered before its body has arrived: the next one can be answered at once.
    server.answer(&leaves, OK);
    (&leaves.stream).write_all(&[BODY, GET].concat()).unwrap();
    leaves.stream.shutdown(Shutdown::Read).unwrap();
    (&other.stream).write_all(OTHER).unwrap();
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    let mut batch = Batch::new(&mut events, &mut bytes);
    server.reactor.turn(&mut batch).unwrap();
    let count = batch.count();
    let told: Vec<_> =
        events.chunks(EVENT_LENGTH).take(count).map(|event| (event[0], event[1])).collect();
    let of = |client: &Client| i32::try_from(client.connection).unwrap();
    assert_eq!(
        told,
        [
            (Kind::Body as i32, of(&leaves)),
            (Kind::End as i32, of(&leaves)),
            (Kind::Closed as i32, of(&leaves)),
            (Kind::Request as i32, of(&other)),
        ]
    );
    let start = usize::try_from(events[2]).unwrap();
    assert_eq!(&bytes[start..start + BODY.len()], BODY);
}
