//! What the simulation sees of a reactor, and turns beside its caller.

use std::io;

use super::{Reactor, SETTLING};
use crate::connection::blocked::Blocked;
use crate::connection::channel::WriteState;
use crate::connection::work::Work;

/// What a reactor holds.
#[derive(Debug)]
pub struct Observed {
    /// Its connections.
    pub connections: Vec<ObservedConnection>,
    /// Connections that are over for their caller.
    pub lingering: usize,
    /// Servers and listeners.
    pub servers: usize,
    /// See `servers`.
    pub listeners: usize,
    /// Requests that are with the caller, as the servers count them.
    pub in_flight: u32,
    /// Timers, cancelled ones included.
    pub timers: usize,
}

/// What keeps a connection from reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in `connection/blocked.rs`")]
pub enum Waits {
    No,
    Admission,
    Pipeline,
    Turn,
    Room,
    Fill,
    Owner,
    Report,
    Closed,
}

/// One connection.
#[derive(Debug)]
pub struct ObservedConnection {
    /// The caller's number for it.
    pub id: usize,
    /// The caller does not know it.
    pub unopened: bool,
    /// What keeps it from reading.
    pub waits: Waits,
    /// Bytes that were read and not taken, and memory for them.
    pub kept: usize,
    /// See `kept`.
    pub memory: usize,
    /// Bytes that wait to be sent.
    pub queued: usize,
    /// Requests that are with the caller.
    pub in_flight: u32,
    /// Its last bytes wait for the end of the turn.
    pub corked: bool,
    /// Its end waits for bytes that were not taken.
    pub ending: bool,
    /// It has work that no event announces.
    pub has_work: bool,
    /// It is idle, which was not told, and no timer sees to that.
    pub untimed: bool,
}

impl Reactor {
    /// What it holds.
    #[must_use]
    pub fn observe(&self) -> Observed {
        let connections = self.connections.iter().map(|it| ObservedConnection {
            id: it.lane.id.number(),
            unopened: it.lane.unopened,
            waits: match it.lane.blocked {
                Blocked::No => Waits::No,
                Blocked::Admission => Waits::Admission,
                Blocked::Pipeline => Waits::Pipeline,
                Blocked::Turn => Waits::Turn,
                Blocked::Room => Waits::Room,
                Blocked::Fill(_) => Waits::Fill,
                Blocked::Owner => Waits::Owner,
                Blocked::Report => Waits::Report,
                Blocked::Closed => Waits::Closed,
            },
            kept: it.channel.kept().0,
            memory: it.channel.kept().1,
            queued: it.channel.queued(),
            in_flight: it.lane.in_flight,
            corked: it.channel.is_corked(),
            ending: it.channel.write_state == WriteState::Ending,
            has_work: it.work.intersects(Work::READ.and(SETTLING))
                || it.lane.unreported.is_queued(),
            untimed: it.idle_since().is_some() && it.activity.timer == millrace_net::Nanos::NEVER,
        });
        Observed {
            connections: connections.collect(),
            lingering: self.lingering.len(),
            servers: self.servers.len(),
            listeners: self.listeners.len(),
            in_flight: self.servers.iter().map(|(_, server)| server.in_flight).sum(),
            timers: self.timers.len(),
        }
    }

    /// A turn while the caller is busy, until it `is_wanted`.
    pub fn turn_beside(
        &mut self,
        bytes: &mut [u8],
        is_wanted: &dyn Fn() -> bool,
    ) -> io::Result<bool> {
        self.standby_turn(bytes, is_wanted)
    }

    /// Gives up what has taken too long, while the caller is busy.
    pub fn give_up_beside(&mut self, is_wanted: &dyn Fn() -> bool) {
        self.give_up(is_wanted);
    }
}
