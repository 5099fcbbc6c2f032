//! All that there is, and the steps that it takes.

use std::cell::Cell;
use std::os::fd::RawFd;
use std::time::Duration;

use fastrand::Rng;
use millrace_net::peer::{Buffers, Peer};
use millrace_net::{Nanos, network};
use millrace_stack::batch::{Batch, EVENT_LENGTH};
use millrace_stack::cache::{self, Mode};
use millrace_stack::driver::{Driver, Step, Timer, Wake};
use millrace_stack::settings::Http2Settings;
use millrace_stack::{Reactor, Settings};

use super::caller::Caller;
use super::client::Client;
use crate::finish::settle;
use crate::sights::{Sight, see};

/// What waits for a socket at most: what is queued when no more is taken, a response behind that, and answers of a read.
const MAX_QUEUED: usize = 1024 * 1024;
const SCRATCH: usize = 256 * 1024;

struct World {
    chance: Rng,
    reactor: Reactor,
    server: usize,
    listener: Option<(usize, usize)>,
    poll: RawFd,
    driver: Driver,
    wake: Option<Wake>,
    armed: Nanos,
    events: Vec<i32>,
    bytes: Vec<u8>,
    scratch: Vec<u8>,
    caller: Caller,
    clients: Vec<Client>,
    plan: Plan,
}

struct Plan {
    max_clients: usize,
    /// Streams that clients open at once.
    streams: usize,
    /// Bytes of content at most.
    length: usize,
    room: usize,
    window: u32,
    /// Of ten acts of the caller, so many are not answers.
    whims: u8,
}

/// Runs a seed.
pub(crate) fn run(seed: u64) -> u64 {
    let mut world = World::new(seed);
    let steps = *Rng::with_seed(seed ^ 1).choice(&[30, 300, 2_000]).unwrap();
    for _ in 0..steps {
        world.step();
        world.after_commands();
        world.check();
    }
    world.finish();
    steps
}

impl World {
    fn new(seed: u64) -> Self {
        network::begin(seed);
        let mut chance = Rng::with_seed(seed);
        let max_concurrent_streams = *chance.choice(&[1, 3, 100]).unwrap();
        let http2 = Http2Settings {
            max_concurrent_streams,
            max_requests: *chance.choice(&[None, None, Some(1), Some(20)]).unwrap(),
            tells_pseudo_fields: false,
        };
        let mode = if chance.bool() { Mode::All(Duration::from_millis(50)) } else { Mode::Off };
        let settings = Settings {
            keep_alive: None,
            cache: cache::Settings { mode, ..cache::Settings::default() },
            http2: Some(http2),
            requires_admission: chance.u8(..4) == 0,
            ..Settings::default()
        };
        let plan = Plan {
            max_clients: *chance.choice(&[1, 2, 5]).unwrap(),
            streams: max_concurrent_streams as usize + usize::from(chance.u8(..4) == 0),
            length: *chance.choice(&[0, 100, 5_000, 100_000]).unwrap(),
            room: *chance.choice(&[1, 100, 4_000, 200_000]).unwrap(),
            window: *chance.choice(&[0, 1, 1_000, 65_535, 1 << 20]).unwrap(),
            whims: *chance.choice(&[0, 1, 4]).unwrap(),
        };
        let mut reactor = Reactor::new().expect("the simulated system refuses nothing");
        let server = reactor.add_server(settings);
        let (fd, number) = network::listen();
        let listener = reactor.listen(server, fd).expect("it listens");
        Self {
            poll: reactor.descriptor(),
            reactor,
            server,
            listener: Some((listener, number)),
            driver: Driver::default(),
            wake: None,
            armed: Nanos::NEVER,
            events: vec![0; EVENT_LENGTH * *chance.choice(&[12, 16, 64]).unwrap()],
            bytes: vec![0; 300_000],
            scratch: vec![0; SCRATCH],
            caller: Caller::default(),
            clients: Vec::new(),
            plan,
            chance,
        }
    }

