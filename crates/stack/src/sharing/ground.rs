//! A shared address, as one of those sees it who share it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use mio::net::{UnixListener, UnixStream};
use rustix::process::Pid;

use super::directory::{Door, DoorFile};
use super::joining::Other;
use super::link::{self, Link};
use super::message::Message;
use super::prefix::UrlPrefix;
use super::routes::{Owner, Routes};
use crate::forwarded::About;

/// Connections that a process may be given without taking them: then it does not work.
const MAX_GIVEN: usize = 1024;

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
    /// Prefixes that nobody has any more who had not given them back, with their users.
    pub(crate) gone: Vec<(UrlPrefix, u32)>,
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
    /// Connections that it was given and has not taken, by number.
    pub(crate) given: BTreeMap<u32, Given>,
    serial: u32,
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

    /// What its own servers have asked for.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &UrlPrefix> {
        self.members.iter().filter(|member| member.accepts).map(|member| &member.prefix)
    }

    /// Remembers a prefix that nobody has any more.
    pub(crate) fn add_gone(&mut self, prefix: UrlPrefix, user: u32) {
        if !self.gone.iter().any(|(gone, _)| *gone == prefix) {
            self.gone.push((prefix, user));
        }
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
        for (prefix, _) in &self.gone {
            routes.add(prefix, None);
        }
        routes
    }
}

impl Peer {
    /// One that has come to our door.
    pub(crate) fn new(socket: UnixStream, ground: usize) -> io::Result<Self> {
        let (user, process) = link::peer_of(&socket)?;
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
        let (given, taking, taken) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (prefixes, welcomed, serial) = (Vec::new(), false, 0);
        Self { link, ground, user, process, welcomed, prefixes, given, serial, taking, taken }
    }

    /// The process is no more, so nobody else has what it has given.
    pub(crate) fn is_dead(&self) -> bool {
        self.process.is_some_and(link::is_ending)
    }

    /// It has been given as many connections as may wait for it.
    pub(crate) fn is_full(&self) -> bool {
        self.given.len() >= MAX_GIVEN
    }

    /// Gives it a connection.
    pub(crate) fn give(&mut self, given: Given) -> io::Result<()> {
        self.serial = self.serial.wrapping_add(1);
        let Self { serial, .. } = *self;
        let (socket, hops) = (Arc::clone(&given.socket), given.hops);
        let given = self.given.entry(serial).or_insert(given);
        let about = given.about.as_deref().map(Cow::Borrowed);
        let (peer, bytes) = (given.peer, &given.bytes[..]);
        let message = Message::Connection { serial, hops, peer, about, bytes };
        self.link.send(&message, Some(socket))
    }
}
