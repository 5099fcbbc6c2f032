//! A reactor and a router that says what a test wants: whom requests go to, and where connections come from.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::both_sides::{both_sides, receive};
use millrace_net::Nanos;
use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::router::{Arrival, Detached, Route, RoutedRequest, Router, RouterContext};
use millrace_stack::tls::secure_context::SecureContext;
use millrace_stack::{Reactor, Settings};

/// The address that all servers accept for, and somebody elsewhere.
const ADDRESS: usize = 3;
const FAR: usize = 5;
/// Far more than it takes.
const TURNS: usize = 10_000;

/// Says by a target whom it belongs to, and keeps what it is given.
#[derive(Debug, Default)]
struct Scripted {
    /// Of all but the first server.
    other: usize,
    given: Vec<Detached>,
    flushed: usize,
    /// Who has all sessions; `None`: whoever they come to.
    sessions: Option<Route>,
    next_run: Option<Nanos>,
    runs: Vec<Nanos>,
}

impl Router for Scripted {
    fn address_of(&self, _: usize) -> Option<usize> {
        Some(ADDRESS)
    }

    fn route(&mut self, request: &RoutedRequest<'_>) -> Route {
        assert_eq!((request.address, request.host), (ADDRESS, &b"a"[..]));
        match request.target {
            // It stays where it has been.
            _ if request.pinned && request.server == self.other => Route::Here,
            b"/other" if request.server != self.other => Route::Server(self.other),
            b"/far" => Route::Elsewhere(FAR),
            b"/gone" => Route::Nobody { gone: true },
            b"/none" => Route::Nobody { gone: false },
            _ => Route::Here,
        }
    }

    fn route_session(&mut self, address: usize, _: usize, name: &str, _: Nanos) -> Route {
        assert_eq!((address, name), (ADDRESS, "a"));
        self.sessions.unwrap_or(Route::Here)
    }

    fn successor(&self, address: usize, server: usize) -> Option<Route> {
        assert_eq!(address, ADDRESS);
        (server != self.other).then_some(Route::Server(self.other))
    }

    fn give(&mut self, address: usize, to: usize, it: Detached, _: &mut RouterContext<'_>) {
        assert_eq!((address, to), (ADDRESS, FAR));
        self.given.push(it);
    }

    fn flush(&mut self, _: &mut RouterContext<'_>) {
        self.flushed = self.given.len();
    }

    fn run(&mut self, context: &mut RouterContext<'_>) {
        if let Some(at) = self.next_run.take_if(|at| *at <= context.now()) {
            self.runs.push(at);
        }
    }

    fn next_run(&self) -> Nanos {
        self.next_run.unwrap_or(Nanos::NEVER)
    }
}

/// A reactor with two servers, of which the first listens.
struct World {
    reactor: Reactor,
    servers: [usize; 2],
    listener: TcpListener,
    /// What handshakes are answered with.
    context: Option<SecureContext>,
    /// Connections that were told of, by number, with their servers.
    opened: Vec<(usize, usize)>,
}

impl World {
    fn new() -> Self {
        Self::with(&Settings::default())
    }

