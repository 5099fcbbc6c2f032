//! A shared address, as one of those sees it who share it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use millrace_net::Nanos;
use mio::net::{UnixListener, UnixStream};
use rustix::process::Pid;

use super::directory::{Door, DoorFile};
use super::joining::Other;
use super::link::Link;
use super::lost::AllLost;
use super::message::Message;
use super::prefix::UrlPrefix;
use super::routes::{Owner, Routes};
use super::trust::{self, is_trusted};
use crate::forwarded::About;

/// Connections that a process may be given without taking them: then it does not work.
const MAX_GIVEN: usize = 1024;
/// Those of which it cannot know what became of them: what was withdrawn from us may be on its way as well.
const MAX_UNANSWERED: usize = 2 * MAX_GIVEN;
/// Prefixes of one process, and those of all processes of another user.
pub(crate) const MAX_PREFIXES: usize = 1024;
/// Links to processes of another user.
pub(crate) const MAX_LINKS: usize = 128;
/// How long one of them waits for it to do so; and how long the rest of what another user's process has begun to say may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The priority (`SO_PRIORITY`) of a socket that was withdrawn from whom it was given to. Both have the same socket, so whoever takes it late
/// finds this. Nothing else sets it, and to the system it is as good as the usual one, zero.
#[cfg(target_os = "linux")]
const WITHDRAWN: u32 = 1;

/// A shared address.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
    pub(crate) secure: bool,
    /// Where others come to that join, and its place in the directory as long as they may.
    pub(crate) door: UnixListener,
    file: Option<DoorFile>,
    /// What they are given.
    pub(crate) listener: Arc<OwnedFd>,
    pub(crate) members: Vec<Member>,
    /// Prefixes that nobody has any more who had not given them back.
    pub(crate) gone: AllLost,
    /// A timer is set for the first of them to be forgotten.
    pub(crate) timed: bool,
    /// When the servers are told anew who answers what, and when they were; `NEVER`: all is told.
    pub(crate) stale: Nanos,
    pub(crate) routed: Nanos,
}

/// A server of this reactor.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) server: usize,
    pub(crate) prefix: UrlPrefix,
    /// It has not given its prefix back; else its last connections are being served.
    pub(crate) accepts: bool,
}

/// One of the others.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) link: Link<UnixStream>,
    pub(crate) ground: usize,
    pub(crate) user: u32,
    process: Option<Pid>,
    pub(crate) stage: Stage,
    pub(crate) prefixes: HashSet<UrlPrefix>,
    /// Connections that it was given and has not taken, by number, and when.
    given: BTreeMap<u32, (Nanos, Given)>,
    serial: u32,
    /// A timer is set for the first of them.
    pub(crate) timed: bool,
    /// It has not taken what it was given in time, and has said nothing since.
    is_late: bool,
    /// Connections that it gave and that are not known to it as taken, and of which it has not been told so.
    pub(crate) taking: Vec<Taking>,
    pub(crate) taken: Vec<u32>,
    /// Connections that it gave and of which it cannot know yet what becomes of them.
    unanswered: usize,
    /// Since when it owes the rest of what it has begun to say.
    begun: Option<Nanos>,
    /// A timer is set for that; and one for what the system had no room for.
    pub(crate) waited_for: bool,
    pub(crate) retried: bool,
}

/// What a peer is to say first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has come to our door: that it wants to join.
    Comes,
    /// We have come to its door: what it knows.
    Asked,
    /// It has said that.
    Known,
}

/// A connection on its way from one to the other.
#[derive(Debug)]
pub(crate) struct Moving<S> {
    pub(crate) socket: S,
    /// Its client.
    pub(crate) peer: Option<SocketAddr>,
    /// How often it was given on since its last response.
    pub(crate) hops: u8,
    /// It is the text of a TLS session, which somebody else has.
    pub(crate) about: Option<Box<About>>,
    /// What was read of it and not taken.
    pub(crate) bytes: Vec<u8>,
}

