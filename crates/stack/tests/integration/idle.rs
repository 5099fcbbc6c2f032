//! When a connection is idle.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use millrace_net::{Clock as _, Monotonic};
use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::{Reactor, Settings};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const KEEP_ALIVE: Duration = Duration::from_millis(20);
/// Far more than it takes.
const LIMIT: Duration = Duration::from_secs(10);

struct Server {
    reactor: Reactor,
    id: usize,
}

impl Server {
    fn new() -> Self {
        let mut reactor = Reactor::new().unwrap();
        let settings = Settings { keep_alive: Some(KEEP_ALIVE), ..Settings::default() };
        let id = reactor.add_server(settings);
        Self { reactor, id }
    }

    /// A connection with a request that was told.
    fn request(&mut self) -> (UnixStream, usize) {
        let (client, other) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        other.set_nonblocking(true).unwrap();
        let connection = self.reactor.adopt(self.id, other.into()).unwrap();
        (&client).write_all(REQUEST).unwrap();
        assert_eq!(self.turn(), [Kind::Request as i32]);
        (client, connection)
    }

    /// The kinds of what has happened.
    fn turn(&mut self) -> Vec<i32> {
        let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
        let mut batch = Batch::new(&mut events, &mut bytes);
        self.reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        self.reactor.wake_again();
        events.chunks(EVENT_LENGTH).take(count).map(|event| event[0]).collect()
    }

    /// What happens for so long, or until something does.
    fn told(&mut self, time: Duration, until: Option<Kind>) -> Vec<i32> {
        let clock = Monotonic::new();
        let began = clock.now();
        let mut told = Vec::new();
        while clock.now().since(began) < time
            && until.is_none_or(|kind| !told.contains(&(kind as i32)))
        {
            told.extend(self.turn());
        }
        told
    }
}

#[test]
fn a_connection_that_has_not_taken_its_answer_is_not_idle() {
    let mut server = Server::new();
    let (mut client, connection) = server.request();
    let part = [0; 64 * 1024];
    while server.reactor.send(connection, &part, 0, false).unwrap() == 0 {}
    assert!(server.reactor.send(connection, &part, 1, false).unwrap() > 0);
    assert_eq!(server.told(4 * KEEP_ALIVE, None), []);

    let mut taken = vec![0; 1 << 20];
    let clock = Monotonic::new();
    let began = clock.now();
    let mut told = Vec::new();
    while told.is_empty() && clock.now().since(began) < LIMIT {
        while client.read(&mut taken).is_ok() {}
        told.extend(server.turn());
    }
    assert_eq!(told, [Kind::Drained as i32]);
    assert_eq!(server.told(LIMIT, Some(Kind::Idle)), [Kind::Idle as i32]);
}

#[test]
fn a_number_that_is_used_again_is_told_to_be_idle_once() {
    let mut server = Server::new();
    let mut last = None;
    for _ in 0..10 {
        let (client, connection) = server.request();
        server.reactor.send(connection, b"x", 1, false).unwrap();
        if let Some((_, before)) = last.replace((client, connection)) {
            assert_eq!(before, connection, "the same number");
        }
        server.reactor.close(connection, false);
        // From the next turn on.
        assert_eq!(server.turn(), []);
    }
    let (_client, connection) = server.request();
    server.reactor.send(connection, b"x", 1, false).unwrap();
    assert_eq!(server.told(LIMIT, Some(Kind::Idle)), [Kind::Idle as i32]);
    assert_eq!(server.told(4 * KEEP_ALIVE, None), []);
}

/// Sends parts, each a while before the keep-alive time is over, and waits for the connection to be idle behind them. It is so
/// no sooner than that time after each, however slow the machine is.
fn is_put_off_by(server: &mut Server, (mut client, id): (&UnixStream, usize), parts: &[&[u8]]) {
    let clock = Monotonic::new();
    for (at, part) in parts.iter().enumerate() {
        let came = clock.now();
        client.write_all(part).unwrap();
        let is_last = at + 1 == parts.len();
        let told = server.turn();
        if told.contains(&(Kind::Raw as i32)) {
            server.reactor.proceed_behind(id, part.len());
        }
        let time = if is_last { LIMIT } else { KEEP_ALIVE / 2 };
        let is_idle = told.contains(&(Kind::Idle as i32))
            || server.told(time, Some(Kind::Idle)).contains(&(Kind::Idle as i32));
        assert!(!is_idle || clock.now().since(came) >= KEEP_ALIVE, "{part:?} has just come");
        assert!(!is_last || is_idle, "{part:?} was the last");
    }
}

