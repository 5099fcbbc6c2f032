//! One thread of the engine: its loop, and the phases of a run.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use millrace_net::cpu::RunQueue;
use millrace_net::{Clock, Monotonic, Nanos, Poller, Wake, cpu};

use mio::{Token, Waker};

use crate::RunError;
use crate::engine::start_barrier::{Signal, StartBarrier};
use crate::engine::target_server::AddressHealth;
use crate::engine::{Engine, RunContext};
use crate::flow::hooks::Recipient;
use crate::metrics::by_name::{NameCounts, NameStats};
use crate::metrics::flow_stats::{FlowStats, IterationCounts};
use crate::metrics::recorder::WINDOW;
use crate::metrics::slowest::SlowRequest;
use crate::metrics::window_stats::WindowStats;

/// Maximum number of events per wait.
const BATCH: usize = 512;

/// Interval at which the loop wakes during set-up and at the start barrier.
const SET_UP_TURN: Duration = Duration::from_millis(1);

/// Minimum time for which a worker that should run does not, and counts as standing still. A scheduler's turns are shorter.
const MIN_STALL: Duration = Duration::from_millis(50);

/// A message of a worker to the collector.
#[derive(Debug)]
pub(crate) enum Message {
    /// A window has ended.
    Window {
        worker: usize,
        phase: Phase,
        /// Number of the window in its phase.
        index: u64,
        /// Minimum number of the next window that this worker will report.
        next: u64,
        /// Requests in flight at its end.
        in_flight: u64,
        tally: Box<WindowStats>,
        /// Numbers of the run so far by name, if snapshots are to have them.
        names: Vec<NameCounts>,
        /// Iterations of the run so far.
        iterations: IterationCounts,
    },
    /// The worker has ended.
    Done(Box<WorkerReport>),
}

/// The phase of a run that a window belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    SetUp,
    Warmup,
    Measure,
}

/// A worker's final report.
#[derive(Debug)]
pub(crate) struct WorkerReport {
    pub(crate) worker: usize,
    /// When the measurement began and ended; `None` if it never began.
    pub(crate) measured: Option<(Nanos, Nanos)>,
    /// The first connections began to be opened, and the load began.
    pub(crate) set_up: Duration,
    /// Time in which the thread was runnable but had no CPU core.
    pub(crate) starved: Option<Duration>,
    /// Addresses that were used, and those that were ruled out.
    pub(crate) used: Vec<String>,
    pub(crate) ruled_out: Vec<String>,
    /// Figures by name.
    pub(crate) names: Vec<NameStats>,
    /// The slowest requests with trace contexts.
    pub(crate) slowest: Vec<SlowRequest>,
    /// Figures of flows.
    pub(crate) flows: FlowStats,
}

/// A worker, before it runs.
#[derive(Debug)]
pub(crate) struct Worker {
    index: usize,
    shared: Arc<RunContext>,
    gate: Arc<StartBarrier>,
    clock: Monotonic,
    poller: Poller,
    engine: Engine,
    sender: Sender<Message>,
    /// Statistics that the collector returns for reuse.
    recycled: Receiver<Box<WindowStats>>,
    phase: Phase,
    run_queue: RunQueue,
    /// Time on a core up to the beginning of the present window.
    used_before: Option<Duration>,
    /// Number of the present window in its phase, and its end.
    window: u64,
    window_end: Nanos,
}

impl Worker {
    pub(crate) fn new(
        index: usize,
        shared: Arc<RunContext>,
        gate: Arc<StartBarrier>,
        clock: Monotonic,
        sender: Sender<Message>,
        recycled: Receiver<Box<WindowStats>>,
    ) -> Result<Self, RunError> {
        let poller = Poller::new(BATCH)?;
        let registry = poller.registry().try_clone()?;
        let engine = Engine::new(Arc::clone(&shared), index, registry, clock)?;
        Ok(Self {
            index,
            shared,
            gate,
            clock,
            poller,
            engine,
            sender,
            recycled,
            phase: Phase::SetUp,
            run_queue: RunQueue::default(),
            used_before: None,
            window: 0,
            window_end: Nanos::NEVER,
        })
    }

    /// Opens the way for results of JavaScript's calls.
    pub(crate) fn receive_results(&mut self) -> Result<Recipient, RunError> {
        /// Neither a slot nor the poller's timer has it.
        const TOKEN: Token = Token(usize::MAX - 1);
        let (sender, results) = mpsc::channel();
        self.engine.results = Some(results);
        Ok(Recipient { sender, waker: Waker::new(self.poller.registry(), TOKEN)? })
    }

    /// Runs from set-up to the end.
    pub(crate) fn run(mut self) -> Result<(), RunError> {
        // All that the run needs is made ready before its clock starts.
        self.run_queue = RunQueue::of_this_thread();
        self.engine.warm_up();
        let started = self.clock.now();
        let mut done = WorkerReport {
            worker: self.index,
            measured: None,
            set_up: Duration::ZERO,
            starved: None,
            used: Vec::new(),
            ruled_out: Vec::new(),
            names: Vec::new(),
            slowest: Vec::new(),
            flows: FlowStats::default(),
        };
        if let Signal::Start(start) = self.set_up()? {
            done.set_up = start.since(started);
            self.load(start, &mut done)?;
        }
        self.roll(self.clock.now());
        done.used = self.addresses(|standing| standing == AddressHealth::Works);
        done.ruled_out = self.addresses(|standing| standing == AddressHealth::Failed);
        done.names = self.engine.recorder.take_names();
        done.slowest = self.engine.recorder.take_slowest();
        done.flows = self.engine.take_flows();
        // The collector has gone only if another worker failed.
        let _ = self.sender.send(Message::Done(Box::new(done)));
        Ok(())
    }

