//! What a server asks about all of its connections.
//!
//! Each answer takes a look at all connections, which nothing does that belongs to a turn. For late ones the caller asks as
//! seldom as Node does (every 30 s, unless an application wants it otherwise), for slow ones once a second where it has set a
//! rate, for idle ones when it closes them.

use std::time::Duration;

use millrace_net::{Clock, Nanos};

use super::Reactor;
use crate::connection::Connection;
use crate::connection::blocked::Blocked;
use crate::connection::rates::Unacknowledged;

/// A rate is judged after this much time.
const RATE_GRACE: Duration = Duration::from_secs(5);

impl Reactor {
    /// Connections of a server whose request has taken too long to arrive; the caller knows of all of these from now on.
    #[must_use]
    pub fn late(
        &mut self,
        server: usize,
        head: Option<Duration>,
        whole: Option<Duration>,
    ) -> Vec<usize> {
        let now = self.clock.now();
        let over = |since: Nanos, limit: Option<Duration>| {
            since != Nanos::NEVER && limit.is_some_and(|limit| now.since(since) > limit)
        };
        let late = |connection: &Connection| {
            // What goes on in the next turn may have waited for another's response until now, and what is to be reported
            // then for the caller.
            !connection.session.is_handshaking()
                && !connection.session.is_tunnel()
                && connection.lane.blocked != Blocked::Closed
                && !connection.goes_on()
                && !connection.lane.blocked.holds_request()
                && (!connection.lane.incoming.head_done
                    && over(connection.lane.incoming.began, head)
                    || over(connection.lane.incoming.began, whole))
        };
        let all = self.connections.iter_mut().filter(|it| it.server == server);
        let mut ids = Vec::new();
        for connection in all.filter(|connection| late(connection)) {
            connection.lane.unopened = false;
            ids.push(connection.lane.id.number());
        }
        ids
    }

    /// Connections of a server that send, or take, fewer bytes per second than they have to; zero: no limit.
    pub fn slow(
        &mut self,
        server: usize,
        receive: f64,
        send: f64,
        unacknowledged: Unacknowledged,
    ) -> (Vec<usize>, Vec<usize>) {
        let now = self.clock.now();
        let (mut receiving, mut sending) = (Vec::new(), Vec::new());
        for connection in self.connections.iter_mut().filter(|it| it.server == server) {
            if connection.receives_slowly(receive, RATE_GRACE, now) {
                receiving.push(connection.lane.id.number());
            }
            if connection.channel.sends_slowly(send, RATE_GRACE, now, unacknowledged) {
                sending.push(connection.lane.id.number());
            }
        }
        (receiving, sending)
    }

    /// Connections of a server of which nothing was read but what was told; Node calls them idle. With the requests that
    /// were told, of which the caller may not have heard yet. `unused`: those that have sent nothing yet among them, as Node
    /// does since version 26.
    pub fn idle(&self, server: usize, unused: bool) -> impl Iterator<Item = (usize, u32)> {
        let idle = move |it: &Connection| match it.session.h2() {
            Some(h2) => !h2.has_streams(),
            None if it.channel.transport.stream().is_some() => false,
            None => it.has_told_all() || unused && it.is_unused(),
        };
        let all = self.connections.iter().filter(move |it| it.server == server);
        all.filter(move |connection| idle(connection))
            .map(|it| (it.lane.id.number(), it.lane.requests))
    }
}
