//! The load engine: carries out a plan and returns counts and durations.
//!
//! ```text
//!   Plan ──run──> workers (threads that share nothing)                    Outcome
//!                  ├ engine: connections, timers, load model                 ^
//!                  │    └ connection: bytes out, bytes in                    │
//!                  │       └ session: requests to bytes, bytes to responses  │
//!                  └ recorder: WindowStats per window ──channel──> collector ──┘   Snapshots on the way
//! ```
//!
//! Two clocks per request: *intended* (when it was due) and *sent* (its first byte was written).
//! `latency = done - intended`, `service time = done - sent`. No sample is synthesised or dropped:
//! a request that has not ended is recorded at its age and marked as censored; figures are estimates from both.
//!
//! Nothing here prints, exits or knows Node.js.

#![forbid(unsafe_code)]

mod connection;
pub mod engine;
mod error;
mod flow;
pub mod metrics;
pub mod outcome;
pub mod plan;
mod redirect;
pub mod rendered;
mod session;
pub mod template;
mod trace_context;
mod worker;

use std::sync::{Arc, mpsc};
use std::thread;

use millrace_net::{Clock, Monotonic, cpu};

use engine::start_barrier::StartBarrier;
use engine::{Hooks, RunContext};
use metrics::collector::Collector;
use worker::Worker;

pub use error::{ErrorKind, RunError};
pub use flow::hooks::{HookCall, HookCaller, HookResponse, HookResult, HookResults};
pub use metrics::kept::KeptResponse;
pub use metrics::statuses::StatusSet;
pub use metrics::window_series::{Series, Window, WindowLatency};
pub use outcome::{Outcome, Snapshot, SnapshotPhase, WorkerOutcome};
pub use plan::Plan;

/// Statistics that a worker has in reserve until the collector returns those of its first windows.
const SPARE_STATS: usize = 2;

/// Ends a run early.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<StartBarrier>);

impl Stopper {
    /// Ends the run, which returns the outcome so far.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// A run of a plan.
#[derive(Debug)]
pub struct Run {
    plan: Arc<Plan>,
    clock: Monotonic,
    gate: Arc<StartBarrier>,
    hooks: Option<Hooks>,
    results: HookResults,
}

impl Run {
    /// Creates a run, which [`Run::run`] carries out.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let clock = Monotonic::new();
        let planned = plan.start_after.map(|after| clock.now() + after);
        let gate = Arc::new(StartBarrier::new(plan.threads, planned));
        Self { plan: Arc::new(plan), clock, gate, hooks: None, results: HookResults::default() }
    }

    /// Sets who takes the calls of JavaScript. Returns where their results go.
    pub fn call_hooks(&mut self, caller: Arc<dyn HookCaller>) -> HookResults {
        self.hooks = Some(Hooks(caller));
        self.results.clone()
    }

    /// Returns a handle that ends the run early, from any thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.gate))
    }

    /// Carries the run out on threads of its own, and returns when it is over. `observer` is called with
    /// a snapshot for each window. Blocks, also to resolve names, and lowers the calling thread's priority.
    pub fn run(self, observer: &mut dyn FnMut(Snapshot)) -> Result<Outcome, RunError> {
        let plan = &self.plan;
        let has_hooks = self.hooks.is_some();
        let shared = Arc::new(RunContext::new(Arc::clone(plan), self.hooks)?);
        let clock = self.clock;
        let (sender, messages) = mpsc::channel();
        let mut recycle = Vec::new();
        let mut workers = Vec::new();
        for index in 0..plan.threads {
            let (back, recycled) = mpsc::channel();
            // Made before the clock starts: each takes megabytes.
            for _ in 0..SPARE_STATS {
                let _ = back.send(Box::default());
            }
            recycle.push(back);
            let (shared, gate) = (Arc::clone(&shared), Arc::clone(&self.gate));
            let worker = Worker::new(index, shared, gate, clock, sender.clone(), recycled)?;
            workers.push(worker);
        }
        drop(sender);
        if has_hooks {
            let recipients = workers.iter_mut().map(Worker::receive_results);
            self.results.set(recipients.collect::<Result<_, _>>()?);
        }
        let mut collector = Collector::new(plan, recycle, observer);
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (index, worker) in workers.into_iter().enumerate() {
                let builder = thread::Builder::new().name(format!("millrace-load-{index}"));
                let gate = &self.gate;
                let run = move || {
                    // A worker that fails must not keep the others waiting for it.
                    let run = std::panic::AssertUnwindSafe(|| worker.run());
                    let ended = std::panic::catch_unwind(run);
                    let ended = ended
                        .unwrap_or_else(|_| Err(RunError::Accounting("a worker panicked".into())));
                    ended.inspect_err(|_| gate.stop())
                };
                let thread = builder.spawn_scoped(scope, run).inspect_err(|_| gate.stop())?;
                threads.push(thread);
            }
            // Merging must not make the workers late on a core that they share.
            cpu::lower_priority();
            collector.collect(&messages);
            for thread in threads {
                match thread.join() {
                    Ok(result) => result?,
                    Err(_) => return Err(RunError::Accounting("a worker panicked".into())),
                }
            }
            Ok(())
        })?;
        collector.finish(self.gate.is_stopped(), self.gate.lateness())
    }
}
