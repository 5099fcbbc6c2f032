//! All listeners and connections of one thread. One file, though long: a turn, and what a caller asks for between two; what
//! belongs to one topic is in the files below.

mod accepting;
mod beside;
mod caching;
mod given;
mod handshakes;
mod inquiry;
mod lingering;
mod relaying;
mod sending;
mod sharing;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use millrace_net::{Clock, Monotonic, Nanos, TimerQueue};
use mio::{Events, Poll, Token, Waker};
use slab::Slab;

use accepting::Accepting;
use lingering::Lingering;
use sharing::Sharing;

pub use caching::Exchange;

use crate::batch::{Batch, Kind};
use crate::caching::Waiting;
use crate::connection::{Connection, EVENTS, Flow};
use crate::keep_alive;
use crate::server::Server;
use crate::settings::{KeepAlive, Settings};

/// Tokens from here on are listeners.
const LISTENERS: usize = usize::MAX / 2;
/// Tokens from here on are links to those who share a port.
const LINKS: usize = LISTENERS + (usize::MAX >> 3);
/// Tokens from here on are where those come to that join them.
const DOORS: usize = LINKS + (usize::MAX >> 3);
/// Tokens from here on are ways to the owners of connections' text.
const RELAYS: usize = usize::MAX / 4;
/// Tokens from here on are connections that are over for their caller.
const LINGERING: usize = usize::MAX / 8;
const WAKER: Token = Token(usize::MAX - 1);
/// Events taken from the system at once.
const READY: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Idle(usize),
    Accept(usize),
    /// The handshakes of a server.
    Handshakes(usize),
    /// Bytes that wait for an end of their connection.
    Held,
    /// Requests to a server that wait for the response to another.
    Flights(usize),
    /// What one who shares a port was given and has not taken.
    Given(usize),
    Lingering(usize),
    /// What nobody has any more at a shared address.
    Gone(usize),
    /// A link to those who share a port, or where they come to, is looked at again.
    Retry(usize),
    /// One who shares a port owes the rest of what it has begun to say.
    Rest(usize),
}

/// The sockets of one thread. See the crate's page.
#[derive(Debug)]
pub struct Reactor {
    poll: Poll,
    waker: Waker,
    ready: Events,
    clock: Monotonic,
    now: Nanos,
    servers: Slab<Server>,
    listeners: Slab<Accepting>,
    connections: Slab<Connection>,
    lingering: Slab<Lingering>,
    timers: TimerQueue<Timer>,
    /// Connections and listeners that go on without an event.
    again: Vec<usize>,
    /// Connections that the caller is to see before they are answered.
    unseen: Vec<usize>,
    /// Connections of which something is to be told, those that have waited longest first.
    parked: VecDeque<usize>,
    /// Listeners that failed while nobody could be told.
    refusing: Vec<usize>,
    /// Connections that are not registered yet.
    fresh: Vec<usize>,
    /// Connections that owe the end of a handshake.
    owing: Vec<usize>,
    /// Servers with a timer for their handshakes.
    watched: Vec<usize>,
    /// Connections whose end was told in this batch; their places are free when it has been taken.
    gone: Vec<usize>,
    /// Connections whose last bytes wait for the end of our side.
    held: Vec<usize>,
    /// A turn's batch is being taken: [`Self::wake_again`] follows.
    in_turn: bool,
    /// Servers that were removed; this batch may still name them.
    removed: Vec<usize>,
    woken: bool,
    timers_changed: bool,
    /// Connections so far.
    serial: u32,
    sharing: Sharing,
}

