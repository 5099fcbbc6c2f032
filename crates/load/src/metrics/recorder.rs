//! Recording of a worker's requests: statistics per window, sent to the collector when the window ends.

use std::time::Duration;

use millrace_net::Nanos;

use crate::flow::ends::{HowEnded, StepEnd, StepEnds};
use crate::metrics::by_name::{NameCounts, NameRecorder, NameStats};
use crate::metrics::in_flight::{Due, InFlight, Loss, NO_USER};
use crate::metrics::kept::{FirstResponses, KeepReason, KeptResponse};
use crate::metrics::slowest::{RequestEnd, SlowRequest, SlowestRequests};
use crate::metrics::unended::Unended;
use crate::metrics::window_stats::{Stall, WindowStats};
use crate::plan::{Plan, Request};
use crate::trace_context::TraceContexts;
use crate::{ErrorKind, StatusSet};

/// Length of a window.
pub(crate) const WINDOW: Duration = Duration::from_millis(100);

/// Maximum number of stalls that a window keeps: more than fit into it.
const MAX_STALLS: usize = 16;

/// How a connection became ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) connect: Duration,
    pub(crate) tls: Duration,
    /// Whether a session of TLS was resumed; `None` without TLS.
    pub(crate) resumed: Option<bool>,
    pub(crate) http2: bool,
}

/// Counts and times what happens to the requests of one worker. A request belongs to the measurement if
/// it was due in it; the others (of the warm-up) are not recorded, whenever they end.
#[derive(Debug)]
pub(crate) struct Recorder {
    stats: Box<WindowStats>,
    measure_from: Nanos,
    /// During the warm-up, events without a request (connections, bytes, idle time) are not recorded.
    warming_up: bool,
    in_flight: u64,
    /// Requests whose first byte waits in a write buffer.
    buffered: u64,
    /// End of the last time in which the worker stood still.
    stalled_until: Nanos,
    /// End of the time over which `in_flight` has been integrated.
    summed_until: Nanos,
    /// Statuses that count as success.
    expected: StatusSet,
    /// Kinds of responses of which the first is still to be kept.
    unseen: FirstResponses,
    names: NameRecorder,
    /// Statuses that count as success by request, where a request has its own.
    expected_of: Vec<StatusSet>,
    /// `None` where requests have no trace contexts.
    slowest: Option<Box<SlowestRequests>>,
    /// Ends of users' requests, for the flows.
    pub(crate) ends: StepEnds,
}

impl Recorder {
    pub(crate) fn new(measure_from: Nanos) -> Self {
        Self {
            stats: Box::default(),
            measure_from,
            warming_up: false,
            in_flight: 0,
            buffered: 0,
            stalled_until: Nanos::default(),
            summed_until: measure_from,
            expected: StatusSet::below_400(),
            unseen: FirstResponses::new(&StatusSet::below_400()),
            names: NameRecorder::default(),
            expected_of: Vec::new(),
            slowest: None,
            ends: StepEnds::default(),
        }
    }

    /// Sets the statuses that count as success, and the names of the requests.
    pub(crate) fn for_plan(self, plan: &Plan) -> Self {
        let unseen = FirstResponses::new(&plan.expected);
        let own = |request: &Request| request.expected.unwrap_or(plan.expected);
        let expected_of = match plan.requests.iter().any(|request| request.expected.is_some()) {
            true => plan.requests.iter().map(own).collect(),
            false => Vec::new(),
        };
        let names = NameRecorder::new(plan);
        let slowest = TraceContexts::of_plan(plan).map(|it| Box::new(SlowestRequests::new(it)));
        Self { expected: plan.expected, unseen, names, expected_of, slowest, ..self }
    }

    /// Returns the statuses that count as success for a request.
    fn expected(&self, request: &InFlight) -> &StatusSet {
        self.expected_of.get(request.request as usize).unwrap_or(&self.expected)
    }

    /// Hands the end of a user's request on to its flow.
    fn end_step(&mut self, user: u32, request: u32, intended: Nanos, how: HowEnded) {
        if user != NO_USER {
            let is_measured = self.is_measured(intended);
            self.ends.push(StepEnd { user, request, is_measured, how });
        }
    }

    /// Sets when the measurement begins.
    pub(crate) fn measure_from(&mut self, at: Nanos) {
        self.measure_from = at;
        self.summed_until = at;
    }

    pub(crate) fn set_warming_up(&mut self, warming_up: bool) {
        self.warming_up = warming_up;
    }

    /// Returns the number of requests in flight, measured or not.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the number of requests in flight or buffered, measured or not.
    pub(crate) fn under_way(&self) -> u64 {
        self.in_flight + self.buffered
    }

