//! The readiness loop.

use std::io;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Registry, Token};

use crate::{Clock, Nanos};

/// Below this, waiting is done by polling without a time limit: going to sleep and being woken takes
/// about as long.
const SPIN: Duration = Duration::from_micros(15);

/// What a coarse wake-up may be late by: a precise one within it would be late as well.
const COARSE: Duration = Duration::from_millis(1);

/// The token that [`Poller`] keeps for itself.
const TIMER: Token = Token(usize::MAX);

/// When to come back from [`Poller::wait`] at the latest.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    /// To be met within microseconds: a scheduled send.
    pub precise: Nanos,
    /// May be late by a millisecond: time limits, ends of windows.
    pub coarse: Nanos,
}

/// Readiness of many sockets, edge-triggered, with wake-ups that are exact where that matters (the
/// system's poll calls count in milliseconds).
#[derive(Debug)]
pub struct Poller {
    poll: Poll,
    events: Events,
    timer: sys::Timer,
}

impl Poller {
    /// A poller that takes up to `batch` events at a time.
    pub fn new(batch: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = sys::Timer::new(poll.registry(), TIMER)?;
        Ok(Self { poll, events: Events::with_capacity(batch), timer })
    }

    /// Where sockets are registered.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// Waits for events, or until one of the times has come. Returns the time after waiting.
    pub fn wait(&mut self, clock: &impl Clock, now: Nanos, wake: Wake) -> io::Result<Nanos> {
        let mut limit = wake.coarse.since(now);
        if wake.precise != Nanos::NEVER {
            let precise = wake.precise.since(now);
            if precise < SPIN {
                limit = Duration::ZERO;
            } else if precise < limit + COARSE {
                limit = self.timer.limit(precise, limit.max(precise))?;
            }
        }
        match self.poll.poll(&mut self.events, Some(limit)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(clock.now()),
        }
    }

    /// The events of the last wait.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.token() != TIMER)
    }
}

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

    /// A timer descriptor among the polled ones. Edge-triggered, so it is never read; setting it anew
    /// takes an expiry that was not seen back.
    #[derive(Debug)]
    pub(super) struct Timer {
        fd: OwnedFd,
    }

    impl Timer {
        pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Self { fd })
        }

        /// Arranges a wake-up after `precise`; returns the limit to give to the poll call.
        pub(super) fn limit(
            &mut self,
            precise: Duration,
            coarse: Duration,
        ) -> io::Result<Duration> {
            let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
            let once = Itimerspec { it_interval: zero, it_value: timespec(precise) };
            timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &once)?;
            Ok(coarse)
        }
    }

    fn timespec(duration: Duration) -> Timespec {
        Timespec {
            tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: duration.subsec_nanos().into(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    use std::io;
    use std::time::Duration;

    use mio::{Registry, Token};

    /// Elsewhere the poll call itself is as exact as it gets: nanoseconds with kqueue, milliseconds on
    /// Windows.
    #[derive(Debug)]
    pub(super) struct Timer;

    impl Timer {
        pub(super) fn new(_: &Registry, _: Token) -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn limit(&mut self, precise: Duration, _: Duration) -> io::Result<Duration> {
            Ok(precise)
        }
    }
}
