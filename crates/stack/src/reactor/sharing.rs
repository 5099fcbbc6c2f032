//! Ports that are shared with other processes: see [`crate::sharing`]. One file, though long: what the others say, one function
//! for each message, and what follows for this thread's connections.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use millrace_net::{Clock as _, Nanos};
use mio::Interest;
use mio::net::UnixStream;
use slab::Slab;

use super::source::Source;
use super::{Reactor, Timer};
use crate::connection::READ;
use crate::forwarded::About;
use crate::sharing::joining::{Joined, ReactorId};
use crate::sharing::{
    Ground, KEPT, Lost, MAX_HOPS, MAX_LINKS, MAX_PREFIXES, Member, Message, Owner, Peer, Place,
    Stage, Taking, UrlPrefix, VERSION, host_and_path, is_passing, is_trusted, is_withdrawn,
    own_user,
};

/// Reads of one link before everything else has its turn; and messages of it, and others that come to join.
const READS: usize = 4;
const MESSAGES: usize = 256;
const COMERS: usize = 16;
/// What a connection can have of bytes that were read and not taken: less than one read, and one more.
const MAX_BYTES: usize = 2 * READ;
/// No name of a host is longer, nor one of a protocol (RFC 7301, section 3.1).
const MAX_NAME: usize = 255;
/// What processes of other users have changed leads to new routes after so long, if the last ones were made just now.
const ROUTES_PAUSE: Duration = Duration::from_millis(10);
/// After a lack of descriptors or memory, another try.
const RETRY: Duration = Duration::from_millis(10);

/// The shared addresses of one reactor.
#[derive(Debug)]
pub(super) struct Sharing {
    id: ReactorId,
    pub(super) grounds: Slab<Ground>,
    pub(super) peers: Slab<Peer>,
    /// Peers that were given something in this turn, which has not left.
    pub(super) owing: BTreeSet<usize>,
    /// When the servers of an address are to be told anew who answers what.
    stale: Nanos,
}

/// What a peer has said.
enum Said {
    Hello {
        secure: bool,
    },
    Welcome,
    /// A prefix that nobody has any more, and for how long that holds; `None`: one that is none.
    Gone(Option<(Lost, Duration)>),
    Added(UrlPrefix),
    Removed(UrlPrefix),
    Connection {
        serial: u32,
        taking: Taking,
    },
    Taken(Vec<u32>),
    /// A connection that came without its socket: the process has too many open.
    Lost(u32),
    Refused(u32),
    Nonsense,
}

impl Sharing {
    pub(super) fn new() -> Self {
        use std::hash::{BuildHasher as _, Hasher as _};
        // Its keys are the standard library's source of chance.
        let chance = std::hash::RandomState::new().build_hasher().finish();
        Self {
            id: ReactorId(chance),
            grounds: Slab::new(),
            peers: Slab::new(),
            owing: BTreeSet::new(),
            stale: Nanos::NEVER,
        }
    }

    /// The address that a server accepts for, if that is shared.
    pub(super) fn ground_of(&self, server: usize) -> Option<usize> {
        let accepts = |ground: &Ground| {
            ground.members.iter().any(|member| member.server == server && member.accepts)
        };
        self.grounds.iter().find(|(_, ground)| accepts(ground)).map(|(id, _)| id)
    }
}

impl Reactor {
    /// What tells this reactor from others.
    #[must_use]
    pub fn id(&self) -> ReactorId {
        self.sharing.id
    }

    /// The socket that servers of this reactor share an address by, if they do.
    #[must_use]
    pub fn shared_listener(&self, prefix: &UrlPrefix) -> Option<io::Result<OwnedFd>> {
        let ground = self.sharing.grounds.iter().find(|(_, ground)| ground.is_of(prefix));
        ground.map(|(_, ground)| ground.listener.try_clone())
    }

    /// Lets a server share an address: from now on it has the requests for its prefix, and no others. `listener` is what all
    /// of them accept from; the server listens to that already.
    pub fn share(&mut self, server: usize, joined: Joined, listener: OwnedFd) -> io::Result<()> {
        let prefix = joined.prefix().clone();
        let known = self.sharing.grounds.iter().find(|(_, ground)| ground.is_of(&prefix));
        let id = match known.map(|(id, _)| id) {
            Some(id) => id,
            None => self.open_ground(joined, listener)?,
        };
        let ground = &mut self.sharing.grounds[id];
        if ground.prefixes().count() >= MAX_PREFIXES {
            let text = format!("a process shares a port with {MAX_PREFIXES} prefixes at most");
            return Err(io::Error::other(text));
        }
        ground.gone.remove(&prefix);
        ground.members.push(Member { server, prefix: prefix.clone(), accepts: true });
        self.tell_peers(id, &Message::Added { prefix: Cow::Owned(prefix.to_string()) });
        self.route(id);
        Ok(())
    }