    /// Records that `count` more requests are buffered.
    pub(crate) fn add_buffered(&mut self, count: usize) {
        self.buffered += count as u64;
    }

    /// Records that `count` requests are no longer buffered: they are sent, or due again.
    pub(crate) fn remove_buffered(&mut self, count: usize) {
        self.buffered -= count as u64;
    }

    /// Ends the window: returns its statistics and continues with empty ones.
    pub(crate) fn roll(&mut self, now: Nanos, empty: Box<WindowStats>) -> Box<WindowStats> {
        self.sum_area(now);
        std::mem::replace(&mut self.stats, empty)
    }

    /// Integrates `in_flight` up to `now`. Call it before `in_flight` changes.
    fn sum_area(&mut self, now: Nanos) {
        let span = now.0.saturating_sub(self.summed_until.0);
        if span > 0 {
            self.stats.counts.in_flight_area += span * self.in_flight;
            self.summed_until = now;
        }
    }

    /// Records time in which the worker waited for events.
    pub(crate) fn waited(&mut self, from: Nanos, to: Nanos) {
        if !self.warming_up {
            self.stats.counts.idle += to.since(from.max(self.measure_from));
        }
    }

    /// Records that the worker stood still: it did not run, though something was due, or was being done.
    pub(crate) fn stalled(&mut self, from: Nanos, to: Nanos) {
        let from = from.max(self.measure_from);
        if to <= from || self.warming_up {
            return;
        }
        self.stalled_until = to;
        if self.stats.stalls.len() < MAX_STALLS {
            self.stats.stalls.push(Stall { from, to });
        }
    }

    /// Marks a sample that contains time in which the worker stood still. Nothing ends in that time: all that was due
    /// before its end does.
    fn mark_stalled(&mut self, intended: Nanos, now: Nanos) {
        if intended < self.stalled_until {
            let counts = &mut self.stats.counts;
            counts.stalled += 1;
            counts.longest_stalled = counts.longest_stalled.max(now.since(intended));
        }
    }

    /// Returns when the measurement begins.
    pub(crate) fn measured_from(&self) -> Nanos {
        self.measure_from
    }

    pub(crate) fn is_measured(&self, intended: Nanos) -> bool {
        intended >= self.measure_from
    }

    /// Records an arrival of the schedule, which the worker handles now.
    pub(crate) fn offered(&mut self, intended: Nanos, now: Nanos) {
        self.stats.counts.offered += u64::from(self.is_measured(intended));
        self.handled(intended, now);
    }

    /// Records a request of a flow that has become due.
    pub(crate) fn due_in_flow(&mut self, intended: Nanos) {
        self.stats.counts.offered += u64::from(self.is_measured(intended));
    }

    /// Records the delay with which the worker handles a request that became due at `intended`.
    pub(crate) fn handled(&mut self, intended: Nanos, now: Nanos) {
        if self.is_measured(intended) {
            self.stats.lateness.record(now.since(intended));
        }
    }

    pub(crate) fn sent(&mut self, request: &InFlight, reused: bool) {
        self.sum_area(request.sent);
        self.in_flight += 1;
        let counts = &mut self.stats.counts;
        if request.intended >= self.measure_from {
            counts.sent += 1;
            counts.reused += u64::from(reused);
            self.names.sent(request);
        } else {
            counts.warmup += 1;
        }
    }

    /// Records that a redirection of `request` is followed.
    pub(crate) fn followed(&mut self, request: &InFlight) {
        self.stats.counts.followed += u64::from(self.is_measured(request.intended));
    }

    pub(crate) fn bytes_sent(&mut self, count: usize) {
        if !self.warming_up {
            self.stats.counts.bytes_sent += count as u64;
        }
    }

    pub(crate) fn bytes_received(&mut self, count: usize) {
        if !self.warming_up {
            self.stats.counts.bytes_received += count as u64;
        }
    }

    // Once per request: a call of its own costs as much as a part of it.
    #[inline(always)]
    pub(crate) fn completed(&mut self, request: &InFlight, now: Nanos, status: u16) {
        self.sum_area(now);
        self.in_flight -= 1;
        let how = HowEnded::Answered { at: now, status, bytes: 0..0, is_cut: false };
        self.end_step(request.user, request.request, request.intended, how);
        if !self.is_measured(request.intended) {
            self.stats.counts.completed_of_warmup += u64::from(now >= self.measure_from);
            return self.carry_over(now);
        }
        let succeeded = self.expected(request).contains(status);
        let tally = &mut *self.stats;
        tally.counts.ok += u64::from(succeeded);
        tally.counts.status_errors += u64::from(!succeeded);
        tally.counts.count_status(status);
        tally.latency.record(now.since(request.intended));
        tally.service_time.record(now.since(request.sent));
        self.mark_stalled(request.intended, now);
        self.names.completed(request, now, status, succeeded);
        if let Some(slowest) = &mut self.slowest {
            slowest.add(request, now, RequestEnd::Status(status));
        }
    }

