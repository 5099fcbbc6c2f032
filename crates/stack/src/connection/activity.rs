//! When something last happened on a connection, and whether it is idle.
//!
//! ```text
//!   Untimed ──> Answering <──> Idle ──> Reported       (a connection begins untimed)
//!      ^            │           │ ^         │
//!      └────────────┴───────────┘ └─────────┘ bytes come or leave
//! ```
//!
//! As with Node, a connection is idle when all that was asked is answered, though the rest of the last request or a part of the
//! next one may be under way: each part that comes puts the keep-alive time off. With HTTP/2 it is idle since its last stream has
//! ended, whatever frames come.

use millrace_net::Nanos;

use super::Connection;
use super::session::H2;
use crate::transport::Transport;

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No keep-alive time holds: nothing has been answered, or what is read is no HTTP any more.
    Untimed,
    /// The caller has requests.
    Answering,
    /// All requests are answered, since then.
    Idle { since: Nanos },
    /// The caller was told that it is idle, and nothing has happened since.
    Reported,
}

/// A connection has become idle: its timer has to be set, unless it is.
#[must_use]
#[derive(Debug)]
pub(crate) struct BecameIdle;

/// The activity of a connection.
#[derive(Debug)]
pub(crate) struct Activity {
    phase: Phase,
    /// When bytes were last found to have come or left; before any have, when the connection came.
    last: Nanos,
    /// Bytes that had come and left by then.
    traffic: u64,
    /// When the keep-alive timer comes; any other is of one that had this connection's number before.
    pub(crate) timer: Nanos,
}

impl Activity {
    pub(super) fn new(now: Nanos) -> Self {
        Self { phase: Phase::Untimed, last: now, traffic: 0, timer: Nanos::NEVER }
    }

    /// When bytes last came or left.
    pub(crate) fn last(&self) -> Nanos {
        self.last
    }

    /// Since when all requests are answered, unless that was reported.
    fn resting_since(&self) -> Option<Nanos> {
        match self.phase {
            Phase::Idle { since } => Some(since),
            Phase::Untimed | Phase::Answering | Phase::Reported => None,
        }
    }

    /// Nothing has happened since the caller was told that it is idle.
    pub(crate) fn is_reported(&self) -> bool {
        matches!(self.phase, Phase::Reported)
    }

    /// The caller is told of a request.
    pub(super) fn on_request(&mut self) {
        self.phase = Phase::Answering;
    }

    /// All requests are answered.
    pub(crate) fn on_answered(&mut self, now: Nanos) -> BecameIdle {
        self.phase = Phase::Idle { since: now };
        BecameIdle
    }

    /// What follows is no HTTP, or another's to answer.
    pub(crate) fn on_upgraded(&mut self) {
        self.phase = Phase::Untimed;
    }

    /// The caller is told that it is idle.
    pub(crate) fn on_reported(&mut self) {
        self.phase = Phase::Reported;
    }

    fn on_progress(&mut self, now: Nanos) -> Option<BecameIdle> {
        self.last = now;
        self.is_reported().then(|| self.on_answered(now))
    }
}

impl Connection {
    /// Notes the time if bytes have come or left since the last call. Whatever reads or writes calls this with its time: a
    /// later call would take earlier bytes for new ones.
    #[must_use]
    pub(crate) fn note_progress(&mut self, now: Nanos) -> Option<BecameIdle> {
        let traffic = self.traffic();
        let before = std::mem::replace(&mut self.activity.traffic, traffic);
        let became_idle = if before == traffic { None } else { self.activity.on_progress(now) };
        match self.session.h2_mut().is_some_and(H2::begins_rest) {
            true => Some(self.activity.on_answered(now)),
            false => became_idle,
        }
    }

    /// Since when it is idle, unless that was reported.
    pub(crate) fn idle_since(&self) -> Option<Nanos> {
        let since = self.activity.resting_since()?;
        // PING and what else a client sends without a stream asks for nothing.
        Some(if self.session.h2().is_some() { since } else { since.max(self.activity.last()) })
    }

    /// Bytes that the system has given and taken: with TLS those of records, so that a handshake and a part of a record count.
    fn traffic(&self) -> u64 {
        match &self.channel.transport {
            Transport::Tls(tls) => tls.traffic(),
            // What waits for a window has not left.
            Transport::Stream(stream) => {
                let channel = &self.channel;
                let waits = stream.unsent() as u64;
                channel.bytes_read.wrapping_add(channel.given).wrapping_sub(waits)
            }
            Transport::Plain(_) | Transport::Forwarded(..) | Transport::Detached => {
                self.channel.bytes_read.wrapping_add(self.channel.given)
            }
        }
    }

    /// What it has to do or waits for is not its peer's next request: it is not idle, whatever was answered.
    pub(crate) fn is_busy(&self) -> bool {
        self.session.waits_for_caller()
            || self.goes_on()
            || self.channel.queued() > 0
            || self.lane.blocked.holds_request()
            || self.session.has_streams()
    }
}
