//! The output caches of the servers: who waits for them, and what they learn.

use std::time::Duration;

use millrace_cache::{Cache, Request, Selection, Then};
use millrace_http::h1::Method;
use millrace_net::{Clock as _, Nanos};

use super::{Reactor, Timer};
use crate::connection::blocked::{Blocked, Change};
use crate::connection::cache::since_origin;
use crate::connection::id::{ConnId, LaneId};
use crate::response_tracker::ResponseTracker;
use crate::server::Server;

/// A request and its response, which did not go through the reactor.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// It came through TLS.
    pub secure: bool,
    /// The request's method. Of those that the stack does not know nothing becomes out of date.
    pub method: &'a str,
    /// The request-target.
    pub target: &'a [u8],
    /// The value of `Host`.
    pub host: &'a [u8],
    /// The status code.
    pub status: u16,
    /// The response's field lines.
    pub fields: &'a [u8],
}

impl Reactor {
    /// The cache of a server.
    #[must_use]
    pub fn cache(&self, server: usize) -> Option<&Cache> {
        self.servers.get(server).map(|server| &server.cache)
    }

    /// The time as caches know it.
    #[must_use]
    pub fn cache_now(&self) -> Duration {
        since_origin(self.clock.now())
    }

    /// The application's word on how long the response to a request is fresh, before its head is sent. `request` counts
    /// from zero the requests that the caller was told of on this connection.
    pub fn cache_for(&mut self, id: usize, request: u32, fresh: Duration) {
        let Some(connection) = self.connections.at_mut(id) else { return };
        if let Some(tracker) = &mut connection.lane.responses {
            let behind = connection.lane.requests.wrapping_sub(request).wrapping_sub(1);
            tracker.set_duration(behind, fresh);
        }
    }

    /// Removes entries of a server's cache; gives how many there were. `None`: all of them.
    pub fn forget(&mut self, server: usize, selection: Option<&Selection<'_>>) -> usize {
        let Some(Server { cache, .. }) = self.servers.get_mut(server) else { return 0 };
        let count = match selection {
            Some(selection) => cache.delete(selection),
            None => cache.clear(),
        };
        self.go_on_woken(server);
        count
    }

    /// If the method of a request that was answered elsewhere is not safe, entries of the server's cache may be out of date.
    pub fn outdate(&mut self, server: usize, exchange: &Exchange<'_>) {
        let Exchange { secure, method, target, host, status, fields } = *exchange;
        let Some(Server { cache, .. }) = self.servers.get_mut(server) else { return };
        let Some(&method) = Method::ALL.iter().find(|known| known.as_str() == method) else {
            return;
        };
        let lines = [b"Host: ", host, b"\r\n"].concat();
        let request = Request {
            secure,
            method,
            target,
            lines: &lines,
            body: false,
            certificate: false,
            authenticated: false,
            server_name: b"",
            waits: 0,
        };
        cache.invalidate(&request, status, fields);
        self.go_on_woken(server);
    }

    /// These bytes leave for a lane.
    pub(super) fn follow(&mut self, lane: LaneId, parts: [&[u8]; 2], now: Nanos) {
        self.with_tracker(lane, now, |tracker, cache, now, _| {
            for bytes in parts {
                tracker.sent(cache, now, bytes);
            }
        });
    }

    /// No more responses are due than are under way.
    pub(super) fn settle_responses(&mut self, lane: LaneId, now: Nanos) {
        self.with_tracker(lane, now, ResponseTracker::settle);
    }

    /// Nothing more is sent for a lane.
    pub(super) fn end_responses(&mut self, lane: LaneId, now: Nanos) {
        self.with_tracker(lane, now, |tracker, cache, now, _| tracker.ended(cache, now));
    }

    /// Tells what has left for a lane to its server's cache: with the time, and how many requests are with the caller.
    fn with_tracker(
        &mut self,
        lane: LaneId,
        now: Nanos,
        action: impl FnOnce(&mut ResponseTracker, &mut Cache, Duration, u32),
    ) {
        let Some(connection) = self.connections.of_mut(lane) else { return };
        let Some(tracker) = &mut connection.lane.responses else { return };
        let Some(server) = self.servers.get_mut(connection.server) else { return };
        let now = since_origin(now);
        action(tracker, &mut server.cache, now, connection.lane.in_flight);
        let server = connection.server;
        self.go_on_woken(server);
        self.watch_flights(server);
    }

    /// A request was answered from the cache.
    pub(super) fn on_answered(&mut self, id: ConnId, now: Nanos) {
        self.rest(id, now);
        if self.connections.get(id).is_some_and(|it| it.channel.is_corked()) {
            self.cork(id, now);
        }
    }

    /// A lane may wait for another's response: not for ever.
    pub(super) fn watch_flight(&mut self, lane: LaneId) {
        if let Some(connection) = self.connections.of(lane)
            && matches!(connection.lane.blocked, Blocked::Fill(_))
        {
            self.watch_flights(connection.server);
        }
    }

    /// Sees to it that a timer comes when the first of a server's waits is over. Some are over sooner than was known before.
    fn watch_flights(&mut self, id: usize) {
        let Some(server) = self.servers.get_mut(id) else { return };
        let Some(deadline) = server.cache.next_deadline() else { return };
        let at = Nanos::default() + deadline;
        if at < server.timed {
            server.timed = at;
            self.timers.push(at, Timer::Flights(id));
            self.timers_changed = true;
        }
    }

    pub(super) fn on_flights(&mut self, id: usize, at: Nanos, now: Nanos) {
        let Some(server) = self.servers.get_mut(id) else { return };
        if server.timed != at {
            // Another one has come before it.
            return;
        }
        server.timed = Nanos::NEVER;
        server.cache.expire(since_origin(now));
        self.watch_flights(id);
        self.go_on_woken(id);
    }

    /// Lets those go on that have waited for what the cache has now, or will not have.
    pub(super) fn go_on_woken(&mut self, server: usize) {
        while let Some(woken) =
            self.servers.get_mut(server).and_then(|server| server.cache.pop_woken())
        {
            let waiter = LaneId::from_bits(woken.waiter);
            let Some(connection) = self.connections.of_mut(waiter) else { continue };
            if !connection.lane.blocked.end_by(Change::Filled) {
                continue;
            }
            match woken.then {
                Then::LookUp => {
                    connection.lane.incoming.waits =
                        connection.lane.incoming.waits.saturating_add(1)
                }
                Then::Go => connection.lane.incoming.passes = true,
            }
            let id = connection.id;
            self.wake(id);
        }
    }
}
