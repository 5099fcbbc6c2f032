//! A shared address, as one of those sees it who share it.

use std::borrow::Cow;
use std::collections::BTreeMap;
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
use super::message::{self, Message};
use super::prefix::UrlPrefix;
use super::routes::{Owner, Routes};
use super::trust::{self, is_trusted};
use crate::forwarded::About;

/// Connections that a process may be given without taking them: then it does not work.
const MAX_GIVEN: usize = 1024;
/// How long one of them waits for it to do so.
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
    pub(crate) gone: Vec<Lost>,
}

/// A prefix that nobody has any more who had not given it back: its user alone may have it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) prefix: UrlPrefix,
    pub(crate) user: u32,
    /// We have seen it, or somebody says so whose word is as good: root, or a process of our own user. What others say, who may
    /// speak for themselves, bars everybody else from the prefix and gives it to nobody whom others deny it.
    pub(crate) is_sure: bool,
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
    /// It has said who it is.
    pub(crate) welcomed: bool,
    pub(crate) prefixes: Vec<UrlPrefix>,
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
            gone: Vec::new(),
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

    /// Remembers a prefix that nobody has any more.
    pub(crate) fn add_gone(&mut self, lost: Lost) {
        let mut known = self.gone.iter().filter(|known| known.prefix == lost.prefix);
        if known.any(|known| known.is_sure || known.user == lost.user && !lost.is_sure) {
            return;
        }
        if lost.is_sure {
            self.gone.retain(|known| known.prefix != lost.prefix);
        }
        self.gone.push(lost);
    }

    /// Who answers what, with these others.
    pub(crate) fn routes<'a>(&'a self, peers: impl Iterator<Item = (usize, &'a Peer)>) -> Routes {
        let mut routes = Routes::default();
        for member in self.members.iter().filter(|member| member.accepts) {
            routes.add(&member.prefix, Some(Owner::Server(member.server)));
        }
        for (id, peer) in peers {
            for prefix in &peer.prefixes {
                routes.add(prefix, Some(Owner::Link(id)));
            }
        }
        for lost in &self.gone {
            routes.add(&lost.prefix, None);
        }
        routes
    }
}

impl Lost {
    /// What a process of the user `teller` says of a prefix; `None`: nothing that is one.
    pub(crate) fn said(gone: &message::Gone<'_>, teller: u32) -> Option<Self> {
        let prefix = UrlPrefix::parse(&gone.prefix).ok()?;
        Some(Self { prefix, user: gone.user, is_sure: gone.is_sure && is_trusted(teller) })
    }

    pub(crate) fn to_message(&self) -> message::Gone<'static> {
        let Self { user, is_sure, .. } = *self;
        message::Gone { prefix: Cow::Owned(self.prefix.to_string()), user, is_sure }
    }
}

impl Peer {
    /// One that has come to our door.
    pub(crate) fn new(socket: UnixStream, ground: usize) -> io::Result<Self> {
        let (user, process) = trust::peer_of(&socket)?;
        // It is told who we are, and does not tell us.
        Ok(Self { welcomed: true, ..Self::of(Link::new(socket), ground, user, process) })
    }

    /// One whom we have joined.
    pub(crate) fn joined(other: Other, ground: usize) -> io::Result<Self> {
        let Other { link, user, process, prefixes, welcomed, .. } = other;
        let peer = Self::of(link.into_async()?, ground, user, process);
        Ok(Self { prefixes, welcomed, ..peer })
    }

    fn of(link: Link<UnixStream>, ground: usize, user: u32, process: Option<Pid>) -> Self {
        Self {
            link,
            ground,
            user,
            process,
            welcomed: false,
            prefixes: Vec::new(),
            given: BTreeMap::new(),
            serial: 0,
            timed: false,
            is_late: false,
            taking: Vec::new(),
            taken: Vec::new(),
        }
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

    /// Gives it a connection, which leaves with the next flush of the link: those of one turn together.
    pub(crate) fn give(&mut self, given: Given, now: Nanos) {
        self.serial = self.serial.wrapping_add(1);
        let Self { serial, .. } = *self;
        let (socket, hops) = (Arc::clone(&given.socket), given.hops);
        let (_, given) = self.given.entry(serial).or_insert((now, given));
        let about = given.about.as_deref().map(Cow::Borrowed);
        let (peer, bytes) = (given.peer, &given.bytes[..]);
        let message = Message::Connection { serial, hops, peer, about, bytes };
        self.link.push(&message, Some(socket));
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
