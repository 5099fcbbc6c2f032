//! Another process that shares an address, and the connections on their way to it and from it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use millrace_net::Nanos;
use millrace_stack::router::Detached;
use mio::net::UnixStream;
use rustix::process::Pid;

use crate::joining::Other;
use crate::link::Link;
use crate::message::Message;
use crate::prefix::UrlPrefix;
use crate::trust::{self, is_trusted};

/// Maximum unacknowledged handoffs of a peer; beyond it the peer counts as unresponsive.
const MAX_HANDOFFS: usize = 1024;
/// Maximum handoffs of a peer whose acknowledgements are not all sent: it may have received some, and given others since.
const MAX_UNANSWERED: usize = 2 * MAX_HANDOFFS;
/// Time limit for the rest of a message that a process of another user has begun to send.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection that was given away: kept until the other has it.
pub(crate) type OutgoingHandoff = Detached<Arc<OwnedFd>>;
/// One that was given to us.
pub(crate) type IncomingHandoff = Detached;

/// One of the others.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) link: Link<UnixStream>,
    /// The shared address.
    pub(crate) address: usize,
    pub(crate) user: u32,
    process: Option<Pid>,
    pub(crate) stage: Stage,
    pub(crate) prefixes: HashSet<UrlPrefix>,
    /// Connections that it was given and has not taken, by number.
    outgoing: BTreeMap<u32, OutgoingHandoff>,
    serial: u32,
    /// Connections that it gave and that are not known to it as taken, and of which it has not been told so.
    pub(crate) incoming: Vec<IncomingHandoff>,
    pub(crate) taken: Vec<u32>,
    /// Connections that it gave and of which it cannot know yet what becomes of them.
    unanswered: usize,
    /// Since when it owes the rest of what it has begun to say.
    begun: Option<Nanos>,
    /// A timer is set for that; and one for what the system had no room for.
    pub(crate) is_timed: bool,
    pub(crate) retries: bool,
}

/// What a peer is to say first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has come to us: that it wants to join.
    Comes,
    /// We have come to it: what it knows.
    Asked,
    /// It has said that.
    Known,
}

impl Peer {
    /// One that has come to us.
    pub(crate) fn new(socket: UnixStream, address: usize) -> io::Result<Self> {
        let (user, process) = trust::peer_of(&socket)?;
        Ok(Self::of(Link::new(socket), address, (user, process), Stage::Comes))
    }

    /// One whom we have joined; its prefixes are its own to be noted.
    pub(crate) fn joined(other: Other, address: usize) -> io::Result<Self> {
        let Other { link, user, process, welcomed, .. } = other;
        let stage = if welcomed { Stage::Known } else { Stage::Asked };
        Ok(Self::of(link.into_async()?, address, (user, process), stage))
    }

    fn of(
        link: Link<UnixStream>,
        address: usize,
        (user, process): (u32, Option<Pid>),
        stage: Stage,
    ) -> Self {
        Self {
            link,
            address,
            user,
            process,
            stage,
            prefixes: HashSet::new(),
            outgoing: BTreeMap::new(),
            serial: 0,
            incoming: Vec::new(),
            taken: Vec::new(),
            unanswered: 0,
            begun: None,
            is_timed: false,
            retries: false,
        }
    }

    /// It has given a connection. `false`: more than anybody gives who hears what becomes of them.
    pub(crate) fn count_unanswered(&mut self) -> bool {
        self.unanswered += 1;
        self.unanswered <= MAX_UNANSWERED
    }

    /// What has become of those that it gave it can know by now.
    pub(crate) fn has_answers(&mut self) {
        self.unanswered = 0;
    }

    /// Notes whether it owes the rest of something, which was the same thing before if it `goes_on`.
    pub(crate) fn note_rest(&mut self, goes_on: bool, now: Nanos) {
        let owes = self.link.is_halfway() || self.stage == Stage::Comes;
        let begun = self.begun.filter(|_| goes_on).unwrap_or(now);
        self.begun = owes.then_some(begun);
    }

    /// When it is out of time with what it has begun to say. Those who could do in our place whatever they like may be in a debugger.
    pub(crate) fn rest_ends(&self) -> Option<Nanos> {
        self.begun.filter(|_| !is_trusted(self.user)).map(|begun| begun + PATIENCE)
    }

    /// The process is no more, so nobody else has what it has given.
    pub(crate) fn is_dead(&self) -> bool {
        self.process.is_some_and(trust::is_ending)
    }

    /// It has been given as many connections as may wait for it.
    pub(crate) fn is_full(&self) -> bool {
        self.outgoing.len() >= MAX_HANDOFFS
    }

    /// It has all that it was given.
    pub(crate) fn has_taken_all(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// A connection that it was given is its own, or comes back.
    pub(crate) fn remove_handoff(&mut self, serial: u32) -> Option<OutgoingHandoff> {
        self.outgoing.remove(&serial)
    }

    /// All that it was given and has not taken.
    pub(crate) fn into_handoffs(self) -> impl Iterator<Item = OutgoingHandoff> {
        // What the link holds of the sockets goes first.
        drop(self.link);
        self.outgoing.into_values()
    }

    /// Gives it a connection, which leaves with the next flush of the link: those of one turn together. One that cannot be said comes back.
    pub(crate) fn give(&mut self, handoff: OutgoingHandoff) -> Result<(), OutgoingHandoff> {
        self.serial = self.serial.wrapping_add(1);
        let session = handoff.session.as_deref().map(Cow::Borrowed);
        let (serial, hops, peer) = (self.serial, handoff.hops, handoff.peer);
        let message = Message::Connection { serial, hops, peer, session, bytes: &handoff.bytes };
        if self.link.push(&message, Some(Arc::clone(&handoff.socket))).is_err() {
            return Err(handoff);
        }
        self.outgoing.insert(serial, handoff);
        Ok(())
    }
}
