//! The shared addresses of one reactor: what its servers ask for, and what the reactor asks.

mod handoffs;
mod messages;
mod peers;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use millrace_net::{Nanos, TimerQueue};
use millrace_stack::router::{Detached, Route, RoutedRequest, Router, RouterContext};
use slab::Slab;

use crate::MAX_HOPS;
use crate::joining::{Joined, ReactorId};
use crate::limits::MAX_PREFIXES;
use crate::peer::Peer;
use crate::prefix::{UrlPrefix, host_and_path};
use crate::routes::Routes;
use crate::shared_address::{Member, SharedAddress};
use crate::trust::is_trusted;

/// What processes of other users have changed leads to new routes after so long, if the last ones were made just now.
const ROUTES_PAUSE: Duration = Duration::from_millis(10);

/// The shared addresses of one reactor, as its router.
#[derive(Debug)]
pub struct SharedPorts {
    id: ReactorId,
    addresses: Slab<SharedAddress>,
    peers: Slab<Peer>,
    /// Peers that were given something in this turn, which has not left.
    peers_to_flush: BTreeSet<usize>,
    /// What there is to do without an event. What is in it twice has nothing to do the second time.
    ready: Vec<Watched>,
    timers: TimerQueue<Timer>,
}

/// A descriptor that the reactor watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Watched {
    /// The link to a peer.
    Peer(usize),
    /// Where those come to that join at an address.
    Rendezvous(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// What nobody has any more at an address is to be forgotten.
    Orphans(usize),
    /// A descriptor is looked at again.
    Retry(Watched),
    /// A peer owes the rest of what it has begun to say.
    Rest(usize),
}

impl Watched {
    fn key(self) -> usize {
        match self {
            Self::Peer(id) => id << 1,
            Self::Rendezvous(id) => id << 1 | 1,
        }
    }

    fn of(key: usize) -> Self {
        if key & 1 == 0 { Self::Peer(key >> 1) } else { Self::Rendezvous(key >> 1) }
    }
}

impl Default for SharedPorts {
    fn default() -> Self {
        use std::hash::{BuildHasher as _, Hasher as _};
        // Its keys are the standard library's source of chance.
        let chance = std::hash::RandomState::new().build_hasher().finish();
        Self {
            id: ReactorId(chance),
            addresses: Slab::new(),
            peers: Slab::new(),
            peers_to_flush: BTreeSet::new(),
            ready: Vec::new(),
            timers: TimerQueue::default(),
        }
    }
}

impl SharedPorts {
    /// What tells this reactor from others.
    #[must_use]
    pub fn id(&self) -> ReactorId {
        self.id
    }

    /// The socket that servers of this reactor share an address by, if they do.
    #[must_use]
    pub fn shared_listener(&self, prefix: &UrlPrefix) -> Option<io::Result<OwnedFd>> {
        let address = self.addresses.iter().find(|(_, address)| address.is_of(prefix));
        address.map(|(_, address)| address.listener.try_clone())
    }

    /// Lets a server share an address: from now on it has the requests for its prefix, and no others. `listener` is what all
    /// of them accept from; the server is to listen to that afterwards.
    pub fn share(
        &mut self,
        server: usize,
        joined: Joined,
        listener: OwnedFd,
        context: &mut RouterContext<'_>,
    ) -> io::Result<()> {
        let prefix = joined.prefix().clone();
        let known = self.addresses.iter().find(|(_, address)| address.is_of(&prefix));
        let id = match known.map(|(id, _)| id) {
            Some(id) => id,
            None => self.open_address(joined, listener, context)?,
        };
        let address = &mut self.addresses[id];
        if address.prefixes().count() >= MAX_PREFIXES {
            let text = format!("a process shares a port with {MAX_PREFIXES} prefixes at most");
            return Err(io::Error::other(text));
        }
        address.orphans.remove(&prefix);
        address.members.push(Member { server, prefix: prefix.clone(), accepts: true });
        self.tell_peers(id, &prefix, true, context.now());
        self.mark_stale(id);
        Ok(())
    }

    /// Gives back the prefix of a server: others may have it. Its last connections are served.
    pub fn unshare(&mut self, server: usize, context: &mut RouterContext<'_>) {
        let addresses = self.addresses.iter_mut();
        let mut members =
            addresses.flat_map(|(id, it)| it.members.iter_mut().map(move |member| (id, member)));
        let Some((id, member)) = members.find(|(_, it)| it.server == server && it.accepts) else {
            return;
        };
        member.accepts = false;
        let prefix = member.prefix.clone();
        if !self.addresses[id].prefixes().any(|other| *other == prefix) {
            self.tell_peers(id, &prefix, false, context.now());
        }
        self.mark_stale(id);
    }

