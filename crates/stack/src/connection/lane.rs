//! A lane: one request after the other, each with its response. It is what the caller knows as a connection.
//!
//! A connection has one lane, its own; so has a stream of HTTP/2, which is a connection of HTTP/1.1 here. A lane does not know how
//! bytes come and go: that is the part of the channel and the session.
//!
//! ```text
//!   IncomingRequest: idle ──> began ──> head done ──> told, or answered by the cache ──> idle
//!   responses:       in_flight = told - complete, in the order of the requests
//! ```

use millrace_http::h1::Method;
use millrace_net::Nanos;

use super::blocked::{Blocked, Change};
use super::id::LaneId;
use super::reports::Unreported;
use super::session::Next;
use crate::batch::{Batch, Event};
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
    pub(crate) id: LaneId,
    pub(crate) incoming: IncomingRequest,
    pub(crate) blocked: Blocked,
    /// Of a stream: the lane of the connection whose session has it.
    pub(crate) session: Option<LaneId>,
    /// The caller wants no more bytes of bodies for now.
    pub(crate) paused: bool,
    /// The caller has not been told of it: its first request may be another's.
    pub(crate) unopened: bool,
    pub(crate) unreported: Unreported,
    /// Where in its last batch the bytes end that were told.
    pub(crate) delivered_end: usize,
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
    pub(super) fn new(id: LaneId, now: Nanos) -> Self {
        Self {
            id,
            incoming: IncomingRequest {
                began: now,
                head_done: false,
                arriving_since: Nanos::NEVER,
                arrived: 0,
                declines_upgrade: false,
                waits: 0,
                passes: false,
            },
            blocked: Blocked::No,
            session: None,
            paused: false,
            unopened: false,
            unreported: Unreported::default(),
            delivered_end: 0,
            closes: false,
            requests: 0,
            in_flight: 0,
            asked_at: Nanos::NEVER,
            untouched: false,
            timed_out: false,
            responses: None,
        }
    }

    /// It is not read for now, if this comes next.
    pub(super) fn holds(&self, next: Next) -> bool {
        self.blocked.holds(next, self.paused)
    }

    /// The caller wants no more bytes of bodies for now, or wants them again.
    pub(crate) fn pause(&mut self, paused: bool, now: Nanos) {
        if self.paused && !paused {
            self.count_arriving(now);
        }
        self.paused = paused;
    }

    /// No more heads are read while as many requests as may be are with the caller. Another block may have taken the place
    /// of this one.
    pub(super) fn limit_pipeline(&mut self, max_pipelined: u32) {
        if self.blocked == Blocked::No && self.in_flight >= max_pipelined {
            self.blocked = Blocked::Pipeline;
        }
    }

    /// Something has to be reported before it is read on.
    pub(crate) fn block_for_report(&mut self) {
        self.blocked.wait_for_report();
    }

    /// Tells the caller of it, if it does not know it.
    pub(crate) fn open(&mut self, server: usize, batch: &mut Batch<'_>) {
        // A handshake's limit may come before what was accepted untold is reported.
        let untold = std::mem::take(&mut self.unreported.opened);
        if std::mem::take(&mut self.unopened) || untold {
            batch.push(self.id, Event::Open { server, session: self.session });
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
    fn count_arriving(&mut self, now: Nanos) {
        let IncomingRequest { arriving_since, arrived, .. } = &mut self.incoming;
        if *arriving_since != Nanos::NEVER {
            (*arriving_since, *arrived) = (now, 0);
        }
    }

    /// The caller is told of a request. The cache wants so much of the response.
    pub(super) fn on_told(
        &mut self,
        method: Method,
        keep_alive: bool,
        action: CacheAction,
        now: Nanos,
    ) {
        if let Some(tracker) = &mut self.responses {
            tracker.expect(method, action);
        }
        self.requests = self.requests.wrapping_add(1);
        if self.in_flight == 0 {
            (self.asked_at, self.untouched) = (now, true);
        }
        self.in_flight += 1;
        self.on_disposed(keep_alive);
    }

    /// It is known what becomes of a request; the connection stays behind it if it is to be kept alive.
    pub(super) fn on_disposed(&mut self, keep_alive: bool) {
        self.incoming.declines_upgrade = false;
        self.closes = !keep_alive;
    }

    /// No request follows the last one.
    pub(crate) fn is_last(&self) -> bool {
        self.closes
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
