//! What one worker does on events, timers and arrivals: connections are opened, requests sent, responses
//! taken, by the rules of the load model. The loop that calls it is in `worker.rs`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use millrace_net::tls::TlsSettings;
use millrace_net::{Clock, Monotonic, Nanos, Stream, Timers};
use mio::event::Event;
use mio::{Registry, Token};

use crate::connection::{Connection, Due, End};
use crate::error::describe;
use crate::mix::Mix;
use crate::plan::{Model, Plan};
use crate::pool::Pool;
use crate::recorder::{Loss, Recorder};
use crate::schedule::{Arrivals, RateProfile};
use crate::server::{Resolved, Server};
use crate::template::{Rendered, Values};
use crate::{ErrorKind, RunError};

/// Bytes of one read; larger than most responses, small enough to stay in the cache.
const READ_BUFFER: usize = 64 * 1024;

/// Connects under way at once in set-up: below the listen queue of any ordinary server.
const SET_UP_AT_ONCE: usize = 100;

/// Pause before a connection that bore no fruit is opened again; doubled each time, up to a bound.
const FIRST_REST: Duration = Duration::from_millis(10);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// What timers are set for, with the slot's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The limit of a connect, a handshake or a request; at most one per slot counts.
    Limit(u32),
    /// The end of a think time.
    Due(u32),
    /// The end of the pause after a failure.
    Reopen(u32),
}

/// A place for one connection after the other.
#[derive(Debug)]
struct Slot {
    connection: Connection<Stream>,
    /// Index of the server.
    origin: usize,
    /// Index of the address in use.
    address: usize,
    /// When the slot's limit timer fires.
    limit: Nanos,
    /// Connections in a row that completed nothing.
    failures: u32,
    /// The present connection has completed a request.
    fruitful: bool,
    /// A `Reopen` timer is set.
    resting: bool,
    /// Is in the pool's list of free connections.
    listed: bool,
    /// Is being opened before the start.
    setting_up: bool,
    /// Requests of a closed run that wait for the end of the rest.
    stalled: usize,
    /// The connection before, kept until the next one ends, so that the server closes first and this
    /// side's ports do not wait in TIME-WAIT.
    previous: Option<Stream>,
}

/// Who decides when a request is due.
#[derive(Debug)]
enum Demand {
    Closed {
        think_time: Duration,
        mixes: Vec<Mix>,
    },
    Open {
        pools: Vec<Pool>,
        mix: Mix,
        arrivals: Arrivals,
        start: Nanos,
        next: Nanos,
        max_pending: u64,
    },
}

/// What all workers of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    mix: Vec<Rendered>,
    resolved: Vec<Resolved>,
    tls: Option<TlsSettings>,
}

impl Shared {
    /// Checks the plan, renders its requests, reads certificates and resolves names.
    pub(crate) fn new(plan: Arc<Plan>) -> Result<Self, RunError> {
        plan.check()?;
        let tables = plan.placeholders.then_some(&plan.tables[..]);
        let render = |request| Rendered::new(request, plan.close, tables, plan.pipelining);
        let mix = plan.requests.iter().map(render).collect::<Result<Vec<_>, _>>()?;
        let with_tls = plan.origins.iter().any(|origin| origin.server_name.is_some());
        let tls = with_tls.then(|| TlsSettings::new(&plan.tls)).transpose();
        let tls = tls.map_err(|error| RunError::Usage(error.to_string()))?;
        let resolved = plan.origins.iter().map(Resolved::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { plan, mix, resolved, tls })
    }
}

/// The connections of one worker and the rules by which they are used.
#[derive(Debug)]
pub(crate) struct Engine {
    shared: Arc<Shared>,
    registry: Registry,
    clock: Monotonic,
    slots: Vec<Slot>,
    servers: Vec<Server>,
    demand: Demand,
    timers: Timers<Timer>,
    pub(crate) recorder: Recorder,
    random: fastrand::Rng,
    /// Number of the next request, and the distance to the one after that.
    sequence: (u64, u64),
    /// Measured requests that may still become due.
    budget: u64,
    /// Between start and end.
    sending: bool,
    /// From here on nothing becomes due by the schedule.
    end: Nanos,
    /// Slots that are to be opened before the start, and those under way.
    set_up: Vec<u32>,
    setting_up: usize,
    /// The present event says that the peer will send no more.
    peer_closed: bool,
    buffer: Box<[u8]>,
    outgoing: Vec<u8>,
    scratch: Vec<u8>,
}

