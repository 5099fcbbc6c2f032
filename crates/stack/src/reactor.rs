//! All listeners and connections of one thread. One file, though long: a turn, and what a caller asks for between two; what
//! belongs to one topic is in the files below.

mod accepting;
mod caching;
mod given;
mod handshakes;
mod limits;
mod lingering;
mod relaying;
mod sending;
mod sharing;
mod source;
mod standby;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use millrace_net::{Clock, Monotonic, Nanos, TimerQueue};
use mio::{Events, Poll, Waker};
use slab::Slab;

use accepting::Accepting;
use lingering::Lingering;
use sharing::Sharing;
use source::Source;

pub use caching::Exchange;

use crate::batch::{Batch, Event};
use crate::connection::id::{ConnId, Connections};
use crate::connection::state::{Blocked, Change, WriteState};
use crate::connection::work::{Queue, Work};
use crate::connection::{Connection, EVENTS, Effects, Flow};
use crate::keep_alive;
use crate::server::Server;
use crate::settings::{KeepAlive, Settings};
use crate::transport::Transport;

/// What is left for the end of a turn. Connections that live after their first batch are registered then: one whose only
/// request is answered at once costs no registration. This happens in the order in which they came: epoll tells of those
/// that are readable in the order of their registration, and so do their requests reach the application.
const SETTLING: Work = Work::REGISTER.and(Work::UNCORK).and(Work::FLUSH_HANDSHAKE).and(Work::ADMIT);
/// The end of a handshake waits for the responses of a turn.
const BEFORE_TURN: Work = Work::REGISTER.and(Work::UNCORK).and(Work::ADMIT);
/// Events taken from the system at once.
const READY: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Idle(ConnId),
    Accept(usize),
    /// The handshakes of a server.
    Handshakes(usize),
    /// Last bytes that wait for the end of their connection.
    Uncork,
    /// Requests to a server that wait for the response to another.
    Flights(usize),
    /// What one who shares a port was given and has not taken.
    Given(usize),
    Lingering(usize),
    /// What nobody has any more at a shared address.
    Gone(usize),
    /// A link to those who share a port, or where they come to, is looked at again.
    Retry(Source),
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
    connections: Connections,
    lingering: Slab<Lingering>,
    timers: TimerQueue<Timer>,
    /// Connections that read on without an event.
    run_queue: Queue,
    /// All else that goes on without an event. What is in it twice has nothing to do the second time.
    ready_sources: Vec<Source>,
    /// Connections of which something is to be reported, those that have waited longest first.
    reports: Queue,
    /// Connections with work for the end of a turn, when the caller has taken its batch.
    settling: Queue,
    /// Connections whose end was told in this batch; their places are free when it has been taken.
    closed: Queue,
    /// A turn's batch is being taken: [`Self::wake_again`] follows.
    in_turn: bool,
    /// Servers that were removed; this batch may still name them.
    removed: Vec<usize>,
    woken: bool,
    timers_changed: bool,
    sharing: Sharing,
}