    fn step(&mut self) {
        match self.chance.u8(..100) {
            0..4 => self.connect(),
            4..22 => self.ask(),
            22..50 => self.client_act(),
            50..70 => self.turn(),
            70..85 => self.caller_act(),
            85..92 => self.beside(),
            _ => {
                let most = *self.chance.choice(&[1_000, 1_000_000, 60_000_000]).unwrap();
                network::advance(Duration::from_nanos(self.chance.u64(..most)));
            }
        }
    }

    fn some_client(&mut self) -> Option<usize> {
        let all = (0..self.clients.len()).filter(|at| !self.clients[*at].is_silent());
        self.chance.choice(all.collect::<Vec<_>>())
    }

    fn connect(&mut self) {
        let Some((_, listener)) = self.listener else { return };
        if self.clients.iter().filter(|it| !it.is_silent()).count() >= self.plan.max_clients {
            return;
        }
        let room =
            |chance: &mut Rng, room| if chance.bool() { 200_000 } else { 1 + chance.usize(..room) };
        let buffers = Buffers {
            to_server: room(&mut self.chance, self.plan.room),
            to_client: room(&mut self.chance, self.plan.room),
        };
        self.clients.push(Client::new(Peer::connect(listener, buffers), self.plan.window));
    }

    fn ask(&mut self) {
        let Some(at) = self.some_client() else { return };
        let (chance, client) = (&mut self.chance, &mut self.clients[at]);
        if client.open() >= self.plan.streams || client.goaway.is_some() {
            return;
        }
        let length = chance.usize(..=self.plan.length);
        match chance.u8(..6) {
            0..3 => {
                client.ask(&format!("/stored/{}/{}", chance.u8(..3), self.plan.length), "GET", None)
            }
            3 => client.ask(&format!("/head/{length}"), "HEAD", None),
            4 => client.ask(&format!("/own/{at}/{}/{length}", client.streams.len()), "GET", None),
            _ => client.ask(&format!("/upload/{length}"), "POST", Some(length)),
        }
    }

    fn client_act(&mut self) {
        let Some(at) = self.some_client() else { return };
        let (chance, client) = (&mut self.chance, &mut self.clients[at]);
        let most = *chance.choice(&[1, 100, 20_000, 1 << 20]).unwrap();
        match chance.u8(..40) {
            0 => client.cancel(chance),
            1 => client.change_window(*chance.choice(&[0, 1, 1_000, 65_535, 1 << 20]).unwrap()),
            2 => client.ping(),
            3 if chance.u8(..10) == 0 => {
                client.peer.reset();
                client.is_gone = true;
            }
            4 if chance.u8(..10) == 0 => {
                // It may stay and take nothing more.
                if chance.bool() {
                    client.peer.end();
                } else {
                    client.peer.close();
                }
                client.is_gone = true;
            }
            5..10 => client
                .open_windows(chance, *chance.clone().choice(&[1, 100, 20_000, 1 << 20]).unwrap()),
            10..18 => drop(client.upload(chance, most)),
            18..29 => drop(client.send(most)),
            _ => drop(client.receive(most)),
        }
    }

    fn caller_act(&mut self) {
        let Self { chance, caller, reactor, clients, plan, .. } = self;
        let most = *chance.choice(&[1, 100, 20_000, 1 << 20]).unwrap();
        match chance.u8(..10) < plan.whims {
            false => drop(caller.answer(chance, most, reactor, clients)),
            true if chance.u8(..4) == 0 => caller.close(chance, reactor, clients),
            true => caller.pause(chance, reactor),
        }
    }

