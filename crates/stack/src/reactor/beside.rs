//! Turns in which nobody can be told of anything, and what is told afterwards.

use std::io;

use super::Reactor;
use crate::batch::{Batch, Kind};

impl Reactor {
    /// As [`Self::turn`], while the caller is busy: answers what the cache has. Connections of which something is to be told
    /// are parked, with what they have received, until the caller's next turn; so are timers. The descriptor stays readable
    /// then, so that this turn comes. `bytes` are scratch. Gives whether there is more to do at once.
    pub(crate) fn turn_beside(&mut self, bytes: &mut [u8]) -> io::Result<bool> {
        self.push_held();
        self.watch_fresh();
        self.take_events(&mut Batch::silent(bytes))?;
        self.push_held();
        let is_left = [&self.parked, &self.again, &self.removed, &self.refusing];
        if self.timers_changed || is_left.iter().any(|list| !list.is_empty()) {
            self.call_again();
        }
        Ok(!self.again.is_empty())
    }

    /// Nothing goes on with a connection before the caller's next turn.
    pub(super) fn park(&mut self, id: usize) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.parked = true;
        }
        self.list_untold(id);
    }

    /// Something is to be told of a connection. One may be listed several times.
    pub(super) fn list_untold(&mut self, id: usize) {
        if self.parked.last() != Some(&id) {
            self.parked.push(id);
        }
    }

    /// Tells what could not be told, as far as there is room, and lets the connections go on.
    pub(super) fn tell_parked(&mut self, batch: &mut Batch<'_>) {
        // The other half is for what happens in this turn.
        while batch.room() > batch.capacity() / 2
            && let Some(id) = self.parked.pop()
        {
            let Some(connection) = self.connections.get_mut(id) else { continue };
            let untold = std::mem::take(&mut connection.untold);
            connection.parked = false;
            // In range: a handful of servers.
            let server = connection.server as i32;
            if untold.opened {
                batch.push(Kind::Open, id, &[server]);
                if connection.unseen {
                    self.unseen.push(id);
                }
            }
            if untold.drained {
                batch.push(Kind::Drained, id, &[]);
            }
            if untold.answered_last {
                connection.open(id, batch);
                batch.push(Kind::Answered, id, &[]);
            }
            match untold.broken {
                Some(number) => self.tell_closed(id, number, batch),
                None => self.again(id),
            }
        }
    }
}
