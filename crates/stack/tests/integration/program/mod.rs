//! Clients and a caller of the reactor that do anything in any order, as the bytes of a program say, and what has
//! to hold whatever they do:
//!
//! - events lie in the batch's memory, speak of connections that live, and of no more requests than are allowed
//! - what is told of a stream is what the parsers find in it as a whole; a connection that is given away has all of the rest
//! - what is sent arrives as it is, nothing missing at the end
//! - the reactor comes to rest

mod client;
mod expected;

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::settings::HeadLimits;
use millrace_stack::{Reactor, Settings};

use client::{Client, Reading};

/// What a caller's memory has to hold: what was kept, a read, and one more.
const BYTES: usize = 256 * 1024;
const MAX_CLIENTS: usize = 12;
/// Turns in which the reactor comes to rest.
const MAX_TURNS: usize = 5_000;

/// Runs a program; panics where something does not hold.
pub(crate) fn run(program: &[u8]) {
    let Some((&settings, program)) = program.split_first_chunk::<4>() else { return };
    let mut world = World::new(settings);
    let mut program = Program(program);
    while let Some(order) = program.next() {
        world.obey(order, &mut program);
    }
    world.rest();
    world.check();
}

struct Program<'a>(&'a [u8]);

impl<'a> Program<'a> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> usize {
        self.next().unwrap_or(0).into()
    }

    /// A length, and so many bytes.
    fn piece(&mut self) -> &'a [u8] {
        let length = self.number();
        let (piece, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        piece
    }
}

/// What the caller does by itself as soon as it is told of something.
#[derive(Clone, Copy)]
struct Habits {
    answers: bool,
    gives_away: bool,
    closes: bool,
}

struct World {
    reactor: Reactor,
    server: usize,
    settings: Settings,
    listener: Option<(UnixListener, usize)>,
    habits: Habits,
    clients: Vec<Client>,
    /// Connected, and not accepted.
    waiting: VecDeque<usize>,
    /// Which client a connection is.
    live: HashMap<usize, usize>,
    /// Connections that ended in this batch: what it says of them is not looked at.
    ended: Vec<usize>,
    events: Vec<i32>,
    bytes: Vec<u8>,
}

impl World {
    fn new([limit, fields, pipelined, habits]: [u8; 4]) -> Self {
        // Above 128 KiB, so that the reactor's own bound is met as well.
        let limit = usize::from(limit) * usize::from(limit) * 4;
        let settings = Settings {
            head: HeadLimits { bytes: 16 + limit, fields: usize::from(fields) * 16 },
            max_pipelined: u32::from(pipelined % 8) + 1,
            keep_alive: (habits & 8 > 0).then_some(Duration::from_micros(1)),
            ..Settings::default()
        };
        let mut reactor = Reactor::new().unwrap();
        let server = reactor.add_server(settings.clone());
        let habits =
            Habits { answers: habits & 1 > 0, gives_away: habits & 2 > 0, closes: habits & 4 > 0 };
        Self {
            listener: Some(listen(&mut reactor, server)),
            reactor,
            server,
            settings,
            habits,
            clients: Vec::new(),
            waiting: VecDeque::new(),
            live: HashMap::new(),
            ended: Vec::new(),
            events: vec![0; EVENT_LENGTH * 16],
            bytes: vec![0; BYTES],
        }
    }

    fn obey(&mut self, order: u8, program: &mut Program<'_>) {
        match order % 24 {
            0 => self.connect(),
            1 => self.adopt(),
            2..=5 => {
                let (client, piece) = (program.number(), program.piece());
                self.client(client, |client| client.send(piece));
            }
            6 => {
                let (client, times, piece) = (program.number(), program.number(), program.piece());
                self.client(client, |client| client.send(&piece.repeat(times * 4)));
            }
            7 => self.client(program.number(), Client::shut),
            8 => self.client(program.number(), Client::leave),
            9 => self.client(program.number(), |client| {
                client.receive();
            }),
            10..=13 => {
                self.turn();
            }
            14 => self.listen_anew(),
            15 => self.unknown(program.number()),
            16 => {
                let (head, whole) = (Duration::ZERO, Duration::from_nanos(1));
                drop(self.reactor.late(self.server, Some(head), Some(whole)));
                drop(self.reactor.slow(self.server, 1e9, 1e9, |_| None));
                drop(self.reactor.idle(self.server, true));
                // A connection that lingers is silent for five at most.
                let soon = Duration::from_secs(6);
                assert!(self.reactor.next_timer().is_none_or(|after| after < soon));
                self.reactor.wake_again();
            }
            call => self.call(call, program),
        }
    }

