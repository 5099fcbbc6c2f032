//! All listeners and connections of one thread: its turns. What belongs to one topic is in the files below.

mod accepting;
mod caching;
mod commands;
mod events;
mod handshakes;
mod limits;
mod lingering;
#[cfg(simulated)]
mod observed;
mod routing;
mod sending;
mod source;
mod standby;
mod streams;
#[cfg(test)]
mod tests;
mod timers;

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use millrace_net::readiness::{Event, Events, Poll, Waker};
use millrace_net::{Clock, Monotonic, Nanos, TimerQueue};
use slab::Slab;

use accepting::Accepting;
use lingering::Lingering;
use source::Source;
use timers::Timer;

pub use caching::Exchange;
#[cfg(simulated)]
pub use observed::{Observed, ObservedConnection, Waits};
pub(crate) use routing::router_token;

use crate::batch::Batch;
use crate::connection::Connection;
use crate::connection::blocked::Change;
use crate::connection::id::{ConnId, Connections};
use crate::connection::reports::Reports;
use crate::connection::work::{Queue, Work};
use crate::router::{Arrival, Router};
use crate::server::Server;
use crate::settings::Settings;
use crate::transport::Transport;

/// What is left for the end of a turn. Connections that live after their first batch are registered then: one whose only
/// request is answered at once costs no registration. This happens in the order in which they came: epoll tells of those
/// that are readable in the order of their registration, and so do their requests reach the application.
const SETTLING: Work = Work::REGISTER.and(Work::UNCORK);
/// What the caller has a part in as well.
const BEHIND_CALLER: Work = Work::FLUSH_HANDSHAKE.and(Work::ADMIT);
/// Events taken from the system at once.
const READY: usize = 256;

/// The sockets of one thread. See the crate's page.
#[derive(Debug)]
pub struct Reactor {
    poll: Poll,
    waker: Waker,
    ready: Events,
    clock: Monotonic,
    servers: Slab<Server>,
    listeners: Slab<Accepting>,
    connections: Connections,
    lingering: Slab<Lingering>,
    timers: TimerQueue<Timer>,
    /// Connections that read on without an event.
    run_queue: Queue,
    /// All else that goes on without an event. What is in it twice has nothing to do the second time.
    ready_sources: Vec<Source>,
    reports: Reports,
    /// Connections with work for the end of a turn.
    settling: Queue,
    /// Those with work for when the caller has taken its batch.
    behind_caller: Queue,
    /// Connections whose end was told in this batch; their places are free when it has been taken.
    closed: Queue,
    /// A turn's batch is being taken: [`Self::wake_again`] follows.
    in_turn: bool,
    /// Servers that were removed; this batch may still name them.
    removed: Vec<usize>,
    /// Some of the run queue had no turn in the last pass over it, as there was no room or no time.
    unfinished: bool,
    /// Listeners that accept no more before the caller is there.
    crowded: Vec<usize>,
    woken: bool,
    timers_changed: bool,
    /// Of a reactor that shares addresses.
    router: Option<Box<dyn Router>>,
    /// When its timer comes; any other is of no consequence.
    router_timer: Nanos,
    /// Scratch: what it attaches in a call.
    arrivals: Vec<Arrival>,
    /// Connections whose sessions have frames to send.
    sessions: Vec<ConnId>,
}