    /// Whether a request belongs to a server.
    pub fn owns(&mut self, server: usize, target: &[u8], host: &[u8], now: Nanos) -> bool {
        let (host, path) = host_and_path(target, host);
        let Some(routes) = self.address_of(server).and_then(|id| self.routes(id, now)) else {
            return true;
        };
        routes.of_request(host, path, server, true) == Route::Here
    }

    /// Who answers what at an address.
    fn routes(&mut self, address: usize, now: Nanos) -> Option<&mut Routes> {
        let others = self.peers.iter().filter(|(_, peer)| peer.address == address);
        Some(self.addresses.get_mut(address)?.routes(others, now))
    }

    /// Who answers what is to be found anew before the next request is looked at.
    fn mark_stale(&mut self, address: usize) {
        if let Some(address) = self.addresses.get_mut(address) {
            address.mark_stale(Nanos::default());
        }
    }

    /// The same after a process of this user has changed something. However often it does, routes are not made all the time.
    fn mark_stale_for(&mut self, address: usize, user: u32) {
        let pause = if is_trusted(user) { Duration::ZERO } else { ROUTES_PAUSE };
        if let Some(address) = self.addresses.get_mut(address) {
            address.mark_stale(address.routed + pause);
        }
    }

    /// Whoever cannot be given more answers nothing.
    fn unless_full(&self, route: Route) -> Route {
        match route {
            Route::Elsewhere(id) if self.peers.get(id).is_some_and(Peer::is_full) => {
                Route::Nobody { gone: true }
            }
            route => route,
        }
    }

    fn on_timer(&mut self, timer: Timer, now: Nanos) {
        match timer {
            Timer::Orphans(address) => self.forget_orphans(address, now),
            Timer::Retry(watched) => {
                if let Watched::Peer(id) = watched
                    && let Some(peer) = self.peers.get_mut(id)
                {
                    peer.retries = false;
                }
                self.ready.push(watched);
            }
            Timer::Rest(id) => {
                if let Some(peer) = self.peers.get_mut(id) {
                    peer.is_timed = false;
                    self.ready.push(Watched::Peer(id));
                }
            }
        }
    }
}

impl Router for SharedPorts {
    fn address_of(&self, server: usize) -> Option<usize> {
        let of_it = |(_, address): &(usize, &SharedAddress)| address.accepts_for(server);
        self.addresses.iter().find(of_it).map(|(id, _)| id)
    }

    fn route(&mut self, request: &RoutedRequest<'_>) -> Route {
        let RoutedRequest { address, server, target, host, hops, pinned, now } = *request;
        // Those who gave it on do not agree whose it is.
        if hops > MAX_HOPS {
            return Route::Nobody { gone: true };
        }
        let Some(routes) = self.routes(address, now) else { return Route::Here };
        let (host, path) = host_and_path(target, host);
        let route = routes.of_request(host, path, server, pinned);
        self.unless_full(route)
    }

    fn route_session(&mut self, address: usize, server: usize, name: &str, now: Nanos) -> Route {
        let Some(routes) = self.routes(address, now) else { return Route::Here };
        let route = routes.of_host(name, server);
        self.unless_full(route)
    }

    fn successor(&self, address: usize, server: usize) -> Option<Route> {
        let mut members = self.addresses.get(address)?.members.iter();
        let own = members.find(|member| member.server != server);
        let own = own.map(|member| Route::Server(member.server));
        own.or_else(|| Some(Route::Elsewhere(self.any_peer(address)?)))
    }

    fn give(
        &mut self,
        address: usize,
        to: usize,
        connection: Detached,
        context: &mut RouterContext<'_>,
    ) {
        self.hand_off(address, to, connection, context);
    }

    fn flush(&mut self, context: &mut RouterContext<'_>) {
        while let Some(id) = self.peers_to_flush.pop_first() {
            if let Some(peer) = self.peers.get_mut(id)
                && peer.link.flush().is_err()
            {
                self.lose(id, context);
            }
            self.retry_if_stalled(id, context.now());
        }
    }

    fn on_ready(&mut self, key: usize) {
        self.ready.push(Watched::of(key));
    }

    fn run(&mut self, context: &mut RouterContext<'_>) {
        while let Some((_, timer)) = self.timers.pop_due(context.now()) {
            self.on_timer(timer, context.now());
        }
        for watched in std::mem::take(&mut self.ready) {
            match watched {
                Watched::Peer(id) => self.on_link(id, context),
                Watched::Rendezvous(id) => self.accept_peers(id, context),
            }
        }
    }

    fn next_run(&self) -> Nanos {
        if self.ready.is_empty() { self.timers.next() } else { Nanos::default() }
    }

    fn remove_server(&mut self, server: usize, context: &mut RouterContext<'_>) {
        self.unshare(server, context);
        let mut left = Vec::new();
        for (id, address) in &mut self.addresses {
            let before = address.members.len();
            address.members.retain(|member| member.server != server);
            if address.is_left() && before > 0 {
                left.push(id);
            }
        }
        for id in left {
            self.close_address(id, context);
        }
    }
}
