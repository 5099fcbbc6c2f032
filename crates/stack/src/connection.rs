//! One connection: what it has received, and where it stands in that.

pub(crate) mod activity;
pub(crate) mod cache;
pub(crate) mod id;
pub(crate) mod lane;
mod queue;
pub(crate) mod rates;
mod receiving;
pub(crate) mod routing;
pub(crate) mod sending;
pub(crate) mod state;
mod tls;
pub(crate) mod work;

use std::io;
use std::net::SocketAddr;

use millrace_net::Nanos;
use millrace_net::socket::Socket;

use crate::router::Route;
use crate::transport::Transport;
use activity::Activity;
use id::ConnId;
use lane::Lane;
use queue::Queue;
use routing::Routing;
use state::{Blocked, ReadState, WriteState};
use work::Work;

/// Bytes of one read.
pub(crate) const READ: usize = 64 * 1024;
/// Events of one request at most, beside its body's: its connection, a head, its end, the end of the stream.
pub(crate) const EVENTS: usize = 6;

/// Why a connection stopped reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The socket is empty, or the connection waits for its caller.
    Idle,
    /// There is more to do, but others have their turn first.
    Again,
    /// The connection is broken.
    Broken(i32),
    /// There is something to report before it reads on, and nobody to be told.
    Report,
    /// The next request is another's.
    Leaves(Route),
}

/// What receiving has led to, beside events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effects {
    /// A request was answered without the caller.
    pub(crate) answered: bool,
    /// The caller has a request, and had none before.
    pub(crate) asked: bool,
    /// A request has removed entries of the cache.
    pub(crate) invalidated: bool,
    /// The end of a handshake is to be sent, with the first response if there is one.
    pub(crate) handshake_done: bool,
}

/// What has happened in turns in which nobody could be told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unreported {
    pub(crate) opened: bool,
    pub(crate) secured: bool,
    pub(crate) drained: bool,
    pub(crate) answered_last: bool,
    pub(crate) broken: Option<i32>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: ConnId,
    pub(crate) transport: Transport,
    pub(crate) server: usize,
    pub(crate) peer: Option<SocketAddr>,
    /// Bytes that were read and not taken.
    input: Vec<u8>,
    /// So many of them the caller's parser has been told as a part of a body. It says at once how to go on.
    asked: usize,
    /// What reading or writing has failed with. It is told behind what was received before.
    failure: Option<io::Error>,
    pub(crate) read_state: ReadState,
    pub(crate) blocked: Blocked,
    pub(crate) write_state: WriteState,
    /// Bytes that were sent and not taken by the system.
    output: Queue,
    /// Its requests and their responses.
    pub(crate) lane: Lane,
    /// The caller wants no more bytes of bodies for now.
    pub(crate) paused: bool,
    /// The socket may hold more.
    pub(crate) readable: bool,
    /// The peer has ended its side: no event will tell of what is still unread.
    pub(crate) peer_ended: bool,
    /// All bytes that were read, TLS apart.
    pub(crate) bytes_read: u64,
    /// Bytes that the channel has taken, so far.
    given: u64,
    pub(crate) activity: Activity,
    /// Since when bytes wait to be sent, as far as anybody has looked, and how many the peer had taken then.
    waiting_since: Nanos,
    taken_before: i64,
    /// What is to be done for it without an event.
    pub(crate) work: Work,
    /// Where in its last batch the bytes end that were told.
    pub(crate) delivered_end: usize,
    pub(crate) unreported: Unreported,
    /// TLS: the name that the client asked for, and whether it has shown a certificate.
    pub(crate) server_name: Option<Box<str>>,
    pub(crate) certified: bool,
    /// A request has authenticated it, by NTLM or Negotiate: its later ones may be a user's.
    pub(crate) authenticated: bool,
    /// The caller has not been told of it: its first request may be another's.
    pub(crate) unopened: bool,
    /// It came to a shared address.
    pub(crate) routing: Option<Box<Routing>>,
}

impl Connection {
    pub(crate) fn new(
        id: ConnId,
        transport: Transport,
        server: usize,
        peer: Option<SocketAddr>,
        now: Nanos,
    ) -> Self {
        let read_state = match transport {
            Transport::Tls(_) => ReadState::Handshake { defers_requests: false },
            Transport::Plain(_) | Transport::Forwarded(..) | Transport::Detached => ReadState::Head,
        };
        Self {
            read_state,
            blocked: Blocked::No,
            write_state: WriteState::Open,
            id,
            transport,
            server,
            peer,
            input: Vec::new(),
            asked: 0,
            failure: None,
            output: Queue::default(),
            lane: Lane::new(now),
            paused: false,
            readable: true,
            peer_ended: false,
            bytes_read: 0,
            waiting_since: Nanos::NEVER,
            given: 0,
            activity: Activity::new(now),
            taken_before: 0,
            work: Work::default(),
            delivered_end: 0,
            unreported: Unreported::default(),
            server_name: None,
            certified: false,
            authenticated: false,
            unopened: false,
            routing: None,
        }
    }

    /// Something has arrived, or the peer is gone.
    pub(crate) fn on_readable(&mut self, peer_ended: bool) {
        self.readable = true;
        self.peer_ended |= peer_ended;
    }

    /// It is broken; that is found when it receives, behind what has arrived before.
    pub(crate) fn fail_behind_input(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
        self.readable = true;
    }

    /// The end of a peer that is gone is found behind what is received until then, for which nothing has to happen first.
    pub(crate) fn finds_end(&self) -> bool {
        let goes_on = self.blocked == Blocked::Report || !self.is_blocked();
        self.is_asked() || self.goes_on() && goes_on
    }

