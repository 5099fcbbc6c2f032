//! What peers say, a method for each message, and what follows.

use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use millrace_stack::router::{RouterContext, SessionInfo};

use super::{SharedPorts, Timer, Watched};
use crate::MAX_HOPS;
use crate::limits::MAX_PREFIXES;
use crate::link::is_transient;
use crate::message::{Message, VERSION};
use crate::orphans::OrphanedPrefix;
use crate::peer::{IncomingHandoff, Peer, Stage};
use crate::prefix::UrlPrefix;
use crate::trust::{is_trusted, own_user};

/// Reads of one link before everything else has its turn; and messages of it.
const READS: usize = 4;
const MESSAGES: usize = 256;
/// What a connection can have of bytes that were read and not taken: less than one read of 64 KiB, and one more.
const MAX_BYTES: usize = 128 * 1024;
/// No name of a host is longer, nor one of a protocol (RFC 7301, section 3.1).
const MAX_NAME: usize = 255;

/// What a peer has said, without the link's memory.
enum PeerMessage {
    Hello {
        secure: bool,
    },
    Welcome,
    /// A prefix that nobody has any more, and for how long that holds; `None`: one that is none.
    Orphaned(Option<(OrphanedPrefix, Duration)>),
    Added(UrlPrefix),
    Removed(UrlPrefix),
    Connection {
        serial: u32,
        handoff: IncomingHandoff,
    },
    Taken(Vec<u32>),
    /// A connection that came without its socket: the process has too many open.
    Lost(u32),
    Refused(u32),
    Nonsense,
}

impl SharedPorts {
    /// A link has something to say, or takes what it is told.
    pub(super) fn on_link(&mut self, id: usize, context: &mut RouterContext<'_>) {
        let now = context.now();
        match self.talk(id, context) {
            Ok(()) => self.retry_if_stalled(id, now),
            Err(_) => return self.lose(id, context),
        }
        let Some(peer) = self.peers.get_mut(id) else { return };
        match peer.rest_ends() {
            Some(ends) if ends <= now => self.lose(id, context),
            // What another user's process has begun to say has its time.
            Some(ends) if !std::mem::replace(&mut peer.is_timed, true) => {
                self.timers.push(ends, Timer::Rest(id));
            }
            _ => {}
        }
    }