    fn open_ground(&mut self, joined: Joined, listener: OwnedFd) -> io::Result<usize> {
        let Joined { prefix, door, others, .. } = joined;
        let door = door.ok_or(io::ErrorKind::NotConnected)?;
        let id = self.sharing.grounds.insert(Ground::new(&prefix, door, listener));
        let ground = &mut self.sharing.grounds[id];
        self.poll.registry().register(
            &mut ground.door,
            Source::Door(id).token(),
            Interest::READABLE,
        )?;
        let now = self.clock.now();
        for (lost, left) in others.iter().flat_map(|other| &other.gone) {
            self.add_gone(id, lost.clone(), now + *left);
        }
        for mut other in others {
            let prefixes = std::mem::take(&mut other.prefixes);
            let peer = self.add_peer(Peer::joined(other, id)?)?;
            for prefix in prefixes {
                self.add_prefix(peer, prefix);
            }
        }
        // Somebody may have come, or said something, before.
        self.ready_sources.push(Source::Door(id));
        Ok(id)
    }

    fn add_peer(&mut self, peer: Peer) -> io::Result<usize> {
        let id = self.sharing.peers.insert(peer);
        let socket = &mut self.sharing.peers[id].link.socket;
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(socket, Source::Peer(id).token(), both)?;
        self.ready_sources.push(Source::Peer(id));
        Ok(id)
    }

    /// Gives back the prefix of a server: others may have it. Its last connections are served.
    pub fn unshare(&mut self, server: usize) {
        let grounds = self.sharing.grounds.iter_mut();
        let mut members = grounds
            .flat_map(|(id, ground)| ground.members.iter_mut().map(move |member| (id, member)));
        let Some((id, member)) = members.find(|(_, it)| it.server == server && it.accepts) else {
            return;
        };
        member.accepts = false;
        let prefix = member.prefix.clone();
        if !self.sharing.grounds[id].prefixes().any(|other| *other == prefix) {
            self.tell_peers(id, &Message::Removed { prefix: Cow::Owned(prefix.to_string()) });
        }
        self.route(id);
    }

    /// A server is gone; with the last one of an address, so is our part in that, as soon as what was given is taken.
    pub(super) fn drop_member(&mut self, server: usize) {
        self.unshare(server);
        let mut empty = Vec::new();
        for (id, ground) in &mut self.sharing.grounds {
            let before = ground.members.len();
            ground.members.retain(|member| member.server != server);
            if ground.members.is_empty() && before > 0 {
                empty.push(id);
            }
        }
        for id in empty {
            self.close_ground(id);
        }
    }

    /// Those who join come no more; what was given stays until it is taken.
    fn close_ground(&mut self, id: usize) {
        let Some(ground) = self.sharing.grounds.get_mut(id) else { return };
        // Its descriptor closes with it; leaving the poll set first cannot fail in a way that matters.
        self.poll.registry().deregister(&mut ground.door).ok();
        ground.close_door();
        let of_it = |(peer, it): (usize, &Peer)| (it.ground == id).then_some(peer);
        let peers: Vec<usize> = self.sharing.peers.iter().filter_map(of_it).collect();
        for peer in peers {
            self.leave_peer(peer);
        }
        self.drop_ground(id);
    }

    /// Ends a link behind which there is nothing left.
    fn leave_peer(&mut self, id: usize) {
        let Some(peer) = self.sharing.peers.get_mut(id) else { return };
        let ground = peer.ground;
        let is_over = self.sharing.grounds.get(ground).is_none_or(|it| it.members.is_empty());
        if is_over && peer.has_taken_all() {
            self.sharing.peers.remove(id);
        }
    }

    fn drop_ground(&mut self, id: usize) {
        let is_over = self.sharing.grounds.get(id).is_some_and(|it| it.members.is_empty());
        if is_over && !self.sharing.peers.iter().any(|(_, peer)| peer.ground == id) {
            self.sharing.grounds.remove(id);
            for (_, server) in &mut self.servers {
                server.routes.retain(|(of, _)| *of != id);
            }
        }
    }

