//! Events for the caller, and the bytes they speak of.

mod event;
mod memory;

pub use event::{EVENT_LENGTH, FallbackReason, Kind, failed, flag, secure, verdict_number};
pub(crate) use event::{Event, Span};
pub(crate) use memory::{Memory, Region};

use crate::connection::EVENTS;
use crate::connection::id::LaneId;
use event::number;

/// Events of one connection, and requests of it that are answered without the caller, before the others have their turn.
pub(crate) const SHARE: usize = 64;
/// One of so many events of a batch is for what is due at a time.
const FOR_TIMERS: usize = 16;

/// The caller's memory for one turn. Bytes are read into `bytes` and stay where they are.
#[derive(Debug)]
pub struct Batch<'a> {
    events: &'a mut [i32],
    pub(crate) memory: Memory<'a>,
    count: usize,
    /// Nothing may be told.
    pub(crate) silent: bool,
    /// What is left of the share of the connection that has its turn.
    share: usize,
    /// Events that are kept for timers.
    reserved: usize,
}

impl<'a> Batch<'a> {
    /// An empty batch over this memory.
    pub fn new(events: &'a mut [i32], bytes: &'a mut [u8]) -> Self {
        let reserved = events.len() / EVENT_LENGTH / FOR_TIMERS;
        let memory = Memory::new(bytes);
        Self { events, memory, count: 0, silent: false, share: SHARE, reserved }
    }

    /// Begins anew, in the same memory.
    pub(crate) fn clear(&mut self) {
        (self.count, self.share) = (0, SHARE);
        self.memory.clear();
        self.reserved = self.capacity() / FOR_TIMERS;
    }

    /// One of a turn in which nobody can be told of anything: see [`crate::standby`].
    pub(crate) fn silent(bytes: &'a mut [u8]) -> Self {
        Self { silent: true, ..Self::new(&mut [], bytes) }
    }

    /// Events so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Events that there may be.
    pub(crate) fn capacity(&self) -> usize {
        self.events.len() / EVENT_LENGTH
    }

    /// Events for which there is room.
    pub(crate) fn room(&self) -> usize {
        self.capacity().saturating_sub(self.count + self.reserved)
    }

    /// At least half of it is taken.
    pub(crate) fn is_half_full(&self) -> bool {
        self.count >= self.capacity() / 2 || self.memory.is_half_full()
    }

    /// A connection has its turn.
    pub(crate) fn begin_share(&mut self) {
        self.share = SHARE;
    }

    /// The connection that has its turn has had its share.
    pub(crate) fn is_share_over(&self) -> bool {
        self.share == 0
    }

    /// A request was answered without the caller.
    pub(crate) fn count_answered(&mut self) {
        self.share = self.share.saturating_sub(1);
    }

    /// From now on all that is left is for timers.
    pub(crate) fn begin_timers(&mut self) {
        self.reserved = 0;
    }

    /// Whether all can be told that may happen to a connection at once. What cannot waits for its turn in another batch,
    /// whether this one is full or nobody listens.
    pub(crate) fn can_tell(&self) -> bool {
        self.room() >= EVENTS
    }

    /// Adds an event of a lane; the caller has seen to it that there is room.
    pub(crate) fn push(&mut self, id: LaneId, event: Event) {
        self.add(id.number(), event);
    }

    /// Adds an event of no lane.
    pub(crate) fn push_global(&mut self, event: Event) {
        self.add(0, event);
    }

    fn add(&mut self, lane: usize, event: Event) {
        let at = self.count * EVENT_LENGTH;
        let Some(numbers) = self.events.get_mut(at..at + EVENT_LENGTH) else { return };
        let (kind, details) = event.encode();
        numbers[0] = kind as i32;
        numbers[1] = number(lane);
        numbers[2..].copy_from_slice(&details);
        self.count += 1;
        self.share = self.share.saturating_sub(1);
    }
}