impl Reactor {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), Source::Waker.token())?;
        let clock = Monotonic::new();
        Ok(Self {
            now: clock.now(),
            poll,
            waker,
            ready: Events::with_capacity(READY),
            clock,
            servers: Slab::new(),
            listeners: Slab::new(),
            connections: Connections::default(),
            lingering: Slab::new(),
            timers: TimerQueue::default(),
            run_queue: Queue::new(Work::READ),
            ready_sources: Vec::new(),
            reports: Queue::new(Work::REPORT),
            settling: Queue::new(SETTLING),
            closed: Queue::new(Work::FREE),
            in_turn: false,
            removed: Vec::new(),
            woken: false,
            timers_changed: false,
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
        self.connections.reuse_vacated();
        self.settle(BEFORE_TURN);
        self.free_closed();
        self.drop_removed(batch);
        let had_reports = !self.reports.is_empty();
        self.report_pending(batch);
        if self.reports.is_empty() {
            self.take_events(batch, had_reports)?;
        } else {
            // What is new now comes behind those that wait.
            self.now = self.clock.now();
            self.run_ready(batch);
            self.send_given();
        }
        self.on_timers(batch);
        Ok(self.has_ready() || !self.reports.is_empty())
    }

    /// Something goes on without an event.
    fn has_ready(&self) -> bool {
        !self.run_queue.is_empty() || !self.ready_sources.is_empty()
    }

    /// The caller has heard of the end of these.
    fn free_closed(&mut self) {
        for _ in 0..self.closed.len() {
            if let Some((connection, _)) = self.closed.pop(&mut self.connections) {
                let id = connection.id;
                if let Some(connection) = self.remove(id) {
                    self.part_with(connection);
                }
            }
        }
    }

    /// Servers that are gone, with what was accepted for them and has not been told.
    fn drop_removed(&mut self, batch: &mut Batch<'_>) {
        if !self.removed.is_empty() {
            // What is given on now is not as late as this turn.
            self.now = self.clock.now();
        }
        while let Some(server) = self.removed.pop() {
            let of_it = |it: &Connection| (it.server == server).then_some(it.id);
            let ids: Vec<ConnId> = self.connections.iter().filter_map(of_it).collect();
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
            for source in ready.iter().map(|event| Source::of(event.token())) {
                if source.is_shared() {
                    self.on_others(source);
                }
            }
        }
        if goes_on {
            self.run_ready(batch);
        }
        for event in &ready {
            self.on_event(event, batch);
        }
        self.ready = ready;
        // Before the timers: who has something to say is not idle.
        self.run_ready(batch);
        self.send_given();
        Ok(())
    }

    fn on_event(&mut self, event: &mio::event::Event, batch: &mut Batch<'_>) {
        match Source::of(event.token()) {
            Source::Connection(id) => self.on_connection(id, event, batch),
            Source::Relay(id) => self.pump(id, batch),
            Source::Lingering(id) => {
                if let Some(lingering) = self.lingering.get_mut(id) {
                    lingering.peer_ended |= event.is_read_closed();
                    self.discard(id, batch);
                }
            }
            source @ Source::Listener(id) => {
                if let Some(accepting) = self.listeners.get_mut(id) {
                    accepting.ready = true;
                    self.ready_sources.push(source);
                }
            }
            // Heard above.
            Source::Peer(_) | Source::Door(_) | Source::Waker => {}
        }
    }

    fn on_connection(&mut self, id: ConnId, event: &mio::event::Event, batch: &mut Batch<'_>) {
        if event.is_writable() {
            self.on_writable(id, batch);
        }
        let Some(connection) = self.connections.get_mut(id) else { return };
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            connection.on_readable(event.is_read_closed());
            self.receive(id, batch);
        }
        if event.is_error() {
            self.on_error(id, batch);
        }
    }

    /// Runs what has work that no event announces. What gets more of it meanwhile has its turn the next time.
    fn run_ready(&mut self, batch: &mut Batch<'_>) {
        let (sources, connections) =
            (std::mem::take(&mut self.ready_sources), self.run_queue.len());
        // As above: what others say comes first, and leads to new routes once.
        for &source in sources.iter().filter(|source| source.is_shared()) {
            self.on_others(source);
        }
        for _ in 0..connections {
            if let Some((connection, _)) = self.run_queue.pop(&mut self.connections) {
                let id = connection.id;
                self.receive(id, batch);
            }
        }
        for &source in &sources {
            match source {
                Source::Listener(id) => self.accept(id, batch),
                Source::Lingering(id) => self.discard(id, batch),
                _ => {}
            }
        }
        if self.ready_sources.is_empty() {
            self.ready_sources = sources;
            self.ready_sources.clear();
        }
    }

    fn run_again(&mut self, id: ConnId) {
        if let Some(connection) = self.connections.get_mut(id) {
            self.run_queue.push(connection, Work::READ);
        }
    }

    /// Finishes a turn: sends what no response has taken along, lets connections go on that the caller has seen, and
    /// makes the descriptor readable if work remains.
    pub fn wake_again(&mut self) {
        self.in_turn = false;
        self.settle(SETTLING);
        if self.has_ready() || !self.removed.is_empty() || !self.reports.is_empty() {
            self.call_again();
        }
    }

    /// Does what connections have left for the end of a turn, as far as it is of these kinds.
    fn settle(&mut self, kinds: Work) {
        for _ in 0..self.settling.len() {
            let Some((connection, work)) = self.settling.pop_some(&mut self.connections, kinds)
            else {
                continue;
            };
            if work.intersects(Work::UNCORK) {
                let server = self.servers.get(connection.server);
                connection.uncork(server.is_none_or(|server| server.settings.no_delay));
            }
            if work.intersects(Work::REGISTER)
                && let Transport::Plain(socket) = &mut connection.transport
            {
                // What has arrived in the meantime is told when the socket is registered. Only a lack of
                // memory makes that fail; the timers see to such a connection.
                let token = Source::Connection(connection.id).token();
                socket.register(self.poll.registry(), token).ok();
            }
            // Where bytes are queued, the handshake's end leaves before them, and their end has to be told.
            if work.intersects(Work::FLUSH_HANDSHAKE) && connection.queued() == 0 {
                connection.flush().ok();
            }
            if work.intersects(Work::ADMIT) {
                connection.blocked.end_by(Change::Admitted);
                self.run_queue.push(connection, Work::READ);
            }
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
    fn wake(&mut self, id: ConnId) {
        self.run_again(id);
        self.call_again();
    }

    fn receive(&mut self, id: ConnId, batch: &mut Batch<'_>) {
        self.tell_routes();
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.relay.is_some() {
            return self.pump(id, batch);
        }
        if !batch.silent && (connection.unreported.opened || connection.unreported.secured) {
            // It is told of first.
            return self.queue_report(id);
        }
        let Some(server) = self.servers.get_mut(connection.server) else { return };
        let (flow, effects) = connection.receive(server, batch, self.now);
        self.follow_up(id, effects);
        match flow {
            Flow::Idle => self.watch_flight(id),
            Flow::Again => self.run_again(id),
            Flow::Broken(number) => self.tell_closed(id, number, batch),
            Flow::Report => self.park(id),
            Flow::Leaves(owner) => return self.leave(id, owner, batch),
        }
        if let Some(connection) = self.connections.get_mut(id)
            && connection.blocked == Blocked::Admission
            && !connection.unreported.opened
        {
            self.settling.push(connection, Work::ADMIT);
        }
        if batch.silent {
            self.after_silence(id);
        }
    }

    fn follow_up(&mut self, id: ConnId, effects: Effects) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if effects.handshake_done {
            if connection.in_flight > 0 {
                self.settling.push(connection, Work::FLUSH_HANDSHAKE);
            } else {
                // What fails here is told when the connection is read.
                connection.flush().ok();
            }
        }
        if effects.invalidated {
            let server = connection.server;
            self.go_on_woken(server);
        }
        if effects.answered {
            self.on_answered(id);
        }
    }

    fn on_writable(&mut self, id: ConnId, batch: &mut Batch<'_>) {
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
                if batch.can_tell() {
                    batch.push(id, Event::Drained);
                } else {
                    connection.unreported.drained = true;
                }
                let goes_on = connection.blocked.end_by(Change::Drained);
                if connection.idle_since != Nanos::NEVER {
                    connection.idle_since = self.now;
                }
                if matches!(connection.write_state, WriteState::Ending | WriteState::Ended) {
                    self.end_output(id);
                } else if goes_on {
                    self.run_again(id);
                }
            }
            Err(error) => self.tell_closed(id, error.raw_os_error().unwrap_or(0), batch),
        }
        if self.connections.get(id).is_some_and(|connection| connection.unreported.drained) {
            self.queue_report(id);
        }
    }

    /// A peer that is gone is not waited for, though nothing is read for now.
    fn on_error(&mut self, id: ConnId, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get(id) else { return };
        if let Some(socket) = connection.transport.socket()
            && let Ok(Some(error)) = socket.options().take_error()
        {
            self.tell_closed(id, error.raw_os_error().unwrap_or(0), batch);
        }
    }

    fn tell_closed(&mut self, id: ConnId, number: i32, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        // A number that nobody knows to be free is not given anew.
        if !batch.can_tell() {
            connection.unreported.broken = Some(number);
            self.reports.push(connection, Work::REPORT);
        } else if !connection.work.intersects(Work::FREE) {
            if !connection.unopened {
                batch.push(id, Event::Closed { error: number });
            }
            self.closed.push(connection, Work::FREE);
        }
        let server = connection.server;
        if let Some(server) = self.servers.get_mut(server) {
            connection.leave_fill(server);
        }
        connection.blocked = Blocked::Closed;
        self.go_on_woken(server);
    }

    fn on_timers(&mut self, batch: &mut Batch<'_>) {
        while batch.room() >= EVENTS
            && let Some((at, timer)) = self.timers.pop_due(self.now)
        {
            match timer {
                Timer::Accept(id) => self.ready_sources.push(Source::Listener(id)),
                Timer::Idle(id) => self.on_idle(id, at, batch),
                Timer::Handshakes(server) => self.on_handshakes(server, batch),
                // The turn has begun with it.
                Timer::Uncork => {}
                Timer::Flights(server) => self.on_flights(server, at),
                Timer::Given(peer) => self.on_patience(peer),
                Timer::Lingering(id) => self.on_lingering(id, at),
                Timer::Gone(ground) => self.on_gone(ground),
                Timer::Retry(source) => self.on_retry(source),
                Timer::Rest(peer) => self.on_rest(peer),
            }
        }
    }

    fn on_idle(&mut self, id: ConnId, at: Nanos, batch: &mut Batch<'_>) {
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
        let waits = connection.is_queued_to_read() || connection.queued() > 0;
        let since = if waits { self.now } else { connection.idle_since };
        let at = since + limit;
        if at <= self.now {
            connection.open(batch);
            batch.push(id, Event::Idle);
        } else {
            connection.idle_timer = at;
            self.timers.push(at, Timer::Idle(id));
        }
    }

    /// Stops or resumes the reading of a connection.
    pub fn pause(&mut self, id: usize, paused: bool) {
        let Some(connection) = self.connections.at_mut(id) else { return };
        connection.pause(paused, self.clock.now());
        if !paused && connection.can_go_on() {
            let id = connection.id;
            self.wake(id);
        }
    }

    /// Takes an upgrade for an ordinary request.
    pub fn proceed(&mut self, id: usize) {
        self.proceed_with(id, Connection::proceed);
    }

    /// Hands on the next bytes as they come.
    pub fn proceed_raw(&mut self, id: usize) {
        self.proceed_with(id, Connection::proceed_raw);
    }

    /// Reads on by itself: a body ended behind the first `taken` bytes of those told last.
    pub fn proceed_behind(&mut self, id: usize, taken: usize) {
        self.proceed_with(id, |connection| connection.proceed_behind(taken));
    }

    /// Hands on everything as it comes, what was read and not told first.
    pub fn through(&mut self, id: usize) {
        self.proceed_with(id, Connection::through);
    }

    fn proceed_with(&mut self, id: usize, proceed: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.connections.at_mut(id) {
            proceed(connection);
            let id = connection.id;
            self.wake(id);
        }
    }

    /// Ends our side when all is written.
    pub fn end(&mut self, id: usize) {
        if let Some(connection) = self.connections.at(id) {
            self.end_when_written(connection.id);
        }
    }

    fn end_when_written(&mut self, id: ConnId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.write_state.end(connection.queued() == 0) {
            connection.transport.end();
            self.end_responses(id);
        }
    }

    fn end_output(&mut self, id: ConnId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.write_state.end(true) {
            connection.transport.end();
            self.end_responses(id);
        }
    }

    /// Closes a connection at once; nothing more is told of it. If our side has ended before, its last response is not
    /// lost on a peer that still sends.
    pub fn close(&mut self, id: usize, reset: bool) {
        let id = self.connections.at(id).map(|connection| connection.id);
        let Some(mut connection) = id.and_then(|id| self.remove(id)) else { return };
        connection.uncork(true);
        if reset {
            // Best effort: the connection is closed either way.
            if let Some(socket) = connection.transport.socket() {
                socket.options().set_linger(Some(Duration::ZERO)).ok();
            }
        } else {
            self.part_with(connection);
        }
    }

    /// Gives a connection away: its descriptor, where in its last batch the bytes end that were told, and those that
    /// were read and not told.
    pub fn release(&mut self, id: usize) -> io::Result<(OwnedFd, usize, Vec<u8>)> {
        let id = self.own(id)?.id;
        let mut connection = self.remove(id).ok_or(io::ErrorKind::NotConnected)?;
        let server = self.servers.get(connection.server);
        connection.uncork(server.is_none_or(|server| server.settings.no_delay));
        let (unregistered, told) = (connection.is_unregistered(), connection.delivered_end);
        let (socket, input) = connection.into_parts().ok_or(io::ErrorKind::NotConnected)?;
        let watched = (!unregistered).then(|| self.poll.registry());
        Ok((socket.release(watched)?, told, input))
    }

    /// Takes a connection out; the cache hears of it.
    fn remove(&mut self, id: ConnId) -> Option<Connection> {
        let mut connection = self.connections.remove(id)?;
        if let Some(server) = self.servers.get_mut(connection.server) {
            server.in_flight = server.in_flight.saturating_sub(connection.in_flight);
            connection.leave_cache(server, self.now);
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
        let Some(connection) = self.connections.at(id) else { return (None, None) };
        if let Some(about) = connection.transport.forwarded() {
            return (about.local, about.peer);
        }
        let local = connection
            .transport
            .socket()
            .and_then(|it| it.options().local_addr().ok()?.as_socket());
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
        self.connections.at(id).map_or(0, |connection| connection.bytes_read)
    }

    /// The options of a connection's socket.
    #[must_use]
    pub fn socket(&self, id: usize) -> Option<socket2::SockRef<'_>> {
        Some(self.connections.at(id)?.transport.socket()?.options())
    }
}