    /// Whether the caller should pass the response to `keep`.
    #[inline(always)]
    pub(crate) fn wants(&self, why: KeepReason, request: &InFlight) -> bool {
        let is_failing = self.is_failing(why, request);
        let is_unseen = self.unseen.has(why) && (is_failing || self.expected_of.is_empty());
        (is_unseen || is_failing && self.names.wants(request)) && self.is_measured(request.intended)
    }

    /// Keeps the response to `request`, which consists of these parts: its text, as HTTP/1.1 has it. A session of another
    /// protocol writes its fields so.
    #[cold]
    pub(crate) fn keep(&mut self, why: KeepReason, request: &InFlight, parts: [&[u8]; 2]) {
        let response = KeptResponse::new(why, request, parts);
        if self.is_failing(why, request) {
            self.names.keep(&response, request);
        }
        if self.unseen.remove(why) {
            self.stats.kept.push(response);
        }
    }

    fn is_failing(&self, why: KeepReason, request: &InFlight) -> bool {
        match why {
            KeepReason::Status(status) => !self.expected(request).contains(status),
            KeepReason::Error(_) => true,
        }
    }

    /// Records bytes of a measured request by its name.
    pub(crate) fn bytes_sent_for(&mut self, request: &InFlight, count: usize) {
        if self.is_measured(request.intended) {
            self.names.bytes_sent(request, count);
        }
    }

    /// Records bytes of the response to a measured request by its name.
    pub(crate) fn bytes_received_for(&mut self, request: &InFlight, count: usize) {
        if self.is_measured(request.intended) {
            self.names.bytes_received(request, count);
        }
    }

    /// Returns the numbers by name so far; empty where there is one name only.
    pub(crate) fn counts_by_name(&self) -> Vec<NameCounts> {
        self.names.counts()
    }

    /// Returns the figures by name at the end of the run.
    pub(crate) fn take_names(&mut self) -> Vec<NameStats> {
        self.names.take()
    }

    /// Returns the slowest requests with trace contexts at the end of the run.
    pub(crate) fn take_slowest(&mut self) -> Vec<SlowRequest> {
        self.slowest.as_mut().map(|slowest| slowest.take()).unwrap_or_default()
    }

    pub(crate) fn lost(
        &mut self,
        request: &InFlight,
        now: Nanos,
        loss: Loss,
        example: impl FnOnce() -> String,
    ) {
        self.sum_area(now);
        self.in_flight -= 1;
        self.end_step(request.user, request.request, request.intended, HowEnded::Lost(loss));
        if !self.is_measured(request.intended) {
            return self.carry_over(now);
        }
        let tally = &mut *self.stats;
        match loss {
            Loss::Timeout => {
                tally.counts.timeouts += 1;
                tally.counts.count_error(ErrorKind::Timeout, example);
            }
            Loss::Transport(kind) => {
                tally.counts.transport_errors += 1;
                tally.counts.count_error(kind, example);
            }
            Loss::InFlightAtEnd => tally.counts.in_flight_at_end += 1,
        }
        tally.latency.record_censored(now.since(request.intended));
        tally.service_time.record_censored(now.since(request.sent));
        self.mark_stalled(request.intended, now);
        self.names.lost(request, now, loss);
        if let Some(slowest) = &mut self.slowest {
            slowest.add(request, now, loss.into());
        }
    }

    /// Records a response whose head had arrived with `status`, of which so many bytes had arrived from `first` on, when its
    /// request was lost.
    pub(crate) fn unended(
        &mut self,
        request: &InFlight,
        loss: Loss,
        status: u16,
        (first, bytes): (Nanos, u64),
    ) {
        if !self.is_measured(request.intended) {
            return;
        }
        let (at_end, timed_out) = (loss == Loss::InFlightAtEnd, loss == Loss::Timeout);
        if !at_end && !timed_out {
            return;
        }
        let unended = Unended {
            at_end: u64::from(at_end),
            succeeding: u64::from(at_end && self.expected.contains(status)),
            timed_out: u64::from(timed_out),
            head: first.since(request.sent),
            bytes,
        };
        self.stats.counts.unended += &unended;
        self.names.unended(request, &unended);
    }

    /// Records that the response to a completed request arrived in parts, the first of them at `first`.
    pub(crate) fn came_in_parts(&mut self, request: &InFlight, first: Nanos, now: Nanos) {
        if self.is_measured(request.intended) {
            self.stats.gap.record(now.since(first));
        }
    }

