//! Lanes of which something is to be reported to the caller, which could not be told in its turn.

use std::collections::VecDeque;

use super::Connection;
use super::id::{Connections, LaneId};
use super::lane::Lane;

/// What has happened to a lane in turns in which nobody could be told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unreported {
    pub(crate) opened: bool,
    pub(crate) secured: bool,
    pub(crate) drained: bool,
    pub(crate) answered_last: bool,
    pub(crate) broken: Option<i32>,
    /// The lane is in [`Reports`], with any of these or none: it reads on behind that.
    queued: bool,
}

impl Unreported {
    /// The lane waits for its report.
    pub(crate) fn is_queued(self) -> bool {
        self.queued
    }
}

/// Those that have waited longest first. Each is in it once. Those that are gone are passed over.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    lanes: VecDeque<LaneId>,
}

impl Reports {
    pub(crate) fn push(&mut self, lane: &mut Lane) {
        if !std::mem::replace(&mut lane.unreported.queued, true) {
            self.lanes.push_back(lane.id);
        }
    }

    /// Takes the first lane out: its connection, and what is to be reported. `None`: this one is gone.
    pub(crate) fn pop<'a>(
        &mut self,
        connections: &'a mut Connections,
    ) -> Option<(&'a mut Connection, Unreported)> {
        let connection = connections.of_mut(self.lanes.pop_front()?)?;
        let unreported = std::mem::take(&mut connection.lane.unreported);
        Some((connection, unreported))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }
}