/// One that was given away: kept until the other has it.
pub(crate) type Given = Moving<Arc<OwnedFd>>;
/// One that was given to us.
pub(crate) type Taking = Moving<OwnedFd>;

impl<S> Moving<S> {
    /// The same with its socket held in another way.
    pub(crate) fn map<T>(self, hold: impl FnOnce(S) -> T) -> Moving<T> {
        let Self { socket, peer, hops, about, bytes } = self;
        Moving { socket: hold(socket), peer, hops, about, bytes }
    }
}

impl Ground {
    pub(crate) fn new(prefix: &UrlPrefix, door: Door, listener: OwnedFd) -> Self {
        Self {
            address: prefix.address(),
            port: prefix.port(),
            secure: prefix.is_secure(),
            door: UnixListener::from_std(door.listener),
            file: Some(door.file),
            listener: Arc::new(listener),
            members: Vec::new(),
            gone: AllLost::default(),
            timed: false,
            stale: Nanos::NEVER,
            routed: Nanos::default(),
        }
    }

    /// Nobody joins any more.
    pub(crate) fn close_door(&mut self) {
        self.file = None;
    }

    /// Whether this is the address of a prefix.
    pub(crate) fn is_of(&self, prefix: &UrlPrefix) -> bool {
        (self.address, self.port) == (prefix.address(), prefix.port())
    }

    /// Makes what a process of this user gives into what we believe of it: see [`super::trust`].
    pub(crate) fn admit(&self, user: u32, mut taking: Taking) -> io::Result<Taking> {
        if !is_trusted(user) {
            let is_text = taking.about.is_some();
            taking.peer = trust::client_of(&taking.socket, is_text, &self.listener)?;
            taking.about = taking.about.map(|about| Box::new(about.without_client()));
        }
        Ok(taking)
    }

    /// What its own servers have asked for.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &UrlPrefix> {
        self.members.iter().filter(|member| member.accepts).map(|member| &member.prefix)
    }

    /// Whether it is a prefix of this address, as those who share it have them.
    pub(crate) fn fits(&self, prefix: &UrlPrefix) -> bool {
        self.is_of(prefix) && self.secure == prefix.is_secure()
    }

    /// Who answers what, with these others.
    pub(crate) fn routes<'a>(&'a self, peers: impl Iterator<Item = (usize, &'a Peer)>) -> Routes {
        let own = self.members.iter().filter(|member| member.accepts);
        let own = own.map(|member| (&member.prefix, Some(Owner::Server(member.server))));
        let others = peers.flat_map(|(id, peer)| {
            peer.prefixes.iter().map(move |prefix| (prefix, Some(Owner::Link(id))))
        });
        let lost = self.gone.all().map(|lost| (&lost.prefix, None));
        Routes::new(own.chain(others).chain(lost).collect())
    }
}

impl Peer {
    /// One that has come to our door.
    pub(crate) fn new(socket: UnixStream, ground: usize) -> io::Result<Self> {
        let (user, process) = trust::peer_of(&socket)?;
        Ok(Self::of(Link::new(socket), ground, user, process, Stage::Comes))
    }

    /// One whom we have joined; its prefixes are its own to be noted.
    pub(crate) fn joined(other: Other, ground: usize) -> io::Result<Self> {
        let Other { link, user, process, welcomed, .. } = other;
        let stage = if welcomed { Stage::Known } else { Stage::Asked };
        Ok(Self::of(link.into_async()?, ground, user, process, stage))
    }

