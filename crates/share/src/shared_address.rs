//! A shared address, as one of those sees it who share it.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use millrace_net::Nanos;
use mio::net::UnixListener;

use crate::directory::{RendezvousFile, RendezvousSocket};
use crate::orphans::OrphanedPrefixes;
use crate::peer::{IncomingHandoff, Peer};
use crate::prefix::UrlPrefix;
use crate::routes::{Owner, Routes};
use crate::trust::{self, is_trusted};

#[derive(Debug)]
pub(crate) struct SharedAddress {
    address: Option<IpAddr>,
    port: u16,
    pub(crate) secure: bool,
    /// Where others come to that join, and its place in the directory as long as they may.
    pub(crate) rendezvous: UnixListener,
    file: Option<RendezvousFile>,
    /// What they are given.
    pub(crate) listener: Arc<OwnedFd>,
    pub(crate) members: Vec<Member>,
    /// Prefixes that nobody has any more who had not given them back.
    pub(crate) orphans: OrphanedPrefixes,
    /// A timer is set for the first of them to be forgotten.
    pub(crate) is_timed: bool,
    /// Who answers what, since when, and from when on that is to be found anew; `NEVER`: it is current.
    routes: Routes,
    pub(crate) routed: Nanos,
    pub(crate) stale: Nanos,
}

/// A server of this reactor.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) server: usize,
    pub(crate) prefix: UrlPrefix,
    /// It has not given its prefix back; else its last connections are being served.
    pub(crate) accepts: bool,
}

impl SharedAddress {
    pub(crate) fn new(prefix: &UrlPrefix, rendezvous: RendezvousSocket, listener: OwnedFd) -> Self {
        Self {
            address: prefix.address(),
            port: prefix.port(),
            secure: prefix.is_secure(),
            rendezvous: UnixListener::from_std(rendezvous.listener),
            file: Some(rendezvous.file),
            listener: Arc::new(listener),
            members: Vec::new(),
            orphans: OrphanedPrefixes::default(),
            is_timed: false,
            routes: Routes::default(),
            routed: Nanos::default(),
            stale: Nanos::NEVER,
        }
    }

    /// Nobody joins any more.
    pub(crate) fn close(&mut self) {
        self.file = None;
    }

    /// Its servers are gone; what was given may still have to be taken.
    pub(crate) fn is_left(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether this is the address of a prefix.
    pub(crate) fn is_of(&self, prefix: &UrlPrefix) -> bool {
        (self.address, self.port) == (prefix.address(), prefix.port())
    }

    /// Whether it is a prefix of this address, as those who share it have them.
    pub(crate) fn fits(&self, prefix: &UrlPrefix) -> bool {
        self.is_of(prefix) && self.secure == prefix.is_secure()
    }

    /// What its own servers have asked for.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &UrlPrefix> {
        self.members.iter().filter(|member| member.accepts).map(|member| &member.prefix)
    }

    /// Whether a server accepts for it.
    pub(crate) fn accepts_for(&self, server: usize) -> bool {
        self.members.iter().any(|member| member.server == server && member.accepts)
    }

    /// Makes what a process of this user gives into what we believe of it: see [`super::trust`].
    pub(crate) fn admit(
        &self,
        user: u32,
        mut handoff: IncomingHandoff,
    ) -> io::Result<IncomingHandoff> {
        if !is_trusted(user) {
            let is_text = handoff.session.is_some();
            handoff.peer = trust::client_of(&handoff.socket, is_text, &self.listener)?;
            if let Some(session) = &mut handoff.session {
                trust::forget_client(session);
            }
        }
        Ok(handoff)
    }

    /// Who answers what, with these others, if that was to be found anew by now.
    pub(crate) fn routes<'a>(
        &mut self,
        others: impl Iterator<Item = (usize, &'a Peer)>,
        now: Nanos,
    ) -> &mut Routes {
        if self.stale <= now {
            (self.stale, self.routed) = (Nanos::NEVER, now);
            let own = self.members.iter().filter(|member| member.accepts);
            let own = own.map(|member| (&member.prefix, Some(Owner::Server(member.server))));
            let others = others.flat_map(|(id, peer)| {
                peer.prefixes.iter().map(move |prefix| (prefix, Some(Owner::Peer(id))))
            });
            let orphans = self.orphans.all().map(|orphan| (&orphan.prefix, None));
            self.routes = Routes::new(own.chain(others).chain(orphans).collect());
        }
        &mut self.routes
    }

    /// Who answers what is to be found anew from this time on.
    pub(crate) fn mark_stale(&mut self, at: Nanos) {
        self.stale = self.stale.min(at);
    }
}