    fn addresses(&self, wanted: impl Fn(AddressHealth) -> bool) -> Vec<String> {
        let standings = self.engine.servers().iter().flat_map(|server| server.addresses());
        let wanted = standings.filter(|(_, standing)| wanted(*standing));
        wanted.map(|(address, _)| address.to_string()).collect()
    }

    /// Opens the first connections, and waits until all workers are ready. The start is still to come, if the thread has a core.
    fn set_up(&mut self) -> Result<Signal, RunError> {
        let mut arrived = false;
        let mut now = self.clock.now();
        loop {
            if self.engine.set_up(now) && !arrived {
                arrived = true;
                self.gate.wait(self.engine.opened_in_set_up(), now);
            }
            if self.gate.is_stopped() {
                return Ok(Signal::Start(now));
            }
            match self.gate.signal(now) {
                Signal::Wait => {}
                signal => return Ok(signal),
            }
            let wake = Wake { precise: Nanos::NEVER, coarse: now + SET_UP_TURN };
            now = self.turn(now, wake)?;
        }
    }

    /// Runs the load from its start, which may be still to come, to the end of the measurement.
    fn load(&mut self, start: Nanos, done: &mut WorkerReport) -> Result<(), RunError> {
        let plan = &self.shared.plan;
        let measure_from = start + plan.warmup;
        let end = plan.duration.map_or(Nanos::NEVER, |duration| measure_from + duration);
        let warm = !plan.warmup.is_zero();
        self.enter(if warm { Phase::Warmup } else { Phase::Measure }, start);
        self.engine.recorder.measure_from(measure_from);
        if !self.gate.is_stopped() {
            self.engine.start(start, end);
        }
        let mut waited_before = self.run_queue.waited();
        let mut now = self.clock.now();
        loop {
            if self.phase == Phase::Warmup && now >= measure_from {
                self.enter(Phase::Measure, measure_from);
                waited_before = self.run_queue.waited();
            }
            if now >= end || self.gate.is_stopped() || self.engine.is_over() {
                break;
            }
            if now >= self.window_end {
                self.roll(now);
            }
            let Wake { precise, coarse } = self.engine.wake();
            let boundary = if self.phase == Phase::Warmup { measure_from } else { end };
            let coarse = coarse.min(self.window_end).min(boundary);
            now = self.turn(now, Wake { precise, coarse })?;
        }
        // What became due while this thread had no core was due all the same.
        self.engine.on_arrivals();
        // The last turn may have overrun the end a little: it belongs to the measurement.
        let end = now.max(measure_from);
        self.engine.finish(end);
        done.measured = Some((measure_from, end));
        done.starved =
            self.run_queue.waited().zip(waited_before).map(|(after, before)| after - before);
        Ok(())
    }

    /// Waits for events and handles them.
    fn turn(&mut self, before: Nanos, wake: Wake) -> Result<Nanos, RunError> {
        let now = self.poller.wait(&self.clock, before, wake)?;
        let at_latest = wake.precise.min(wake.coarse);
        // Where it was time already the events are fetched, not waited for.
        if at_latest > before {
            self.engine.recorder.waited(before, now);
        }
        self.check_stall(at_latest.max(before), now, false);
        if now >= self.window_end {
            self.roll(now);
        }
        let mut next_arrival = self.engine.next_arrival();
        for event in self.poller.events() {
            if next_arrival != Nanos::NEVER {
                // A long batch of events must not make the schedule late.
                self.engine.on_arrivals();
                next_arrival = self.engine.next_arrival();
            }
            self.engine.on_event(event);
        }
        // After the events: a response that has come in time is no timeout, however late this thread is.
        self.engine.on_timers(self.clock.now());
        self.engine.on_arrivals();
        self.engine.continue_starting();
        self.engine.exchange_calls();
        let after = self.clock.now();
        self.check_stall(now, after, true);
        Ok(after)
    }

    /// Records that the worker stood still, if it did: between these times it should have run, or has done something, which
    /// takes as long if it is much.
    fn check_stall(&mut self, from: Nanos, to: Nanos, has_worked: bool) {
        let span = to.since(from);
        if span < MIN_STALL {
            return;
        }
        let used = || cpu::thread_time().zip(self.used_before).map(|(now, before)| now - before);
        if !has_worked || used().is_some_and(|used| used < span / 2) {
            self.engine.recorder.stalled(from, to);
        }
    }

    fn enter(&mut self, phase: Phase, at: Nanos) {
        self.roll(at);
        self.engine.recorder.set_warming_up(phase == Phase::Warmup);
        self.phase = phase;
        self.window = 0;
        self.window_end = at + WINDOW;
    }

    /// Sends the statistics of the window to the collector.
    fn roll(&mut self, now: Nanos) {
        let empty = self.recycled.try_recv().unwrap_or_default();
        let tally = self.engine.recorder.roll(now, empty);
        self.used_before = cpu::thread_time();
        let index = self.window;
        while self.window_end <= now {
            self.window_end = self.window_end + WINDOW;
            self.window += 1;
        }
        let in_flight = self.engine.recorder.in_flight();
        let (worker, phase) = (self.index, self.phase);
        let next = self.window;
        let by_name = self.shared.plan.snapshots_by_name;
        let names = if by_name { self.engine.recorder.counts_by_name() } else { Vec::new() };
        let iterations = self.engine.iterations();
        let window =
            Message::Window { worker, phase, index, next, in_flight, tally, names, iterations };
        // As above.
        let _ = self.sender.send(window);
    }
}

#[cfg(test)]
mod tests;