    /// Records the loss of a request whose response had begun to arrive at `first`.
    pub(crate) fn lost_in_parts(&mut self, request: &InFlight, first: Nanos, now: Nanos) {
        if self.is_measured(request.intended) {
            self.stats.gap.record_censored(now.since(first));
        }
    }

    /// Records the end of a request of the warm-up.
    fn carry_over(&mut self, now: Nanos) {
        self.stats.counts.carried_over += now.since(self.measure_from);
    }

    /// Records an arrival that exceeded the maximum number of pending requests.
    pub(crate) fn overflowed(&mut self, due: &Due) {
        if self.is_measured(due.intended) {
            self.stats.counts.overflow += 1;
            self.names.overflowed(due);
        }
    }

    /// Records an arrival that still waits for a connection when the run ends.
    pub(crate) fn queued_at_end(&mut self, due: &Due, now: Nanos) {
        if self.is_measured(due.intended) {
            self.stats.counts.queued_at_end += 1;
            self.stats.latency.record_censored(now.since(due.intended));
            self.mark_stalled(due.intended, now);
            self.names.queued_at_end(due, now);
        }
    }

    /// Records a connection that has become ready.
    pub(crate) fn opened(&mut self, opened: Opened) {
        if self.warming_up {
            return;
        }
        let Opened { connect, tls, resumed, http2 } = opened;
        let tally = &mut *self.stats;
        tally.counts.opened += 1;
        tally.counts.http2 += u64::from(http2);
        tally.connect.record(connect);
        if let Some(resumed) = resumed {
            tally.counts.tls_resumed += u64::from(resumed);
            tally.counts.tls_full += u64::from(!resumed);
            tally.tls.record(tls);
        }
    }

    /// Records that a server has announced the end of a connection by GOAWAY.
    pub(crate) fn go_away(&mut self) {
        self.stats.counts.goaway += u64::from(!self.warming_up);
    }

    /// Records how many streams a server allows on a connection. This is so in the warm-up as well.
    pub(crate) fn max_streams(&mut self, most: Option<u32>) {
        let counts = &mut self.stats.counts;
        counts.max_streams = [counts.max_streams, most].into_iter().flatten().min();
    }

    /// Records that the body of a request has waited for a window of the server. `is_first`: it has not waited before.
    pub(crate) fn window_waited(&mut self, request: &InFlight, time: Duration, is_first: bool) {
        if self.is_measured(request.intended) {
            self.stats.counts.window_waited += u64::from(is_first);
            self.stats.counts.window_wait += time;
        }
    }

    /// Records complete messages of gRPC in a response.
    pub(crate) fn messages(&mut self, request: &InFlight, count: u64) {
        if self.is_measured(request.intended) {
            self.stats.counts.messages += count;
        }
    }

    /// Returns the number of connections that became ready in this window.
    pub(crate) fn opened_so_far(&self) -> u64 {
        self.stats.counts.opened
    }

    /// Records a connection that could not be opened; `unconnected` records the requests that are not sent for this reason.
    pub(crate) fn connect_failed(&mut self, kind: ErrorKind, example: String) {
        if self.warming_up {
            return;
        }
        let counts = &mut self.stats.counts;
        counts.failed += 1;
        counts.count_error(kind, || example);
    }

    /// Records a request that is due and will not be sent, as there is no connection for it.
    pub(crate) fn unconnected(&mut self, due: &Due) {
        self.end_step(due.user, due.request, due.intended, HowEnded::Unconnected);
        if self.is_measured(due.intended) {
            self.stats.counts.connect_failed += 1;
            self.names.connect_failed(due.request, 1);
        }
    }

    /// Records `rest` requests, by index, that would have become due in a run that ends without a connection; `offered`: by
    /// a schedule.
    pub(crate) fn gave_up(&mut self, request: u32, rest: u64, offered: bool) {
        self.stats.counts.connect_failed += rest;
        self.stats.counts.offered += if offered { rest } else { 0 };
        self.names.connect_failed(request, rest);
    }

    /// Records the failure of a connection without requests in flight.
    pub(crate) fn failed_idle(&mut self, kind: ErrorKind, example: &str) {
        if !self.warming_up {
            self.stats.counts.broken += 1;
            self.stats.counts.count_error(kind, || example.to_owned());
        }
    }

    /// Records measured requests that were lost on a connection which had answered before, and ended without a byte of the
    /// response.
    pub(crate) fn unanswered_on_reuse(&mut self, count: u64) {
        self.stats.counts.unanswered_on_reuse += count;
    }

    /// Records that the server ended a connection that was to be kept.
    pub(crate) fn closed_by_server(&mut self) {
        self.stats.counts.closed_by_server += u64::from(!self.warming_up);
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod truth;
