//! How an event loop drives a reactor: when it has its turns, and when the loop's timer comes.
//!
//! ```text
//!   the reactor's descriptor is readable, or the timer has come
//!      └─> Driver::wake ──> Driver::next ──> Take: the caller takes the batch, which may send, close ... ──> Driver::next
//!                                        └─> Wait: the timer is set; the loop looks after everything else
//!   a command of the caller in between ──> Driver::after_command: the timer, if it is another one now
//!
//!   the loop runs within a take ──> Driver::on_nested_wait ──> Driver::wake, whose first step is the rest of that batch
//! ```
//!
//! It knows nothing of Node, so that the simulation proves what the addon runs.

use std::io;

use crate::batch::Batch;
use crate::reactor::Reactor;
use crate::standby::ReactorHandle;

/// Batches in a row before the event loop looks after everything else.
const BATCHES: u8 = 4;

/// After how many whole milliseconds the event loop's timer comes; `None`: not at all.
pub type Timer = Option<u64>;

/// A reactor, of this thread alone or shared with a standby thread.
pub trait Driven {
    /// See [`Reactor::turn`].
    fn turn(&mut self, batch: &mut Batch<'_>) -> io::Result<bool>;

    /// Calls it.
    fn with<R>(&mut self, action: impl FnOnce(&mut Reactor) -> R) -> R;
}

impl Driven for Reactor {
    fn turn(&mut self, batch: &mut Batch<'_>) -> io::Result<bool> {
        Self::turn(self, batch)
    }

    fn with<R>(&mut self, action: impl FnOnce(&mut Reactor) -> R) -> R {
        action(self)
    }
}

impl Driven for &ReactorHandle {
    fn turn(&mut self, batch: &mut Batch<'_>) -> io::Result<bool> {
        ReactorHandle::turn(self, batch)
    }

    fn with<R>(&mut self, action: impl FnOnce(&mut Reactor) -> R) -> R {
        ReactorHandle::with(self, action)
    }
}

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It takes the rest of the batch that it was taking when the loop ran within that.
    TakeRest,
    /// It takes so many events.
    Take(usize),
    /// It sets its timer and waits.
    Wait(Timer),
}

/// A time for which the event loop has come to the reactor.
#[derive(Debug)]
pub struct Wake {
    /// The rest of an outer batch has to be taken first.
    has_rest: bool,
    /// Turns so far, and whether there is more to do at once.
    batches: u8,
    has_more: bool,
}

/// Drives a reactor.
#[derive(Debug, Default)]
pub struct Driver {
    /// Wakes under way: more than one where the event loop runs within a take.
    wakes: usize,
}

impl Driver {
    /// The reactor's descriptor is readable, or the timer has come.
    pub fn wake(&mut self) -> Wake {
        self.wakes += 1;
        Wake { has_rest: self.wakes > 1, batches: 0, has_more: true }
    }

    /// What the caller does next. The wake is over with [`Step::Wait`] and with an error.
    pub fn next(
        &mut self,
        wake: &mut Wake,
        driven: &mut impl Driven,
        batch: &mut Batch<'_>,
    ) -> io::Result<Step> {
        if std::mem::take(&mut wake.has_rest) {
            return Ok(Step::TakeRest);
        }
        while wake.has_more && wake.batches < BATCHES {
            wake.batches += 1;
            batch.clear();
            match driven.turn(batch) {
                Ok(has_more) => wake.has_more = has_more,
                Err(error) => {
                    self.end();
                    return Err(error);
                }
            }
            if batch.count() > 0 {
                return Ok(Step::Take(batch.count()));
            }
        }
        self.end();
        Ok(Step::Wait(driven.with(wake_again)))
    }

    /// The caller cannot take a batch, so that there is no next step.
    pub fn abandon(&mut self, _: Wake) {
        self.end();
    }

    fn end(&mut self) {
        self.wakes = self.wakes.saturating_sub(1);
    }

    /// The event loop runs within a take, and is about to wait: what the batch has accepted, or has left over, wakes it as well.
    pub fn on_nested_wait(&self, driven: &mut impl Driven) -> Timer {
        driven.with(wake_again)
    }

    /// The caller has given a command. The timer, if another one has to be set; within a take it is set when that is over.
    pub fn after_command(&self, reactor: &mut Reactor) -> Option<Timer> {
        reactor.finish_command();
        (self.wakes == 0 && reactor.timers_changed()).then(|| next_timer(reactor))
    }
}

fn wake_again(reactor: &mut Reactor) -> Timer {
    reactor.wake_again();
    // Told here.
    reactor.timers_changed();
    next_timer(reactor)
}

/// One more millisecond: event loops count whole ones, and would come too early.
fn next_timer(reactor: &Reactor) -> Timer {
    let next = reactor.next_timer();
    next.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX - 1) + 1)
}
