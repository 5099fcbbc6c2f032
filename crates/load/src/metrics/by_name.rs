//! Figures by request name. They are summed up over the whole run by each worker, not by windows, as the histograms of
//! 200 names would have to be sent and merged ten times a second.

use std::ops::AddAssign;
use std::time::Duration;

use millrace_net::Nanos;

use crate::ErrorKind;
use crate::metrics::bounds::{OrderedBounds, PlacedSamples};
use crate::metrics::in_flight::{Due, InFlight, Loss};
use crate::metrics::kept::KeptResponse;
use crate::metrics::sparse_durations::SparseDurations;
use crate::metrics::unended::Unended;
use crate::plan::Plan;

/// The figures of the measured requests with one name.
#[derive(Clone, Debug, Default)]
pub struct NameStats {
    /// Numbers.
    pub counts: NameCounts,
    /// For `above` of the numbers.
    placed: PlacedSamples,
    /// Responses that had begun and not ended.
    pub unended: Unended,
    /// Done minus intended.
    pub latency: SparseDurations,
    /// Done minus sent.
    pub service_time: SparseDurations,
    /// The first response that was no success, or was broken off.
    pub failing: Option<KeptResponse>,
}

/// The numbers among them, which snapshots have, too.
#[derive(Clone, Debug, Default)]
pub struct NameCounts {
    /// Requests whose first byte was sent.
    pub sent: u64,
    /// Responses that were a success.
    pub ok: u64,
    /// Other responses.
    pub status_errors: u64,
    /// Failed before the response had ended.
    pub transport_errors: u64,
    /// Not answered within the limit.
    pub timeouts: u64,
    /// Neither answered nor failed when the run ended.
    pub in_flight_at_end: u64,
    /// Due and not sent: arrivals over the bound.
    pub overflow: u64,
    /// Due and not sent: arrivals that waited for a connection when the run ended.
    pub queued_at_end: u64,
    /// Due and not sent, as no connection could be opened.
    pub connect_failed: u64,
    /// Bytes of the requests.
    pub bytes_sent: u64,
    /// Bytes of the responses.
    pub bytes_received: u64,
    /// Sum of the latencies of all that ended before the run.
    pub latency: Duration,
    /// Responses by status, ascending.
    pub statuses: Vec<(u16, u64)>,
    errors: [u64; ErrorKind::ALL.len()],
    /// Those of them that are above each of the plan's bounds; empty at the end of the run.
    pub above: Vec<u64>,
}

impl NameCounts {
    /// How requests that were sent have ended or not.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ok + self.status_errors + self.transport_errors + self.timeouts + self.in_flight_at_end
    }

    /// Kinds of errors that occurred, with their numbers.
    pub fn errors(&self) -> impl Iterator<Item = (ErrorKind, u64)> + '_ {
        ErrorKind::ALL
            .into_iter()
            .map(|kind| (kind, self.errors[kind as usize]))
            .filter(|(_, count)| *count > 0)
    }

    fn count_status(&mut self, status: u16, count: u64) {
        match self.statuses.binary_search_by_key(&status, |(known, _)| *known) {
            Ok(at) => self.statuses[at].1 += count,
            Err(at) => self.statuses.insert(at, (status, count)),
        }
    }
}

impl AddAssign<&Self> for NameCounts {
    fn add_assign(&mut self, other: &Self) {
        let Self {
            sent,
            ok,
            status_errors,
            transport_errors,
            timeouts,
            in_flight_at_end,
            overflow,
            queued_at_end,
            connect_failed,
            bytes_sent,
            bytes_received,
            latency,
            statuses,
            errors,
            above,
        } = other;
        self.sent += sent;
        self.ok += ok;
        self.status_errors += status_errors;
        self.transport_errors += transport_errors;
        self.timeouts += timeouts;
        self.in_flight_at_end += in_flight_at_end;
        self.overflow += overflow;
        self.queued_at_end += queued_at_end;
        self.connect_failed += connect_failed;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        self.latency += *latency;
        for (status, count) in statuses {
            self.count_status(*status, *count);
        }
        for (sum, count) in self.errors.iter_mut().zip(errors) {
            *sum += count;
        }
        self.above.resize(above.len(), 0);
        for (sum, count) in self.above.iter_mut().zip(above) {
            *sum += count;
        }
    }
}

impl AddAssign<&Self> for NameStats {
    fn add_assign(&mut self, other: &Self) {
        // Samples are placed by one worker, for its snapshots.
        let Self { counts, placed: _, unended, latency, service_time, failing } = other;
        self.counts += counts;
        self.unended += unended;
        self.latency += latency;
        self.service_time += service_time;
        if self.failing.is_none() {
            self.failing.clone_from(failing);
        }
    }
}

/// Records the measured requests of one worker by name. Where there is one name only it records nothing, unless snapshots
/// are to have numbers by name: the totals tell all at the end.
#[derive(Debug, Default)]
pub(crate) struct NameRecorder {
    /// The name of each request of the mix, by index.
    of_request: Vec<u32>,
    stats: Vec<NameStats>,
    bounds: OrderedBounds,
}

