//! The processes that share the addresses: they come, they are told what changes, and they end.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::time::Duration;

use millrace_net::Nanos;
use millrace_net::readiness::Interest;
use millrace_stack::router::RouterContext;
use mio::net::UnixStream;

use super::{SharedPorts, Timer, Watched};
use crate::joining::{Joined, Other};
use crate::limits::MAX_LINKS;
use crate::orphans::{KEPT, OrphanedPrefix};
use crate::peer::{Peer, Stage};
use crate::prefix::UrlPrefix;
use crate::shared_address::SharedAddress;
use crate::trust::is_trusted;

/// Peers that are accepted before everything else has its turn.
const ACCEPTS: usize = 16;
/// After a lack of descriptors or memory, another try.
const RETRY: Duration = Duration::from_millis(10);

impl SharedPorts {
    pub(super) fn open_address(
        &mut self,
        joined: Joined,
        listener: OwnedFd,
        context: &mut RouterContext<'_>,
    ) -> io::Result<usize> {
        let Joined { prefix, rendezvous, others, .. } = joined;
        let rendezvous = rendezvous.ok_or(io::ErrorKind::NotConnected)?;
        let mut address = SharedAddress::new(&prefix, rendezvous, listener);
        let entry = self.addresses.vacant_entry();
        let id = entry.key();
        let watched = Watched::Rendezvous(id);
        context.register(&mut address.rendezvous, watched.key(), Interest::READABLE)?;
        entry.insert(address);
        if let Err(error) = self.add_others(id, others, context) {
            self.abandon_address(id, context);
            return Err(error);
        }
        // Somebody may have come, or said something, before.
        self.ready.push(watched);
        Ok(id)
    }

    /// Notes what those whom we have joined have said.
    fn add_others(
        &mut self,
        id: usize,
        others: Vec<Other>,
        context: &RouterContext<'_>,
    ) -> io::Result<()> {
        let now = context.now();
        for (orphan, left) in others.iter().flat_map(|other| &other.orphans) {
            self.add_orphan(id, orphan.clone(), now + *left, now);
        }
        for mut other in others {
            let prefixes = std::mem::take(&mut other.prefixes);
            let peer = self.add_peer(Peer::joined(other, id)?, context)?;
            for prefix in prefixes {
                self.add_prefix(peer, prefix);
            }
        }
        Ok(())
    }

    /// Forgets an address that could not be joined, with those who share it: they find their links ended.
    fn abandon_address(&mut self, id: usize, context: &RouterContext<'_>) {
        let of_it = |(peer, it): (usize, &Peer)| (it.address == id).then_some(peer);
        let peers: Vec<usize> = self.peers.iter().filter_map(of_it).collect();
        for mut peer in peers.into_iter().filter_map(|peer| self.peers.try_remove(peer)) {
            // Its descriptor closes with it.
            context.deregister(&mut peer.link.socket).ok();
        }
        if let Some(mut address) = self.addresses.try_remove(id) {
            context.deregister(&mut address.rendezvous).ok();
        }
    }

    fn add_peer(&mut self, mut peer: Peer, context: &RouterContext<'_>) -> io::Result<usize> {
        let entry = self.peers.vacant_entry();
        let id = entry.key();
        let watched = Watched::Peer(id);
        let interest = Interest::READABLE | Interest::WRITABLE;
        context.register(&mut peer.link.socket, watched.key(), interest)?;
        entry.insert(peer);
        self.ready.push(watched);
        Ok(id)
    }

    /// Those who join come no more; what was given stays until it is taken.
    pub(super) fn close_address(&mut self, id: usize, context: &RouterContext<'_>) {
        let Some(address) = self.addresses.get_mut(id) else { return };
        // Its descriptor closes with it; leaving the poll set first cannot fail in a way that matters.
        context.deregister(&mut address.rendezvous).ok();
        address.close();
        let of_it = |(peer, it): (usize, &Peer)| (it.address == id).then_some(peer);
        let peers: Vec<usize> = self.peers.iter().filter_map(of_it).collect();
        for peer in peers {
            self.leave_peer(peer);
        }
        self.drop_address(id);
    }