    /// Says what is to be said, and hears what has come; an error: the link has ended.
    fn talk(&mut self, id: usize, context: &mut RouterContext<'_>) -> io::Result<()> {
        for _ in 0..READS {
            let Some(peer) = self.peers.get_mut(id) else { return Ok(()) };
            peer.link.flush()?;
            if self.read_messages(id, context)? {
                break;
            }
            let Some(peer) = self.peers.get_mut(id) else { return Ok(()) };
            match peer.link.receive() {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_transient(&error) => {
                    self.retry_peer(id, context.now());
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.ready.push(Watched::Peer(id));
        Ok(())
    }

    /// Takes what a peer has said; `true`: there may be more.
    fn read_messages(&mut self, id: usize, context: &mut RouterContext<'_>) -> io::Result<bool> {
        let mut count = 0;
        while count < MESSAGES
            && let Some(peer) = self.peers.get_mut(id)
        {
            let user = peer.user;
            let take =
                |message: &Message<'_>, descriptor| PeerMessage::of(message, descriptor, user);
            let Some(message) = peer.link.next(take)? else { break };
            count += 1;
            self.handle(id, message, context)?;
        }
        if let Some(peer) = self.peers.get_mut(id) {
            peer.note_rest(count == 0, context.now());
        }
        self.accept_all(id, context)?;
        Ok(count == MESSAGES)
    }

    /// Takes all that a peer has said by now, in messages that have come to the link.
    pub(super) fn read_all_messages(
        &mut self,
        id: usize,
        context: &mut RouterContext<'_>,
    ) -> io::Result<()> {
        while self.read_messages(id, context)? {}
        Ok(())
    }

    /// Takes the connections that a peer gave, if it knows or can know no more.
    fn accept_all(&mut self, id: usize, context: &mut RouterContext<'_>) -> io::Result<()> {
        let Some(peer) = self.peers.get_mut(id) else { return Ok(()) };
        let mut said = Ok(());
        if !peer.taken.is_empty() {
            let serials = std::mem::take(&mut peer.taken);
            said = peer.link.send(&Message::Taken { serials }, None);
        }
        let is_told = peer.link.has_answered();
        if is_told {
            peer.has_answers();
        }
        // One that cannot be told has them still, if it lives.
        if is_told || said.is_err() && peer.is_dead() {
            for handoff in std::mem::take(&mut peer.incoming) {
                self.accept(id, handoff, context);
            }
        }
        said
    }

    /// An error: it makes no sense at this place.
    fn handle(
        &mut self,
        id: usize,
        message: PeerMessage,
        context: &mut RouterContext<'_>,
    ) -> io::Result<()> {
        let Some(peer) = self.peers.get_mut(id) else { return Ok(()) };
        let (at, user) = (peer.address, peer.user);
        if !self.addresses.contains(at) {
            return Ok(());
        }
        match (message, peer.stage) {
            (PeerMessage::Hello { secure }, Stage::Comes) => {
                return self.welcome(id, secure, context);
            }
            (PeerMessage::Welcome, Stage::Asked) => peer.stage = Stage::Known,
            (PeerMessage::Orphaned(orphan), Stage::Asked) => {
                if let Some((orphan, left)) = orphan {
                    self.add_orphan(at, orphan, context.now() + left, context.now());
                }
            }
            (PeerMessage::Added(prefix), Stage::Asked | Stage::Known) => {
                self.add_prefix(id, prefix)
            }
            (PeerMessage::Removed(prefix), Stage::Asked | Stage::Known) => {
                if peer.prefixes.remove(&prefix) {
                    self.mark_stale_for(at, user);
                }
            }
            (PeerMessage::Connection { serial, handoff }, Stage::Known) => {
                return self.on_connection(id, serial, handoff);
            }
            (PeerMessage::Lost(serial), Stage::Known) => {
                if !peer.count_unanswered() {
                    return Err(nonsense());
                }
                peer.link.send(&Message::Refused { serial }, None).ok();
            }
            (PeerMessage::Taken(serials), Stage::Known) => {
                for serial in serials {
                    peer.remove_handoff(serial);
                }
                self.leave_peer(id);
                self.drop_address(at);
            }
            (PeerMessage::Refused(serial), Stage::Known) => {
                if let Some(handoff) = peer.remove_handoff(serial) {
                    self.reroute(at, handoff, context);
                }
                self.leave_peer(id);
                self.drop_address(at);
            }
            _ => return Err(nonsense()),
        }
        Ok(())
    }

    fn on_connection(
        &mut self,
        id: usize,
        serial: u32,
        handoff: IncomingHandoff,
    ) -> io::Result<()> {
        let Some(peer) = self.peers.get_mut(id) else { return Ok(()) };
        let Some(address) = self.addresses.get(peer.address) else { return Ok(()) };
        // Text of a session where there are none, or more than anybody gives who listens.
        if handoff.session.is_some() && !address.secure || !peer.count_unanswered() {
            return Err(nonsense());
        }
        match address.admit(peer.user, handoff) {
            Ok(handoff) if !address.is_left() => {
                peer.taken.push(serial);
                peer.incoming.push(handoff);
            }
            // A link that fails is found so when it is read: what else was said is heard.
            _ => drop(peer.link.send(&Message::Refused { serial }, None)),
        }
        Ok(())
    }

    /// Notes a prefix of a peer, unless it is another user's, or one of another address, or there are too many.
    pub(super) fn add_prefix(&mut self, id: usize, prefix: UrlPrefix) {
        let Some(peer) = self.peers.get(id) else { return };
        let (at, user) = (peer.address, peer.user);
        let is_its = |other: &Peer| other.address == at && other.user == user;
        let count = match is_trusted(user) {
            true => peer.prefixes.len(),
            false => {
                let peers = self.peers.iter().filter(|(_, other)| is_its(other));
                peers.map(|(_, other)| other.prefixes.len()).sum()
            }
        };
        if count >= MAX_PREFIXES || !self.may_have(at, &prefix, user) {
            return;
        }
        if let Some(address) = self.addresses.get_mut(at) {
            address.orphans.remove(&prefix);
        }
        if let Some(peer) = self.peers.get_mut(id)
            && peer.prefixes.insert(prefix)
        {
            self.mark_stale_for(at, user);
        }
    }

    /// Whether a user may have a prefix: it is one of the address, and nobody else has it, or had it last, as far as anybody says.
    fn may_have(&self, at: usize, prefix: &UrlPrefix, user: u32) -> bool {
        let Some(address) = self.addresses.get(at) else { return false };
        let others = self.peers.iter().filter(|(_, peer)| peer.address == at);
        let mut holders = others.filter(|(_, peer)| peer.prefixes.contains(prefix));
        let is_own = address.prefixes().any(|own| own == prefix);
        let mut orphans = address.orphans.of(prefix);
        address.fits(prefix)
            && holders.all(|(_, peer)| peer.user == user)
            && (!is_own || user == own_user())
            && orphans.all(|orphan| orphan.user == user)
    }

    /// Somebody joins: it is told who has what, and given the listening socket.
    fn welcome(&mut self, id: usize, secure: bool, context: &RouterContext<'_>) -> io::Result<()> {
        let Some(peer) = self.peers.get_mut(id) else { return Ok(()) };
        let Some(address) = self.addresses.get(peer.address) else { return Ok(()) };
        peer.stage = Stage::Known;
        for prefix in address.prefixes() {
            let prefix = Cow::Owned(prefix.to_string());
            peer.link.push(&Message::Added { prefix }, None)?;
        }
        for orphaned in address.orphans.to_messages(context.now()) {
            peer.link.push(&Message::Orphaned(orphaned), None)?;
        }
        let welcome = Message::Welcome { version: VERSION, secure: address.secure };
        let listener = (secure == address.secure).then(|| Arc::clone(&address.listener));
        peer.link.send(&welcome, listener)
    }
}

impl PeerMessage {
    fn of(message: &Message<'_>, descriptor: Option<OwnedFd>, user: u32) -> Self {
        let prefix = |text: &Cow<'_, str>| UrlPrefix::parse(text).ok();
        match message {
            Message::Hello { version: VERSION, secure } => Self::Hello { secure: *secure },
            Message::Welcome { version: VERSION, .. } => Self::Welcome,
            Message::Orphaned(orphaned) => Self::Orphaned(OrphanedPrefix::told_by(orphaned, user)),
            Message::Added { prefix: text } => prefix(text).map_or(Self::Nonsense, Self::Added),
            Message::Removed { prefix: text } => prefix(text).map_or(Self::Nonsense, Self::Removed),
            Message::Connection { session, bytes, .. } if !is_sound(session.as_deref(), bytes) => {
                Self::Nonsense
            }
            Message::Connection { serial, hops, peer, session, bytes } => match descriptor {
                Some(socket) => Self::Connection {
                    serial: *serial,
                    handoff: IncomingHandoff {
                        socket,
                        hops: (*hops).min(MAX_HOPS + 1),
                        peer: *peer,
                        session: session.clone().map(|session| Box::new(session.into_owned())),
                        bytes: bytes.to_vec(),
                    },
                },
                None => Self::Lost(*serial),
            },
            Message::Refused { serial } => Self::Refused(*serial),
            Message::Taken { serials } => Self::Taken(serials.clone()),
            // Of another version: it finds that by itself, as soon as it is answered.
            Message::Hello { .. } => Self::Hello { secure: false },
            Message::Welcome { .. } => Self::Nonsense,
        }
    }
}

/// Whether a connection is what one can be that somebody has read a little of.
fn is_sound(session: Option<&SessionInfo>, bytes: &[u8]) -> bool {
    let is_short = |length: Option<usize>| length.unwrap_or(0) <= MAX_NAME;
    bytes.len() <= MAX_BYTES
        && session.is_none_or(|session| {
            is_short(session.name.as_ref().map(String::len))
                && is_short(session.protocol.as_ref().map(Vec::len))
        })
}

fn nonsense() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
