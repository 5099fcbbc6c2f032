//! A timer among the polled descriptors.

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

    /// A timer descriptor among the polled ones. Edge-triggered, so it is never read; setting it anew
    /// takes an expiry that was not seen back.
    #[derive(Debug)]
    pub struct TimerFd {
        fd: OwnedFd,
    }

    impl TimerFd {
        /// Whether a poll call is woken by it. Elsewhere the call itself is as exact as it gets:
        /// nanoseconds with kqueue, milliseconds on Windows.
        pub const WAKES: bool = true;

        /// One that has not been set.
        pub fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            Ok(Self { fd: timerfd_create(TimerfdClockId::Monotonic, flags)? })
        }

        /// Whoever polls is told by this token when it fires.
        pub fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
            registry.register(&mut SourceFd(&self.fd.as_raw_fd()), token, Interest::READABLE)
        }

        /// It fires once, after so much time; 0: not at all.
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

    /// None: time limits of the poll call take its place.
    #[derive(Debug)]
    pub struct TimerFd;

    impl TimerFd {
        /// Whether a poll call is woken by it.
        pub const WAKES: bool = false;

        /// Nothing.
        pub fn new() -> io::Result<Self> {
            Ok(Self)
        }

        /// Nobody is told.
        pub fn register(&self, _: &Registry, _: Token) -> io::Result<()> {
            Ok(())
        }

        /// It does not fire.
        pub fn set(&self, _: Duration) -> io::Result<()> {
            Ok(())
        }
    }
}