    fn of(
        link: Link<UnixStream>,
        ground: usize,
        user: u32,
        process: Option<Pid>,
        stage: Stage,
    ) -> Self {
        Self {
            link,
            ground,
            user,
            process,
            stage,
            prefixes: HashSet::new(),
            given: BTreeMap::new(),
            serial: 0,
            timed: false,
            is_late: false,
            taking: Vec::new(),
            taken: Vec::new(),
            unanswered: 0,
            begun: None,
            waited_for: false,
            retried: false,
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

    /// Notes whether it owes the rest of something, which was the same thing before if it `goes_on`. Gives when it is out of time.
    pub(crate) fn note_rest(&mut self, goes_on: bool, now: Nanos) -> Option<Nanos> {
        let owes = self.link.is_halfway() || self.stage == Stage::Comes;
        let begun = self.begun.filter(|_| goes_on).unwrap_or(now);
        self.begun = owes.then_some(begun);
        self.rest_ends()
    }

    /// When it is out of time with what it has begun to say. Those who could do in our place whatever they like may be in a debugger.
    pub(crate) fn rest_ends(&self) -> Option<Nanos> {
        self.begun.filter(|_| !is_trusted(self.user)).map(|begun| begun + PATIENCE)
    }

    /// The process is no more, so nobody else has what it has given.
    pub(crate) fn is_dead(&self) -> bool {
        self.process.is_some_and(trust::is_ending)
    }

    /// It has been given as many connections as may wait for it, or for as long as they may.
    pub(crate) fn is_full(&self) -> bool {
        self.given.len() >= MAX_GIVEN || self.is_late
    }

    /// It has said something.
    pub(crate) fn is_alive(&mut self) {
        self.is_late = false;
    }

    /// It has all that it was given.
    pub(crate) fn has_taken_all(&self) -> bool {
        self.given.is_empty()
    }

    /// A connection that it was given is its own, or comes back.
    pub(crate) fn remove_given(&mut self, serial: u32) -> Option<Given> {
        self.given.remove(&serial).map(|(_, given)| given)
    }

    /// All that it was given and has not taken.
    pub(crate) fn into_given(self) -> impl Iterator<Item = Given> {
        // What the link holds of the sockets goes first.
        drop(self.link);
        self.given.into_values().map(|(_, given)| given)
    }

    /// When the first of what it was given is to be withdrawn.
    pub(crate) fn patience_ends(&self) -> Option<Nanos> {
        self.given.values().map(|(since, _)| *since + PATIENCE).min()
    }

    /// Marks what it has not taken in time: it does not take that any more, unless it has said so by now. Gives the numbers.
    pub(crate) fn withdraw(&mut self, now: Nanos) -> Vec<u32> {
        let late = self.given.iter().filter(|(_, (since, _))| *since + PATIENCE <= now);
        let marked = late.filter(|(_, (_, given))| mark_withdrawn(&given.socket).is_ok());
        let late: Vec<u32> = marked.map(|(serial, _)| *serial).collect();
        self.is_late |= !late.is_empty();
        late
    }

    /// Gives it a connection, which leaves with the next flush of the link: those of one turn together. One that cannot be said comes back.
    pub(crate) fn give(&mut self, given: Given, now: Nanos) -> Result<(), Given> {
        self.serial = self.serial.wrapping_add(1);
        let about = given.about.as_deref().map(Cow::Borrowed);
        let (serial, hops, peer, bytes) = (self.serial, given.hops, given.peer, &given.bytes[..]);
        let message = Message::Connection { serial, hops, peer, about, bytes };
        if self.link.push(&message, Some(Arc::clone(&given.socket))).is_err() {
            return Err(given);
        }
        self.given.insert(serial, (now, given));
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn mark_withdrawn(socket: &OwnedFd) -> io::Result<()> {
    socket2::SockRef::from(socket).set_priority(WITHDRAWN)
}

/// Whether who gave a connection has withdrawn it. To be asked after it was told that the connection is taken: it marks first and then hears
/// what was told, so that never both have it.
#[cfg(target_os = "linux")]
pub(crate) fn is_withdrawn(socket: &OwnedFd) -> bool {
    socket2::SockRef::from(socket).priority().is_ok_and(|priority| priority == WITHDRAWN)
}

/// Without a mark, what was given stays with whom it was given to.
#[cfg(not(target_os = "linux"))]
fn mark_withdrawn(_: &OwnedFd) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_withdrawn(_: &OwnedFd) -> bool {
    false
}