    fn with(settings: &Settings) -> Self {
        let mut reactor = Reactor::new().unwrap();
        let servers = [(); 2].map(|()| reactor.add_server(settings.clone()));
        reactor.set_router(Box::new(Scripted { other: servers[1], ..Scripted::default() }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        reactor.listen(servers[0], listener.try_clone().unwrap().into()).unwrap();
        Self { reactor, servers, listener, context: None, opened: Vec::new() }
    }

    fn client(&self, targets: &[&str]) -> TcpStream {
        let mut client = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
        client.set_nonblocking(true).unwrap();
        ask(&mut client, targets);
        client
    }

    fn router<R>(&mut self, action: impl FnOnce(&mut Scripted, &mut RouterContext<'_>) -> R) -> R {
        self.reactor.with_router(action).unwrap()
    }

    /// Turns until it is `done`; gives the server and the number of each connection that a request has come on.
    fn turn_until(
        &mut self,
        mut done: impl FnMut(&mut Self, usize) -> bool,
    ) -> Vec<(usize, usize)> {
        let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
        let mut requests = Vec::new();
        for _ in 0..TURNS {
            let mut batch = Batch::new(&mut events, &mut bytes);
            self.reactor.turn(&mut batch).unwrap();
            let count = batch.count();
            for event in events.chunks(EVENT_LENGTH).take(count) {
                let id = usize::try_from(event[1]).unwrap();
                if event[0] == Kind::Open as i32 {
                    self.opened.retain(|(other, _)| *other != id);
                    self.opened.push((id, usize::try_from(event[2]).unwrap()));
                } else if event[0] == Kind::Hello as i32
                    && let Some(context) = &self.context
                {
                    assert!(self.reactor.choose(id, context, false));
                } else if event[0] == Kind::Request as i32 {
                    let of = self.opened.iter().find(|(other, _)| *other == id).unwrap();
                    requests.push((of.1, id));
                }
            }
            self.reactor.wake_again();
            if done(self, requests.len()) {
                return requests;
            }
        }
        panic!("{requests:?}");
    }

    fn requests(&mut self, count: usize) -> Vec<(usize, usize)> {
        self.turn_until(|_, requests| requests == count)
    }

    fn given(&mut self) -> usize {
        self.router(|router, _| router.flushed)
    }
}

fn ask(client: &mut TcpStream, targets: &[&str]) {
    for target in targets {
        client.write_all(request(target).as_bytes()).unwrap();
    }
}

fn request(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn read(client: &mut TcpStream) -> Vec<u8> {
    let mut text = Vec::new();
    match client.read_to_end(&mut text) {
        Ok(_) => panic!("it has ended"),
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
    }
    text
}

const DONE: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

#[test]
fn requests_go_to_whom_the_router_names() {
    let mut world = World::new();
    let [first, other] = world.servers;
    let mut here = world.client(&["/"]);
    let there = world.client(&["/other"]);
    let mut requests = world.requests(2);
    requests.sort_unstable();
    assert_eq!([requests[0].0, requests[1].0], [first, other]);
    // One whose caller knows it goes to another server as another connection.
    world.reactor.send(requests[0].1, DONE, 1, false).unwrap();
    ask(&mut here, &["/other"]);
    let (server, id) = world.requests(1)[0];
    assert_eq!((server, id == requests[0].1), (other, false));
    assert_eq!(world.reactor.counts(first).moved, 1);
    drop((here, there));
}

#[test]
fn requests_of_nobody_are_answered() {
    let mut world = World::new();
    let mut client = world.client(&["/gone", "/none"]);
    let mut text = Vec::new();
    let requests = world.turn_until(|_, _| {
        text.extend(read(&mut client));
        text.ends_with(b"here.\n")
    });
    let text = String::from_utf8(text).unwrap();
    let statuses: Vec<&str> = text.split("HTTP/1.1 ").skip(1).map(|it| &it[..3]).collect();
    assert_eq!((statuses, requests.len()), (vec!["503", "404"], 0));
    assert_eq!(world.reactor.counts(world.servers[0]).unowned, 2);
}

/// What came before is answered by whoever it came to, and what came behind goes along.
#[test]
fn connections_are_given_when_all_before_is_answered() {
    let mut world = World::new();
    let client = world.client(&["/", "/far", "/"]);
    let (_, id) = world.requests(1)[0];
    assert_eq!(world.given(), 0);
    world.reactor.send(id, DONE, 1, false).unwrap();
    world.turn_until(|world, _| world.given() == 1);
    let given = world.router(|router, _| router.given.pop().unwrap());
    assert_eq!(given.bytes, [request("/far"), request("/")].concat().as_bytes());
    assert_eq!((given.peer, given.hops), (Some(client.local_addr().unwrap()), 0));
    assert!(given.session.is_none());
    assert!(world.reactor.send(id, DONE, 1, false).is_err(), "it is another's");
}

#[test]
fn connections_that_come_are_served() {
    let mut world = World::new();
    let other = world.servers[1];
    let mut client = world.client(&["/far"]);
    world.turn_until(|world, _| world.given() == 1);
    world.router(|router, context| {
        let connection = router.given.pop().unwrap();
        context.attach(Arrival { address: ADDRESS, server: other, pinned: true, connection });
    });
    let (server, id) = world.requests(1)[0];
    assert_eq!(server, other);
    world.reactor.send(id, DONE, 1, false).unwrap();
    assert_eq!(read(&mut client), DONE);
    // It is where it belongs.
    ask(&mut client, &["/far"]);
    assert_eq!(world.requests(1), [(other, id)]);
}

/// A client of a server with TLS, and what it has said by then.
fn secure_client() -> (World, TcpStream, Vec<u8>) {
    let (_, mut client) = both_sides();
    let tls = Some(Duration::from_secs(10));
    let world = World::with(&Settings { tls, ..Settings::default() });
    let mut socket = world.client(&[]);
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    socket.write_all(&hello).unwrap();
    (world, socket, hello)
}

#[test]
fn connections_are_given_before_the_handshake_to_whom_their_sessions_belong() {
    let (mut world, _socket, hello) = secure_client();
    world.router(|router, _| router.sessions = Some(Route::Elsewhere(FAR)));
    world.turn_until(|world, _| world.given() == 1);
    let given = world.router(|router, _| router.given.pop().unwrap());
    assert_eq!((given.bytes, given.session.is_none()), (hello, true));
    assert_eq!(world.opened, []);
}

/// Nothing can be said before the handshake.
#[test]
fn connections_whose_sessions_are_nobodys_end() {
    let (mut world, mut socket, _) = secure_client();
    world.router(|router, _| router.sessions = Some(Route::Nobody { gone: true }));
    world.turn_until(|_, _| matches!(socket.read(&mut [0]), Ok(0)));
    assert_eq!(world.opened, []);
}

/// A session stays where it is; what is given is its text.
#[test]
fn the_text_of_sessions_is_given_and_goes_both_ways() {
    let (context, mut client) = both_sides();
    let tls = Some(Duration::from_secs(10));
    let mut world = World::with(&Settings { tls, ..Settings::default() });
    world.context = Some(context);
    let mut socket = world.client(&[]);
    let local = world.listener.local_addr().unwrap();
    let peer = socket.local_addr().unwrap();
    client.writer().write_all(request("/far").as_bytes()).unwrap();
    let mut exchange = |world: &mut World, text: &mut Vec<u8>| {
        while client.wants_write() {
            client.write_tls(&mut socket).unwrap();
        }
        world.turn_until(|_, _| true);
        text.extend(receive(&mut client, &socket));
    };
    let mut text = Vec::new();
    while world.given() == 0 {
        exchange(&mut world, &mut text);
    }
    let given = world.router(|router, _| router.given.pop().unwrap());
    let session = given.session.unwrap();
    assert_eq!((session.name.as_deref(), session.local), (Some("a"), Some(local)));
    assert_eq!((given.peer, session.peer), (Some(peer), Some(peer)));
    assert_eq!((session.tls13, session.asked, session.certificates.len()), (true, false, 0));
    let mut other = UnixStream::from(given.socket);
    let (mut asked, request) = (Vec::new(), request("/far"));
    while asked.len() < request.len() {
        exchange(&mut world, &mut text);
        // It has not ended.
        other.read_to_end(&mut asked).unwrap_err();
    }
    assert_eq!(asked, request.as_bytes());
    other.write_all(DONE).unwrap();
    while text.len() < DONE.len() {
        exchange(&mut world, &mut text);
    }
    assert_eq!(text, DONE);
    assert_eq!(world.reactor.counts(world.servers[0]).relayed, 1);
}

#[test]
fn unused_connections_of_a_removed_server_go_to_its_successor() {
    let mut world = World::new();
    let [first, other] = world.servers;
    let mut client = world.client(&[]);
    // It is accepted by then, as the second one is.
    let second = world.client(&["/other"]);
    assert_eq!(world.requests(1)[0].0, other);
    world.reactor.remove_server(first);
    ask(&mut client, &["/"]);
    assert_eq!(world.requests(1)[0].0, other);
    drop(second);
}

#[test]
fn the_router_runs_when_it_wants_to() {
    let mut world = World::new();
    let soon = Duration::from_millis(5);
    let at = world.router(|router, context| {
        let at = context.now() + soon;
        router.next_run = Some(at);
        at
    });
    assert!(world.reactor.timers_changed());
    assert!(world.reactor.next_timer().is_some_and(|after| after <= soon));
    let mut early = 0;
    world.turn_until(|world, _| {
        early += usize::from(world.reactor.next_timer().is_some());
        std::thread::sleep(world.reactor.next_timer().unwrap_or_default());
        world.router(|router, _| router.runs == [at])
    });
    assert!(early < 3, "turns that were not due: {early}");
    // At once, in the next turn.
    world.router(|router, _| router.next_run = Some(Nanos::default()));
    world.turn_until(|world, _| world.router(|router, _| router.runs.len() == 2));
}
