//! The network of a thread: its connections, listeners and poll sets, and its clock.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

use fastrand::Rng;
use mio::Token;

use crate::Nanos;
use crate::connection::{Connection, Ready, Watch};
use crate::readiness::Event;

thread_local! {
    static NETWORK: RefCell<Network> = RefCell::new(Network::new(0));
}

/// What a descriptor stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Connection(usize),
    Listener(usize),
}

/// A member of a poll's list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Listed {
    Endpoint(Endpoint),
    Waker(Token),
}

#[derive(Debug, Default)]
pub(crate) struct ListenerState {
    pub(crate) waiting: VecDeque<usize>,
    pub(crate) watch: Option<Watch>,
    pub(crate) is_listed: bool,
}

#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) now: Nanos,
    pub(crate) chance: Rng,
    pub(crate) connections: Vec<Connection>,
    pub(crate) listeners: Vec<ListenerState>,
    /// What each poll has to tell.
    pub(crate) polls: Vec<VecDeque<Listed>>,
    /// Descriptors stand for endpoints; they are of `/dev/null`.
    endpoints: HashMap<RawFd, Endpoint>,
    /// Accepting fails with this error for now; the next one fails with this.
    pub(crate) shortage: Option<i32>,
    pub(crate) aborted: Option<i32>,
    null: File,
}

impl Network {
    fn new(seed: u64) -> Self {
        Self {
            now: Nanos(1_000_000_000),
            chance: Rng::with_seed(seed),
            connections: Vec::new(),
            listeners: Vec::new(),
            polls: Vec::new(),
            endpoints: HashMap::new(),
            shortage: None,
            aborted: None,
            null: File::open("/dev/null").expect("there is /dev/null"),
        }
    }

    pub(crate) fn look_at_clock(&mut self) -> Nanos {
        self.now = self.now + Duration::from_nanos(self.chance.u64(1..100));
        self.now
    }

    /// A descriptor that stands for this endpoint.
    pub(crate) fn descriptor(&mut self, endpoint: Endpoint) -> OwnedFd {
        let fd = OwnedFd::from(self.null.try_clone().expect("there are descriptors"));
        self.endpoints.insert(fd.as_raw_fd(), endpoint);
        fd
    }

    pub(crate) fn endpoint(&self, fd: &OwnedFd) -> Option<Endpoint> {
        self.endpoints.get(&fd.as_raw_fd()).copied()
    }

    pub(crate) fn forget(&mut self, fd: &OwnedFd) {
        self.endpoints.remove(&fd.as_raw_fd());
    }

    fn watch(&mut self, endpoint: Endpoint) -> (&mut Option<Watch>, &mut bool) {
        match endpoint {
            Endpoint::Connection(at) => {
                let Connection { watch, is_listed, .. } = &mut self.connections[at];
                (watch, is_listed)
            }
            Endpoint::Listener(at) => {
                let ListenerState { watch, is_listed, .. } = &mut self.listeners[at];
                (watch, is_listed)
            }
        }
    }

    /// Begins, changes or ends how an endpoint is watched. What is ready already is told.
    pub(crate) fn set_watch(&mut self, endpoint: Endpoint, watch: Option<Watch>) {
        *self.watch(endpoint).0 = watch;
        if watch.is_some() && self.ready(endpoint).is_any() {
            self.notify(endpoint);
        }
    }

    /// Something has happened to an endpoint: an edge.
    pub(crate) fn notify(&mut self, endpoint: Endpoint) {
        let (watch, is_listed) = self.watch(endpoint);
        if let Some(watch) = *watch
            && !std::mem::replace(is_listed, true)
        {
            self.polls[watch.poll].push_back(Listed::Endpoint(endpoint));
        }
    }

    pub(crate) fn ready(&mut self, endpoint: Endpoint) -> Ready {
        match endpoint {
            Endpoint::Connection(at) => self.connections[at].ready(),
            Endpoint::Listener(at) => {
                Ready { readable: !self.listeners[at].waiting.is_empty(), ..Ready::default() }
            }
        }
    }

    /// The next events of a poll, at most so many.
    pub(crate) fn take_events(&mut self, poll: usize, most: usize, events: &mut Vec<Event>) {
        while events.len() < most
            && let Some(listed) = self.polls[poll].pop_front()
        {
            match listed {
                Listed::Waker(token) => events.push(Event::of_waker(token)),
                Listed::Endpoint(endpoint) => {
                    let (watch, is_listed) = self.watch(endpoint);
                    *is_listed = false;
                    let Some(watch) = *watch else { continue };
                    let ready = self.ready(endpoint);
                    if ready.is_any() {
                        events.push(Event::new(watch.token, ready));
                    }
                }
            }
        }
    }

    fn is_poll_ready(&mut self, poll: usize) -> bool {
        (0..self.polls[poll].len()).any(|at| match self.polls[poll][at] {
            Listed::Waker(_) => true,
            Listed::Endpoint(endpoint) => {
                self.watch(endpoint).0.is_some() && self.ready(endpoint).is_any()
            }
        })
    }
}

pub(crate) fn with_network<R>(action: impl FnOnce(&mut Network) -> R) -> R {
    NETWORK.with_borrow_mut(action)
}

/// Begins anew on this thread. Whatever used the network before has to be gone.
pub fn begin(seed: u64) {
    NETWORK.set(Network::new(seed));
}

/// The present time.
#[must_use]
pub fn now() -> Nanos {
    with_network(|network| network.now)
}

/// Time passes.
pub fn advance(by: Duration) {
    with_network(|network| network.now = network.now + by);
}

/// Whether a poll's descriptor would be readable. Its number is that of the descriptor.
#[must_use]
pub fn is_ready(poll: RawFd) -> bool {
    // A poll's number is small.
    with_network(|network| network.is_poll_ready(poll as usize))
}

/// Accepting fails with this error from now on, or no longer.
pub fn set_shortage(error: Option<i32>) {
    with_network(|network| network.shortage = error);
}

/// A connection is aborted before it is accepted.
pub fn abort_next() {
    with_network(|network| network.aborted = Some(libc::ECONNABORTED));
}

/// A listening socket: its descriptor, and its number for those who connect.
#[must_use]
pub fn listen() -> (OwnedFd, usize) {
    with_network(|network| {
        let at = network.listeners.len();
        network.listeners.push(ListenerState::default());
        (network.descriptor(Endpoint::Listener(at)), at)
    })
}

/// Whether somebody waits to be accepted by a listener that is watched.
#[must_use]
pub fn has_waiting(listener: usize) -> bool {
    with_network(|network| {
        let ListenerState { waiting, watch, .. } = &network.listeners[listener];
        watch.is_some() && !waiting.is_empty()
    })
}
