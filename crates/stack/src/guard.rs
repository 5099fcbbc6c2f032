//! A timer that fires when nobody has set it again for a while.
//!
//! Whoever sets it wakes nobody by that, unlike a thread that looks in at intervals: each look takes a core from who is busy.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millrace_net::{Clock as _, Monotonic, Nanos};
use mio::{Registry, Token};

/// It fires so long after it was set.
const AFTER: Duration = Duration::from_millis(4);
/// It is set anew at most so often: it fires as much earlier.
const EVERY: Duration = Duration::from_millis(1);

/// Set by one thread, waited for by another.
#[derive(Debug)]
pub(crate) struct Guard {
    timer: sys::Timer,
    clock: Monotonic,
    /// When it was set, in nanoseconds.
    set: AtomicU64,
}

impl Guard {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { timer: sys::Timer::new()?, clock: Monotonic::new(), set: AtomicU64::new(0) })
    }

    /// It fires in `AFTER`, unless it is set again.
    pub(crate) fn start(&self) {
        self.set.store(self.clock.now().0, Ordering::Relaxed);
        self.timer.set(AFTER);
    }

    /// The same, if it was not set a moment ago.
    pub(crate) fn set(&self) {
        let set = Nanos(self.set.load(Ordering::Relaxed));
        if self.clock.now().since(set) >= EVERY {
            self.start();
        }
    }

    /// Tells by this token when it fires.
    pub(crate) fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
        self.timer.register(registry, token)
    }
}

/// How long to poll for it: elsewhere than on Linux nothing tells that it fires, and it is taken to have fired each time.
pub(crate) const LIMIT: Option<Duration> =
    if cfg!(target_os = "linux") { None } else { Some(AFTER) };

#[cfg(target_os = "linux")]
mod sys {
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token};
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };

    /// Edge-triggered, so it is never read; setting it anew takes an expiry that was not seen back.
    #[derive(Debug)]
    pub(super) struct Timer(OwnedFd);

    impl Timer {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            Ok(Self(timerfd_create(TimerfdClockId::Monotonic, flags)?))
        }

        pub(super) fn set(&self, after: Duration) {
            let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
            let value = Timespec { tv_sec: 0, tv_nsec: after.subsec_nanos().into() };
            let once = Itimerspec { it_interval: zero, it_value: value };
            // Only what is not a time, or not a timer, is refused.
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once).ok();
        }

        pub(super) fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
            registry.register(&mut SourceFd(&self.0.as_raw_fd()), token, Interest::READABLE)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    use std::io;
    use std::time::Duration;

    use mio::{Registry, Token};

    #[derive(Debug)]
    pub(super) struct Timer;

    impl Timer {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn set(&self, _: Duration) {}

        pub(super) fn register(&self, _: &Registry, _: Token) -> io::Result<()> {
            Ok(())
        }
    }
}
