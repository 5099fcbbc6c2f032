//! A lane: one request after the other, each with its response. It is what the caller knows as a connection.
//!
//! With HTTP/1 a connection is one lane. It does not know how bytes come and go: that is the connection's part, so that a
//! stream of another version of HTTP can be a lane as well.
//!
//! ```text
//!   IncomingRequest: idle ──> began ──> head done ──> told, or answered by the cache ──> idle
//!   responses:       in_flight = told - complete, in the order of the requests
//! ```

use millrace_http::h1::{HeadParser, ReceivedHead};
use millrace_net::Nanos;

use super::state::Change;
use crate::response_tracker::{CacheAction, ResponseTracker};

/// The request that is being received, or the next one.
#[derive(Debug)]
pub(crate) struct IncomingRequest {
    /// Since when its time limits count: its first byte; of a connection's first request, when the connection came.
    /// [`Nanos::NEVER`]: it has not come.
    pub(crate) began: Nanos,
    /// Its head is complete.
    pub(crate) head_done: bool,
    /// Since when its rate counts: its first byte, or when the caller wanted more of it. [`Nanos::NEVER`]: no byte has come. With
    /// the bytes that have arrived since.
    pub(super) arriving_since: Nanos,
    pub(super) arrived: u64,
    /// The caller takes its upgrade for an ordinary request.
    pub(super) declines_upgrade: bool,
    /// How often it has waited for the cache.
    pub(crate) waits: u8,
    /// It is told, whatever the cache has.
    pub(crate) passes: bool,
}

#[derive(Debug)]
pub(crate) struct Lane {
    pub(super) parser: HeadParser,
    pub(crate) incoming: IncomingRequest,
    /// The last request that was told, or answered, is the last one.
    pub(super) closes: bool,
    /// Requests that were told, and those of them whose response is not complete.
    pub(crate) requests: u32,
    pub(crate) in_flight: u32,
    /// Since when there are any, and whether nothing was sent since.
    asked_at: Nanos,
    pub(crate) untouched: bool,
    /// The first of them was given up while the caller was busy; nothing more is sent.
    pub(crate) timed_out: bool,
    /// The responses to what was told, as the cache sees them.
    pub(crate) responses: Option<Box<ResponseTracker>>,
}

impl Lane {
    /// One whose first request may have begun at `now`.
    pub(super) fn new(now: Nanos) -> Self {
        Self {
            parser: HeadParser::default(),
            incoming: IncomingRequest {
                began: now,
                head_done: false,
                arriving_since: Nanos::NEVER,
                arrived: 0,
                declines_upgrade: false,
                waits: 0,
                passes: false,
            },
            closes: false,
            requests: 0,
            in_flight: 0,
            asked_at: Nanos::NEVER,
            untouched: false,
            timed_out: false,
            responses: None,
        }
    }

    /// Since when the caller has a request of which nothing was answered; [`Nanos::NEVER`]: it has none.
    pub(crate) fn unanswered_since(&self) -> Nanos {
        let waits = self.in_flight > 0 && self.untouched && !self.timed_out;
        if waits { self.asked_at } else { Nanos::NEVER }
    }

    /// So many bytes of the next request have come.
    pub(super) fn begin(&mut self, now: Nanos, bytes: usize) {
        let IncomingRequest { began, arriving_since, arrived, .. } = &mut self.incoming;
        if *began == Nanos::NEVER {
            *began = now;
        }
        (*arriving_since, *arrived) = (now, bytes as u64);
    }

    /// From now on it counts how fast the rest of the request arrives, if it has begun.
    pub(super) fn count_arriving(&mut self, now: Nanos) {
        let IncomingRequest { arriving_since, arrived, .. } = &mut self.incoming;
        if *arriving_since != Nanos::NEVER {
            (*arriving_since, *arrived) = (now, 0);
        }
    }

    /// The caller is told of a request. The cache wants so much of the response.
    pub(super) fn on_told(&mut self, head: &ReceivedHead, action: CacheAction, now: Nanos) {
        if let Some(tracker) = &mut self.responses {
            tracker.expect(head.method, action);
        }
        self.requests = self.requests.wrapping_add(1);
        if self.in_flight == 0 {
            (self.asked_at, self.untouched) = (now, true);
        }
        self.in_flight += 1;
        self.on_disposed(head.keep_alive);
    }

    /// It is known what becomes of a request; the connection stays behind it if it is to be kept alive.
    pub(super) fn on_disposed(&mut self, keep_alive: bool) {
        self.incoming.declines_upgrade = false;
        self.closes = !keep_alive;
    }

    /// The request is complete.
    pub(super) fn await_next(&mut self) {
        self.incoming.began = Nanos::NEVER;
        self.incoming.arriving_since = Nanos::NEVER;
        self.incoming.head_done = false;
    }

    /// So many responses are complete, at most all. Gives how many were, and what that changes.
    pub(crate) fn complete(&mut self, done: u32, max_pipelined: u32) -> (u32, Change) {
        let done = done.min(self.in_flight);
        self.in_flight -= done;
        (done, Change::Answered { left: self.in_flight, most: max_pipelined })
    }
}
