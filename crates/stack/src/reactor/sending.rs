//! What connections send, and when a response is complete.

use std::io;

use millrace_net::{Clock as _, Nanos};

use super::{Reactor, Timer};
use crate::connection::Connection;
use crate::connection::id::{ConnId, LaneId};
use crate::connection::work::Work;
use crate::server::Server;

impl Reactor {
    /// Sends bytes of responses, of which `done` end with them; `last`: the connection's last bytes, behind which our
    /// side ends. Gives the bytes that have not left yet.
    pub fn send(&mut self, id: usize, bytes: &[u8], done: u32, last: bool) -> io::Result<usize> {
        self.send_by(id, [bytes, &[]], done, |connection| {
            if let Some(routing) = &mut connection.routing {
                routing.final_bytes_sent |= last;
            }
            connection.lane.untouched &= bytes.is_empty();
            Ok(!bytes.is_empty() && connection.channel.send(bytes, last)?)
        })
    }

    /// The same for bytes in two places, which leave together.
    pub fn send_two(
        &mut self,
        id: usize,
        first: &[u8],
        second: &[u8],
        done: u32,
    ) -> io::Result<usize> {
        self.send_by(id, [first, second], done, |connection| {
            connection.lane.untouched = false;
            connection.channel.send_two(first, second)?;
            Ok(false)
        })
    }

    /// Sends by `send`, which reports whether the connection is corked, and follows the bytes in the response tracker.
    /// Bytes for a request that has timed out are dropped.
    #[inline]
    fn send_by(
        &mut self,
        id: usize,
        bytes: [&[u8]; 2],
        done: u32,
        send: impl FnOnce(&mut Connection) -> io::Result<bool>,
    ) -> io::Result<usize> {
        let now = self.clock.now();
        let connection = self.own(id)?;
        let (id, lane) = (connection.id, connection.lane.id);
        if connection.lane.timed_out {
            self.complete(lane, done, now);
            return Ok(0);
        }
        let is_stream = connection.lane.session.is_some();
        let corked = match is_stream && self.respond_at_once(id, bytes, now) {
            true => Ok(false),
            false => self.connections.get_mut(id).map_or(Ok(false), send),
        };
        if is_stream {
            self.settle_stream(id, now);
        }
        let queued = self.connections.get(id).map_or(0, |it| it.channel.queued());
        self.note_progress(id, now);
        let corked = corked?;
        self.follow(lane, bytes, now);
        if done > 0 {
            self.complete(lane, done, now);
        }
        if corked {
            self.cork(id, now);
        }
        Ok(queued)
    }

    /// Bytes of a connection that have not left.
    #[must_use]
    pub fn queued(&self, id: usize) -> usize {
        let connection = self.connections.at(id).filter(|connection| !connection.is_moved());
        connection.map_or(0, |connection| connection.channel.queued())
    }

    /// A connection, unless it is another's by now.
    pub(super) fn own(&mut self, id: usize) -> io::Result<&mut Connection> {
        let connection = self.connections.at_mut(id).filter(|connection| !connection.is_moved());
        connection.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// `done` responses of a connection are complete.
    pub fn finish(&mut self, id: usize, done: u32) {
        let now = self.clock.now();
        if let Some(connection) = self.connections.at(id) {
            self.complete(connection.lane.id, done, now);
        }
    }

    fn complete(&mut self, lane: LaneId, done: u32, now: Nanos) {
        let Some(connection) = self.connections.of_mut(lane) else { return };
        let id = connection.id;
        let Some(Server { settings, in_flight, .. }) = self.servers.get_mut(connection.server)
        else {
            return;
        };
        let (done, change) = connection.lane.complete(done, settings.max_pipelined);
        *in_flight = in_flight.saturating_sub(done);
        let goes_on = connection.lane.blocked.end_by(change);
        self.settle_responses(lane, now);
        self.rest(id, now);
        let Some(connection) = self.connections.get_mut(id) else { return };
        if goes_on && connection.can_go_on() {
            self.wake(id);
        }
    }

    /// If all requests of a connection are answered, it is idle from now on.
    pub(super) fn rest(&mut self, id: ConnId, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.lane.in_flight == 0 {
            let became_idle = connection.activity.on_answered(now);
            self.watch_idle(id, became_idle, now);
        }
    }

    /// The last bytes of a connection wait for its end: until the end of the turn, or a moment.
    pub(super) fn cork(&mut self, id: ConnId, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        self.settling.push(connection, Work::UNCORK);
        // A timer that is due leads to a turn, whatever it is for.
        if !self.in_turn && self.timers.next() > now {
            self.timers.push(now, Timer::Uncork);
            self.timers_changed = true;
        }
    }
}
