//! Connections that go to those who share a port, and that come from them or back: see [`crate::sharing`].

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use millrace_net::socket::Socket;

use super::accepting::SocketOrigin;
use super::{Reactor, Timer};
use crate::batch::Batch;
use crate::connection::id::ConnId;
use crate::connection::work::Work;
use crate::forwarded::About;
use crate::sharing::{Given, MAX_HOPS, Moving, Owner, Peer, Taking, is_withdrawn};
use crate::transport::Transport;

/// A socket, what is to be known of the session whose text it has, and bytes that come first.
type GivenAway = (OwnedFd, Option<Box<About>>, Vec<u8>);

impl Reactor {
    /// A connection was given to us.
    pub(super) fn take_in(&mut self, peer: usize, taking: Taking) {
        let Some(at) = self.sharing.peers.get(peer).map(|peer| peer.ground) else { return };
        let member = self.sharing.grounds.get(at).and_then(|ground| ground.members.first());
        if let Some(server) = member.map(|member| member.server) {
            // One for which there is no memory is lost as others are that have been accepted.
            self.put_in(at, server, taking, true).ok();
        }
    }

    /// A connection comes back from one who cannot take it.
    pub(super) fn put_back(&mut self, ground: usize, given: Given) -> Option<ConnId> {
        let server = self.sharing.grounds.get(ground)?.members.first()?.server;
        // One that has not been sent yet is still the link's, too.
        let owned = |socket: Arc<OwnedFd>| Arc::try_unwrap(socket).or_else(|it| it.try_clone());
        let Moving { socket, peer, hops, about, bytes } = given.map(owned);
        let taking = Taking { socket: socket.ok()?, peer, hops, about, bytes };
        self.put_in(ground, server, taking, false).ok()
    }

    /// What somebody had been given who is gone or refuses it is answered here, or, where nobody is here any more, by another.
    pub(super) fn give_on(&mut self, at: usize, given: Given) {
        let is_left = self.sharing.grounds.get(at).is_some_and(|it| it.members.is_empty());
        if !is_left || is_withdrawn(&given.socket) {
            self.put_back(at, given);
            return;
        }
        // Those who close at once would send it round.
        let is_astray = given.hops > MAX_HOPS;
        let Some(other) = self.other_of(at).filter(|_| !is_astray) else { return };
        if let Some(peer) = self.sharing.peers.get_mut(other) {
            // There is nobody here to answer one that cannot be given.
            peer.give(Given { hops: given.hops.saturating_add(1), ..given }, self.now).ok();
            self.sharing.owing.insert(other);
            self.watch_given(other);
        }
    }

    /// One of those who share an address, who can be given connections: it answers something.
    fn other_of(&self, ground: usize) -> Option<usize> {
        let is_there = |(_, peer): &(usize, &Peer)| {
            peer.ground == ground && !peer.prefixes.is_empty() && !peer.is_full()
        };
        Some(self.sharing.peers.iter().find(is_there)?.0)
    }

    /// Time for a peer to take what it was given is over, for some of that at least: it comes back, to be answered by us. Whoever is
    /// stopped, or computes without a second thread, keeps no client waiting for longer.
    pub(super) fn on_patience(&mut self, id: usize) {
        let Some(peer) = self.sharing.peers.get_mut(id) else { return };
        peer.timed = false;
        let withdrawn = peer.withdraw(self.now);
        // What it has taken before, it has told by now; it may go on to talk for ever.
        let mut left = if withdrawn.is_empty() { 0 } else { peer.link.arrived() };
        while left > 0
            && let Some(peer) = self.sharing.peers.get_mut(id)
            && let Ok(count @ 1..) = peer.link.receive()
        {
            left = left.saturating_sub(count as u64);
            // One that says nonsense is found so by the next event.
            if self.hear_all(id).is_err() {
                break;
            }
        }
        for serial in withdrawn {
            let Some(peer) = self.sharing.peers.get_mut(id) else { return };
            let (ground, given) = (peer.ground, peer.remove_given(serial));
            let Some(given) = given else { continue };
            let is_secure = self.sharing.grounds.get(ground).is_some_and(|it| it.secure);
            if is_secure && given.about.is_none() {
                // Before a handshake nothing can be said. The other holds the socket, too, so that closing it would not do; one
                // that cannot be shut down has no client any more.
                socket2::SockRef::from(&*given.socket).shutdown(Shutdown::Both).ok();
            } else if let Some(id) = self.put_back(ground, given)
                && let Some(connection) = self.connections.get_mut(id)
            {
                (connection.hops, connection.withdrawn) = (MAX_HOPS + 1, true);
            }
        }
        self.watch_given(id);
    }

    /// What a peer was given has its time.
    pub(super) fn watch_given(&mut self, id: usize) {
        if let Some(peer) = self.sharing.peers.get_mut(id)
            && !peer.timed
            && let Some(at) = peer.patience_ends()
        {
            peer.timed = true;
            self.timers.push(at, Timer::Given(id));
            self.timers_changed = true;
        }
    }