#[test]
fn a_connection_whose_requests_are_answered_is_idle_though_the_rest_of_one_does_not_come() {
    let unfinished: [&[&[u8]]; 4] = [
        // A part of a body, a whole body, a part of the next head.
        &[b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n1", b"2", b"3"],
        &[b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n1", b"23456"],
        &[b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1", b"GET", b" / HT"],
        // The host's parser has the body.
        &[
            b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=1;b=2\r\nhello\r\n",
            b"0\r\n\r\n",
        ],
    ];
    for parts in unfinished {
        let mut server = Server::new();
        let (mut client, connection) = server.request();
        server.reactor.send(connection, OK, 1, false).unwrap();
        client.write_all(parts[0]).unwrap();
        let told = server.told(LIMIT, Some(Kind::Request));
        server.reactor.send(connection, OK, 1, false).unwrap();
        if told.contains(&(Kind::Fallback as i32)) {
            server.reactor.proceed_raw(connection);
        }
        is_put_off_by(&mut server, (&client, connection), &parts[1..]);
        // It is told again when something has come since, as Node's timers come again.
        assert!(server.reactor.is_idle(connection));
        assert_eq!(server.told(4 * KEEP_ALIVE, None), []);
        if !told.contains(&(Kind::Fallback as i32)) {
            is_put_off_by(&mut server, (&client, connection), &[b"T"]);
        }
    }
}

#[test]
fn a_connection_is_not_idle_before_its_first_answer_and_after_an_upgrade() {
    let mut server = Server::new();
    let (client, other) = UnixStream::pair().unwrap();
    other.set_nonblocking(true).unwrap();
    let connection = server.reactor.adopt(server.id, other.into()).unwrap();
    assert_eq!(server.told(4 * KEEP_ALIVE, None), []);
    (&client).write_all(REQUEST).unwrap();
    assert_eq!(server.told(4 * KEEP_ALIVE, None), [Kind::Request as i32]);
    server.reactor.send(connection, OK, 1, false).unwrap();
    (&client)
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: b\r\n\r\n")
        .unwrap();
    assert_eq!(server.told(LIMIT, Some(Kind::Fallback)), [Kind::Fallback as i32]);
    server.reactor.through(connection);
    let told = server.told(4 * KEEP_ALIVE, None);
    assert!(!told.contains(&(Kind::Idle as i32)), "{told:?}");
}

/// Longer than a turn takes.
const SILENCE: Duration = Duration::from_millis(20);

impl Server {
    /// Whether this, and the turn behind it, is progress of a connection that was silent before.
    fn is_progress(&mut self, connection: usize, action: impl FnOnce(&mut Self)) -> bool {
        std::thread::sleep(SILENCE);
        let clock = Monotonic::new();
        let began = clock.now();
        action(self);
        self.turn();
        loop {
            let before = clock.now();
            let inactive = self.reactor.inactive_for(connection).unwrap();
            // A machine that is busy with something else in between would decide.
            if clock.now().since(before) < SILENCE / 4 {
                return inactive < before.since(began) + SILENCE / 2;
            }
        }
    }
}

#[test]
fn each_part_that_arrives_is_progress_whether_told_or_not() {
    let mut server = Server::new();
    let (mut client, connection) = server.request();
    server.reactor.send(connection, OK, 1, false).unwrap();
    let parts: [&[u8]; 9] = [
        b"POST / HT",
        b"TP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"5;a",
        b"=b\r\n",
        b"hello",
        b"\r\n0\r\n",
        b"Trailer: ",
        b"x\r\n\r\n",
        b"\r\n",
    ];
    for part in parts {
        assert!(!server.is_progress(connection, |_| {}));
        assert!(server.is_progress(connection, |_| client.write_all(part).unwrap()), "{part:?}");
    }
}

#[test]
fn what_follows_an_upgrade_is_progress() {
    let mut server = Server::new();
    let (mut client, connection) = server.request();
    server.reactor.send(connection, OK, 1, false).unwrap();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: b\r\n\r\n")
        .unwrap();
    assert_eq!(server.turn(), [Kind::Fallback as i32]);
    server.reactor.through(connection);
    server.turn();
    assert!(server.is_progress(connection, |_| client.write_all(b"frame").unwrap()));
    assert!(server.is_progress(connection, |server| {
        server.reactor.send(connection, b"frame", 0, false).unwrap();
    }));
    assert!(!server.is_progress(connection, |_| {}));
}

#[test]
fn a_part_of_a_body_that_the_caller_receives_itself_is_progress() {
    let mut server = Server::new();
    let (mut client, connection) = server.request();
    client.write_all(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n").unwrap();
    server.turn();
    client.write_all(b"part").unwrap();
    assert_eq!(server.turn().first(), Some(&(Kind::BodyReadable as i32)));
    assert!(server.is_progress(connection, |server| {
        assert_eq!(server.reactor.receive_body(connection, &mut [0; 100]), 4);
    }));
}

#[test]
fn what_a_slow_reader_makes_room_for_is_progress() {
    let mut server = Server::new();
    let (mut client, connection) = server.request();
    let part = [0; 64 * 1024];
    while server.reactor.queued(connection) < 1 << 20 {
        server.reactor.send(connection, &part, 0, false).unwrap();
    }
    // What waits makes no progress by more that waits.
    assert!(!server.is_progress(connection, |server| {
        server.reactor.send(connection, &part, 0, false).unwrap();
    }));
    let mut taken = vec![0; 128 * 1024];
    while server.reactor.queued(connection) > 0 {
        let before = server.reactor.queued(connection);
        let is_progress =
            server.is_progress(connection, |_| while client.read(&mut taken).is_err() {});
        assert_eq!(is_progress, server.reactor.queued(connection) < before);
    }
    assert_eq!(server.reactor.inactive_for(connection + 1), None);
}

#[test]
fn limits_of_a_connection_that_comes_after_a_silence_count_from_then() {
    let limit = Duration::from_millis(100);
    let mut reactor = Reactor::new().unwrap();
    let plain = reactor.add_server(Settings::default());
    let tls = reactor.add_server(Settings { tls: Some(limit), ..Settings::default() });
    std::thread::sleep(4 * limit);
    let clock = Monotonic::new();
    let began = clock.now();
    let clients: Vec<_> = [plain, tls]
        .into_iter()
        .map(|server| {
            let (client, other) = UnixStream::pair().unwrap();
            other.set_nonblocking(true).unwrap();
            (client, reactor.adopt(server, other.into()).unwrap())
        })
        .collect();
    assert_eq!(reactor.late(plain, Some(2 * limit), Some(2 * limit)), []);
    let mut server = Server { reactor, id: tls };
    assert_eq!(server.told(LIMIT, Some(Kind::Failed)), [Kind::Failed as i32]);
    assert!(clock.now().since(began) >= limit);
    assert_eq!(server.reactor.late(plain, Some(limit / 2), None), [clients[0].1]);
}