    fn tell_peers(&mut self, ground: usize, message: &Message<'_>) {
        // Those that have not said what they want yet hear all there is when they have.
        let of_it = |peer: &Peer| peer.ground == ground && peer.stage != Stage::Comes;
        let mut held = Vec::new();
        for (id, peer) in self.sharing.peers.iter_mut().filter(|(_, peer)| of_it(peer)) {
            // One that is gone is found so when its link is read.
            peer.link.send(message, None).ok();
            if peer.link.is_held() {
                held.push(id);
            }
        }
        for id in held {
            self.retry(id);
        }
    }

    /// The servers of an address are to be told anew who answers what, before the next request is looked at.
    fn route(&mut self, ground: usize) {
        self.route_at(ground, Nanos::default());
    }

    fn route_at(&mut self, ground: usize, at: Nanos) {
        if let Some(ground) = self.sharing.grounds.get_mut(ground) {
            ground.stale = ground.stale.min(at);
            self.sharing.stale = self.sharing.stale.min(at);
        }
    }

    /// The same after a process of this user has changed something. However often it does, routes are not made all the time.
    fn route_for(&mut self, ground: usize, user: u32) {
        let Some(routed) = self.sharing.grounds.get(ground).map(|ground| ground.routed) else {
            return;
        };
        let pause = if is_trusted(user) { Duration::ZERO } else { ROUTES_PAUSE };
        self.route_at(ground, routed + pause);
    }

    /// Tells the servers what they have to know before a request is looked at.
    pub(super) fn tell_routes(&mut self) {
        if self.sharing.stale <= self.now {
            self.make_routes();
        }
    }

    fn make_routes(&mut self) {
        let Sharing { grounds, peers, stale, .. } = &mut self.sharing;
        *stale = Nanos::NEVER;
        for (id, ground) in grounds {
            if ground.stale <= self.now {
                (ground.stale, ground.routed) = (Nanos::NEVER, self.now);
                let routes = ground.routes(peers.iter().filter(|(_, peer)| peer.ground == id));
                for member in &ground.members {
                    if let Some(server) = self.servers.get_mut(member.server) {
                        server.routes.retain(|(of, _)| *of != id);
                        server.routes.push((id, routes.share()));
                    }
                }
            }
            *stale = (*stale).min(ground.stale);
        }
    }

    /// Whether a request belongs to a server.
    pub fn owns(&mut self, server: usize, target: &[u8], host: &[u8]) -> bool {
        self.tell_routes();
        let (host, path) = host_and_path(target, host);
        let ground = self.sharing.ground_of(server);
        let routes = self.servers.get_mut(server).zip(ground);
        let Some(routes) = routes.and_then(|(server, ground)| server.routes_of(ground)) else {
            return true;
        };
        routes.place(host, path, server, true) == Place::To(Owner::Server(server))
    }

    /// There are others who share a port.
    pub(super) fn is_sharing(&self) -> bool {
        !self.sharing.grounds.is_empty()
    }

    /// Those who share a port have something to say, or one comes to join them.
    pub(super) fn on_others(&mut self, source: Source) {
        match source {
            Source::Door(id) => self.on_door(id),
            Source::Peer(id) => self.on_link(id),
            _ => {}
        }
    }

