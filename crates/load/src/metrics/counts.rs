//! Everything that is counted.

use std::ops::AddAssign;
use std::time::Duration;

use crate::ErrorKind;
use crate::metrics::statuses::STATUSES;
use crate::metrics::unended::Unended;

const KINDS: usize = ErrorKind::ALL.len();

/// Numbers of one worker in one window, or of all workers in the whole run.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Requests whose first byte was sent.
    pub sent: u64,
    /// Requests that were due before the measurement: the warm-up's. Nothing else counts them.
    pub warmup: u64,
    /// Of those sent, on a connection that had carried a request before.
    pub reused: u64,
    /// Redirections that were followed: requests beyond those sent.
    pub followed: u64,
    /// Responses with a status of a success.
    pub ok: u64,
    /// Responses with another status.
    pub status_errors: u64,
    /// Sent, and failed before the response had ended.
    pub transport_errors: u64,
    /// Sent, and not answered within the limit.
    pub timeouts: u64,
    /// Sent, and neither answered nor failed when the run ended.
    pub in_flight_at_end: u64,
    /// Responses that had begun and not ended.
    pub unended: Unended,
    /// Arrivals over the bound.
    pub overflow: u64,
    /// Arrivals that waited for a connection when the run ended.
    pub queued_at_end: u64,
    /// Requests that were due on a connection that could not be opened, and those of a run that was given
    /// up for that.
    pub connect_failed: u64,
    /// Arrivals that became due, sent or not; those of a run that was given up would have.
    pub offered: u64,
    /// Connections that became ready.
    pub opened: u64,
    /// Of these, connections that speak HTTP/2.
    pub http2: u64,
    /// Connections on which the server sent GOAWAY.
    pub goaway: u64,
    /// The smallest SETTINGS_MAX_CONCURRENT_STREAMS of a server; `None`: none has a limit.
    pub max_streams: Option<u32>,
    /// Requests whose bodies waited for a window of the server, to their end.
    pub window_waited: u64,
    /// Time in which they waited.
    pub window_wait: Duration,
    /// Messages of gRPC in responses.
    pub messages: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Connections that failed while no request was under way on them.
    pub broken: u64,
    /// Full handshakes.
    pub tls_full: u64,
    /// Resumed handshakes.
    pub tls_resumed: u64,
    /// Connections that were to be kept and that the server ended.
    pub closed_by_server: u64,
    /// Of the transport errors, those of connections that had answered before, and ended without a byte of the response.
    pub unanswered_on_reuse: u64,
    /// Samples that contain time in which the worker stood still.
    pub stalled: u64,
    /// The longest latency among them.
    pub longest_stalled: Duration,
    /// Bytes of HTTP, before encryption.
    pub bytes_sent: u64,
    /// Bytes of HTTP, after decryption.
    pub bytes_received: u64,
    /// Responses by status.
    statuses: Statuses,
    errors: [u64; KINDS],
    examples: [Option<Box<str>>; KINDS],
    /// Time in which the worker waited for events.
    pub idle: Duration,
    /// Responses that came in the measurement to requests of the warm-up.
    pub completed_of_warmup: u64,
    /// Time that requests of the warm-up were still under way in the measurement.
    pub carried_over: Duration,
    /// Requests in flight, summed over time: nanoseconds times requests. 2^64 of them are a million in
    /// flight for five hours.
    pub in_flight_area: u64,
}

/// Responses by status, which is the index.
#[derive(Clone, Copy, Debug)]
struct Statuses([u64; STATUSES]);

impl Default for Statuses {
    fn default() -> Self {
        Self([0; STATUSES])
    }
}

impl Counts {
    /// Counts a response's status, which is below 1000.
    pub(crate) fn count_status(&mut self, status: u16) {
        if let Some(count) = self.statuses.0.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    /// Counts an error; the first text of each kind is kept as an example.
    pub(crate) fn count_error(&mut self, kind: ErrorKind, example: impl FnOnce() -> String) {
        self.errors[kind as usize] += 1;
        self.examples[kind as usize].get_or_insert_with(|| example().into());
    }

    /// Statuses that occurred, with their numbers.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        (0..).zip(self.statuses.0).filter(|(_, count)| *count > 0)
    }

    /// Kinds of errors that occurred, with number and example.
    pub fn errors(&self) -> impl Iterator<Item = (ErrorKind, u64, Option<&str>)> + '_ {
        ErrorKind::ALL
            .into_iter()
            .map(|kind| (kind, self.errors[kind as usize], self.examples[kind as usize].as_deref()))
            .filter(|(_, count, _)| *count > 0)
    }

    /// Responses to requests of the measurement, whatever their status.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.ok + self.status_errors
    }

    /// Responses that came within the measurement, also to requests of the warm-up: what throughput is made of. Those to
    /// its last requests come after its end, those to the warm-up's last ones in their stead.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.completed() + self.completed_of_warmup
    }

    /// Status errors, transport errors and timeouts.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.status_errors + self.transport_errors + self.timeouts
    }

    /// How requests that were sent have ended or not.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.completed() + self.transport_errors + self.timeouts + self.in_flight_at_end
    }
}

impl AddAssign<&Self> for Counts {
    fn add_assign(&mut self, other: &Self) {
        let Self {
            sent,
            warmup,
            reused,
            followed,
            ok,
            status_errors,
            transport_errors,
            timeouts,
            in_flight_at_end,
            unended,
            overflow,
            queued_at_end,
            connect_failed,
            offered,
            opened,
            http2,
            goaway,
            max_streams,
            window_waited,
            window_wait,
            messages,
            failed,
            broken,
            tls_full,
            tls_resumed,
            closed_by_server,
            unanswered_on_reuse,
            stalled,
            longest_stalled,
            bytes_sent,
            bytes_received,
            statuses,
            errors,
            examples,
            idle,
            completed_of_warmup,
            carried_over,
            in_flight_area,
        } = other;
        self.sent += sent;
        self.warmup += warmup;
        self.reused += reused;
        self.followed += followed;
        self.ok += ok;
        self.status_errors += status_errors;
        self.transport_errors += transport_errors;
        self.timeouts += timeouts;
        self.in_flight_at_end += in_flight_at_end;
        self.unended += unended;
        self.overflow += overflow;
        self.queued_at_end += queued_at_end;
        self.connect_failed += connect_failed;
        self.offered += offered;
        self.opened += opened;
        self.http2 += http2;
        self.goaway += goaway;
        self.max_streams = [self.max_streams, *max_streams].into_iter().flatten().min();
        self.window_waited += window_waited;
        self.window_wait += *window_wait;
        self.messages += messages;
        self.failed += failed;
        self.broken += broken;
        self.tls_full += tls_full;
        self.tls_resumed += tls_resumed;
        self.closed_by_server += closed_by_server;
        self.unanswered_on_reuse += unanswered_on_reuse;
        self.stalled += stalled;
        self.longest_stalled = self.longest_stalled.max(*longest_stalled);
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        for (sum, count) in self.statuses.0.iter_mut().zip(statuses.0) {
            *sum += count;
        }
        for (sum, count) in self.errors.iter_mut().zip(errors) {
            *sum += count;
        }
        for (kept, example) in self.examples.iter_mut().zip(examples) {
            if kept.is_none() {
                kept.clone_from(example);
            }
        }
        self.idle += *idle;
        self.completed_of_warmup += completed_of_warmup;
        self.carried_over += *carried_over;
        self.in_flight_area += in_flight_area;
    }
}