impl Reactor {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), Source::Waker.token())?;
        let clock = Monotonic::new();
        Ok(Self {
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
            reports: Reports::default(),
            settling: Queue::new(SETTLING),
            behind_caller: Queue::new(BEHIND_CALLER),
            closed: Queue::new(Work::FREE),
            in_turn: false,
            removed: Vec::new(),
            unfinished: false,
            crowded: Vec::new(),
            woken: false,
            timers_changed: false,
            router: None,
            router_timer: Nanos::NEVER,
            arrivals: Vec::new(),
            sessions: Vec::new(),
        })
    }

    /// Readable when [`Self::turn`] has something to do.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.poll.as_raw_fd()
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
        let now = self.clock.now();
        self.in_turn = true;
        self.connections.reuse_vacated();
        self.settle(usize::MAX);
        self.flush_sessions(now);
        // The end of a handshake waits for the responses of a turn.
        self.follow_caller(Work::ADMIT, now);
        self.free_closed(now);
        self.drop_removed(batch, now);
        let goes_on = !self.reports.is_empty() || self.unfinished;
        self.report_pending(batch);
        if self.reports.is_empty() {
            self.accept_again();
            self.take_events(batch, goes_on, now)?;
        } else {
            // What is new now comes behind those that wait.
            self.run_router(now);
            self.run_ready(batch, now);
            self.flush_router(now);
        }
        self.on_timers(batch, now);
        self.flush_sessions(now);
        Ok(self.has_ready(now) || !self.reports.is_empty())
    }

    /// Something goes on without an event.
    fn has_ready(&self, now: Nanos) -> bool {
        !self.run_queue.is_empty() || !self.ready_sources.is_empty() || self.has_router_work(now)
    }

    /// The caller has heard of the end of these.
    fn free_closed(&mut self, now: Nanos) {
        for _ in 0..self.closed.len() {
            if let Some((connection, _)) = self.closed.pop(&mut self.connections) {
                let id = connection.id;
                if let Some(connection) = self.remove(id, now) {
                    self.part_with(connection, now);
                }
            }
        }
    }

    /// Servers that are gone, with what was accepted for them and has not been told.
    fn drop_removed(&mut self, batch: &mut Batch<'_>, now: Nanos) {
        while let Some(server) = self.removed.pop() {
            let of_it = |it: &Connection| (it.server == server).then_some(it.id);
            let ids: Vec<ConnId> = self.connections.iter().filter_map(of_it).collect();
            for id in ids {
                if !self.pass_on(id, batch, now) {
                    self.remove(id, now);
                }
            }
            self.call_router(now, |router, context| router.remove_server(server, context));
            self.servers.try_remove(server);
        }
    }

    /// `goes_on`: those that go on without an event have waited for longer than what comes now.
    fn take_events(&mut self, batch: &mut Batch<'_>, goes_on: bool, now: Nanos) -> io::Result<()> {
        match self.poll.poll(&mut self.ready, Some(Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.flush_router(now);
                return Err(error);
            }
            _ => {}
        }
        self.woken = false;
        let ready = std::mem::replace(&mut self.ready, Events::with_capacity(0));
        self.tell_router(&ready, now);
        if goes_on {
            self.run_ready(batch, now);
        }
        for event in &ready {
            self.on_event(event, batch, now);
        }
        self.ready = ready;
        // Before the timers: who has something to say is not idle.
        self.run_ready(batch, now);
        self.flush_router(now);
        Ok(())
    }

    fn on_event(&mut self, event: &Event, batch: &mut Batch<'_>, now: Nanos) {
        match Source::of(event.token()) {
            Source::Connection(id) => self.on_connection(id, event, batch, now),
            Source::Tunnel(id) => self.receive(id, batch, now),
            Source::Lingering(id) => {
                if let Some(lingering) = self.lingering.get_mut(id) {
                    lingering.peer_ended |= event.is_read_closed();
                    self.discard(id, batch, now);
                }
            }
            source @ Source::Listener(id) => {
                if let Some(accepting) = self.listeners.get_mut(id) {
                    accepting.ready = true;
                    self.ready_sources.push(source);
                }
            }
            // The router has heard of its own.
            Source::Router(_) | Source::Waker => {}
        }
    }

    /// Runs what has work that no event announces. What gets more of it meanwhile has its turn the next time, behind those for
    /// which there is no room now. Of that, half is for connections that come.
    fn run_ready(&mut self, batch: &mut Batch<'_>, now: Nanos) {
        let (sources, connections) =
            (std::mem::take(&mut self.ready_sources), self.run_queue.len());
        let all = sources.is_empty();
        self.unfinished = false;
        for _ in 0..connections {
            let next = self.run_queue.first(&self.connections);
            let is_full = !batch.can_tell() || !all && batch.is_half_full();
            if is_full || next.is_some_and(|next| !next.fits(batch)) {
                self.unfinished = true;
                break;
            }
            if let Some((connection, _)) = self.run_queue.pop(&mut self.connections) {
                let id = connection.id;
                self.receive(id, batch, now);
            }
        }
        for &source in &sources {
            match source {
                Source::Listener(id) => self.accept(id, batch, now),
                Source::Lingering(id) => self.discard(id, batch, now),
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
        let now = self.clock.now();
        self.in_turn = false;
        self.settle(usize::MAX);
        self.flush_sessions(now);
        self.follow_caller(BEHIND_CALLER, now);
        if self.has_ready(now) || !self.removed.is_empty() || !self.reports.is_empty() {
            self.call_again();
        }
    }

    /// Does what connections have left for the end of a turn: so many at most.
    fn settle(&mut self, most: usize) {
        for _ in 0..self.settling.len().min(most) {
            let Some((connection, work)) = self.settling.pop(&mut self.connections) else {
                continue;
            };
            if work.intersects(Work::UNCORK) {
                let server = self.servers.get(connection.server);
                connection.channel.uncork(server.is_none_or(|server| server.settings.no_delay));
            }
            if work.intersects(Work::REGISTER)
                && let Transport::Plain(socket) = &mut connection.channel.transport
            {
                // What has arrived in the meantime is told when the socket is registered. Only a lack of
                // memory makes that fail; the timers see to such a connection.
                let token = Source::Connection(connection.id).token();
                socket.register(self.poll.registry(), token).ok();
            }
        }
    }

    /// Does what connections have left for when the caller has taken its batch, as far as it is of these kinds.
    fn follow_caller(&mut self, kinds: Work, now: Nanos) {
        for _ in 0..self.behind_caller.len() {
            let Some((connection, work)) =
                self.behind_caller.pop_some(&mut self.connections, kinds)
            else {
                continue;
            };
            // Where bytes are queued, the handshake's end leaves before them, and their end has to be told.
            if work.intersects(Work::FLUSH_HANDSHAKE)
                && connection.channel.queued() == 0
                && let Err(error) = connection.channel.flush()
            {
                connection.fail_behind_input(error);
                self.run_queue.push(connection, Work::READ);
            }
            if work.intersects(Work::ADMIT) {
                connection.lane.blocked.end_by(Change::Admitted);
                self.run_queue.push(connection, Work::READ);
            }
            let id = connection.id;
            self.note_progress(id, now);
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
}
