//! A reactor that a second thread drives while its own is busy with something else: what needs no caller goes on.
//!
//! ```text
//!   own thread    turn ── caller ── turn ── caller ..................... turn: what is to be told ── caller
//!   companion     .   .   .   .   .   .   .   . stands in: hits only ────┘
//! ```
//!
//! Each turn of the own thread sets a timer (`watchdog.rs`). When it fires, the own thread is away: it waits for something to
//! do, or it is busy. From then on until it is back the companion watches the reactor, and if there is something to do and
//! the own thread does not come, takes turns in which nothing is told (`reactor/beside.rs`). Before it fires the companion
//! is not woken.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::batch::Batch;
use crate::reactor::Reactor;
use crate::watchdog::{self, Watchdog};

/// What has come is left so long to an own thread that was away: it may have waited for just that.
const GRACE: Duration = Duration::from_millis(1);
/// How long the companion waits for more to do while it stands in, before it looks whether the own thread is back.
const PATIENCE: Duration = Duration::from_millis(2);
/// How often it looks at deadlines.
const DEADLINES: Duration = Duration::from_millis(20);
/// Room for what a connection has kept and one read of it, through TLS as well.
const SCRATCH: usize = 256 * 1024;

/// A reactor for its own thread, and for a companion if there is one.
#[derive(Debug)]
pub struct Shared {
    state: Mutex<State>,
    descriptor: RawFd,
    /// Turns of the own thread.
    turns: AtomicU64,
    /// The own thread waits for the reactor.
    wanted: AtomicBool,
    /// There are responses that may have to be given up.
    deadlines: AtomicBool,
    /// There is a companion, and it is not to end.
    watched: AtomicBool,
    /// From the first companion on.
    watchdog: OnceLock<Watchdog>,
}

#[derive(Debug)]
struct State {
    reactor: Reactor,
    /// Scratch for the companion's turns, once there is one.
    bytes: Vec<u8>,
}

impl Shared {
    /// Without a companion so far.
    #[must_use]
    pub fn new(reactor: Reactor) -> Arc<Self> {
        let descriptor = reactor.descriptor();
        Arc::new(Self {
            state: Mutex::new(State { reactor, bytes: Vec::new() }),
            descriptor,
            turns: AtomicU64::new(0),
            wanted: AtomicBool::new(false),
            deadlines: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            watchdog: OnceLock::new(),
        })
    }

    /// The reactor, for its own thread.
    pub fn with<R>(&self, action: impl FnOnce(&mut Reactor) -> R) -> R {
        let mut state = self.own();
        let result = action(&mut state.reactor);
        self.deadlines.store(state.reactor.has_deadlines(), Ordering::Relaxed);
        result
    }

    /// A turn of the own thread, see [`Reactor::turn`].
    pub fn turn(&self, batch: &mut Batch<'_>) -> io::Result<bool> {
        self.turns.fetch_add(1, Ordering::Relaxed);
        if let Some(watchdog) = self.watchdog.get()
            && self.watched.load(Ordering::Relaxed)
        {
            watchdog.set();
        }
        self.with(|reactor| reactor.turn(batch))
    }