    /// The event loop comes to the reactor, if that is due, or goes on with it.
    fn turn(&mut self) {
        let is_due = network::is_ready(self.poll) || network::now() >= self.armed;
        let Some(mut wake) = self.wake.take().or_else(|| is_due.then(|| self.driver.wake())) else {
            return;
        };
        let mut batch = Batch::new(&mut self.events, &mut self.bytes);
        let step = self.driver.next(&mut wake, &mut self.reactor, &mut batch);
        match step.expect("the simulated system refuses nothing") {
            Step::Wait(timer) => self.set_timer(timer),
            Step::TakeRest => self.wake = Some(wake),
            Step::Take(count) => {
                self.wake = Some(wake);
                self.caller.begin_batch();
                for event in self.events[..count * EVENT_LENGTH].as_chunks::<EVENT_LENGTH>().0 {
                    self.caller.take(event, &self.bytes, &mut self.reactor, &self.clients);
                }
            }
        }
    }

    fn set_timer(&mut self, timer: Timer) {
        let set = |after| network::now() + Duration::from_millis(after);
        self.armed = timer.map_or(Nanos::NEVER, set);
    }

    /// As the addon does behind each command.
    fn after_commands(&mut self) {
        if let Some(timer) = self.driver.after_command(&mut self.reactor) {
            self.set_timer(timer);
        }
    }

    /// A turn while the caller is busy.
    fn beside(&mut self) {
        let steps = Cell::new(*self.chance.choice(&[0, 1, 3, 100]).unwrap());
        let is_wanted = || steps.replace(usize::saturating_sub(steps.get(), 1)) == 0;
        let turned = self.reactor.turn_beside(&mut self.scratch, &is_wanted);
        turned.expect("the simulated system refuses nothing");
    }

    fn check(&self) {
        for connection in self.reactor.observe().connections {
            assert!(connection.queued <= MAX_QUEUED, "{connection:?}");
        }
    }

    /// Everybody says and takes all, then leaves; nothing is left.
    fn finish(&mut self) {
        self.clients.iter_mut().for_each(|client| client.peer.widen());
        self.come_to_rest();
        let told = self.caller.asked;
        let mut answered = 0;
        for client in self.clients.iter().filter(|client| !client.is_silent()) {
            for (id, stream) in &client.streams {
                assert!(stream.is_over(), "stream {id} stands still: {stream:?}");
                answered += usize::from(stream.is_ended);
            }
        }
        if answered > 0 {
            see(Sight::StreamEnded);
        }
        if answered > told {
            see(Sight::StreamHit);
        }
        for client in &mut self.clients {
            client.peer.close();
            client.is_gone = true;
        }
        if let Some((listener, _)) = self.listener.take() {
            self.reactor.close_listener(listener);
        }
        self.come_to_rest();
        self.wake = Some(self.driver.wake());
        self.come_to_rest();
        let observed = self.reactor.observe();
        assert!(observed.connections.is_empty(), "{:?}", observed.connections);
        assert_eq!(
            (observed.in_flight, self.caller.lanes.len()),
            (0, 0),
            "{:?}",
            self.caller.lanes
        );
        self.reactor.remove_server(self.server);
    }

    fn come_to_rest(&mut self) {
        let mut opened = Vec::new();
        settle(|| {
            let mut goes_on = false;
            let Self { chance, caller, reactor, clients, .. } = self;
            opened.resize(clients.len(), 0);
            for (client, opened) in clients.iter_mut().zip(&mut opened) {
                if client.is_silent() {
                    continue;
                }
                // Once, and again for streams that the settings have come behind.
                if *opened < 2 && (*opened == 0 || !goes_on) {
                    client.open_all();
                    *opened += 1;
                    goes_on = true;
                }
                while client.upload(chance, 1 << 20) {
                    goes_on = true;
                }
                goes_on |= client.send(1 << 20) | client.receive(1 << 20);
            }
            caller.resume_all(reactor);
            while caller.answer(chance, 1 << 20, reactor, clients) {
                goes_on = true;
            }
            self.after_commands();
            while self.wake.is_some()
                || network::is_ready(self.poll)
                || network::now() >= self.armed
            {
                goes_on = true;
                self.turn();
                self.after_commands();
            }
            self.check();
            (goes_on, self.armed)
        });
    }
}