    /// The caller says at once how to go on with a body, unless it has ended our side.
    fn is_asked(&self) -> bool {
        self.asked > 0 && !self.write_state.is_over()
    }

    /// No request has begun on it.
    pub(crate) fn is_unused(&self) -> bool {
        matches!(self.read_state, ReadState::Head)
            && self.lane.requests == 0
            && !receiving::is_beginning(&self.input)
    }

    #[cfg(test)]
    pub(crate) fn kept_memory(&self) -> usize {
        self.input.capacity()
    }

    /// Bytes that were read and not taken, and memory for them.
    #[cfg(simulated)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.input.len(), self.input.capacity())
    }

    /// Nothing was read but what was told, and empty lines, which are no request's.
    pub(crate) fn has_told_all(&self) -> bool {
        self.lane.incoming.began == Nanos::NEVER && !receiving::is_beginning(&self.input)
    }

    /// All of ours has left and our side has ended, and the peer, which has not ended, is sending or may have sent more.
    pub(crate) fn may_hear_more(&self) -> bool {
        if self.write_state != WriteState::Ended {
            return false;
        }
        if let Some(relay) = self.relay() {
            return !relay.client_ended;
        }
        let unread = || self.transport.socket().is_some_and(|socket| socket.unread() > 0);
        match self.read_state {
            // It has said that it asks for nothing more. What has come all the same may not have been told by an event yet.
            ReadState::Closed => self.readable || !self.input.is_empty() || unread(),
            ReadState::Head => {
                self.lane.incoming.began != Nanos::NEVER || !self.input.is_empty() || unread()
            }
            ReadState::Body(_) | ReadState::Fallback | ReadState::Raw => true,
            ReadState::Hello | ReadState::Secured => true,
            ReadState::Handshake { .. } | ReadState::Through | ReadState::Ended => false,
        }
    }

    /// Since when the caller has not begun to answer; [`Nanos::NEVER`]: it has nothing to answer, or cannot any more.
    pub(crate) fn unanswered_since(&self) -> Nanos {
        match self.write_state {
            WriteState::Ended => Nanos::NEVER,
            _ => self.lane.unanswered_since(),
        }
    }

    /// Since when a handshake with a server goes on; [`Nanos::NEVER`]: none does.
    pub(crate) fn handshaking_since(&self, server: usize) -> Nanos {
        let goes_on = self.is_handshaking() && self.blocked != Blocked::Closed;
        if goes_on && self.server == server { self.lane.incoming.began } else { Nanos::NEVER }
    }

    /// TLS is not agreed on yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(self.read_state, ReadState::Handshake { .. } | ReadState::Hello)
    }

    fn is_blocked(&self) -> bool {
        use ReadState::{
            Body, Closed, Ended, Fallback, Handshake, Head, Hello, Raw, Secured, Through,
        };
        match (self.blocked, self.read_state) {
            (_, Hello | Secured | Fallback | Ended) => true,
            (Blocked::Pipeline | Blocked::Room, Head) => true,
            (Blocked::No, Head) => self.paused,
            (Blocked::No | Blocked::Pipeline | Blocked::Room, Handshake { .. }) => false,
            // Bodies, and what is no request.
            (Blocked::No | Blocked::Pipeline | Blocked::Room, Body(_) | Closed | Raw | Through) => {
                self.paused
            }
            _ => true,
        }
    }

    /// Something has to be reported before it reads on. What was found at the next head is found again then.
    pub(crate) fn block_for_report(&mut self) {
        match self.blocked {
            Blocked::No | Blocked::Pipeline | Blocked::Turn | Blocked::Room | Blocked::Owner => {
                self.blocked = Blocked::Report;
            }
            Blocked::Admission | Blocked::Fill(_) | Blocked::Relayed => {}
            Blocked::Report | Blocked::Closed => {}
        }
    }

    /// It reads on without an event, or something of it is to be reported first.
    pub(crate) fn goes_on(&self) -> bool {
        self.work.intersects(Work::READ.and(Work::REPORT))
    }

    /// Its socket is not watched yet.
    pub(crate) fn is_unregistered(&self) -> bool {
        self.work.intersects(Work::REGISTER)
    }

    /// There is something to do without a new event of the socket.
    pub(crate) fn can_go_on(&self) -> bool {
        (self.readable || !self.input.is_empty()) && !self.is_blocked()
    }

    /// Takes an upgrade for an ordinary request.
    pub(crate) fn proceed(&mut self) {
        self.read_state = ReadState::Head;
        self.lane.incoming.declines_upgrade = true;
    }

    /// Tells everything as it is from now on, what was kept first.
    pub(crate) fn through(&mut self) {
        self.read_state = ReadState::Through;
        self.activity.on_upgraded();
    }

    /// Tells what follows as it is; what was told is not told again.
    pub(crate) fn proceed_raw(&mut self) {
        self.read_state = ReadState::Raw;
        match std::mem::take(&mut self.asked) {
            0 => self.input = Vec::new(),
            told => self.drop_input(told),
        }
    }

    /// A body ended behind the first `taken` bytes of what was told.
    pub(crate) fn proceed_behind(&mut self, taken: usize) {
        self.asked = 0;
        self.drop_input(taken);
        self.next_head();
    }

    fn drop_input(&mut self, count: usize) {
        self.input.drain(..count.min(self.input.len()));
        if self.input.is_empty() {
            self.input = Vec::new();
        }
    }

    /// Bytes read and not taken, for whoever takes the connection over.
    pub(crate) fn into_parts(self) -> Option<(Socket, Vec<u8>)> {
        let (socket, mut bytes) = self.transport.into_parts()?;
        bytes.extend_from_slice(&self.input);
        Some((socket, bytes))
    }
}