    fn own(&self) -> MutexGuard<'_, State> {
        if let Ok(state) = self.state.try_lock() {
            return state;
        }
        self.wanted.store(true, Ordering::Relaxed);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.wanted.store(false, Ordering::Relaxed);
        state
    }

    /// The own thread has come back since it had come so often, or waits to.
    fn is_back(&self, turns: u64) -> bool {
        self.turns.load(Ordering::Relaxed) != turns || self.wanted.load(Ordering::Relaxed)
    }

    /// Watches until the companion is stopped.
    fn watch(&self, watchdog: &Watchdog, mut readiness: Readiness) {
        while self.watched.load(Ordering::Relaxed) {
            // It may have come for something else than a turn, which does not set it.
            watchdog.start();
            while !readiness.has_fired(watchdog::LIMIT.or(self.limit())) {
                self.give_up();
                if !self.watched.load(Ordering::Relaxed) {
                    return;
                }
            }
            if readiness.watch_reactor() {
                self.while_away(&mut readiness);
                readiness.leave_reactor();
            }
        }
    }

    /// The own thread is away. Until it is back.
    fn while_away(&self, readiness: &mut Readiness) {
        let turns = self.turns.load(Ordering::Relaxed);
        while !self.is_back(turns) && self.watched.load(Ordering::Relaxed) {
            let has_come = readiness.has_come(self.limit());
            self.give_up();
            if has_come {
                thread::park_timeout(GRACE);
                self.stand_in(turns, readiness);
            }
        }
    }

    /// How long nothing has to be looked at.
    fn limit(&self) -> Option<Duration> {
        self.deadlines.load(Ordering::Relaxed).then_some(DEADLINES)
    }

    /// Takes turns until the own thread is back.
    fn stand_in(&self, turns: u64, readiness: &mut Readiness) {
        while !self.is_back(turns) && self.watched.load(Ordering::Relaxed) {
            if !self.turn_beside() {
                // The first tells what this turn has left for the own thread.
                readiness.has_come(Some(Duration::ZERO));
                readiness.has_come(Some(PATIENCE));
            }
        }
    }

    /// Gives up what has taken too long, where there is nothing else to do.
    fn give_up(&self) {
        if !self.deadlines.load(Ordering::Relaxed) {
            return;
        }
        if let Ok(mut state) = self.state.try_lock() {
            state.reactor.give_up();
        }
    }

    /// A turn of the companion; `true`: there is more to do.
    fn turn_beside(&self) -> bool {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.bytes.resize(SCRATCH, 0);
        // A poll that fails now is the own thread's to tell of.
        state.reactor.turn_beside(&mut state.bytes).unwrap_or(false)
    }
}

/// Of the watchdog, and of the reactor's descriptor without the reactor.
#[derive(Debug)]
struct Readiness {
    poll: Poll,
    events: Events,
    descriptor: RawFd,
}

const REACTOR: Token = Token(0);
const STOP: Token = Token(1);
const WATCHDOG: Token = Token(2);

impl Readiness {
    fn new(descriptor: RawFd, watchdog: &Watchdog) -> io::Result<Self> {
        let poll = Poll::new()?;
        watchdog.register(poll.registry(), WATCHDOG)?;
        Ok(Self { poll, events: Events::with_capacity(3), descriptor })
    }

    /// From now on what there is to do is told: at once what there is already, then what is new. `false`: the system has no
    /// memory for that.
    fn watch_reactor(&mut self) -> bool {
        let registry = self.poll.registry();
        registry.register(&mut SourceFd(&self.descriptor), REACTOR, Interest::READABLE).is_ok()
    }

    fn leave_reactor(&mut self) {
        // An error would say that it is not watched.
        self.poll.registry().deregister(&mut SourceFd(&self.descriptor)).ok();
    }

    /// Whether the own thread is away, within so much time.
    fn has_fired(&mut self, time: Option<Duration>) -> bool {
        self.has_told(WATCHDOG, time) || (watchdog::LIMIT.is_some() && !self.has(STOP))
    }

    /// Whether the reactor has something new to do, within so much time.
    fn has_come(&mut self, time: Option<Duration>) -> bool {
        self.has_told(REACTOR, time)
    }

    fn has_told(&mut self, token: Token, time: Option<Duration>) -> bool {
        self.poll.poll(&mut self.events, time).is_ok() && self.has(token)
    }

    fn has(&self, token: Token) -> bool {
        self.events.iter().any(|event| event.token() == token)
    }
}

/// A companion of a shared reactor; it ends with this.
#[derive(Debug)]
pub struct Companion {
    shared: Arc<Shared>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Companion {
    /// Starts one. An error is the system's: there may be no more threads or descriptors.
    pub fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let (shared, watched) = (Arc::clone(shared), Arc::clone(shared));
        let watchdog = Watchdog::new()?;
        let watchdog = shared.watchdog.get_or_init(|| watchdog);
        let readiness = Readiness::new(shared.descriptor, watchdog)?;
        let waker = Waker::new(readiness.poll.registry(), STOP)?;
        let builder = thread::Builder::new().name("millrace".to_owned());
        let watch = move || {
            if let Some(watchdog) = watched.watchdog.get() {
                watched.watch(watchdog, readiness);
            }
        };
        shared.watched.store(true, Ordering::Relaxed);
        let spawned = builder.spawn(watch);
        shared.watched.store(spawned.is_ok(), Ordering::Relaxed);
        Ok(Self { shared, waker, thread: Some(spawned?) })
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.shared.watched.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            self.waker.wake().ok();
            thread.thread().unpark();
            // One that has panicked is over, too.
            thread.join().ok();
        }
    }
}