impl Engine {
    pub(crate) fn new(
        shared: Arc<Shared>,
        worker: usize,
        registry: Registry,
        clock: Monotonic,
    ) -> Result<Self, RunError> {
        let plan = &shared.plan;
        let share = |total: usize| plan.share(total as u64, worker) as usize;
        let servers = shared
            .resolved
            .iter()
            .map(|resolved| Server::new(resolved, shared.tls.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        let slots = slots(plan, share(plan.connections));
        let initial = share(plan.initial_connections);
        let set_up = (0..slots.len() as u32).take(initial).rev().collect();
        let demand = Demand::new(plan, &slots[initial.min(slots.len())..], initial as u32, worker);
        let budget = plan.max_requests.map_or(u64::MAX, |total| plan.share(total, worker));
        Ok(Self {
            registry,
            clock,
            slots,
            servers,
            demand,
            timers: Timers::default(),
            recorder: Recorder::new(Nanos::NEVER),
            random: fastrand::Rng::with_seed(plan.seed.wrapping_add(worker as u64)),
            sequence: (worker as u64, plan.threads as u64),
            budget,
            sending: false,
            end: Nanos::NEVER,
            set_up,
            setting_up: 0,
            peer_closed: false,
            buffer: vec![0; READ_BUFFER].into(),
            outgoing: Vec::new(),
            scratch: Vec::new(),
            shared,
        })
    }

    pub(crate) fn servers(&self) -> &[Server] {
        &self.servers
    }

    // --- set-up, start and end ---

    /// Opens the next connections of the set-up; `true` when all have been opened or have failed.
    pub(crate) fn set_up(&mut self) -> bool {
        while self.setting_up < SET_UP_AT_ONCE {
            let Some(index) = self.set_up.pop() else { break };
            self.setting_up += 1;
            let slot = &mut self.slots[index as usize];
            slot.setting_up = true;
            if let Demand::Open { pools, .. } = &mut self.demand {
                pools[slot.origin].set_up();
            }
            self.open(index as usize);
        }
        self.setting_up == 0 && self.set_up.is_empty()
    }

    pub(crate) fn open_connections(&self) -> u64 {
        self.slots.iter().filter(|slot| slot.connection.is_open()).count() as u64
    }

    /// Load begins; the schedule ends at `end`.
    pub(crate) fn start(&mut self, start: Nanos, end: Nanos) {
        self.sending = true;
        self.end = end;
        match &mut self.demand {
            Demand::Open { arrivals, start: origin, next, .. } => {
                *origin = start;
                *next = arrivals.next().map_or(Nanos::NEVER, |after| start + after);
            }
            Demand::Closed { .. } => {
                for index in 0..self.slots.len() {
                    // Nothing was scheduled: a first request is due when its turn has come.
                    let now = self.clock.now();
                    self.add_due(index, self.shared.plan.pipelining, now);
                    self.pump_or_open(index, now);
                }
            }
        }
    }

    /// All requests of the budget have ended.
    pub(crate) fn is_exhausted(&self) -> bool {
        let waiting = match &self.demand {
            Demand::Closed { .. } => 0,
            Demand::Open { pools, .. } => pools.iter().map(Pool::waiting).sum(),
        };
        self.budget == 0 && self.recorder.in_flight() == 0 && waiting == 0
    }

    /// The run is over: what has not ended is recorded at its age.
    pub(crate) fn finish(&mut self, now: Nanos) {
        self.sending = false;
        for slot in &mut self.slots {
            let at_end = |_| (Loss::InFlightAtEnd, String::new());
            slot.connection.lose_all(now, &mut self.recorder, at_end);
        }
        if let Demand::Open { pools, .. } = &mut self.demand {
            for due in pools.iter_mut().flat_map(|pool| std::iter::from_fn(|| pool.take_waiting()))
            {
                self.recorder.queued_at_end(due.intended, now);
            }
        }
    }

    // --- time ---

    /// When the next arrival is due.
    pub(crate) fn next_arrival(&self) -> Nanos {
        match &self.demand {
            Demand::Open { next, .. } if self.sending && self.budget > 0 && *next < self.end => {
                *next
            }
            _ => Nanos::NEVER,
        }
    }

    /// When the next timer fires, and whether it has to be exact (the end of a think time).
    pub(crate) fn next_timer(&self) -> (Nanos, bool) {
        let thinks =
            matches!(self.demand, Demand::Closed { think_time, .. } if !think_time.is_zero());
        (self.timers.next(), thinks)
    }

    pub(crate) fn on_timers(&mut self, now: Nanos) {
        while let Some((at, timer)) = self.timers.pop_due(now) {
            match timer {
                Timer::Limit(index) => self.on_limit(index as usize, at, now),
                Timer::Due(index) => self.on_due(index as usize, at, now),
                Timer::Reopen(index) => self.on_reopen(index as usize, now),
            }
        }
    }

    /// Sends what has become due by the schedule.
    pub(crate) fn on_arrivals(&mut self) {
        let mut now = self.clock.now();
        while self.next_arrival() <= now {
            let Demand::Open { mix, arrivals, start, next, .. } = &mut self.demand else { return };
            let intended = *next;
            arrivals.advance();
            *next = arrivals.next().map_or(Nanos::NEVER, |after| *start + after);
            let due = Due { intended, request: mix.next(&mut self.random) };
            if self.budget != u64::MAX && self.recorder.is_measured(intended) {
                self.budget -= 1;
            }
            self.recorder.offered(intended, now);
            self.dispatch(due, now);
            now = self.clock.now();
        }
    }

    /// Gives an arrival to a free connection, or lets it wait.
    fn dispatch(&mut self, due: Due, now: Nanos) {
        let origin = self.shared.mix[due.request as usize].origin;
        let depth = self.shared.plan.pipelining;
        let Demand::Open { pools, max_pending, .. } = &mut self.demand else { return };
        let waiting: usize = pools.iter().map(Pool::waiting).sum();
        if waiting as u64 + self.recorder.in_flight() >= *max_pending {
            return self.recorder.overflowed(due.intended);
        }
        while let Some(index) = pools[origin].take_free() {
            let slot = &mut self.slots[index as usize];
            slot.listed = false;
            if slot.connection.is_open() && slot.connection.in_flight() < depth {
                slot.connection.due.push_back(due);
                return self.serve(index as usize, now);
            }
        }
        pools[origin].wait(due);
        self.summon(origin);
    }

    /// Opens connections for arrivals that wait.
    fn summon(&mut self, origin: usize) {
        while let Demand::Open { pools, .. } = &mut self.demand {
            let Some(index) = pools[origin].take_closed() else { return };
            self.open(index as usize);
        }
    }

    fn on_limit(&mut self, index: usize, at: Nanos, now: Nanos) {
        let slot = &mut self.slots[index];
        if slot.limit != at {
            return;
        }
        slot.limit = Nanos::NEVER;
        let Some(since) = slot.connection.waiting_since() else { return };
        let open = slot.connection.is_open();
        let plan = &self.shared.plan;
        let limit = if open { plan.timeout } else { plan.connect_timeout };
        if since + limit > now {
            self.arm(index, since + limit);
        } else if open {
            let text = || format!("no complete response within {limit:?}");
            let lost = self.slots[index]
                .connection
                .lose_all(now, &mut self.recorder, |_| (Loss::Timeout, text()));
            drop(self.slots[index].connection.close());
            self.after_end(index, lost, now);
        } else if self.slots[index].connection.is_handshaking() {
            let text = format!("TLS handshake not finished within {limit:?}");
            self.open_failed(index, ErrorKind::Tls, text, now);
        } else {
            let text = format!("no connection within {limit:?}");
            self.open_failed(index, ErrorKind::ConnectTimeout, text, now);
        }
    }

    fn on_due(&mut self, index: usize, intended: Nanos, now: Nanos) {
        if self.sending {
            self.recorder.offered(intended, now);
            self.add_due(index, 1, intended);
            self.pump_or_open(index, self.clock.now());
        }
    }

    fn on_reopen(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.resting = false;
        let stalled = std::mem::take(&mut slot.stalled);
        let origin = slot.origin;
        if let Demand::Open { pools, .. } = &mut self.demand {
            pools[origin].add_closed(index as u32);
            self.summon(origin);
        } else if self.sending {
            self.add_due(index, stalled, now);
            self.pump_or_open(index, now);
        }
    }

    /// Sees to it that the slot is looked at when `at` has come.
    fn arm(&mut self, index: usize, at: Nanos) {
        let slot = &mut self.slots[index];
        if at < slot.limit {
            slot.limit = at;
            self.timers.push(at, Timer::Limit(index as u32));
        }
    }

    // --- opening ---

    fn open(&mut self, index: usize) {
        let now = self.clock.now();
        let slot = &mut self.slots[index];
        let (address, stream) = self.servers[slot.origin].connect(&self.registry, Token(index));
        slot.address = address;
        slot.fruitful = false;
        match stream {
            Ok(stream) => {
                slot.connection.open(stream, now);
                self.arm(index, now + self.shared.plan.connect_timeout);
            }
            Err(error) => {
                self.open_failed(index, ErrorKind::of(&error), describe(&error), now);
            }
        }
    }

    fn opened(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        self.servers[slot.origin].worked(slot.address);
        if std::mem::take(&mut slot.setting_up) {
            self.setting_up -= 1;
        }
        if let Demand::Open { pools, .. } = &mut self.demand {
            pools[slot.origin].opened();
            self.serve(index, now);
        } else {
            self.pump(index, now);
        }
    }

    fn open_failed(&mut self, index: usize, kind: ErrorKind, text: String, now: Nanos) {
        let slot = &mut self.slots[index];
        drop(slot.connection.close());
        let server = &mut self.servers[slot.origin];
        let example = format!("{}: {text}", server.address(slot.address));
        let ruled_out = kind != ErrorKind::FdLimit && server.rule_out(slot.address);
        if slot.setting_up && ruled_out {
            return self.open(index);
        }
        slot.failures += 1;
        let mut not_sent = 0;
        if let Demand::Open { pools, .. } = &mut self.demand {
            pools[slot.origin].opened();
        } else {
            let due = &mut slot.connection.due;
            let measured = due.iter().filter(|due| self.recorder.is_measured(due.intended)).count();
            not_sent = self.budget.min(measured as u64);
            slot.stalled = due.len();
            due.clear();
            if self.budget != u64::MAX {
                self.budget -= not_sent;
            }
        }
        self.recorder.connect_failed(kind, example, not_sent);
        if std::mem::take(&mut slot.setting_up) {
            self.setting_up -= 1;
        }
        self.rest(index, now);
    }

    fn rest(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.resting = true;
        let doublings = slot.failures.saturating_sub(1).min(16);
        let pause = LONGEST_REST.min(FIRST_REST * (1 << doublings));
        self.timers.push(now + pause, Timer::Reopen(index as u32));
    }

    // --- requests ---

    /// `count` requests of a closed run are due on this slot.
    fn add_due(&mut self, index: usize, count: usize, intended: Nanos) {
        let Demand::Closed { mixes, .. } = &mut self.demand else { return };
        if self.budget == 0 {
            return;
        }
        let slot = &mut self.slots[index];
        for _ in 0..count {
            let request = mixes[slot.origin].next(&mut self.random);
            slot.connection.due.push_back(Due { intended, request });
        }
    }

    /// `count` requests of the slot have ended: those that follow them become due.
    fn replenish(&mut self, index: usize, count: usize, now: Nanos) {
        match self.demand {
            Demand::Closed { think_time, .. } if think_time.is_zero() => {
                self.add_due(index, count, now);
            }
            Demand::Closed { think_time, .. } => {
                for _ in 0..count {
                    self.timers.push(now + think_time, Timer::Due(index as u32));
                }
            }
            Demand::Open { .. } => {}
        }
    }

    fn pump_or_open(&mut self, index: usize, now: Nanos) {
        let slot = &self.slots[index];
        if slot.connection.is_open() {
            self.pump(index, now);
        } else if slot.connection.is_closed() && !slot.resting && !slot.connection.due.is_empty() {
            self.open(index);
        }
    }

    /// Lets a free connection of an open run take arrivals that wait.
    fn serve(&mut self, index: usize, now: Nanos) {
        let depth = self.shared.plan.pipelining;
        let Demand::Open { pools, .. } = &mut self.demand else { return };
        let slot = &mut self.slots[index];
        let pool = &mut pools[slot.origin];
        let mut room =
            depth.saturating_sub(slot.connection.in_flight() + slot.connection.due.len());
        while let Some(due) = (room > 0).then(|| pool.take_waiting()).flatten() {
            slot.connection.due.push_back(due);
            room -= 1;
        }
        if room > 0 && !slot.listed {
            slot.listed = true;
            pool.add_free(index as u32);
        }
        self.pump(index, now);
    }

    /// Sends what is due on an open connection, in one write.
    fn pump(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        let mut count = slot.connection.due.len();
        if count == 0 || !self.sending || !slot.connection.is_open() {
            return;
        }
        if self.budget != u64::MAX && matches!(self.demand, Demand::Closed { .. }) {
            count = 0;
            for due in &slot.connection.due {
                let measured = self.recorder.is_measured(due.intended);
                if measured && self.budget == 0 {
                    break;
                }
                self.budget -= u64::from(measured);
                count += 1;
            }
            if count == 0 {
                return;
            }
        }
        let mix = &self.shared.mix[..];
        let batch = if let [only] = mix { only.batch(count) } else { None };
        let bytes = match batch {
            Some(bytes) => bytes,
            None => {
                self.outgoing.clear();
                for due in slot.connection.due.iter().take(count) {
                    let mut values = Values {
                        sequence: self.sequence.0,
                        random: &mut self.random,
                        tables: &self.shared.plan.tables,
                    };
                    let request = &mix[due.request as usize];
                    request.render(&mut values, &mut self.scratch, &mut self.outgoing);
                    self.sequence.0 += self.sequence.1;
                }
                &self.outgoing
            }
        };
        match slot.connection.send(bytes, count, now, &mut self.recorder) {
            Ok(()) => {
                let limit = now + self.shared.plan.timeout;
                if limit < slot.limit {
                    self.arm(index, limit);
                }
            }
            Err(error) => self.broken(index, &error, now),
        }
    }

    // --- events ---

    pub(crate) fn on_event(&mut self, event: &Event) {
        let index = event.token().0;
        let Some(slot) = self.slots.get_mut(index) else { return };
        if slot.connection.is_closed() {
            return;
        }
        if !slot.connection.is_open() {
            let now = self.clock.now();
            match slot.connection.establish(now, &mut self.recorder) {
                Ok(true) => self.opened(index, now),
                Ok(false) => return,
                Err(error) => {
                    let kind = ErrorKind::of(&error);
                    return self.open_failed(index, kind, describe(&error), now);
                }
            }
        } else if event.is_writable()
            && let Err(error) = slot.connection.flush()
        {
            return self.broken(index, &error, self.clock.now());
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.peer_closed = event.is_read_closed();
            self.read(index);
        }
    }

    fn read(&mut self, index: usize) {
        let close = self.shared.plan.close;
        let (mut completed, mut now) = (0, Nanos::default());
        loop {
            let slot = &mut self.slots[index];
            let read = match slot.connection.read(&mut self.buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    now = self.clock.now();
                    self.replenish(index, completed, now);
                    return self.broken(index, &error, now);
                }
            };
            now = self.clock.now();
            let mut fed = match read.count {
                0 => slot.connection.finish(now, &mut self.recorder),
                count => {
                    let bytes = &self.buffer[..count];
                    slot.connection.feed(bytes, now, &self.shared.mix, &mut self.recorder)
                }
            };
            completed += fed.completed;
            if fed.completed > 0 {
                slot.fruitful = true;
                slot.failures = 0;
                if close && fed.end.is_none() {
                    fed.end = Some(End::Agreed);
                }
            }
            if let Some(end) = fed.end {
                self.replenish(index, completed, now);
                return self.ended(index, end, now);
            }
            // A peer that has closed is read to the end: its last event has come.
            if read.drained && !self.peer_closed {
                break;
            }
        }
        if completed > 0 {
            self.replenish(index, completed, now);
            match self.demand {
                Demand::Closed { .. } => self.pump(index, now),
                Demand::Open { .. } => self.serve(index, now),
            }
        }
    }

    fn broken(&mut self, index: usize, error: &io::Error, now: Nanos) {
        let idle = self.slots[index].connection.in_flight() == 0;
        let end = match ErrorKind::of(error) {
            ErrorKind::ClosedEarly | ErrorKind::Reset if idle => End::Eof,
            kind => End::Failed(kind, describe(error)),
        };
        self.ended(index, end, now);
    }

    /// A connection has ended; requests in flight on it are lost.
    fn ended(&mut self, index: usize, end: End, now: Nanos) {
        let slot = &mut self.slots[index];
        let lost = slot.connection.lose_all(now, &mut self.recorder, |position| match &end {
            End::Failed(kind, text) if position == 0 => (Loss::Transport(*kind), text.clone()),
            End::Agreed => {
                let text = "closed by an earlier response's Connection: close".to_owned();
                (Loss::Transport(ErrorKind::ClosedEarly), text)
            }
            _ => {
                let text = "the server closed the connection before the response had ended";
                (Loss::Transport(ErrorKind::ClosedEarly), text.to_owned())
            }
        });
        if lost > 0 && !matches!(end, End::Failed(..)) {
            self.recorder.closed_by_server();
        }
        let stream = slot.connection.close();
        slot.previous = stream.filter(|_| matches!(end, End::Agreed) && !self.peer_closed);
        self.after_end(index, lost, now);
    }

    /// A connection was closed with `lost` requests given up: the next one is opened if it is needed.
    fn after_end(&mut self, index: usize, lost: usize, now: Nanos) {
        self.replenish(index, lost, now);
        let slot = &mut self.slots[index];
        slot.listed = false;
        if !slot.fruitful {
            slot.failures += 1;
        }
        let origin = slot.origin;
        if let Demand::Open { pools, .. } = &mut self.demand {
            pools[origin].wait_first(slot.connection.due.drain(..));
            if slot.fruitful {
                pools[origin].add_closed(index as u32);
                self.summon(origin);
            } else {
                self.rest(index, now);
            }
        } else if slot.fruitful {
            self.pump_or_open(index, now);
        } else {
            slot.stalled = slot.connection.due.len();
            slot.connection.due.clear();
            self.rest(index, now);
        }
    }
}

impl Demand {
    /// `closed` are the slots from index `first` on, which are opened as needed.
    fn new(plan: &Plan, closed: &[Slot], first: u32, worker: usize) -> Self {
        let weights = |origin: Option<usize>| -> Vec<(u32, f64)> {
            let all = (0..).zip(&plan.requests);
            let wanted =
                |request: &crate::plan::Request| origin.is_none_or(|o| o == request.origin);
            all.filter(|(_, r)| wanted(r)).map(|(index, r)| (index, r.weight)).collect()
        };
        match &plan.model {
            Model::Closed { think_time } => {
                let mix = |origin| Mix::new(&weights(Some(origin)), plan.weighted, worker);
                let mixes = (0..plan.origins.len()).map(mix).collect();
                Self::Closed { think_time: *think_time, mixes }
            }
            Model::Open { rate, stages, poisson, max_pending } => {
                let profile = RateProfile::new(*rate, plan.warmup, stages);
                let (index, count) = (worker as u64, plan.threads as u64);
                let pool = |origin: usize| {
                    let slots = (first..).zip(closed).filter(|(_, slot)| slot.origin == origin);
                    Pool::new(slots.map(|(index, _)| index).collect())
                };
                Self::Open {
                    pools: (0..plan.origins.len()).map(pool).collect(),
                    mix: Mix::new(&weights(None), plan.weighted, worker),
                    arrivals: Arrivals::new(profile, *poisson, index, count, plan.seed),
                    start: Nanos::NEVER,
                    next: Nanos::NEVER,
                    max_pending: plan.share(*max_pending, worker).max(1),
                }
            }
        }
    }
}

/// The slots of one worker: each server has at least one, the others are spread by the weights of the
/// servers' requests.
fn slots(plan: &Plan, count: usize) -> Vec<Slot> {
    let servers = plan.origins.len();
    let weight = |request: &crate::plan::Request| if plan.weighted { request.weight } else { 1.0 };
    let mut weights = vec![0.0; servers];
    for request in &plan.requests {
        weights[request.origin] += weight(request);
    }
    let total: f64 = weights.iter().sum();
    let mut credit = vec![0.0; servers];
    (0..count)
        .map(|index| {
            for (credit, weight) in credit.iter_mut().zip(&weights) {
                *credit += weight / total;
            }
            let richest = (0..servers).max_by(|a, b| credit[*a].total_cmp(&credit[*b]));
            let origin = if index < servers { index } else { richest.unwrap_or(0) };
            credit[origin] -= 1.0;
            Slot::new(origin)
        })
        .collect()
}

impl Slot {
    fn new(origin: usize) -> Self {
        Self {
            connection: Connection::default(),
            origin,
            address: 0,
            limit: Nanos::NEVER,
            failures: 0,
            fruitful: false,
            resting: false,
            listed: false,
            setting_up: false,
            stalled: 0,
            previous: None,
        }
    }
}