    /// Ends a link behind which there is nothing left.
    pub(super) fn leave_peer(&mut self, id: usize) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let is_over = self.addresses.get(peer.address).is_none_or(SharedAddress::is_left);
        if is_over && peer.has_taken_all() {
            self.peers.remove(id);
        }
    }

    pub(super) fn drop_address(&mut self, id: usize) {
        let is_over = self.addresses.get(id).is_some_and(SharedAddress::is_left);
        if is_over && !self.peers.iter().any(|(_, peer)| peer.address == id) {
            self.addresses.remove(id);
        }
    }

    /// Tells others that a prefix is ours, or is no more.
    pub(super) fn tell_peers(
        &mut self,
        address: usize,
        prefix: &UrlPrefix,
        is_added: bool,
        now: Nanos,
    ) {
        let prefix = prefix.to_string();
        // Those that have not said what they want yet hear all there is when they have.
        let of_it = |peer: &Peer| peer.address == address && peer.stage != Stage::Comes;
        let mut told = Vec::new();
        for (id, peer) in self.peers.iter_mut().filter(|(_, peer)| of_it(peer)) {
            // One that is gone is found so when its link is read.
            peer.link.send_change(&prefix, is_added).ok();
            told.push(id);
        }
        for id in told {
            self.retry_if_stalled(id, now);
        }
    }

    /// Others come to join.
    pub(super) fn accept_peers(&mut self, id: usize, context: &RouterContext<'_>) {
        let watched = Watched::Rendezvous(id);
        for _ in 0..ACCEPTS {
            let Some(address) = self.addresses.get(id) else { return };
            match address.rendezvous.accept() {
                // One that is gone already, or for which there is no memory, tries again.
                Ok((socket, _)) => drop(self.admit_peer(socket, id, context)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // No event tells when there is room for those that wait.
                Err(_) => return self.retry(watched, context.now()),
            }
        }
        self.ready.push(watched);
    }

    /// One comes to join, unless there are too many of another user.
    fn admit_peer(
        &mut self,
        socket: UnixStream,
        address: usize,
        context: &RouterContext<'_>,
    ) -> io::Result<()> {
        let peer = Peer::new(socket, address)?;
        let same = |(_, it): &(usize, &Peer)| it.address == address && it.user == peer.user;
        let count = self.peers.iter().filter(same).count();
        if count < MAX_LINKS || is_trusted(peer.user) {
            self.add_peer(peer, context)?;
        }
        Ok(())
    }

    /// Looks at a descriptor again, though no event may say so.
    pub(super) fn retry(&mut self, watched: Watched, now: Nanos) {
        self.timers.push(now + RETRY, Timer::Retry(watched));
    }

    /// What the system had no room for is said later.
    pub(super) fn retry_if_stalled(&mut self, id: usize, now: Nanos) {
        if self.peers.get(id).is_some_and(|peer| peer.link.is_stalled()) {
            self.retry_peer(id, now);
        }
    }

    /// Looks at a link again, though no event may say so. However many reasons there are, it has one timer.
    pub(super) fn retry_peer(&mut self, id: usize, now: Nanos) {
        if let Some(peer) = self.peers.get_mut(id)
            && !std::mem::replace(&mut peer.retries, true)
        {
            self.retry(Watched::Peer(id), now);
        }
    }

    /// Remembers a prefix that nobody has any more.
    pub(super) fn add_orphan(
        &mut self,
        at: usize,
        orphan: OrphanedPrefix,
        until: Nanos,
        now: Nanos,
    ) {
        let Some(address) = self.addresses.get_mut(at) else { return };
        if address.fits(&orphan.prefix) {
            let stale = if orphan.confirmed { Nanos::default() } else { now + super::ROUTES_PAUSE };
            address.orphans.add(orphan, until);
            address.mark_stale(stale);
            self.watch_orphans(at);
        }
    }

    /// What nobody has any more is forgotten in time.
    fn watch_orphans(&mut self, at: usize) {
        if let Some(address) = self.addresses.get_mut(at)
            && !address.is_timed
            && let Some(next) = address.orphans.next()
        {
            address.is_timed = true;
            self.timers.push(next, Timer::Orphans(at));
        }
    }

    pub(super) fn forget_orphans(&mut self, at: usize, now: Nanos) {
        let Some(address) = self.addresses.get_mut(at) else { return };
        address.is_timed = false;
        address.orphans.expire(now);
        self.mark_stale(at);
        self.watch_orphans(at);
    }

    /// A peer is gone: what it was given and has not taken goes elsewhere, and its prefixes are nobody's.
    pub(super) fn lose(&mut self, id: usize, context: &mut RouterContext<'_>) {
        // What it has said is heard: above all, what it has taken.
        if let Some(peer) = self.peers.get_mut(id) {
            peer.link.socket.shutdown(Shutdown::Both).ok();
            let mut is_sense = self.read_all_messages(id, context).is_ok();
            while is_sense
                && let Some(peer) = self.peers.get_mut(id)
                && matches!(peer.link.receive(), Ok(1..))
            {
                is_sense = self.read_all_messages(id, context).is_ok();
            }
        }
        let Some(mut peer) = self.peers.try_remove(id) else { return };
        context.deregister(&mut peer.link.socket).ok();
        let (at, user, prefixes) = (peer.address, peer.user, std::mem::take(&mut peer.prefixes));
        let handoffs = peer.into_handoffs();
        let Some(address) = self.addresses.get_mut(at) else { return };
        let others = self.peers.iter().filter(|(_, peer)| peer.address == at);
        let held: Vec<_> = others.flat_map(|(_, peer)| &peer.prefixes).cloned().collect();
        for prefix in prefixes {
            if !held.contains(&prefix) && !address.prefixes().any(|own| *own == prefix) {
                let orphan = OrphanedPrefix { prefix, user, confirmed: true };
                address.orphans.add(orphan, context.now() + KEPT);
            }
        }
        self.watch_orphans(at);
        self.mark_stale(at);
        for handoff in handoffs {
            self.reroute(at, handoff, context);
        }
        self.drop_address(at);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs::File;
    use std::os::unix::net::UnixStream as StdStream;

    use millrace_stack::Reactor;

    use super::*;
    use crate::link::Link;

    /// The system watches no regular file.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_peer_that_cannot_be_watched_is_forgotten() {
        let mut reactor = Reactor::new().unwrap();
        reactor.set_router(Box::new(SharedPorts::default()));
        let file = OwnedFd::from(File::open(std::env::current_exe().unwrap()).unwrap());
        let other = Other {
            link: Link::new(StdStream::from(file)),
            user: 0,
            process: None,
            prefixes: HashSet::new(),
            orphans: Vec::new(),
            welcomed: true,
        };
        let peer = Peer::joined(other, 0).unwrap();
        let left = reactor.with_router(|ports: &mut SharedPorts, context| {
            assert!(ports.add_peer(peer, context).is_err());
            (ports.peers.len(), ports.ready.len())
        });
        assert_eq!(left, Some((0, 0)));
    }

    #[test]
    fn a_link_that_is_looked_at_again_has_one_timer() {
        let mut ports = SharedPorts::default();
        let (socket, _other) = UnixStream::pair().unwrap();
        let id = ports.peers.insert(Peer::new(socket, 0).unwrap());
        for _ in 0..3 {
            ports.retry_peer(id, Nanos::default());
            ports.retry_if_stalled(id, Nanos::default());
        }
        assert_eq!(ports.timers.len(), 1);
        let (_, timer) = ports.timers.pop_due(Nanos::NEVER).unwrap();
        ports.on_timer(timer, Nanos::default());
        assert_eq!(ports.ready, [Watched::Peer(id)]);
        ports.retry_peer(id, Nanos::default());
        assert_eq!(ports.timers.len(), 1);
    }
}
