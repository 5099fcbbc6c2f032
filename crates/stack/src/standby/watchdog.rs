//! A timer that fires when nobody has set it again for a while.
//!
//! Whoever sets it wakes nobody by that, unlike a thread that looks in at intervals: each look takes a core from who is busy.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millrace_net::{Clock as _, Monotonic, Nanos, TimerFd};
use mio::{Registry, Token};

/// It fires so long after it was set.
const AFTER: Duration = Duration::from_millis(4);
/// It is set anew at most so often: it fires as much earlier.
const EVERY: Duration = Duration::from_millis(1);

/// Set by one thread, waited for by another.
#[derive(Debug)]
pub(crate) struct Watchdog {
    timer: TimerFd,
    clock: Monotonic,
    /// When it was set, in nanoseconds.
    set: AtomicU64,
}

impl Watchdog {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { timer: TimerFd::new()?, clock: Monotonic::new(), set: AtomicU64::new(0) })
    }

    /// It fires in `AFTER`, unless it is set again.
    pub(crate) fn start(&self) -> io::Result<()> {
        self.set.store(self.clock.now().0, Ordering::Relaxed);
        self.timer.set(AFTER)
    }

    /// The same, if it was not set a moment ago.
    pub(crate) fn set(&self) {
        let set = Nanos(self.set.load(Ordering::Relaxed));
        if self.clock.now().since(set) >= EVERY {
            // Only what is no timer is refused: whoever waits for it finds that, too.
            self.start().ok();
        }
    }

    /// Tells by this token when it fires.
    pub(crate) fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
        self.timer.register(registry, token)
    }
}

/// How long to poll for it: elsewhere than on Linux nothing tells that it fires, and it is taken to have fired each time.
pub(crate) const LIMIT: Option<Duration> = if TimerFd::WAKES { None } else { Some(AFTER) };

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use mio::{Events, Poll};

    use super::*;

    #[test]
    fn it_does_not_fire_while_it_is_set_again_in_time() {
        let watchdog = Watchdog::new().unwrap();
        let (mut poll, mut events) = (Poll::new().unwrap(), Events::with_capacity(1));
        watchdog.register(poll.registry(), Token(0)).unwrap();
        watchdog.start().unwrap();
        let clock = Monotonic::new();
        let began = clock.now();
        let mut last = began;
        while clock.now().since(began) < 10 * AFTER {
            watchdog.set();
            poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
            // This thread may be kept from its core.
            let away = clock.now().since(last);
            assert!(events.is_empty() || away >= AFTER - EVERY, "fired after {away:?}");
            last = clock.now();
        }
        // It may have fired in the last round, which is told once.
        watchdog.start().unwrap();
        poll.poll(&mut events, None).unwrap();
        assert!(!events.is_empty(), "fires when nobody sets it");
    }
}
