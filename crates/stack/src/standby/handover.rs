//! What the own thread and its standby thread share: a value, who of them uses it, whether a standby thread is to go on, and why one has
//! ended. `loom/` runs both threads in every order.

use std::io;
use std::sync::PoisonError;

use sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};

#[cfg(not(loom))]
mod sync {
    pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub(super) use std::sync::{Mutex, MutexGuard};
}

#[cfg(loom)]
mod sync {
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub(super) use loom::sync::{Mutex, MutexGuard};
}

/// A value that the own thread uses whenever it wants to, and a standby thread while the own thread is away.
#[derive(Debug)]
pub(crate) struct Handover<T> {
    value: Mutex<T>,
    /// Turns of the own thread.
    turns: AtomicU64,
    /// The own thread waits for the value.
    wanted: AtomicBool,
    /// There is a standby thread, and it is not to end.
    watched: AtomicBool,
    /// A standby thread has ended by itself, and nobody has heard of it.
    failed: AtomicBool,
    /// Why it has.
    failure: Mutex<Option<io::Error>>,
}

impl<T> Handover<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            turns: AtomicU64::new(0),
            wanted: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// The value, for the own thread.
    pub(crate) fn own(&self) -> MutexGuard<'_, T> {
        if let Ok(value) = self.value.try_lock() {
            return value;
        }
        self.wanted.store(true, Ordering::Relaxed);
        let value = locked(&self.value);
        self.wanted.store(false, Ordering::Relaxed);
        value
    }

    /// The own thread begins a turn.
    pub(crate) fn begin_turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// How many turns the own thread has begun, for [`Self::is_back`].
    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// The own thread has begun a turn since there were so many, or waits for the value. A standby thread that has seen what the own
    /// thread did to the value in a turn is told of that turn: the value's lock orders them.
    pub(crate) fn is_back(&self, turns: u64) -> bool {
        self.turns() != turns || self.is_wanted()
    }

    /// The own thread waits for the value.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// The value, for a standby thread.
    pub(crate) fn beside(&self) -> MutexGuard<'_, T> {
        locked(&self.value)
    }

    /// The value, for a standby thread, if nobody uses it.
    pub(crate) fn try_beside(&self) -> Option<MutexGuard<'_, T>> {
        self.value.try_lock().ok()
    }

    /// Whether there is a standby thread that is to go on.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// A standby thread begins, or is to end; who waits has to be woken.
    pub(crate) fn watch(&self, on: bool) {
        self.watched.store(on, Ordering::Relaxed);
    }

    /// A standby thread ends by itself. The own thread has to be woken.
    pub(crate) fn fail(&self, error: io::Error) {
        *locked(&self.failure) = Some(error);
        self.failed.store(true, Ordering::Release);
        self.watch(false);
    }

    /// Why a standby thread has ended by itself; told once.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        if !self.failed.load(Ordering::Relaxed) || !self.failed.swap(false, Ordering::Acquire) {
            return None;
        }
        locked(&self.failure).take()
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nobody comes here after a panic: it ends the process.
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
