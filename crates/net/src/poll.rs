//! The readiness loop.

use std::io;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Registry, Token};

use crate::{Clock, Nanos, TimerFd};

/// Waits shorter than this poll without sleeping: sleeping and waking takes about as long.
const SPIN: Duration = Duration::from_micros(15);

/// Maximum delay of a coarse wake-up: precise wake-ups within it use the timer, too.
const COARSE: Duration = Duration::from_millis(1);

/// The token that [`Poller`] reserves.
const TIMER: Token = Token(usize::MAX);

/// When [`Poller::wait`] returns at the latest.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    /// Exact to microseconds: a scheduled send.
    pub precise: Nanos,
    /// Exact to a millisecond: time limits, ends of windows.
    pub coarse: Nanos,
}

/// Waits for readiness of many sockets, edge-triggered, with exact wake-ups (poll calls of the system count in
/// milliseconds).
#[derive(Debug)]
pub struct Poller {
    poll: Poll,
    events: Events,
    timer: TimerFd,
}

impl Poller {
    /// Creates a poller that returns at most `batch` events at a time.
    pub fn new(batch: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = TimerFd::new()?;
        timer.register(poll.registry(), TIMER)?;
        Ok(Self { poll, events: Events::with_capacity(batch), timer })
    }

    /// Returns the registry of sockets.
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
                if TimerFd::WAKES {
                    self.timer.set(precise)?;
                    limit = limit.max(precise);
                } else {
                    limit = precise;
                }
            }
        }
        match self.poll.poll(&mut self.events, Some(limit)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(clock.now()),
        }
    }

    /// Returns the events of the last wait.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.token() != TIMER)
    }
}
