//! Everything there is: the reactor, its caller, the clients; and the steps that they take.

use std::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::time::Duration;

use fastrand::Rng;
use millrace_net::peer::{Peer, Received, close_descriptor};
use millrace_net::tls::secure_context::SecureContext;
use millrace_net::{Nanos, network};
use millrace_stack::Reactor;
use millrace_stack::batch::FallbackReason;
use millrace_stack::driver::{Driver, Wake};

use crate::caller::Notice;
use crate::client::{Client, Fate};
use crate::plan::{Act, Plan};
use crate::replies::Version;
use crate::router::SimulatedRouter;
use crate::sights::{Sight, see};
use crate::tls::Tls;
use crate::told::{Habits, Reading};

/// A rate is judged after this much time.
const RATE_GRACE: Duration = Duration::from_secs(5);
/// Room for what a connection has kept and one read of it.
const SCRATCH: usize = 256 * 1024;

/// A server to which clients connect.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) server: usize,
    pub(crate) has_tls: bool,
    /// The reactor's number of its listener, and the network's.
    pub(crate) listener: Option<(usize, usize)>,
}

pub(crate) struct World {
    pub(crate) chance: Rng,
    pub(crate) plan: Plan,
    pub(crate) habits: Habits,
    pub(crate) reactor: Reactor,
    pub(crate) poll: RawFd,
    /// All of them; with a router, the second one only gets what that sends to it.
    pub(crate) servers: Vec<usize>,
    pub(crate) doors: Vec<Door>,
    /// What the server with TLS shows and accepts.
    pub(crate) context: Option<SecureContext>,
    pub(crate) router: Option<SimulatedRouter>,
    /// In the order of their connections.
    pub(crate) clients: Vec<Client>,
    /// Which client a connection's number was given to last.
    pub(crate) by_id: Vec<Option<usize>>,
    pub(crate) versions: Vec<Version>,
    pub(crate) events: Vec<i32>,
    pub(crate) bytes: Vec<u8>,
    scratch: Vec<u8>,
    /// What the caller has not taken of its batch, with the numbers of the connections.
    pub(crate) notices: VecDeque<(usize, Notice)>,
    pub(crate) driver: Driver,
    /// Under way, the innermost last.
    pub(crate) wakes: Vec<Wake>,
    /// When the caller's timer comes.
    pub(crate) armed: Nanos,
    /// When accepting has failed last: connections that linger are closed then.
    pub(crate) failed_to_accept: Nanos,
    /// How often the caller was asked about bytes.
    pub(crate) fallbacks: u64,
    pub(crate) has_shortage: bool,
    /// The settings have changed.
    pub(crate) has_changed: bool,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        network::begin(seed);
        let mut chance = Rng::with_seed(seed);
        let plan = Plan::draw(&mut chance);
        let mut reactor = Reactor::new().expect("the simulated system refuses nothing");
        let (mut servers, mut doors) = (Vec::new(), Vec::new());
        if plan.plain {
            servers.push(reactor.add_server(plan.settings.clone()));
            doors.push(Door { server: servers[0], has_tls: false, listener: None });
        }
        let context = plan.tls.clone().map(SecureContext::new);
        if context.is_some() {
            let server = reactor.add_server(plan.secure_settings());
            servers.push(server);
            reactor.set_context(server, context.clone().filter(|_| plan.shakes_beside));
            doors.push(Door { server, has_tls: true, listener: None });
        }
        if plan.routes {
            servers.push(reactor.add_server(plan.settings.clone()));
        }
        let router = plan.routes.then(|| SimulatedRouter::new(seed, servers.clone()));
        if let Some(router) = &router {
            reactor.set_router(Box::new(router.clone()));
        }
        let poll = reactor.descriptor();
        let mut world = Self {
            habits: plan.habits(),
            events: vec![0; plan.events],
            bytes: vec![0; plan.bytes],
            chance,
            plan,
            reactor,
            poll,
            servers,
            doors,
            context,
            router,
            clients: Vec::new(),
            by_id: Vec::new(),
            versions: Vec::new(),
            scratch: vec![0; SCRATCH],
            notices: VecDeque::new(),
            driver: Driver::default(),
            wakes: Vec::new(),
            armed: Nanos::NEVER,
            failed_to_accept: Nanos::default(),
            fallbacks: 0,
            has_shortage: false,
            has_changed: false,
        };
        for door in 0..world.doors.len() {
            world.listen(door);
        }
        world
    }

    /// One step, and what has to hold behind it.
    pub(crate) fn step(&mut self) {
        let act = self.plan.act(&mut self.chance);
        self.act(act);
        self.after_commands();
        self.check();
    }

    fn act(&mut self, act: Act) {
        trace!("{:?} {act:?}", network::now());
        match act {
            Act::Connect => self.connect(),
            Act::Adopt => self.adopt(),
            Act::Turn => self.turn_step(),
            Act::Nest => self.nest(),
            Act::Answer => self.answer_some(),
            Act::Beside => self.beside(),
            Act::GiveUp => self.give_up(),
            Act::Wait => {
                let most = *self.chance.choice(&[1_000, 1_000_000, 30_000_000]).unwrap();
                network::advance(Duration::from_nanos(self.chance.u64(..most)));
            }
            Act::WaitLong => network::advance(Duration::from_millis(self.chance.u64(..8_000))),
            Act::Shortage => self.change_shortage(),
            Act::Configure => self.configure(),
            // A timer of the caller's, so between two batches.
            Act::Limits if !self.wakes.is_empty() => {}
            Act::Limits => self.ask_limits(),
            Act::Listen => self.listen_anew(),
            Act::Route => self.route(),
            Act::Send | Act::Receive | Act::End | Act::Leave | Act::Reset => {
                if let Some(client) = self.some_client(|client| !client.is_silent()) {
                    self.client_act(act, client);
                }
            }
            Act::Pause | Act::GoOn | Act::Close | Act::Release => {
                if let Some(client) = self.some_client(|client| client.id.is_some()) {
                    self.caller_act(act, client);
                }
            }
        }
    }

    /// One of the clients of which this holds.
    pub(crate) fn some_client(&mut self, holds: impl Fn(&Client) -> bool) -> Option<usize> {
        let all = (0..self.clients.len()).filter(|&at| holds(&self.clients[at]));
        self.chance.choice(all.collect::<Vec<_>>())
    }

    fn has_room_for_clients(&self) -> bool {
        let live = self.clients.iter().filter(|it| !it.is_silent() || it.id.is_some()).count();
        live < self.plan.max_clients
    }

    fn connect(&mut self) {
        let door = self.some_door();
        let Some((_, listener)) = self.doors[door].listener else { return };
        if self.has_room_for_clients() {
            let buffers = self.plan.buffers(&mut self.chance);
            self.add_client(Peer::connect(listener, buffers), door, buffers.to_client);
        }
    }

    fn some_door(&mut self) -> usize {
        self.chance.usize(..self.doors.len())
    }

    fn adopt(&mut self) {
        if !self.has_room_for_clients() {
            return;
        }
        let buffers = self.plan.buffers(&mut self.chance);
        let (peer, fd) = Peer::pair(buffers);
        let door = self.some_door();
        let client = self.add_client(peer, door, buffers.to_client);
        let server = self.doors[door].server;
        let id = self.reactor.adopt(server, fd).expect("it can be taken");
        self.opened(id, client, server);
    }

    fn add_client(&mut self, peer: Peer, door: usize, room: usize) -> usize {
        let at = self.clients.len();
        assert_eq!(peer.number(), at);
        let Door { server, has_tls, .. } = self.doors[door];
        let tls = self.plan.tls.as_ref().filter(|_| has_tls);
        let tls = tls.map(|config| Tls::new(self.chance.fork(), config));
        self.clients.push(Client::new(peer, tls, room, server, self.router.is_some()));
        at
    }

    /// The caller knows a connection.
    pub(crate) fn opened(&mut self, id: usize, client: usize, server: usize) {
        if self.by_id.len() <= id {
            self.by_id.resize(id + 1, None);
        }
        let before = self.by_id[id].map(|at| self.clients[at].id);
        assert!(before.is_none_or(|it| it != Some(id)), "number {id} is given twice");
        self.by_id[id] = Some(client);
        let client = &mut self.clients[client];
        if client.fate != Fate::Unknown && client.told.leaves > 0 {
            // It was sent away beside, and the caller has closed what was left of it here.
            client.told.leaves -= 1;
            client.come_back();
        }
        assert_eq!(client.fate, Fate::Unknown, "a connection is told of twice");
        (client.id, client.fate, client.server) = (Some(id), Fate::Open, server);
        client.known = network::now();
    }

    fn client_act(&mut self, act: Act, at: usize) {
        // In a handshake it reads before it sends, mostly.
        if act == Act::Send && self.clients[at].is_shaking() && self.chance.bool() {
            self.receive(at, 1 << 20);
        }
        let Self { chance, plan, clients, .. } = self;
        let client = &mut clients[at];
        match act {
            Act::Send => {
                if client.sent == client.script.bytes.len() && client.script.messages.len() < 64 {
                    let taste = plan.taste_of(client.tls.is_some());
                    for _ in 0..chance.u8(1..5) {
                        client.write(|script| script.add(chance, &taste));
                    }
                }
                let most = *chance.choice(&[1, 3, 100, 2_000, 1 << 20]).unwrap();
                let before = client.sent;
                client.send(chance.usize(1..=most));
                let sent = &client.script.bytes[before..client.sent];
                trace!(
                    "    client {at} sends {:?}",
                    String::from_utf8_lossy(&sent[..sent.len().min(300)])
                );
            }
            Act::Receive => {
                let most = *chance.choice(&[1, 100, 1 << 20]).unwrap();
                self.receive(at, most);
            }
            Act::End => {
                // Maybe it announces that, and lets the network know later.
                let announces = chance.bool();
                if !announces || !client.tls.as_mut().is_some_and(|tls| tls.close()) {
                    client.peer.end();
                    client.ended = true;
                }
            }
            Act::Leave => {
                client.peer.close();
                client.gone = true;
            }
            _ => {
                client.peer.reset();
                client.gone = true;
            }
        }
    }

    /// A client reads; gives whether it got something.
    pub(crate) fn receive(&mut self, at: usize, most: usize) -> bool {
        let client = &mut self.clients[at];
        match client.peer.receive(most) {
            Received::Bytes(bytes) => {
                let text = client.unseal(&bytes);
                let Client { received, script, told, .. } = client;
                received.take(
                    text.as_deref().unwrap_or(&bytes),
                    script,
                    told,
                    &self.versions,
                    self.habits,
                );
                !bytes.is_empty()
            }
            Received::End => {
                self.saw_end(at);
                true
            }
            Received::Reset(lost) => {
                self.saw_reset(at, lost);
                true
            }
        }
    }

    fn saw_end(&mut self, at: usize) {
        let client = &mut self.clients[at];
        client.over = true;
        client.peer.close();
        let told = &client.told;
        let whole = client.received.is_whole(told) && client.received.missing(told) == 0;
        match client.fate {
            Fate::Ended | Fate::Closed { whole: true, .. } if !client.broken => {
                assert!(
                    whole,
                    "an end before all that was sent, client {at}: {}",
                    client.summary()
                );
                let announced = client.tls.as_ref().is_none_or(|tls| tls.is_closed());
                assert!(
                    announced || !client.is_roomy(),
                    "an end that was not announced, client {at}: {}",
                    client.summary()
                );
            }
            Fate::Open => {
                let ends =
                    told.timed_out.is_some() || told.answered_last || client.received.is_last();
                // What came behind an alert was not looked at.
                let is_alerted = client.tls.as_ref().is_some_and(|tls| tls.is_alerted());
                assert!(
                    ends || told.closed || is_alerted,
                    "an end that nobody wanted, client {at}: {}",
                    client.summary()
                );
            }
            _ => {}
        }
    }

    fn saw_reset(&mut self, at: usize, lost: usize) {
        let client = &mut self.clients[at];
        client.over = true;
        client.peer.close();
        match client.fate {
            Fate::Closed { at: since, lingers: true, .. } if lost > 0 => {
                let may = network::now().since(since) >= Duration::from_secs(5)
                    || self.failed_to_accept >= since;
                assert!(
                    may,
                    "the last response is lost, client {at}: {}, {lost} bytes, now {:?}",
                    client.summary(),
                    network::now()
                );
            }
            Fate::Open | Fate::Ended => {
                assert!(client.told.closed, "reset for nothing, client {at}");
            }
            _ => {}
        }
    }

    /// A turn while the caller is busy.
    pub(crate) fn beside(&mut self) {
        let steps = self.draw_steps();
        let is_wanted = || steps.replace(steps.get().saturating_sub(1)) == 0;
        let turned = self.reactor.turn_beside(&mut self.scratch, &is_wanted);
        turned.expect("the simulated system refuses nothing");
        self.look_at_router();
        self.look_for_late();
    }

    /// After so many steps the caller wants the reactor.
    fn draw_steps(&mut self) -> Cell<usize> {
        Cell::new(*self.chance.choice(&[0, 1, 3, 100, 100]).unwrap())
    }

    fn give_up(&mut self) {
        let steps = self.draw_steps();
        self.reactor.give_up_beside(&|| steps.replace(steps.get().saturating_sub(1)) == 0);
        self.look_for_late();
    }

    /// Responses that were given up: the caller had taken too long, and had sent nothing.
    fn look_for_late(&mut self) {
        for client in &mut self.clients {
            let Some(id) = client.id else { continue };
            if client.told.timed_out.is_some() || !self.reactor.is_timed_out(id) {
                continue;
            }
            let limit = self.plan.settings.response_limit.expect("given up without a limit");
            let front = client.told.front().expect("given up without a request");
            let reply = &client.told.replies[front];
            let told = reply.told.expect("it was told");
            assert!(reply.bytes.is_empty(), "given up although it was begun");
            assert!(network::now().since(told) >= limit, "given up too early");
            client.told.timed_out = Some(front);
        }
    }

    fn change_shortage(&mut self) {
        if self.chance.bool() {
            network::abort_next();
            return;
        }
        self.has_shortage = !self.has_shortage;
        network::set_shortage(self.has_shortage.then_some(libc::EMFILE));
    }

    fn configure(&mut self) {
        self.has_changed = true;
        self.plan.settings.keep_alive =
            *self.chance.choice(&[None, Some(Duration::from_millis(80))]).unwrap();
        for door in &self.doors {
            let settings = match door.has_tls {
                true => self.plan.secure_settings(),
                false => self.plan.settings.clone(),
            };
            self.reactor.configure(door.server, settings);
        }
    }

    /// What a server asks about its connections changes nothing but who is known.
    fn ask_limits(&mut self) {
        let (head, whole) = (Duration::from_millis(500), Duration::from_secs(1));
        let door = self.some_door();
        let server = self.doors[door].server;
        for id in self.reactor.late(server, Some(head), Some(whole)) {
            let client = self.client_of(id).expect("a connection that is known");
            let since = network::now().since(self.clients[client].limits_count_since());
            assert!(since > head, "late after {since:?}: {}", self.clients[client].summary());
            if self.clients[client].fate == Fate::Unknown {
                // It is known from now on, to be closed.
                self.opened(id, client, server);
                self.close(client, false);
                continue;
            }
            let client = &self.clients[client];
            assert!(!client.told.closed, "late, though its end was told: {}", client.summary());
            let is_within = client.sending().is_some_and(|it| client.sent > it.start);
            let may = is_within || client.sent == 0 || client.peer.standing().unread > 0;
            // What comes behind something else may not have been looked at.
            let waits = client.paused || client.told.in_flight > 0;
            let reads = matches!(client.told.reading, Reading::Heads);
            assert!(may || waits || !reads, "late, though all has come: {}", client.summary());
        }
        // Nobody sends as fast as that.
        let (receiving, _) = self.reactor.slow(server, 1e12, 10.0, |_| None);
        for id in receiving {
            let client = &self.clients[self.client_of(id).expect("a connection that is known")];
            let since = network::now().since(client.arrives_since());
            assert!(since > RATE_GRACE, "slow after {since:?}: {}", client.summary());
        }
        self.reactor.idle(server, self.chance.bool()).for_each(drop);
    }

    fn listen(&mut self, door: usize) {
        let (fd, number) = network::listen();
        let Door { server, listener, .. } = &mut self.doors[door];
        let id = self.reactor.listen(*server, fd).expect("it listens");
        *listener = Some((id, number));
    }

    fn listen_anew(&mut self) {
        let door = self.some_door();
        match self.doors[door].listener.take() {
            Some((id, _)) => self.reactor.close_listener(id),
            None => self.listen(door),
        }
    }

    /// Whoever is given a connection closes it; nothing that was read may be missing.
    pub(crate) fn release(&mut self, at: usize) {
        let client = &mut self.clients[at];
        let Some(id) = client.id.take() else { return };
        let unread = client.peer.standing().unread;
        let released = self.reactor.release(id);
        if released.is_err() && client.told.leaves > 0 {
            // It was sent away beside, which is still to be told.
            client.id = Some(id);
            return;
        }
        let (fd, _, rest) = released.expect("it can be given away");
        client.fate = Fate::Released;
        if let Some(tls) = &client.tls {
            see(Sight::NotOurs);
            assert_eq!(rest, tls.begun(unread), "what is given away of TLS: {tls}");
            return close_descriptor(fd);
        }
        let read = client.sent - unread;
        assert!(client.script.bytes[..read].ends_with(&rest), "other bytes are given away");
        // Where the last message is not known, neither is what comes behind it.
        if let Reading::Asked { from, reason, .. } = client.told.reading
            && reason != FallbackReason::Closed
        {
            assert_eq!(rest, client.script.bytes[from..read], "not all is given away");
        }
        close_descriptor(fd);
    }
}