    fn connect(&mut self) {
        let Some((listener, _)) = &self.listener else { return };
        if self.clients.len() == MAX_CLIENTS {
            return;
        }
        let socket = UnixStream::connect_addr(&listener.local_addr().unwrap()).unwrap();
        self.waiting.push_back(self.clients.len());
        self.clients.push(Client::new(socket, None));
    }

    fn adopt(&mut self) {
        if self.clients.len() == MAX_CLIENTS {
            return;
        }
        let (socket, other) = UnixStream::pair().unwrap();
        let id = self.reactor.adopt(self.server, OwnedFd::from(other)).unwrap();
        assert!(self.live.insert(id, self.clients.len()).is_none(), "a number given twice");
        self.clients.push(Client::new(socket, Some(id)));
    }

    fn listen_anew(&mut self) {
        match self.listener.take() {
            Some((_, id)) => {
                self.reactor.close_listener(id);
                self.waiting.clear();
            }
            None => self.listener = Some(listen(&mut self.reactor, self.server)),
        }
    }

    fn client(&mut self, number: usize, action: impl FnOnce(&mut Client)) {
        let count = self.clients.len();
        if count > 0 {
            action(&mut self.clients[number % count]);
        }
    }

    /// Calls that name a connection which does not exist are of no consequence.
    fn unknown(&mut self, id: usize) {
        if self.live.contains_key(&id) || self.reactor.socket(id).is_some() {
            return;
        }
        let reactor = &mut self.reactor;
        reactor.proceed(id);
        reactor.proceed_raw(id);
        reactor.proceed_behind(id, 1);
        reactor.through(id);
        reactor.pause(id, true);
        reactor.pause(id, false);
        reactor.finish(id, 1);
        reactor.end(id);
        reactor.start(id);
        reactor.close(id, true);
        assert!(reactor.send(id, b"x", 1, false).is_err());
        assert!(reactor.send_two(id, b"x", b"y", 1).is_err());
        assert!(reactor.release(id).is_err());
    }

    /// A call for a connection that lives.
    fn call(&mut self, call: u8, program: &mut Program<'_>) {
        let (client, number) = (program.number(), program.number());
        let count = self.clients.len();
        if count == 0 {
            return;
        }
        let client = client % count;
        let Some(id) = self.clients[client].id else { return };
        match call {
            17 => self.answer(id, number, false),
            18 => self.answer(id, number, true),
            19 => {
                self.clients[client].paused = number % 2 > 0;
                self.reactor.pause(id, number % 2 > 0);
            }
            20 => self.go_on(id, number),
            21 => {
                self.clients[client].ended = true;
                self.reactor.end(id);
            }
            22 => {
                self.reactor.close(id, number % 2 > 0);
                self.forget(id);
            }
            _ => self.give_away(id),
        }
    }

    /// Answers a request, if there is one; some bytes are those of none.
    fn answer(&mut self, id: usize, length: usize, in_two: bool) {
        let client = &mut self.clients[self.live[&id]];
        if client.ended {
            return;
        }
        let done = client.in_flight.min(1);
        let bytes = client.next_answer(length * length);
        let middle = bytes.len() / 3;
        let sent = if in_two {
            self.reactor.send_two(id, &bytes[..middle], &bytes[middle..], done)
        } else {
            self.reactor.send(id, &bytes, done, done % 2 == 1)
        };
        match sent {
            Ok(queued) => {
                assert!(queued <= client.answered.len(), "more waits than was sent");
                client.in_flight -= done;
            }
            Err(_) => client.broken = true,
        }
    }

    /// What a caller does when it was asked, and, against the rules, when it was not.
    fn go_on(&mut self, id: usize, number: usize) {
        let client = &mut self.clients[self.live[&id]];
        client.proceed(number % 4);
        match number % 4 {
            0 => self.reactor.proceed(id),
            1 => self.reactor.proceed_raw(id),
            2 => self.reactor.proceed_behind(id, number / 4),
            _ => self.reactor.through(id),
        }
    }

