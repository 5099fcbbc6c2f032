//! Counts and durations of a window. Each worker has its own; results are merged with `+=`.

use std::ops::AddAssign;

use millrace_net::Nanos;

use crate::metrics::counts::Counts;
use crate::metrics::duration_histogram::DurationHistogram;
use crate::metrics::kept::KeptResponse;

/// Time in which a worker stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When the worker was to run.
    pub from: Nanos,
    /// When it ran again.
    pub to: Nanos,
}

/// Maximum number of stalls of a run that are kept; a run of days on a machine that has no time for it has more.
const MAX_STALLS: usize = 1000;

/// Counts and durations of one worker in one window, or of all workers in the whole run.
#[derive(Clone, Debug, Default)]
pub struct WindowStats {
    /// Numbers.
    pub counts: Counts,
    /// Done minus intended.
    pub latency: DurationHistogram,
    /// Done minus sent.
    pub service_time: DurationHistogram,
    /// First byte of a response to its last, of responses that did not come in one read.
    pub gap: DurationHistogram,
    /// Start of a connect to its end.
    pub connect: DurationHistogram,
    /// End of the connect to the end of the handshake.
    pub tls: DurationHistogram,
    /// The generator's own attempt to send minus intended.
    pub lateness: DurationHistogram,
    /// Times in which the worker stood still, or the workers.
    pub stalls: Vec<Stall>,
    /// Responses for the report, one of each kind.
    pub kept: Vec<KeptResponse>,
}

impl WindowStats {
    /// Whether every sent request has one end and one duration.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let Self { counts, latency, service_time, .. } = self;
        counts.sent == counts.ended()
            && service_time.count() == counts.sent
            && latency.count() == counts.sent + counts.queued_at_end
    }

    /// Whether every arrival of a schedule was sent, or not sent for one counted reason.
    #[must_use]
    pub fn schedule_adds_up(&self) -> bool {
        let Counts { offered, sent, overflow, queued_at_end, connect_failed, .. } = self.counts;
        offered == sent + overflow + queued_at_end + connect_failed
    }

    /// Clears all values; keeps the memory.
    pub(crate) fn clear(&mut self) {
        let Self { counts, latency, service_time, gap, connect, tls, lateness, stalls, kept } =
            self;
        *counts = Counts::default();
        stalls.clear();
        kept.clear();
        for times in [latency, service_time, gap, connect, tls, lateness] {
            times.clear();
        }
    }
}

impl AddAssign<&Self> for WindowStats {
    fn add_assign(&mut self, other: &Self) {
        let Self { counts, latency, service_time, gap, connect, tls, lateness, stalls, kept } =
            other;
        self.counts += counts;
        self.latency += latency;
        self.service_time += service_time;
        self.gap += gap;
        self.connect += connect;
        self.tls += tls;
        self.lateness += lateness;
        let room = MAX_STALLS.saturating_sub(self.stalls.len());
        self.stalls.extend(stalls.iter().take(room));
        for response in kept {
            if !self.kept.iter().any(|known| known.why == response.why) {
                self.kept.push(response.clone());
            }
        }
    }
}
