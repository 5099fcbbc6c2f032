//! A reactor that a second thread drives while its own is busy with something else: what needs no caller goes on.
//!
//! ```text
//!   own thread    turn ── caller ── turn ── caller ..................... turn: what is to be told ── caller
//!   standby       .   .   .   .   .   .   .   . stands in: hits only ────┘
//! ```
//!
//! Each turn of the own thread sets a timer (`standby/watchdog.rs`). When it fires, the own thread is away: it waits for something to
//! do, or it is busy. From then on until it is back the standby thread watches the reactor, and if there is something to do and
//! the own thread does not come, takes turns in which nothing is told (`reactor/standby.rs`). Each is of a few steps, and ends
//! at once when the own thread waits for the reactor. Before the timer fires the standby thread is not woken.
//!
//! A panic on either thread ends the process: the reactor may be in the middle of a change, and what it would go on with may be
//! another client's. On the own thread the panic meets the border to the caller's language, which it cannot cross; the
//! standby thread ends the process by itself. An error of the system ends the standby thread, and the own thread tells of it.

mod handover;
mod watchdog;

use std::io;
use std::os::fd::RawFd;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};

use self::handover::Handover;
use self::watchdog::Watchdog;
use crate::batch::Batch;
use crate::reactor::Reactor;

/// What has come is left so long to an own thread that was away: it may have waited for just that.
const GRACE: Duration = Duration::from_millis(1);
/// How long the standby thread waits for more to do while it stands in, before it looks whether the own thread is back.
const PATIENCE: Duration = Duration::from_millis(2);
/// How often it looks at deadlines.
const DEADLINES: Duration = Duration::from_millis(20);
/// Room for what a connection has kept and one read of it, through TLS as well.
const SCRATCH: usize = 256 * 1024;

/// A reactor for its own thread, and for a standby thread if there is one.
#[derive(Debug)]
pub struct ReactorHandle {
    handover: Handover<StandbyState>,
    descriptor: RawFd,
    /// There are responses that may have to be given up.
    deadlines: AtomicBool,
    /// From the first standby on.
    watchdog: OnceLock<Watchdog>,
}

#[derive(Debug)]
struct StandbyState {
    reactor: Reactor,
    /// Scratch for the standby thread's turns, once there is one.
    bytes: Vec<u8>,
}

impl ReactorHandle {
    /// Without a standby thread so far.
    #[must_use]
    pub fn new(reactor: Reactor) -> Arc<Self> {
        let descriptor = reactor.descriptor();
        Arc::new(Self {
            handover: Handover::new(StandbyState { reactor, bytes: Vec::new() }),
            descriptor,
            deadlines: AtomicBool::new(false),
            watchdog: OnceLock::new(),
        })
    }

    /// The reactor, for its own thread.
    pub fn with<R>(&self, action: impl FnOnce(&mut Reactor) -> R) -> R {
        let mut state = self.handover.own();
        let result = action(&mut state.reactor);
        self.deadlines.store(state.reactor.has_deadlines(), Ordering::Relaxed);
        result
    }

    /// A turn of the own thread, see [`Reactor::turn`].
    pub fn turn(&self, batch: &mut Batch<'_>) -> io::Result<bool> {
        self.handover.begin_turn();
        if let Some(watchdog) = self.watchdog.get()
            && self.handover.is_watched()
        {
            watchdog.set();
        }
        self.with(|reactor| reactor.turn(batch))
    }

    /// Why a standby thread has ended by itself; told once.
    pub fn take_failure(&self) -> Option<io::Error> {
        self.handover.take_failure()
    }

    /// Watches until the standby thread is stopped, or the system refuses what it needs.
    fn watch(&self, watchdog: &Watchdog, mut readiness: Readiness) -> io::Result<()> {
        while self.handover.is_watched() {
            // It may have come for something else than a turn, which does not set it.
            watchdog.start()?;
            while !readiness.has_fired(watchdog::LIMIT)? {
                if !self.handover.is_watched() {
                    return Ok(());
                }
            }
            if readiness.watch_reactor() {
                let ended = self.while_away(&mut readiness);
                readiness.leave_reactor();
                ended?;
            }
        }
        Ok(())
    }

    /// The own thread is away. Until it is back.
    fn while_away(&self, readiness: &mut Readiness) -> io::Result<()> {
        let turns = self.handover.turns();
        while self.is_away(turns) {
            let has_come = readiness.has_come(self.limit())?;
            self.give_up();
            if has_come {
                thread::park_timeout(GRACE);
                self.stand_in(turns, readiness)?;
            }
        }
        Ok(())
    }

    /// The standby thread ends: the own thread is to tell of it.
    fn fail(&self, error: io::Error) {
        self.handover.fail(error);
        self.handover.beside().reactor.call_again();
    }

    /// The own thread has not come since there were so many turns, and the standby thread is not to end.
    fn is_away(&self, turns: u64) -> bool {
        !self.handover.is_back(turns) && self.handover.is_watched()
    }

    /// How long nothing has to be looked at.
    fn limit(&self) -> Option<Duration> {
        self.deadlines.load(Ordering::Relaxed).then_some(DEADLINES)
    }

