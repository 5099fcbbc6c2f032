//! The readiness loop.

use std::io;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Registry, Token};

use crate::{Clock, Nanos, TimerFd};

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
    timer: TimerFd,
}

impl Poller {
    /// A poller that takes up to `batch` events at a time.
    pub fn new(batch: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = TimerFd::new()?;
        timer.register(poll.registry(), TIMER)?;
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

    /// The events of the last wait.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.token() != TIMER)
    }
}
