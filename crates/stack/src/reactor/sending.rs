//! What connections send, and when a response is complete.

use std::io;

use millrace_net::{Clock as _, Nanos};

use super::{Reactor, Timer};

impl Reactor {
    /// Sends bytes of responses, of which `done` end with them; `last`: the connection's last bytes, behind which our
    /// side ends. Gives the bytes that have not left yet.
    pub fn send(&mut self, id: usize, bytes: &[u8], done: u32, last: bool) -> io::Result<usize> {
        let Some(connection) = self.connections.get_mut(id) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let held = !bytes.is_empty() && connection.send(bytes, last)?;
        let queued = connection.queued();
        if done > 0 {
            self.finish(id, done);
        }
        if held {
            self.hold(id);
        }
        Ok(queued)
    }

    /// The same for bytes in two places, which leave together.
    pub fn send_two(
        &mut self,
        id: usize,
        first: &[u8],
        second: &[u8],
        done: u32,
    ) -> io::Result<usize> {
        let Some(connection) = self.connections.get_mut(id) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        connection.send_two(first, second)?;
        let queued = connection.queued();
        if done > 0 {
            self.finish(id, done);
        }
        Ok(queued)
    }

    /// `done` responses of a connection are complete.
    pub fn finish(&mut self, id: usize, done: u32) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(settings) = self.servers.get(connection.server) else { return };
        connection.in_flight = connection.in_flight.saturating_sub(done);
        if connection.is_idle() {
            // The last turn may be long ago.
            connection.idle_since = self.clock.now();
            if connection.idle_timer == Nanos::NEVER
                && let Some(limit) = settings.keep_alive
            {
                connection.idle_timer = connection.idle_since + limit;
                self.timers.push(connection.idle_timer, Timer::Idle(id));
                self.timers_changed = true;
            }
        }
        let goes_on = connection.full && connection.in_flight <= settings.max_pipelined / 2;
        if goes_on {
            connection.full = false;
        }
        if goes_on && connection.can_go_on() {
            self.wake(id);
        }
    }

    /// Sends what waits for an end that has not come.
    pub(super) fn push_held(&mut self) {
        while let Some(id) = self.held.pop() {
            if let Some(connection) = self.connections.get_mut(id) {
                let no_delay = self.servers.get(connection.server).is_none_or(|s| s.no_delay);
                connection.push(no_delay);
            }
        }
    }

    /// The last bytes of a connection wait for its end: until the end of the turn, or a moment.
    fn hold(&mut self, id: usize) {
        self.held.push(id);
        if !self.in_turn && self.held.len() == 1 {
            self.timers.push(self.now, Timer::Held);
            self.timers_changed = true;
        }
    }
}