impl Reactor {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let clock = Monotonic::new();
        Ok(Self {
            now: clock.now(),
            poll,
            waker,
            ready: Events::with_capacity(READY),
            clock,
            servers: Slab::new(),
            listeners: Slab::new(),
            connections: Slab::new(),
            lingering: Slab::new(),
            timers: TimerQueue::default(),
            again: Vec::new(),
            unseen: Vec::new(),
            parked: VecDeque::new(),
            refusing: Vec::new(),
            fresh: Vec::new(),
            owing: Vec::new(),
            watched: Vec::new(),
            gone: Vec::new(),
            held: Vec::new(),
            in_turn: false,
            removed: Vec::new(),
            woken: false,
            timers_changed: false,
            serial: 0,
            sharing: Sharing::new(),
        })
    }

    /// Readable when [`Self::turn`] has something to do.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.poll.as_raw_fd()
    }

    /// In how long [`Self::turn`] has something to do without the descriptor saying so.
    #[must_use]
    pub fn next_timer(&self) -> Option<Duration> {
        let next = self.timers.next();
        (next != Nanos::NEVER).then(|| next.since(self.clock.now()))
    }

    /// Whether a timer was set since the last call.
    pub fn timers_changed(&mut self) -> bool {
        std::mem::take(&mut self.timers_changed)
    }

    /// Adds a server.
    pub fn add_server(&mut self, settings: Settings) -> usize {
        self.servers.insert(Server::new(settings))
    }

    /// Removes a server that accepts no more and has no connections. Its number is given anew after this batch.
    pub fn remove_server(&mut self, id: usize) {
        self.watched.retain(|&watched| watched != id);
        self.removed.push(id);
        self.call_again();
    }

    /// Changes the limits of a server.
    pub fn configure(&mut self, server: usize, settings: Settings) {
        if let Some(server) = self.servers.get_mut(server) {
            server.configure(settings);
        }
    }

    /// Takes what has happened into `batch`, without waiting. To be called again at once if the batch
    /// came back full, i.e. if it gives `true`.
    pub fn turn(&mut self, batch: &mut Batch<'_>) -> io::Result<bool> {
        self.in_turn = true;
        self.push_held();
        self.watch_fresh();
        self.release_unseen();
        while let Some(id) = self.gone.pop() {
            if let Some(connection) = self.remove(id) {
                self.part_with(connection);
            }
        }
        self.drop_removed(batch);
        self.again.append(&mut self.refusing);
        let were_parked = !self.parked.is_empty();
        self.tell_parked(batch);
        if self.parked.is_empty() {
            self.take_events(batch, were_parked)?;
        } else {
            // What is new now comes behind those that wait.
            self.now = self.clock.now();
            self.go_on(batch);
            self.send_given();
        }
        self.on_timers(batch);
        Ok(!self.again.is_empty() || !self.parked.is_empty())
    }

    /// Servers that are gone, with what was accepted for them and has not been told.
    fn drop_removed(&mut self, batch: &mut Batch<'_>) {
        if !self.removed.is_empty() {
            // What is given on now is not as late as this turn.
            self.now = self.clock.now();
        }
        while let Some(server) = self.removed.pop() {
            let of_it = |(id, connection): (usize, &Connection)| {
                (connection.server == server).then_some(id)
            };
            let ids: Vec<usize> = self.connections.iter().filter_map(of_it).collect();
            for id in ids {
                if !self.pass_on(id, batch) {
                    self.remove(id);
                }
            }
            self.drop_member(server);
            self.servers.try_remove(server);
        }
    }

    /// `goes_on`: those that go on without an event have waited for longer than what comes now.
    fn take_events(&mut self, batch: &mut Batch<'_>, goes_on: bool) -> io::Result<()> {
        match self.poll.poll(&mut self.ready, Some(Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.send_given();
                return Err(error);
            }
            _ => self.now = self.clock.now(),
        }
        self.woken = false;
        let ready = std::mem::replace(&mut self.ready, Events::with_capacity(0));
        // What others have said before a request came is known when that is looked at.
        if self.is_sharing() {
            for event in ready.iter().filter(|event| (LINKS..WAKER.0).contains(&event.token().0)) {
                self.on_others(event.token().0);
            }
        }
        if goes_on {
            self.go_on(batch);
        }
        for event in &ready {
            let token = event.token().0;
            if event.token() == WAKER {
                continue;
            }
            if token >= LINKS {
                continue;
            }
            if (RELAYS..LISTENERS).contains(&token) {
                self.pump(token - RELAYS, batch);
                continue;
            }
            if (LINGERING..RELAYS).contains(&token) {
                let id = token - LINGERING;
                if let Some(lingering) = self.lingering.get_mut(id) {
                    lingering.peer_ended |= event.is_read_closed();
                    self.discard(id, batch);
                }
                continue;
            }
            if token >= LISTENERS {
                if let Some(accepting) = self.listeners.get_mut(token - LISTENERS) {
                    accepting.ready = true;
                    self.again(token);
                }
                continue;
            }
            if event.is_writable() {
                self.on_writable(token, batch);
            }
            let Some(connection) = self.connections.get_mut(token) else { continue };
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                connection.on_readable(event.is_read_closed());
                self.receive(token, batch);
            }
            if event.is_error() {
                self.on_error(token, batch);
            }
        }
        self.ready = ready;
        // Before the timers: who has something to say is not idle.
        self.go_on(batch);
        self.send_given();
        Ok(())
    }

    /// Those that go on without an event.
    fn go_on(&mut self, batch: &mut Batch<'_>) {
        let again = std::mem::take(&mut self.again);
        // As above: what others say comes first, and leads to new routes once.
        for &id in again.iter().filter(|&&id| id >= LINKS) {
            self.on_others(id);
        }
        for &id in again.iter().filter(|&&id| id < LINKS) {
            if id >= LISTENERS {
                self.accept(id - LISTENERS, batch);
            } else if id >= LINGERING {
                self.discard(id - LINGERING, batch);
            } else if let Some(connection) = self.connections.get_mut(id) {
                connection.listed = false;
                self.receive(id, batch);
            }
        }
        if self.again.is_empty() {
            self.again = again;
            self.again.clear();
        }
    }

    fn again(&mut self, id: usize) {
        if let Some(connection) = self.connections.get_mut(id) {
            if connection.listed {
                return;
            }
            connection.listed = true;
        }
        self.again.push(id);
    }

    /// Sees to what is left to do after a turn: what no response has taken along leaves, and the descriptor
    /// becomes readable if there is more.
    pub fn wake_again(&mut self) {
        self.in_turn = false;
        self.push_held();
        self.watch_fresh();
        self.release_unseen();
        for id in self.owing.drain(..) {
            // Where bytes are queued, the handshake's end leaves before them, and their end has to be told.
            if let Some(connection) = self.connections.get_mut(id)
                && connection.queued() == 0
            {
                connection.flush().ok();
            }
        }
        if !self.again.is_empty() || !self.removed.is_empty() || !self.parked.is_empty() {
            self.call_again();
        }
    }

    /// The descriptor becomes readable.
    pub(crate) fn call_again(&mut self) {
        if !std::mem::replace(&mut self.woken, true) {
            // A waker that cannot wake leaves the rest to the next event of any connection.
            self.waker.wake().ok();
        }
    }

    /// Lets a connection go on, from outside of a turn. Others may still have responses to come in this turn,
    /// so nothing is flushed.
    fn wake(&mut self, id: usize) {
        self.again(id);
        self.call_again();
    }

    fn receive(&mut self, id: usize, batch: &mut Batch<'_>) {
        self.tell_routes();
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.relay.is_some() {
            return self.pump(id, batch);
        }
        if !batch.silent && (connection.untold.opened || connection.untold.secured) {
            // It is told of first.
            return self.list_untold(id);
        }
        let Some(server) = self.servers.get_mut(connection.server) else { return };
        let flow = connection.receive(id, server, batch, self.now);
        if std::mem::take(&mut connection.invalidated) {
            let server = connection.server;
            self.go_on_woken(server);
        }
        let Some(connection) = self.connections.get_mut(id) else { return };
        if std::mem::take(&mut connection.answered) {
            self.on_answered(id);
        }
        match flow {
            Flow::Idle => self.watch_flight(id),
            Flow::Again => self.again(id),
            Flow::Broken(number) => self.tell_closed(id, number, batch),
            Flow::Parked => self.park(id),
            Flow::Leaves => return self.leave(id, batch),
        }
        if self.connections.get(id).is_some_and(|it| it.unseen && !it.fresh) {
            self.unseen.push(id);
        }
        if batch.silent {
            self.after_silence(id);
        }
        if let Some(connection) = self.connections.get_mut(id)
            && std::mem::take(&mut connection.owes_flush)
        {
            if connection.in_flight > 0 {
                self.owing.push(id);
            } else {
                // What fails here is told when the connection is read.
                connection.flush().ok();
            }
        }
    }

    fn on_writable(&mut self, id: usize, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.relay.is_some() {
            return match connection.flush() {
                Ok(_) => self.pump(id, batch),
                Err(error) => self.tell_closed(id, error.raw_os_error().unwrap_or(0), batch),
            };
        }
        match connection.flush() {
            Ok(false) => {}
            Ok(true) => {
                if batch.silent || batch.room() < EVENTS {
                    connection.untold.drained = true;
                } else {
                    batch.push(Kind::Drained, id, &[]);
                }
                let waits = matches!(connection.waiting, Waiting::Room | Waiting::Owner);
                if waits {
                    connection.waiting = Waiting::Nothing;
                }
                if connection.idle_since != Nanos::NEVER {
                    connection.idle_since = self.now;
                }
                if connection.ending {
                    self.end_output(id);
                } else if waits {
                    self.again(id);
                }
            }
            Err(error) => self.tell_closed(id, error.raw_os_error().unwrap_or(0), batch),
        }
        if self.connections.get(id).is_some_and(|connection| connection.untold.drained) {
            self.list_untold(id);
        }
    }

    /// A peer that is gone is not waited for, though nothing is read for now.
    fn on_error(&mut self, id: usize, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get(id) else { return };
        if let Some(socket) = connection.channel.socket()
            && let Ok(Some(error)) = socket.options().take_error()
        {
            self.tell_closed(id, error.raw_os_error().unwrap_or(0), batch);
        }
    }

    fn tell_closed(&mut self, id: usize, number: i32, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        // A number that nobody knows to be free is not given anew.
        if batch.silent || batch.room() < EVENTS {
            connection.untold.broken = Some(number);
            self.park(id);
        } else if !std::mem::replace(&mut connection.gone, true) {
            if connection.unopened {
                self.gone.push(id);
                return;
            }
            batch.push(Kind::Closed, id, &[number]);
            self.gone.push(id);
        }
    }

    fn on_timers(&mut self, batch: &mut Batch<'_>) {
        while batch.room() >= EVENTS
            && let Some((at, timer)) = self.timers.pop_due(self.now)
        {
            match timer {
                Timer::Accept(id) => self.again(LISTENERS + id),
                Timer::Idle(id) => self.on_idle(id, at, batch),
                Timer::Handshakes(server) => self.on_handshakes(server, batch),
                // The turn has begun with it.
                Timer::Held => {}
                Timer::Flights(server) => self.on_flights(server, at),
                Timer::Given(peer) => self.on_patience(peer),
                Timer::Lingering(id) => self.on_lingering(id, at),
                Timer::Gone(ground) => self.on_gone(ground),
                Timer::Retry(token) => self.on_retry(token),
                Timer::Rest(peer) => self.on_rest(peer),
            }
        }
    }

    fn on_idle(&mut self, id: usize, at: Nanos, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.idle_timer != at {
            return;
        }
        connection.idle_timer = Nanos::NEVER;
        if !connection.is_idle() || connection.idle_since == Nanos::NEVER {
            return;
        }
        let Some(limit) = self.servers.get(connection.server).and_then(|s| s.settings.keep_alive)
        else {
            return;
        };
        // Who has something to say, or has not taken all of its answer, is not idle.
        let waits = connection.listed || connection.queued() > 0;
        let since = if waits { self.now } else { connection.idle_since };
        let at = since + limit;
        if at <= self.now {
            connection.open(id, batch);
            batch.push(Kind::Idle, id, &[]);
        } else {
            connection.idle_timer = at;
            self.timers.push(at, Timer::Idle(id));
        }
    }

    /// Stops or resumes the reading of a connection.
    pub fn pause(&mut self, id: usize, paused: bool) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.pause(paused, self.clock.now());
        if !paused && connection.can_go_on() {
            self.wake(id);
        }
    }

    /// Takes an upgrade for an ordinary request.
    pub fn proceed(&mut self, id: usize) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.proceed();
            self.wake(id);
        }
    }

    /// Hands on the next bytes as they come.
    pub fn proceed_raw(&mut self, id: usize) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.proceed_raw();
            self.wake(id);
        }
    }

    /// Reads on by itself: a body ended behind the first `taken` bytes of those told last.
    pub fn proceed_behind(&mut self, id: usize, taken: usize) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.proceed_behind(taken);
            self.wake(id);
        }
    }

    /// Hands on everything as it comes, what was read and not told first.
    pub fn through(&mut self, id: usize) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.through();
            self.wake(id);
        }
    }

    /// Ends our side when all is written.
    pub fn end(&mut self, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.ending = true;
        if connection.queued() == 0 {
            self.end_output(id);
        }
    }

    fn end_output(&mut self, id: usize) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if !connection.ended {
            connection.ended = true;
            connection.channel.end();
            self.end_following(id);
        }
    }

    /// Closes a connection at once; nothing more is told of it. If our side has ended before, its last response is not
    /// lost on a peer that still sends.
    pub fn close(&mut self, id: usize, reset: bool) {
        let Some(mut connection) = self.remove(id) else { return };
        self.gone.retain(|&gone| gone != id);
        connection.push(true);
        if reset {
            // Best effort: the connection is closed either way.
            if let Some(socket) = connection.channel.socket() {
                socket.options().set_linger(Some(Duration::ZERO)).ok();
            }
        } else {
            self.part_with(connection);
        }
    }

    /// Gives a connection away: its descriptor, where in its last batch the bytes end that were told, and those that
    /// were read and not told.
    pub fn release(&mut self, id: usize) -> io::Result<(OwnedFd, usize, Vec<u8>)> {
        self.own(id)?;
        let mut connection = self.remove(id).ok_or(io::ErrorKind::NotConnected)?;
        self.gone.retain(|&gone| gone != id);
        let server = self.servers.get(connection.server);
        connection.push(server.is_none_or(|server| server.settings.no_delay));
        let (fresh, told) = (connection.fresh, connection.told);
        let (socket, input) = connection.into_parts().ok_or(io::ErrorKind::NotConnected)?;
        let watched = (!fresh).then(|| self.poll.registry());
        Ok((socket.release(watched)?, told, input))
    }

    /// Takes a connection out; the cache hears of it.
    fn remove(&mut self, id: usize) -> Option<Connection> {
        let mut connection = self.connections.try_remove(id)?;
        if let Some(server) = self.servers.get_mut(connection.server) {
            server.in_flight = server.in_flight.saturating_sub(connection.in_flight);
            connection.leave_cache(id, server, self.now);
        }
        self.go_on_woken(connection.server);
        if connection.idle_timer != Nanos::NEVER {
            self.forget_timer();
        }
        Some(connection)
    }

    /// A timer's connection is gone.
    fn forget_timer(&mut self) {
        let (connections, lingering) = (&self.connections, &self.lingering);
        self.timers.cancel(|at, timer| match *timer {
            Timer::Idle(id) => connections.get(id).is_some_and(|it| it.idle_timer == at),
            Timer::Lingering(id) => lingering.get(id).is_some_and(|it| it.timer == at),
            _ => true,
        });
    }

    /// Both ends of a connection; `None` where they have no address.
    #[must_use]
    pub fn addresses(&self, id: usize) -> (Option<SocketAddr>, Option<SocketAddr>) {
        let Some(connection) = self.connections.get(id) else { return (None, None) };
        if let Some(about) = connection.channel.forwarded() {
            return (about.local, about.peer);
        }
        let local =
            connection.channel.socket().and_then(|it| it.options().local_addr().ok()?.as_socket());
        (local, connection.peer)
    }

    /// Turns TCP's own probes of a connection on or off.
    pub fn keep_alive(&self, id: usize, probes: Option<KeepAlive>) {
        if let Some(socket) = self.socket(id) {
            keep_alive::set(&socket, probes);
        }
    }

    /// Bytes that have been read of a connection, told or not.
    #[must_use]
    pub fn bytes_read(&self, id: usize) -> u64 {
        self.connections.get(id).map_or(0, |connection| connection.bytes_read)
    }

    /// The options of a connection's socket.
    #[must_use]
    pub fn socket(&self, id: usize) -> Option<socket2::SockRef<'_>> {
        Some(self.connections.get(id)?.channel.socket()?.options())
    }
}