    /// Others that come to join.
    fn on_door(&mut self, id: usize) {
        for _ in 0..COMERS {
            let Some(ground) = self.sharing.grounds.get(id) else { return };
            match ground.door.accept() {
                // One that is gone already, or for which there is no memory, tries again.
                Ok((socket, _)) => drop(self.let_in(socket, id)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // No event tells when there is room for those that wait.
                Err(_) => return self.again_later(Source::Door(id)),
            }
        }
        self.ready_sources.push(Source::Door(id));
    }

    /// One comes to join, unless there are too many of another user.
    fn let_in(&mut self, socket: UnixStream, ground: usize) -> io::Result<()> {
        let peer = Peer::new(socket, ground)?;
        let same = |(_, it): &(usize, &Peer)| it.ground == ground && it.user == peer.user;
        let count = self.sharing.peers.iter().filter(same).count();
        if count < MAX_LINKS || is_trusted(peer.user) {
            self.add_peer(peer)?;
        }
        Ok(())
    }

    /// Looks at a link or a door again, though no event may say so.
    fn again_later(&mut self, source: Source) {
        self.timers.push(self.now + RETRY, Timer::Retry(source));
        self.timers_changed = true;
    }

    /// What the system had no room for is said later.
    pub(super) fn retry(&mut self, id: usize) {
        if let Some(peer) = self.sharing.peers.get_mut(id)
            && peer.link.is_held()
            && !std::mem::replace(&mut peer.retried, true)
        {
            self.again_later(Source::Peer(id));
        }
    }

    /// A link has something to say, or takes what it is told.
    fn on_link(&mut self, id: usize) {
        match self.talk(id) {
            Ok(()) => self.retry(id),
            Err(_) => return self.lose(id),
        }
        let rest_ends = self.sharing.peers.get(id).and_then(Peer::rest_ends);
        match rest_ends {
            Some(ends) if ends <= self.now => self.lose(id),
            Some(_) => self.wait_for_rest(id),
            None => {}
        }
    }

    /// What another user's process has begun to say has its time.
    fn wait_for_rest(&mut self, id: usize) {
        if let Some(peer) = self.sharing.peers.get_mut(id)
            && !peer.waited_for
            && let Some(ends) = peer.rest_ends()
        {
            peer.waited_for = true;
            self.timers.push(ends, Timer::Rest(id));
            self.timers_changed = true;
        }
    }

    pub(super) fn on_rest(&mut self, id: usize) {
        if let Some(peer) = self.sharing.peers.get_mut(id) {
            peer.waited_for = false;
            self.ready_sources.push(Source::Peer(id));
        }
    }

    pub(super) fn on_retry(&mut self, source: Source) {
        if let Source::Peer(id) = source
            && let Some(peer) = self.sharing.peers.get_mut(id)
        {
            peer.retried = false;
        }
        self.ready_sources.push(source);
    }

    /// Says what is to be said, and hears what has come; an error: the link has ended.
    fn talk(&mut self, id: usize) -> io::Result<()> {
        for _ in 0..READS {
            let Some(peer) = self.sharing.peers.get_mut(id) else { return Ok(()) };
            peer.link.flush()?;
            if self.hear(id)? {
                break;
            }
            let Some(peer) = self.sharing.peers.get_mut(id) else { return Ok(()) };
            match peer.link.receive() {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_passing(&error) => {
                    self.again_later(Source::Peer(id));
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.ready_sources.push(Source::Peer(id));
        Ok(())
    }

    /// Takes what a peer has said; `true`: there may be more.
    fn hear(&mut self, id: usize) -> io::Result<bool> {
        let mut count = 0;
        while count < MESSAGES
            && let Some(peer) = self.sharing.peers.get_mut(id)
        {
            let user = peer.user;
            let take = |message: &Message<'_>, descriptor| Said::of(message, descriptor, user);
            let Some(said) = peer.link.next(take)? else { break };
            peer.is_alive();
            count += 1;
            self.on_said(id, said)?;
        }
        if let Some(peer) = self.sharing.peers.get_mut(id) {
            peer.note_rest(count == 0, self.now);
        }
        self.take_all_in(id)?;
        Ok(count == MESSAGES)
    }

    /// Takes all that a peer has said by now, in messages that have come to the link.
    pub(super) fn hear_all(&mut self, id: usize) -> io::Result<()> {
        while self.hear(id)? {}
        Ok(())
    }

    /// Takes the connections that a peer gave, if it knows or can know no more.
    fn take_all_in(&mut self, id: usize) -> io::Result<()> {
        let Some(peer) = self.sharing.peers.get_mut(id) else { return Ok(()) };
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
            for taking in std::mem::take(&mut peer.taking) {
                // It has come too late for one that was withdrawn.
                if !is_withdrawn(&taking.socket) {
                    self.take_in(id, taking);
                }
            }
        }
        said
    }

    fn on_said(&mut self, id: usize, said: Said) -> io::Result<()> {
        let Sharing { grounds, peers, .. } = &mut self.sharing;
        let Some(peer) = peers.get_mut(id) else { return Ok(()) };
        let (at, user) = (peer.ground, peer.user);
        let Some(ground) = grounds.get_mut(at) else { return Ok(()) };
        let nonsense = || Err(io::ErrorKind::InvalidData.into());
        match (said, peer.stage) {
            (Said::Hello { secure }, Stage::Comes) => return self.welcome(id, secure),
            (Said::Welcome, Stage::Asked) => peer.stage = Stage::Known,
            (Said::Gone(lost), Stage::Asked) => {
                if let Some((lost, left)) = lost {
                    self.add_gone(at, lost, self.now + left);
                }
            }
            (Said::Added(prefix), Stage::Asked | Stage::Known) => self.add_prefix(id, prefix),
            (Said::Removed(prefix), Stage::Asked | Stage::Known) => {
                if peer.prefixes.remove(&prefix) {
                    self.route_for(at, user);
                }
            }
            (Said::Connection { serial, taking }, Stage::Known) => {
                // Text of a session where there are none, or more than anybody gives who listens.
                if taking.about.is_some() && !ground.secure || !peer.count_unanswered() {
                    return nonsense();
                }
                let is_left = ground.members.is_empty();
                match ground.admit(user, taking) {
                    Ok(taking) if !is_left => {
                        peer.taken.push(serial);
                        peer.taking.push(taking);
                    }
                    // A link that fails is found so when it is read: what else was said is heard.
                    _ => drop(peer.link.send(&Message::Refused { serial }, None)),
                }
            }
            (Said::Lost(serial), Stage::Known) => {
                if !peer.count_unanswered() {
                    return nonsense();
                }
                peer.link.send(&Message::Refused { serial }, None).ok();
            }
            (Said::Taken(serials), Stage::Known) => {
                for serial in serials {
                    peer.remove_given(serial);
                }
                self.leave_peer(id);
                self.drop_ground(at);
            }
            (Said::Refused(serial), Stage::Known) => {
                if let Some(given) = peer.remove_given(serial) {
                    self.give_on(at, given);
                }
                self.leave_peer(id);
                self.drop_ground(at);
            }
            _ => return nonsense(),
        }
        Ok(())
    }

    /// Notes a prefix of a peer, unless it is another user's, or one of another address, or there are too many.
    fn add_prefix(&mut self, id: usize, prefix: UrlPrefix) {
        let Some(peer) = self.sharing.peers.get(id) else { return };
        let (at, user) = (peer.ground, peer.user);
        let is_its = |other: &Peer| other.ground == at && other.user == user;
        let count = match is_trusted(user) {
            true => peer.prefixes.len(),
            false => {
                let peers = self.sharing.peers.iter().filter(|(_, other)| is_its(other));
                peers.map(|(_, other)| other.prefixes.len()).sum()
            }
        };
        if count >= MAX_PREFIXES || !self.may_have(at, &prefix, user) {
            return;
        }
        if let Some(ground) = self.sharing.grounds.get_mut(at) {
            ground.gone.remove(&prefix);
        }
        if let Some(peer) = self.sharing.peers.get_mut(id)
            && peer.prefixes.insert(prefix)
        {
            self.route_for(at, user);
        }
    }

    /// Whether a user may have a prefix: it is one of the address, and nobody else has it, or had it last, as far as anybody says.
    fn may_have(&self, at: usize, prefix: &UrlPrefix, user: u32) -> bool {
        let Some(ground) = self.sharing.grounds.get(at) else { return false };
        let others = self.sharing.peers.iter().filter(|(_, peer)| peer.ground == at);
        let mut holders = others.filter(|(_, peer)| peer.prefixes.contains(prefix));
        let is_own = ground.prefixes().any(|own| own == prefix);
        let mut lost = ground.gone.of(prefix);
        ground.fits(prefix)
            && holders.all(|(_, peer)| peer.user == user)
            && (!is_own || user == own_user())
            && lost.all(|lost| lost.user == user)
    }

    /// Remembers a prefix that nobody has any more.
    fn add_gone(&mut self, at: usize, lost: Lost, until: Nanos) {
        let Some(ground) = self.sharing.grounds.get_mut(at) else { return };
        if ground.fits(&lost.prefix) {
            let is_sure = lost.is_sure;
            ground.gone.add(lost, until);
            self.route_at(at, if is_sure { Nanos::default() } else { self.now + ROUTES_PAUSE });
            self.watch_gone(at);
        }
    }

    /// What nobody has any more is forgotten in time.
    fn watch_gone(&mut self, at: usize) {
        if let Some(ground) = self.sharing.grounds.get_mut(at)
            && !ground.timed
            && let Some(next) = ground.gone.next()
        {
            ground.timed = true;
            self.timers.push(next, Timer::Gone(at));
            self.timers_changed = true;
        }
    }

    pub(super) fn on_gone(&mut self, at: usize) {
        let Some(ground) = self.sharing.grounds.get_mut(at) else { return };
        ground.timed = false;
        ground.gone.expire(self.now);
        self.route(at);
        self.watch_gone(at);
    }

    /// Somebody joins: it is told who has what, and given the listening socket.
    fn welcome(&mut self, id: usize, secure: bool) -> io::Result<()> {
        let Sharing { grounds, peers, .. } = &mut self.sharing;
        let Some(peer) = peers.get_mut(id) else { return Ok(()) };
        let Some(ground) = grounds.get(peer.ground) else { return Ok(()) };
        peer.stage = Stage::Known;
        for prefix in ground.prefixes() {
            let prefix = Cow::Owned(prefix.to_string());
            peer.link.push(&Message::Added { prefix }, None)?;
        }
        for gone in ground.gone.to_messages(self.now) {
            peer.link.push(&Message::Gone(gone), None)?;
        }
        let welcome = Message::Welcome { version: VERSION, secure: ground.secure };
        let listener = (secure == ground.secure).then(|| Arc::clone(&ground.listener));
        peer.link.send(&welcome, listener)
    }

    /// A peer is gone: what it was given and has not taken goes elsewhere, and its prefixes are nobody's.
    pub(super) fn lose(&mut self, id: usize) {
        // What it has said is heard: above all, what it has taken.
        if let Some(peer) = self.sharing.peers.get_mut(id) {
            peer.link.socket.shutdown(Shutdown::Both).ok();
            let mut is_sense = self.hear_all(id).is_ok();
            while is_sense
                && let Some(peer) = self.sharing.peers.get_mut(id)
                && matches!(peer.link.receive(), Ok(1..))
            {
                is_sense = self.hear_all(id).is_ok();
            }
        }
        let Some(mut peer) = self.sharing.peers.try_remove(id) else { return };
        self.poll.registry().deregister(&mut peer.link.socket).ok();
        let (at, user, prefixes) = (peer.ground, peer.user, std::mem::take(&mut peer.prefixes));
        let given = peer.into_given();
        let Some(ground) = self.sharing.grounds.get_mut(at) else { return };
        let others = self.sharing.peers.iter().filter(|(_, peer)| peer.ground == at);
        let held: Vec<_> = others.flat_map(|(_, peer)| &peer.prefixes).cloned().collect();
        for prefix in prefixes {
            if !held.contains(&prefix) && !ground.prefixes().any(|own| *own == prefix) {
                ground.gone.add(Lost { prefix, user, is_sure: true }, self.now + KEPT);
            }
        }
        self.watch_gone(at);
        self.route(at);
        for given in given {
            self.give_on(at, given);
        }
        self.drop_ground(at);
    }
}

impl Said {
    fn of(message: &Message<'_>, descriptor: Option<OwnedFd>, user: u32) -> Self {
        let prefix = |text: &Cow<'_, str>| UrlPrefix::parse(text).ok();
        match message {
            Message::Hello { version: VERSION, secure } => Self::Hello { secure: *secure },
            Message::Welcome { version: VERSION, .. } => Self::Welcome,
            Message::Gone(gone) => Self::Gone(Lost::said(gone, user)),
            Message::Added { prefix: text } => prefix(text).map_or(Self::Nonsense, Self::Added),
            Message::Removed { prefix: text } => prefix(text).map_or(Self::Nonsense, Self::Removed),
            Message::Connection { about, bytes, .. } if !is_sound(about.as_deref(), bytes) => {
                Self::Nonsense
            }
            Message::Connection { serial, hops, peer, about, bytes } => match descriptor {
                Some(socket) => Self::Connection {
                    serial: *serial,
                    taking: Taking {
                        socket,
                        hops: (*hops).min(MAX_HOPS + 1),
                        peer: *peer,
                        about: about.clone().map(|about| Box::new(about.into_owned())),
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
fn is_sound(about: Option<&About>, bytes: &[u8]) -> bool {
    let is_short = |length: Option<usize>| length.unwrap_or(0) <= MAX_NAME;
    bytes.len() <= MAX_BYTES
        && about.is_none_or(|about| {
            is_short(about.name.as_ref().map(String::len))
                && is_short(about.protocol.as_ref().map(Vec::len))
        })
}
