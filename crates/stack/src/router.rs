//! Ports that are shared: what the reactor asks of whoever divides their requests, and how connections go there and come
//! from there.
//!
//! ```text
//!   request of a shared address ── Router::route ──> Here: as on any other port
//!                                                    Server: its connection goes to another server of this reactor
//!                                                    Elsewhere: its connection is detached and given to the router
//!                                                    Nobody: the reactor answers it
//!   connection from elsewhere ── RouterContext::attach ──> reactor
//! ```
//!
//! A reactor without a router shares nothing. Servers and connections know a shared address by the router's number for it.

use std::any::Any;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use millrace_net::Nanos;
use millrace_net::readiness::{Interest, Registry, Source};
use serde::{Deserialize, Serialize};

use crate::reactor::router_token;

/// Divides the requests of shared addresses. Nothing in it blocks. What has a default is for one that hears from others.
pub trait Router: Any + Debug + Send {
    /// The shared address that a server accepts for, if there is one.
    fn address_of(&self, server: usize) -> Option<usize>;

    /// Who answers a request.
    fn route(&mut self, request: &RoutedRequest<'_>) -> Route;

    /// Who has the TLS sessions for a server name that a client of `server` asks for. Of [`Route::Nobody`], the connection ends.
    fn route_session(&mut self, address: usize, server: usize, name: &str, now: Nanos) -> Route;

    /// Takes a connection for whom [`Self::route`] has just named. One that cannot be given comes back by
    /// [`RouterContext::attach`].
    fn give(
        &mut self,
        address: usize,
        to: usize,
        connection: Detached,
        context: &mut RouterContext<'_>,
    );

    /// Who takes a connection whose server is gone before any request; `None`: nobody.
    fn successor(&self, _address: usize, _server: usize) -> Option<Route> {
        None
    }

    /// A server is removed.
    fn remove_server(&mut self, _server: usize, _context: &mut RouterContext<'_>) {}

    /// Sends what was given in this turn.
    fn flush(&mut self, _context: &mut RouterContext<'_>) {}

    /// The descriptor that was registered with this key is ready: [`Self::run`] follows.
    fn on_ready(&mut self, _key: usize) {}

    /// Does what there is to do, at the beginning of a turn: before the requests that have come since.
    fn run(&mut self, _context: &mut RouterContext<'_>) {}

    /// When [`Self::run`] has something to do though no descriptor is ready: at once, if that is not in the future.
    fn next_run(&self) -> Nanos {
        Nanos::NEVER
    }
}

/// A request that came to a shared address.
#[derive(Clone, Copy, Debug)]
pub struct RoutedRequest<'a> {
    /// The address.
    pub address: usize,
    /// The server that its connection came to.
    pub server: usize,
    /// The request-target.
    pub target: &'a [u8],
    /// The value of `Host`; empty where there is none.
    pub host: &'a [u8],
    /// How often its connection was given on since the last response.
    pub hops: u8,
    /// Its connection has come to where it belongs, and stays there if that is one of several.
    pub pinned: bool,
    /// The time of the turn.
    pub now: Nanos,
}

/// Who answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The server that it came to.
    Here,
    /// Another server of the reactor.
    Server(usize),
    /// Somebody else, by the router's number.
    Elsewhere(usize),
    /// Nobody; `gone`: any more.
    Nobody {
        /// Somebody has answered such requests before.
        gone: bool,
    },
}

/// A connection outside of a reactor, of which nothing is under way.
#[derive(Debug)]
pub struct Detached<S = OwnedFd> {
    /// Its socket: the client's, or one for the text of a TLS session that stays where it is.
    pub socket: S,
    /// The client.
    pub peer: Option<SocketAddr>,
    /// How often it was given on since its last response.
    pub hops: u8,
    /// Of the TLS session whose text it is.
    pub session: Option<Box<SessionInfo>>,
    /// What was read of it and not taken.
    pub bytes: Vec<u8>,
}

impl<S> Detached<S> {
    /// The same with its socket held in another way.
    pub fn map<T>(self, hold: impl FnOnce(S) -> T) -> Detached<T> {
        let Self { socket, peer, hops, session, bytes } = self;
        Detached { socket: hold(socket), peer, hops, session, bytes }
    }
}

/// What whoever answers the requests of a TLS session is told of it by whoever has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// This side's address.
    pub local: Option<SocketAddr>,
    /// The client's.
    pub peer: Option<SocketAddr>,
    /// The server name that the client has asked for.
    pub name: Option<String>,
    /// The protocol that was agreed on (RFC 7301).
    pub protocol: Option<Vec<u8>>,
    /// An earlier session was resumed.
    pub resumed: bool,
    /// TLS 1.3.
    pub tls13: bool,
    /// The suite's number in IANA's registry.
    pub suite: u16,
    /// The client was asked for a certificate.
    pub asked: bool,
    /// Its certificates, the client's own first. DER.
    pub certificates: Vec<Vec<u8>>,
}

/// A connection that comes to a server of the reactor, or back to it.
#[derive(Debug)]
pub struct Arrival {
    /// The shared address that it belongs to.
    pub address: usize,
    /// The server.
    pub server: usize,
    /// As in [`RoutedRequest`].
    pub pinned: bool,
    /// The connection.
    pub connection: Detached,
}

/// What a router has of its reactor.
#[derive(Debug)]
pub struct RouterContext<'a> {
    registry: &'a Registry,
    now: Nanos,
    arrivals: &'a mut Vec<Arrival>,
}

impl<'a> RouterContext<'a> {
    pub(crate) fn new(registry: &'a Registry, now: Nanos, arrivals: &'a mut Vec<Arrival>) -> Self {
        Self { registry, now, arrivals }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Watches a descriptor, whose readiness is told with this key, of at most 61 bits.
    pub fn register(
        &self,
        source: &mut impl Source,
        key: usize,
        interest: Interest,
    ) -> io::Result<()> {
        self.registry.register(source, router_token(key), interest)
    }

    /// Watches it no longer.
    pub fn deregister(&self, source: &mut impl Source) -> io::Result<()> {
        self.registry.deregister(source)
    }

    /// Lets a server have a connection. One for which there is no memory is lost, as others are that have been accepted.
    pub fn attach(&mut self, arrival: Arrival) {
        self.arrivals.push(arrival);
    }
}
