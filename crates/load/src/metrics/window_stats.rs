//! Counts and durations of a window. Each worker has its own; results are merged with `+=`.

use std::ops::AddAssign;

use crate::metrics::counts::Counts;
use crate::metrics::duration_histogram::DurationHistogram;
use crate::metrics::kept::KeptResponse;

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
        let Self { counts, latency, service_time, gap, connect, tls, lateness, kept } = self;
        *counts = Counts::default();
        kept.clear();
        for times in [latency, service_time, gap, connect, tls, lateness] {
            times.clear();
        }
    }
}

impl AddAssign<&Self> for WindowStats {
    fn add_assign(&mut self, other: &Self) {
        let Self { counts, latency, service_time, gap, connect, tls, lateness, kept } = other;
        self.counts += counts;
        self.latency += latency;
        self.service_time += service_time;
        self.gap += gap;
        self.connect += connect;
        self.tls += tls;
        self.lateness += lateness;
        for response in kept {
            if !self.kept.iter().any(|known| known.why == response.why) {
                self.kept.push(response.clone());
            }
        }
    }
}