    fn put_in(
        &mut self,
        ground: usize,
        server: usize,
        taking: Taking,
        pinned: bool,
    ) -> io::Result<ConnId> {
        let Taking { socket, peer, hops, about, bytes } = taking;
        let socket = Socket::from_known(socket, about.is_some());
        let id = self.add(socket, peer, server, SocketOrigin::Other { ground, about, bytes })?;
        if let Some(connection) = self.connections.get_mut(id) {
            (connection.hops, connection.pinned) = (hops, pinned);
            self.run_queue.push(connection, Work::READ);
        }
        Ok(id)
    }

    /// A connection goes to whom its next request belongs to.
    pub(super) fn leave(&mut self, id: ConnId, owner: Owner, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Owner::Server(server) = owner
            && connection.unopened
        {
            connection.server = server;
            if connection.is_handshaking() {
                self.watch_handshakes(server);
            }
            return self.run_again(id);
        }
        let Some(ground) = connection.ground else { return };
        let (server, peer, hops) = (connection.server, connection.peer, connection.hops);
        if let Owner::Link(other) = owner
            && self.sharing.peers.get(other).is_some_and(Peer::is_full)
        {
            if connection.is_handshaking() {
                // Nothing can be said before the handshake, and nobody was told of it.
                return drop(self.remove(id));
            }
            connection.hops = MAX_HOPS + 1;
            return self.run_again(id);
        }
        let Ok((socket, about, bytes)) = self.give_away(id, batch) else {
            return self.tell_closed(id, 0, batch);
        };
        let moving = Taking { socket, peer, hops, about, bytes };
        // One that fails here is lost as others are that have been accepted.
        match owner {
            Owner::Server(server) => drop(self.put_in(ground, server, moving, true)),
            Owner::Link(other) => match self.sharing.peers.get_mut(other) {
                Some(to) => {
                    let given = Given { hops: hops.saturating_add(1), ..moving.map(Arc::new) };
                    if let Err(given) = to.give(given, self.now) {
                        self.put_back(ground, Given { hops: MAX_HOPS + 1, ..given });
                        return;
                    }
                    self.sharing.owing.insert(other);
                    self.watch_given(other);
                }
                None => drop(self.put_in(ground, server, moving, false)),
            },
        }
    }

    /// What was given in this turn leaves, together for each peer.
    pub(super) fn send_given(&mut self) {
        while let Some(id) = self.sharing.owing.pop_first() {
            if let Some(peer) = self.sharing.peers.get_mut(id)
                && peer.link.flush().is_err()
            {
                self.lose(id);
            }
            self.retry(id);
        }
    }

    /// A connection whose server is gone, and whose next request may be anybody's, goes on with the others. `false`: there are none.
    pub(super) fn pass_on(&mut self, id: ConnId, batch: &mut Batch<'_>) -> bool {
        let Some(connection) = self.connections.get(id) else { return false };
        let is_free = connection.unopened && connection.queued() == 0 && !connection.withdrawn;
        let Some(at) = connection.ground.filter(|_| is_free) else { return false };
        let server = connection.server;
        let members = self.sharing.grounds.get(at).map(|ground| &ground.members);
        let other = members.into_iter().flatten().find(|member| member.server != server);
        let own = other.map(|member| Owner::Server(member.server));
        let link = || Some(Owner::Link(self.other_of(at)?));
        let Some(owner) = own.or_else(link) else { return false };
        self.leave(id, owner, batch);
        true
    }

    /// Takes the socket out of a connection, and what was read of it and not taken. A TLS session stays, and gives a way to
    /// its text.
    fn give_away(&mut self, id: ConnId, batch: &mut Batch<'_>) -> io::Result<GivenAway> {
        let connection = self.connections.get_mut(id).ok_or(io::ErrorKind::NotConnected)?;
        if matches!(connection.transport, Transport::Tls(_)) && !connection.is_handshaking() {
            let server = connection.server;
            let (socket, about) = self.relay(id)?;
            if let Some(server) = self.servers.get_mut(server) {
                server.counts.relayed += 1;
            }
            return Ok((socket, Some(about), Vec::new()));
        }
        let about = connection.transport.forwarded().cloned().map(Box::new);
        // The text of a session that stays moves, not the connection.
        if about.is_none()
            && let Some(server) = self.servers.get_mut(connection.server)
        {
            server.counts.moved += 1;
        }
        if connection.unopened {
            let (socket, _, bytes) = self.release(id.index())?;
            return Ok((socket, about, bytes));
        }
        let (socket, bytes) = connection.give_away(self.poll.registry())?;
        self.tell_closed(id, 0, batch);
        Ok((socket, about, bytes))
    }
}