    /// Takes a connection away: nothing of what its client has sent may be missing.
    fn give_away(&mut self, id: usize) {
        let (fd, _, mut rest) = self.reactor.release(id).unwrap();
        assert!(rest.len() <= 2 * 64 * 1024, "{} bytes were kept", rest.len());
        let mut socket = UnixStream::from(fd);
        // The client may have left with bytes of ours unread, which resets the connection.
        let whole = match socket.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        let client = &mut self.clients[self.live[&id]];
        client.given_away(&rest, whole, self.settings.head);
        self.forget(id);
    }

    fn forget(&mut self, id: usize) {
        if let Some(client) = self.live.remove(&id) {
            self.clients[client].id = None;
        }
        self.ended.push(id);
    }

    /// Takes a batch; `true` if there may be more.
    fn turn(&mut self) -> bool {
        let mut events = std::mem::take(&mut self.events);
        let mut bytes = std::mem::take(&mut self.bytes);
        let mut batch = Batch::new(&mut events, &mut bytes);
        let more = self.reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        self.ended.clear();
        for event in events[..count * EVENT_LENGTH].as_chunks().0 {
            self.take(event, &bytes);
        }
        self.reactor.wake_again();
        (self.events, self.bytes) = (events, bytes);
        more || count > 0
    }

    fn receive_body(&mut self, id: usize, client: usize) {
        let mut part = vec![0; 40_000];
        let length = self.reactor.receive_body(id, &mut part);
        if length > 0 {
            let details = [0, length as i32, 0, 0, 0, 0];
            self.clients[client].take(Kind::Body as i32, &details, &part, &self.settings);
        }
    }

    fn take(&mut self, event: &[i32; EVENT_LENGTH], bytes: &[u8]) {
        let [kind, id, details @ ..] = *event;
        let id = usize::try_from(id).unwrap();
        if kind == Kind::Open as i32 {
            self.open(id);
            return;
        }
        if self.ended.contains(&id) {
            return;
        }
        let client = *self.live.get(&id).unwrap_or_else(|| panic!("{kind} of no connection: {id}"));
        if kind == Kind::BodyReadable as i32 {
            return self.receive_body(id, client);
        }
        let client = &mut self.clients[client];
        let told = client.take(kind, &details, bytes, &self.settings);
        if kind == Kind::Closed as i32 {
            if self.habits.closes {
                self.reactor.close(id, false);
            }
            self.forget(id);
        } else if told && client.reading == Reading::Asked && self.habits.gives_away {
            self.give_away(id);
        } else if kind == Kind::Request as i32 && self.habits.answers {
            self.answer(id, 7, false);
        }
    }

    fn open(&mut self, id: usize) {
        // One that was closed together with its listener is nobody's.
        let client = self.waiting.pop_front().expect("a connection that nobody made");
        assert!(self.live.insert(id, client).is_none(), "a number given twice");
        self.clients[client].id = Some(id);
    }

    /// Everybody takes and answers everything.
    fn rest(&mut self) {
        let mut quiet = 0;
        for _ in 0..MAX_TURNS {
            let mut busy = self.turn();
            for client in 0..self.clients.len() {
                busy |= self.clients[client].receive();
                let Some(id) = self.clients[client].id else { continue };
                if std::mem::take(&mut self.clients[client].paused) {
                    self.reactor.pause(id, false);
                    busy = true;
                }
                if self.clients[client].in_flight > 0 {
                    let done = std::mem::take(&mut self.clients[client].in_flight);
                    self.reactor.finish(id, done);
                    busy = true;
                }
            }
            quiet = if busy { 0 } else { quiet + 1 };
            if quiet == 3 {
                return;
            }
        }
        panic!("does not come to rest");
    }

    fn check(&self) {
        for client in &self.clients {
            client.check(self.settings.head);
        }
    }
}

/// A listener of its own, without a file.
fn listen(reactor: &mut Reactor, server: usize) -> (UnixListener, usize) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("millrace-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let id = reactor.listen(server, listener.try_clone().unwrap().into()).unwrap();
    (listener, id)
}
