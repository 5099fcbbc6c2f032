//! A timer as a pollable descriptor.

pub use sys::TimerFd;

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

    /// A timer descriptor. Edge-triggered, so it is never read; setting it again cancels an expiry that was not reported.
    #[derive(Debug)]
    pub struct TimerFd {
        fd: OwnedFd,
    }

    impl TimerFd {
        /// Whether it wakes a poll call. On other systems the timeout of the call is used: nanoseconds with kqueue, milliseconds
        /// on Windows.
        pub const WAKES: bool = true;

        /// Creates a timer that is not set.
        pub fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            Ok(Self { fd: timerfd_create(TimerfdClockId::Monotonic, flags)? })
        }

        /// Registers it with this token.
        pub fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
            registry.register(&mut SourceFd(&self.fd.as_raw_fd()), token, Interest::READABLE)
        }

        /// Sets it to fire once after this time; zero disarms it.
        pub fn set(&self, after: Duration) -> io::Result<()> {
            let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
            let once = Itimerspec { it_interval: zero, it_value: timespec(after) };
            timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &once)?;
            Ok(())
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

    /// No timer: the timeout of the poll call is used.
    #[derive(Debug)]
    pub struct TimerFd;

    impl TimerFd {
        /// Whether it wakes a poll call.
        pub const WAKES: bool = false;

        /// Creates the placeholder.
        pub fn new() -> io::Result<Self> {
            Ok(Self)
        }

        /// Does nothing.
        pub fn register(&self, _: &Registry, _: Token) -> io::Result<()> {
            Ok(())
        }

        /// Does nothing.
        pub fn set(&self, _: Duration) -> io::Result<()> {
            Ok(())
        }
    }
}