impl NameRecorder {
    pub(crate) fn new(plan: &Plan) -> Self {
        if plan.names < 2 && !plan.snapshots_by_name {
            return Self::default();
        }
        let bounds = OrderedBounds::new(&plan.bounds);
        let placed = bounds.room();
        Self {
            of_request: plan.requests.iter().map(|request| request.name).collect(),
            stats: vec![NameStats { placed, ..NameStats::default() }; plan.names],
            bounds,
        }
    }

    /// The figures of the name of a request, which is given by its index in the mix.
    fn of(&mut self, request: u32) -> Option<&mut NameStats> {
        let name = *self.of_request.get(request as usize)?;
        self.stats.get_mut(name as usize)
    }

    pub(crate) fn sent(&mut self, request: &InFlight) {
        if let Some(stats) = self.of(request.request) {
            stats.counts.sent += 1;
        }
    }

    pub(crate) fn bytes_sent(&mut self, request: &InFlight, count: usize) {
        if let Some(stats) = self.of(request.request) {
            stats.counts.bytes_sent += count as u64;
        }
    }

    pub(crate) fn bytes_received(&mut self, request: &InFlight, count: usize) {
        if let Some(stats) = self.of(request.request) {
            stats.counts.bytes_received += count as u64;
        }
    }

    pub(crate) fn completed(
        &mut self,
        request: &InFlight,
        now: Nanos,
        status: u16,
        succeeded: bool,
    ) {
        let Some(stats) = self.of(request.request) else { return };
        stats.counts.ok += u64::from(succeeded);
        stats.counts.status_errors += u64::from(!succeeded);
        stats.counts.count_status(status, 1);
        stats.latency.record(now.since(request.intended));
        stats.service_time.record(now.since(request.sent));
        self.ended(request, now);
    }

    pub(crate) fn lost(&mut self, request: &InFlight, now: Nanos, loss: Loss) {
        let Some(stats) = self.of(request.request) else { return };
        match loss {
            Loss::Timeout => {
                stats.counts.timeouts += 1;
                stats.counts.errors[ErrorKind::Timeout as usize] += 1;
            }
            Loss::Transport(kind) => {
                stats.counts.transport_errors += 1;
                stats.counts.errors[kind as usize] += 1;
            }
            Loss::InFlightAtEnd => stats.counts.in_flight_at_end += 1,
        }
        stats.latency.record_censored(now.since(request.intended));
        stats.service_time.record_censored(now.since(request.sent));
        if loss != Loss::InFlightAtEnd {
            self.ended(request, now);
        }
    }

    pub(crate) fn unended(&mut self, request: &InFlight, unended: &Unended) {
        if let Some(stats) = self.of(request.request) {
            stats.unended += unended;
        }
    }

    fn ended(&mut self, request: &InFlight, now: Nanos) {
        let Self { of_request, stats, bounds } = self;
        let name = of_request[request.request as usize] as usize;
        let NameStats { counts, placed, .. } = &mut stats[name];
        let latency = now.since(request.intended);
        counts.latency += latency;
        bounds.record(placed, latency, now.since(request.sent));
    }

    /// Records an arrival over the bound.
    pub(crate) fn overflowed(&mut self, due: &Due) {
        if let Some(stats) = self.of(due.request) {
            stats.counts.overflow += 1;
        }
    }

    /// Records an arrival that waits at the end, at its age.
    pub(crate) fn queued_at_end(&mut self, due: &Due, now: Nanos) {
        let Some(stats) = self.of(due.request) else { return };
        stats.counts.queued_at_end += 1;
        stats.latency.record_censored(now.since(due.intended));
    }

    /// Records `count` requests that had no connection.
    pub(crate) fn connect_failed(&mut self, request: u32, count: u64) {
        if let Some(stats) = self.of(request) {
            stats.counts.connect_failed += count;
        }
    }

    /// Whether the caller should pass the response to `keep`: it is the first with this name that is no success.
    pub(crate) fn wants(&self, request: &InFlight) -> bool {
        let name = self.of_request.get(request.request as usize);
        name.is_some_and(|name| self.stats[*name as usize].failing.is_none())
    }

    /// Keeps the response if it is the first.
    #[cold]
    pub(crate) fn keep(&mut self, response: &KeptResponse, request: &InFlight) {
        if let Some(stats) = self.of(request.request) {
            stats.failing.get_or_insert_with(|| response.clone());
        }
    }

    /// Returns the numbers so far, by name; empty where there is one name only.
    pub(crate) fn counts(&self) -> Vec<NameCounts> {
        let counts = |stats: &NameStats| {
            let above = self.bounds.above(&stats.placed);
            NameCounts { above, ..stats.counts.clone() }
        };
        self.stats.iter().map(counts).collect()
    }

    /// Returns all figures at the end of the run.
    pub(crate) fn take(&mut self) -> Vec<NameStats> {
        std::mem::take(&mut self.stats)
    }
}

/// Adds up the workers' figures by name.
pub(crate) fn add_up<T: for<'a> AddAssign<&'a T>>(mut sum: Vec<T>, others: Vec<T>) -> Vec<T> {
    if sum.is_empty() {
        return others;
    }
    for (sum, other) in sum.iter_mut().zip(&others) {
        *sum += other;
    }
    sum
}