    /// Takes turns until the own thread is back.
    fn stand_in(&self, turns: u64, readiness: &mut Readiness) -> io::Result<()> {
        while self.is_away(turns) {
            if !self.standby_turn()? {
                // The first tells what this turn has left for the own thread.
                readiness.has_come(Some(Duration::ZERO))?;
                readiness.has_come(Some(PATIENCE))?;
            }
        }
        Ok(())
    }

    /// Gives up what has taken too long, where there is nothing else to do.
    fn give_up(&self) {
        while self.deadlines.load(Ordering::Relaxed)
            && let Some(mut state) = self.handover.try_beside()
            && state.reactor.give_up(&|| self.handover.is_wanted())
            && !self.handover.is_wanted()
        {}
    }

    /// A turn of the standby thread, of a few steps; `true`: there is more to do.
    fn standby_turn(&self) -> io::Result<bool> {
        let state = &mut *self.handover.beside();
        state.bytes.resize(SCRATCH, 0);
        state.reactor.standby_turn(&mut state.bytes, &|| self.handover.is_wanted())
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
    fn has_fired(&mut self, time: Option<Duration>) -> io::Result<bool> {
        let has_told = self.has_told(WATCHDOG, time)?;
        Ok(has_told || (watchdog::LIMIT.is_some() && !self.has(STOP)))
    }

    /// Whether the reactor has something new to do, within so much time.
    fn has_come(&mut self, time: Option<Duration>) -> io::Result<bool> {
        self.has_told(REACTOR, time)
    }

    fn has_told(&mut self, token: Token, time: Option<Duration>) -> io::Result<bool> {
        match self.poll.poll(&mut self.events, time) {
            Ok(()) => Ok(self.has(token)),
            // By a signal.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn has(&self, token: Token) -> bool {
        self.events.iter().any(|event| event.token() == token)
    }
}

/// A standby thread of a shared reactor; it ends with this.
#[derive(Debug)]
pub struct StandbyThread {
    shared: Arc<ReactorHandle>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

/// What a standby thread does.
type Watch = fn(&ReactorHandle, &Watchdog, Readiness) -> io::Result<()>;

impl StandbyThread {
    /// Starts one. An error is the system's: there may be no more threads or descriptors.
    pub fn start(shared: &Arc<ReactorHandle>) -> io::Result<Self> {
        Self::spawn(shared, ReactorHandle::watch)
    }

    fn spawn(shared: &Arc<ReactorHandle>, watch: Watch) -> io::Result<Self> {
        let (shared, watched) = (Arc::clone(shared), Arc::clone(shared));
        let watchdog = Watchdog::new()?;
        let watchdog = shared.watchdog.get_or_init(|| watchdog);
        let readiness = Readiness::new(shared.descriptor, watchdog)?;
        let waker = Waker::new(readiness.poll.registry(), STOP)?;
        let builder = thread::Builder::new().name("millrace".to_owned());
        let watch = move || {
            let _whole = Whole;
            if let Some(watchdog) = watched.watchdog.get()
                && let Err(error) = watch(&watched, watchdog, readiness)
            {
                watched.fail(error);
            }
        };
        shared.handover.watch(true);
        let spawned = builder.spawn(watch);
        shared.handover.watch(spawned.is_ok());
        Ok(Self { shared, waker, thread: Some(spawned?) })
    }
}

impl Drop for StandbyThread {
    fn drop(&mut self) {
        self.shared.handover.watch(false);
        if let Some(thread) = self.thread.take() {
            self.waker.wake().ok();
            thread.thread().unpark();
            // A panic would have ended the process.
            thread.join().ok();
        }
    }
}

/// A panic where this lives ends the process; its message has been printed by then.
struct Whole;

impl Drop for Whole {
    fn drop(&mut self) {
        if thread::panicking() {
            process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    use super::*;

    const CHILD: &str = "MILLRACE_TEST_PANICS";

    fn panic_beside() {
        let shared = ReactorHandle::new(Reactor::new().unwrap());
        drop(StandbyThread::spawn(&shared, |_, _, _| panic!("beside")).unwrap());
    }

    #[test]
    fn a_panic_beside_ends_the_process() {
        if env::var_os(CHILD).is_some() {
            return panic_beside();
        }
        let name = "standby::tests::a_panic_beside_ends_the_process";
        let mut child = Command::new(env::current_exe().unwrap());
        let output = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(6), "SIGABRT: {said}");
        assert!(said.contains("thread 'millrace'") && said.contains("beside"), "{said}");
    }

    #[test]
    fn an_error_beside_wakes_the_own_thread_and_is_told_once() {
        let shared = ReactorHandle::new(Reactor::new().unwrap());
        let refused = |_: &ReactorHandle, _: &Watchdog, _| Err(io::Error::other("refused"));
        let standby = StandbyThread::spawn(&shared, refused).unwrap();
        let (mut poll, mut events) = (Poll::new().unwrap(), Events::with_capacity(1));
        let mut descriptor = SourceFd(&shared.descriptor);
        poll.registry().register(&mut descriptor, REACTOR, Interest::READABLE).unwrap();
        poll.poll(&mut events, None).unwrap();
        assert_eq!(
            shared.take_failure().map(|error| error.to_string()).as_deref(),
            Some("refused")
        );
        assert!(shared.take_failure().is_none());
        drop(standby);
    }
}
