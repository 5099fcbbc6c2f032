//! Brings the workers' windows together: totals, series, snapshots, and at last the outcome.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use millrace_net::Nanos;

use crate::metrics::by_name::{NameCounts, NameStats, add_up};
use crate::metrics::counts::Counts;
use crate::metrics::flow_stats::{FlowStats, IterationCounts, ScenarioStats};
use crate::metrics::recorder::WINDOW;
use crate::metrics::slowest::merge_slowest;
use crate::metrics::window_series::WindowSeries;
use crate::metrics::window_stats::{Stall, WindowStats};
use crate::outcome::{Outcome, Snapshot, SnapshotPhase, WorkerOutcome};
use crate::plan::{Bound, Model, Plan};
use crate::worker::{Message, Phase, WorkerReport};
use crate::{ErrorKind, RunError};

/// What is gathered while workers run.
pub(crate) struct Collector<'a> {
    plan: &'a Plan,
    /// Where tallies go back to, by worker.
    recycle: Vec<Sender<Box<WindowStats>>>,
    observer: &'a mut dyn FnMut(Snapshot),
    phase: Phase,
    /// Set-up, and then the measurement.
    total: WindowStats,
    series: WindowSeries,
    warmup_windows: u32,
    in_flight: Vec<u64>,
    /// The newest numbers by name, by worker.
    names: Vec<Vec<NameCounts>>,
    /// The newest numbers of iterations, by worker.
    iterations: Vec<IterationCounts>,
    per_worker: Vec<(u64, Duration)>,
    done: Vec<WorkerReport>,
    set_up_turns: u32,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        recycle: Vec<Sender<Box<WindowStats>>>,
        observer: &'a mut dyn FnMut(Snapshot),
    ) -> Self {
        let workers = recycle.len();
        Self {
            plan,
            recycle,
            observer,
            phase: Phase::SetUp,
            total: WindowStats::default(),
            series: WindowSeries::new(workers, plan.window_latencies),
            warmup_windows: 0,
            in_flight: vec![0; workers],
            names: vec![Vec::new(); workers],
            iterations: vec![IterationCounts::default(); workers],
            per_worker: vec![(0, Duration::ZERO); workers],
            done: Vec::new(),
            set_up_turns: 0,
        }
    }

    /// Takes messages until all workers have gone.
    pub(crate) fn collect(&mut self, messages: &Receiver<Message>) {
        loop {
            match messages.recv_timeout(WINDOW) {
                Ok(Message::Window {
                    worker,
                    phase,
                    index,
                    next,
                    in_flight,
                    tally,
                    names,
                    iterations,
                }) => {
                    self.in_flight[worker] = in_flight;
                    self.names[worker] = names;
                    self.iterations[worker] = iterations;
                    self.add_window(worker, phase, (index, next), tally);
                }
                Ok(Message::Done(done)) => {
                    self.series.finished(done.worker);
                    self.done.push(*done);
                }
                Err(RecvTimeoutError::Timeout) if self.phase == Phase::SetUp => {
                    self.set_up_turns += 1;
                    self.report(SnapshotPhase::SetUp, WINDOW * self.set_up_turns);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The last snapshot is of the whole measurement.
                    if self.phase == Phase::Measure {
                        self.report(SnapshotPhase::Measure, WINDOW * self.series.count() as u32);
                    }
                    return;
                }
            }
        }
    }

    fn add_window(
        &mut self,
        worker: usize,
        phase: Phase,
        (index, next): (u64, u64),
        mut tally: Box<WindowStats>,
    ) {
        match phase {
            Phase::SetUp => self.total += &*tally,
            Phase::Warmup => {
                self.phase = Phase::Warmup;
                // The turn that crosses the boundary has sent requests of the measurement already.
                self.per_worker[worker].0 += tally.counts.sent;
                self.total += &*tally;
                self.series.add(worker, 0, 0, &tally);
                if worker == 0 {
                    self.warmup_windows = index as u32 + 1;
                    self.report(SnapshotPhase::Warmup, WINDOW * self.warmup_windows);
                }
            }
            Phase::Measure => {
                self.phase = Phase::Measure;
                let (requests, idle) = &mut self.per_worker[worker];
                *requests += tally.counts.sent;
                *idle += tally.counts.idle;
                self.total += &*tally;
                let before = self.series.count();
                self.series.add(worker, index, next, &tally);
                let windows = self.series.count();
                if windows > before {
                    self.report(SnapshotPhase::Measure, WINDOW * windows as u32);
                }
            }
        }
        tally.clear();
        // A worker that is done takes none back.
        let _ = self.recycle[worker].send(tally);
    }

    fn report(&mut self, phase: SnapshotPhase, elapsed: Duration) {
        let recent = self.series.recent();
        let completed: u64 = recent.iter().sum();
        let seconds = (WINDOW * recent.len() as u32).as_secs_f64();
        let [p50, p99] = self
            .total
            .latency
            .quantiles([0.5, 0.99])
            .map_or([None; 2], |quantiles| quantiles.map(Some));
        let above = self.plan.bounds.iter().map(|bound| self.above(bound)).collect();
        (self.observer)(Snapshot {
            phase,
            elapsed,
            completed: match phase {
                SnapshotPhase::Warmup => self.total.counts.warmup,
                _ => self.total.counts.completed(),
            },
            errors: self.total.counts.failures(),
            timeouts: self.total.counts.timeouts,
            sent: self.total.counts.sent,
            connect_failed: self.total.counts.connect_failed,
            above,
            in_flight: self.in_flight.iter().sum(),
            throughput: if seconds > 0.0 { completed as f64 / seconds } else { 0.0 },
            p50,
            p99,
            latency_sum: self.total.latency.total(),
            names: self.names.iter().cloned().reduce(add_up).unwrap_or_default(),
            iterations: self.plan.flows.is_some().then(|| {
                let mut sum = IterationCounts::default();
                self.iterations.iter().for_each(|counts| sum += counts);
                sum
            }),
        });
    }

    fn above(&self, bound: &Bound) -> u64 {
        let times = if bound.service_time { &self.total.service_time } else { &self.total.latency };
        times.above(bound.time)
    }

    /// What it all came to.
    pub(crate) fn finish(
        mut self,
        interrupted: bool,
        start_lateness: Duration,
    ) -> Result<Outcome, RunError> {
        let measured = self.done.iter().filter_map(|done| done.measured);
        let from = measured.clone().map(|(from, _)| from).min();
        let Some(from) = from else { return Err(self.unreachable()) };
        let to = measured.map(|(_, to)| to).max().unwrap_or(from);
        let duration = to.since(from);
        self.check()?;
        let counts = &self.total.counts;
        let seconds = duration.as_secs_f64();
        let share = |span: Duration| if seconds > 0.0 { span.as_secs_f64() / seconds } else { 0.0 };
        self.done.sort_by_key(|done| done.worker);
        let workers = self.done.iter().map(|done| {
            let (requests, idle) = self.per_worker[done.worker];
            // A worker whose requests are done before the others' is not busy in the rest of the time.
            let span = done.measured.map_or(Duration::ZERO, |(from, to)| to.since(from));
            let busy = share(span.saturating_sub(idle)).min(1.0);
            let starved = done.starved.map(|time| share(time).min(1.0));
            WorkerOutcome { busy, starved, requests }
        });
        let workers = workers.collect();
        let names = self.done.iter_mut().map(|done| std::mem::take(&mut done.names));
        let names = names.reduce(add_up).unwrap_or_default();
        self.check_names(&names)?;
        let flows = self.done.iter_mut().map(|done| std::mem::take(&mut done.flows));
        let flows = flows.reduce(|mut sum, flows| {
            sum += &flows;
            sum
        });
        let flows = flows.filter(|_| self.plan.flows.is_some());
        check_iterations(flows.as_ref())?;
        let used: BTreeSet<&String> = self.done.iter().flat_map(|done| &done.used).collect();
        let ruled_out = self.done.iter().flat_map(|done| &done.ruled_out);
        let ruled_out = ruled_out.filter(|address| !used.contains(address));
        let ruled_out: BTreeSet<&String> = ruled_out.collect();
        let slowest = merge_slowest(self.done.iter().flat_map(|done| done.slowest.iter().copied()));
        let mean_in_flight =
            if seconds > 0.0 { counts.in_flight_area as f64 / 1e9 / seconds } else { 0.0 };
        let little_residual = self.little_residual(seconds);
        Ok(Outcome {
            duration,
            start_lateness,
            set_up: self.done.iter().map(|done| done.set_up).max().unwrap_or_default(),
            warmup_requests: self.total.counts.warmup,
            interrupted,
            series: self.series.finish(duration),
            workers,
            little_residual,
            mean_in_flight,
            stalls: merge_stalls(&mut self.total.stalls, from),
            addresses: used.into_iter().cloned().collect(),
            ruled_out: ruled_out.into_iter().cloned().collect(),
            total: self.total,
            slowest,
            names,
            flows,
        })
    }

    /// The requests by name add up to all.
    fn check_names(&self, names: &[NameStats]) -> Result<(), RunError> {
        let sum = |number: fn(&NameCounts) -> u64| {
            names.iter().map(|stats| number(&stats.counts)).sum::<u64>()
        };
        let total = &self.total.counts;
        let all =
            [total.sent, total.sent, total.overflow, total.queued_at_end, total.connect_failed];
        let by_name = [
            sum(|counts| counts.sent),
            sum(NameCounts::ended),
            sum(|counts| counts.overflow),
            sum(|counts| counts.queued_at_end),
            sum(|counts| counts.connect_failed),
        ];
        if names.is_empty() || by_name == all {
            return Ok(());
        }
        Err(RunError::Accounting(format!(
            "sent, ended and three kinds of not sent {all:?}, by name {by_name:?}"
        )))
    }

    /// The requests add up.
    fn check(&self) -> Result<(), RunError> {
        let WindowStats { counts, latency, service_time, .. } = &self.total;
        let wrong = if !self.total.adds_up() {
            let (sent, ended) = (counts.sent, counts.ended());
            let (timed, latencies) = (service_time.count(), latency.count());
            format!("sent {sent}, ended {ended}, timed {timed} and {latencies}")
        } else if (matches!(self.plan.model, Model::Open { .. }) || self.plan.flows.is_some())
            && !self.total.schedule_adds_up()
        {
            let Counts { offered, sent, overflow, queued_at_end, connect_failed, .. } = counts;
            format!(
                "due {offered}, sent {sent}, not sent {overflow}, {queued_at_end} and {connect_failed}"
            )
        } else {
            return Ok(());
        };
        Err(RunError::Accounting(wrong))
    }

    /// Little's law, N = X·R, where N is given beforehand: in a closed run at full speed, whose slots
    /// have their next request when the last one ended. X·R is the sum of all latencies over time, those
    /// of the warm-up's last requests included as far as they lie in the measurement.
    fn little_residual(&self, seconds: f64) -> Option<f64> {
        let flat_out =
            matches!(&self.plan.model, Model::Closed { think_time } if think_time.is_zero());
        let varies = !self.plan.connection_stages.is_empty() || self.plan.flows.is_some();
        if !flat_out || varies || self.plan.max_requests.is_some() || seconds == 0.0 {
            return None;
        }
        let population = (self.plan.connections * self.plan.pipelining) as f64;
        let under_way = self.total.latency.total() + self.total.counts.carried_over;
        let measured = under_way.as_secs_f64() / seconds;
        Some((population - measured).abs() / population)
    }

    /// No worker has opened a connection: the failure that was seen most says why.
    fn unreachable(&self) -> RunError {
        let worst = self.total.counts.errors().max_by_key(|(_, count, _)| *count);
        let (kind, message) = match worst {
            Some((kind, _, example)) => {
                (kind, format!("cannot connect to {}", example.unwrap_or(kind.name())))
            }
            None => (ErrorKind::Other, "no connection could be opened".to_owned()),
        };
        RunError::Unreachable { kind, message }
    }
}

/// The iterations add up.
fn check_iterations(flows: Option<&FlowStats>) -> Result<(), RunError> {
    for ScenarioStats { counts, duration, .. } in flows.iter().flat_map(|flows| &flows.scenarios) {
        let IterationCounts { started, completed, failed, in_progress, .. } = *counts;
        let timed = duration.count();
        if started != completed + failed + in_progress || started != timed {
            return Err(RunError::Accounting(format!(
                "iterations: started {started}, completed {completed}, failed {failed}, in progress {in_progress}, \
                 timed {timed}"
            )));
        }
    }
    Ok(())
}

/// Joins the times in which workers stood still; what stops the process stops them all.
fn merge_stalls(stalls: &mut [Stall], start: Nanos) -> Vec<(Duration, Duration)> {
    stalls.sort_by_key(|stall| stall.from);
    let mut joined: Vec<Stall> = Vec::new();
    for stall in stalls {
        match joined.last_mut() {
            Some(last) if stall.from <= last.to => last.to = last.to.max(stall.to),
            _ => joined.push(*stall),
        }
    }
    joined.iter().map(|stall| (stall.from.since(start), stall.to.since(stall.from))).collect()
}
