//! A reactor that a second thread drives while its own is busy with something else: what needs no caller goes on.
//!
//! ```text
//!   own thread    turn ── caller ── turn ── caller ..................... turn: what is to be told ── caller
//!   companion     .   .   .   .   .   .   .   . stands in: hits only ────┘
//! ```
//!
//! The companion looks in at intervals. If there is something to do and the own thread has not come since it looked last, it
//! takes turns in which nothing is told (`reactor/beside.rs`).

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::batch::Batch;
use crate::reactor::Reactor;

/// How often the companion looks in. It stands in when the own thread has not come for as long.
const PATIENCE: Duration = Duration::from_millis(2);
/// How often it does where it has not had to stand in lately: each look takes a core from whoever is busy, which costs a
/// loop that is never away 2 % with 500 of them a second.
const CALM: Duration = Duration::from_millis(8);
/// For how long a loop that was away once may be away again.
const LATELY: Duration = Duration::from_secs(10);
/// Looks at nothing new, after which it sleeps until something comes.
const QUIET: u32 = 250;
/// How often it looks at deadlines then.
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
    over: AtomicBool,
    /// There are responses that may have to be given up.
    deadlines: AtomicBool,
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
            over: AtomicBool::new(false),
            deadlines: AtomicBool::new(false),
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

    /// Looks in until the companion is stopped.
    fn watch(&self, mut readiness: Readiness) {
        let mut turns = self.turns.load(Ordering::Relaxed);
        let mut quiet = 0;
        // Something has come, and the own thread has some time for it.
        let mut pending = false;
        let mut stood_in: Option<Instant> = None;
        while !self.over.load(Ordering::Relaxed) {
            let deadlines = self.deadlines.load(Ordering::Relaxed);
            if quiet >= QUIET {
                // Where nothing comes, it sleeps until something does.
                pending = readiness.has_come(deadlines.then_some(DEADLINES));
            }
            let is_calm = stood_in.is_none_or(|at| at.elapsed() > LATELY);
            let patience = if is_calm { CALM } else { PATIENCE };
            thread::park_timeout(if pending { PATIENCE / 2 } else { patience });
            if self.is_back(turns) {
                turns = self.turns.load(Ordering::Relaxed);
                (quiet, pending) = (0, false);
                // What came in the midst of its turn may have been told already.
                readiness.look_again();
            } else if pending {
                self.stand_in(turns, &mut readiness);
                stood_in = Some(Instant::now());
                (quiet, pending) = (0, false);
            } else {
                pending = readiness.has_come(Some(Duration::ZERO));
                quiet = if pending { 0 } else { quiet + 1 };
            }
            if deadlines {
                self.give_up();
            }
        }
    }

    /// Takes turns until the own thread is back.
    fn stand_in(&self, turns: u64, readiness: &mut Readiness) {
        while !self.is_back(turns) && !self.over.load(Ordering::Relaxed) {
            if !self.turn_beside() {
                // The first tells what this turn has left for the own thread.
                readiness.has_come(Some(Duration::ZERO));
                readiness.has_come(Some(PATIENCE));
            }
        }
    }

    /// Gives up what has taken too long, where there is nothing else to do.
    fn give_up(&self) {
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

/// Of the reactor's descriptor, without the reactor.
#[derive(Debug)]
struct Readiness {
    poll: Poll,
    events: Events,
    descriptor: RawFd,
}

const REACTOR: Token = Token(0);
const STOP: Token = Token(1);

impl Readiness {
    fn new(descriptor: RawFd) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.registry().register(&mut SourceFd(&descriptor), REACTOR, Interest::READABLE)?;
        Ok(Self { poll, events: Events::with_capacity(2), descriptor })
    }

    /// What there is to do is new, whether it was told or not.
    fn look_again(&mut self) {
        let interest = Interest::READABLE;
        // Without it, the next event tells.
        self.poll.registry().reregister(&mut SourceFd(&self.descriptor), REACTOR, interest).ok();
    }

    /// Whether the reactor has something new to do, within so much time.
    fn has_come(&mut self, time: Option<Duration>) -> bool {
        self.poll.poll(&mut self.events, time).is_ok()
            && self.events.iter().any(|event| event.token() == REACTOR)
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
        shared.over.store(false, Ordering::Relaxed);
        let readiness = Readiness::new(shared.descriptor)?;
        let waker = Waker::new(readiness.poll.registry(), STOP)?;
        let builder = thread::Builder::new().name("millrace".to_owned());
        let thread = Some(builder.spawn(move || watched.watch(readiness))?);
        Ok(Self { shared, waker, thread })
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            self.waker.wake().ok();
            thread.thread().unpark();
            // One that has panicked is over, too.
            thread.join().ok();
        }
    }
}
