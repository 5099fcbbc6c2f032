//! Connections that go to those who share a port, and that come from them or back.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use millrace_stack::router::{Arrival, Detached, RouterContext};

use super::SharedPorts;
use crate::MAX_HOPS;
use crate::peer::{IncomingHandoff, OutgoingHandoff, Peer};

impl SharedPorts {
    /// Gives a connection to a peer; if that cannot be, it is answered here.
    pub(super) fn hand_off(
        &mut self,
        address: usize,
        to: usize,
        connection: Detached,
        context: &mut RouterContext<'_>,
    ) {
        let hops = connection.hops;
        let handoff = OutgoingHandoff { hops: hops.saturating_add(1), ..connection.map(Arc::new) };
        let Some(peer) = self.peers.get_mut(to) else {
            return self.reclaim(address, handoff, context);
        };
        match peer.give(handoff) {
            Ok(()) => drop(self.peers_to_flush.insert(to)),
            Err(handoff) => {
                self.reclaim(address, OutgoingHandoff { hops: MAX_HOPS + 1, ..handoff }, context);
            }
        }
    }

    /// A connection was given to us.
    pub(super) fn accept(
        &mut self,
        peer: usize,
        connection: IncomingHandoff,
        context: &mut RouterContext<'_>,
    ) {
        let Some(address) = self.peers.get(peer).map(|peer| peer.address) else { return };
        self.attach(address, connection, true, context);
    }

    /// A connection comes back from one who cannot take it.
    pub(super) fn reclaim(
        &mut self,
        address: usize,
        handoff: OutgoingHandoff,
        context: &mut RouterContext<'_>,
    ) {
        // One that has not been sent yet is still the link's, too.
        let owned = |socket: Arc<OwnedFd>| Arc::try_unwrap(socket).or_else(|it| it.try_clone());
        let Detached { socket, peer, hops, session, bytes } = handoff.map(owned);
        // Without a descriptor for it, it is lost as others are that have been accepted.
        if let Ok(socket) = socket {
            let connection = Detached { socket, peer, hops, session, bytes };
            self.attach(address, connection, false, context);
        }
    }

    fn attach(
        &self,
        address: usize,
        connection: Detached,
        pinned: bool,
        context: &mut RouterContext<'_>,
    ) {
        let member = self.addresses.get(address).and_then(|it| it.members.first());
        if let Some(server) = member.map(|member| member.server) {
            context.attach(Arrival { address, server, pinned, connection });
        }
    }

    /// What somebody had been given who is gone or refuses it is answered here, or, where nobody is here any more, by another.
    pub(super) fn reroute(
        &mut self,
        address: usize,
        handoff: OutgoingHandoff,
        context: &mut RouterContext<'_>,
    ) {
        if !self.addresses.get(address).is_some_and(|it| it.is_left()) {
            return self.reclaim(address, handoff, context);
        }
        // Those who close at once would send it round.
        let is_astray = handoff.hops > MAX_HOPS;
        let Some(other) = self.any_peer(address).filter(|_| !is_astray) else { return };
        if let Some(peer) = self.peers.get_mut(other) {
            // There is nobody here to answer one that cannot be given.
            let hops = handoff.hops.saturating_add(1);
            peer.give(OutgoingHandoff { hops, ..handoff }).ok();
            self.peers_to_flush.insert(other);
        }
    }

    /// One of those who share an address, who can be given connections: it answers something.
    pub(super) fn any_peer(&self, address: usize) -> Option<usize> {
        let is_there = |(_, peer): &(usize, &Peer)| {
            peer.address == address && !peer.prefixes.is_empty() && !peer.is_full()
        };
        Some(self.peers.iter().find(is_there)?.0)
    }
}
