//! One connection: its socket, the protocol that it speaks, and what the caller has of it.

pub(crate) mod activity;
pub(crate) mod blocked;
pub(crate) mod cache;
pub(crate) mod channel;
pub(crate) mod id;
pub(crate) mod lane;
mod queue;
pub(crate) mod rates;
mod receiving;
pub(crate) mod reports;
pub(crate) mod routing;
pub(crate) mod sending;
pub(crate) mod session;
pub(crate) mod work;

use std::io;
use std::net::SocketAddr;

use millrace_net::Nanos;

use crate::batch::Batch;
use crate::router::Route;
use crate::transport::Transport;
use activity::Activity;
use blocked::Blocked;
use channel::{Channel, WriteState};
use id::ConnId;
use lane::Lane;
use routing::Routing;
use session::{H1, Handshake, Session, Tunnel};
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

/// What is known of the client for the cache.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// TLS: the name that it asked for, and whether it has shown a certificate.
    pub(crate) server_name: Option<Box<str>>,
    pub(crate) certified: bool,
    /// A request has authenticated the connection, by NTLM or Negotiate: its later ones may be a user's.
    pub(crate) authenticated: bool,
}

impl Client {
    /// What is known of the client of a stream.
    pub(crate) fn of_stream(&self) -> Self {
        Self {
            server_name: self.server_name.clone(),
            certified: self.certified,
            authenticated: false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: ConnId,
    pub(crate) server: usize,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) channel: Channel,
    pub(crate) session: Session,
    /// The connection as the caller has it. With HTTP/1.1 its requests and their responses are this lane's.
    pub(crate) lane: Lane,
    pub(crate) activity: Activity,
    /// What is to be done for it without an event.
    pub(crate) work: Work,
    pub(crate) client: Client,
    /// It came to a shared address.
    pub(crate) routing: Option<Box<Routing>>,
    /// Its server was shut down before it spoke: if it speaks HTTP/2, it ends behind the first streams.
    pub(crate) is_late: bool,
}

impl Connection {
    pub(crate) fn new(
        id: ConnId,
        transport: Transport,
        server: usize,
        peer: Option<SocketAddr>,
        now: Nanos,
    ) -> Self {
        Self {
            id,
            server,
            peer,
            session: Session::first(&transport),
            channel: Channel::new(transport),
            lane: Lane::new(id.lane(), now),
            activity: Activity::new(now),
            work: Work::default(),
            client: Client::default(),
            routing: None,
            is_late: false,
        }
    }

    /// It is broken; that is found when it receives, behind what has arrived before.
    pub(crate) fn fail_behind_input(&mut self, error: io::Error) {
        self.channel.fail_behind_input(error);
    }

    /// The end of a peer that is gone is found behind what is received until then, for which nothing has to happen first.
    pub(crate) fn finds_end(&self) -> bool {
        let goes_on = self.lane.blocked == Blocked::Report || !self.is_blocked();
        // The caller sees a connection at once.
        let is_new = self.lane.blocked == Blocked::Admission;
        is_new || self.is_asked() || self.goes_on() && goes_on
    }

    /// The caller says at once how to go on with a body, unless it has ended our side.
    fn is_asked(&self) -> bool {
        self.session.is_asked() && !self.channel.write_state.is_over()
    }

    /// No request has begun on it.
    pub(crate) fn is_unused(&self) -> bool {
        self.session.is_at_head() && self.lane.requests == 0 && !self.channel.has_begun_request()
    }

    /// Nothing was read but what was told, and empty lines, which are no request's.
    pub(crate) fn has_told_all(&self) -> bool {
        self.lane.incoming.began == Nanos::NEVER && !self.channel.has_begun_request()
    }

    /// All of ours has left and our side has ended, and the peer, which has not ended, is sending or may have sent more.
    pub(crate) fn may_hear_more(&self) -> bool {
        self.channel.write_state == WriteState::Ended
            && self.session.may_hear_more(&self.channel, &self.lane)
    }

    /// Since when the caller has not begun to answer; [`Nanos::NEVER`]: it has nothing to answer, or cannot any more.
    pub(crate) fn unanswered_since(&self) -> Nanos {
        match self.channel.write_state {
            WriteState::Ended => Nanos::NEVER,
            _ => self.lane.unanswered_since(),
        }
    }

    /// Since when a handshake with a server goes on; [`Nanos::NEVER`]: none does.
    pub(crate) fn handshaking_since(&self, server: usize) -> Nanos {
        let goes_on = self.session.is_handshaking() && self.lane.blocked != Blocked::Closed;
        if goes_on && self.server == server { self.lane.incoming.began } else { Nanos::NEVER }
    }

    /// Nothing is read for now. What the session has to do next and what blocks the lane decide it.
    pub(crate) fn is_blocked(&self) -> bool {
        self.lane.holds(self.session.next())
    }

    /// It reads on without an event, or something of it is to be reported first.
    pub(crate) fn goes_on(&self) -> bool {
        self.work.intersects(Work::READ) || self.lane.unreported.is_queued()
    }

    /// Its socket is not watched yet.
    pub(crate) fn is_unregistered(&self) -> bool {
        self.work.intersects(Work::REGISTER)
    }

    /// There is something to do without a new event of the socket.
    pub(crate) fn can_go_on(&self) -> bool {
        self.channel.has_input() && !self.is_blocked()
    }

    /// Another process answers what comes from now on: nothing of it is told, and no time limit holds.
    pub(crate) fn begin_tunnel(&mut self, tunnel: Tunnel) {
        self.session = Session::Tunnel(tunnel);
        self.lane.blocked = Blocked::No;
        self.lane.unreported.secured = false;
        self.activity.on_upgraded();
        self.channel.readable = true;
    }

    /// The session of HTTP/1.1 for which the caller says how to go on, and what that works on. It may say so as well where requests
    /// wait for its word, and where the peer's side has ended. `None`: TLS is not agreed on, or another process answers.
    fn h1(&mut self) -> Option<(&mut H1, &mut Channel, &mut Lane)> {
        if let Session::Handshake(Handshake::Agreed) | Session::Ended = self.session {
            self.session = Session::H1(H1::default());
        }
        let Session::H1(h1) = &mut self.session else { return None };
        Some((h1, &mut self.channel, &mut self.lane))
    }

    /// Takes an upgrade for an ordinary request.
    pub(crate) fn proceed(&mut self) {
        if let Some((h1, _, lane)) = self.h1() {
            h1.proceed(lane);
        }
    }

    /// Tells everything as it is from now on, what was kept first.
    pub(crate) fn through(&mut self) {
        if let Some((h1, ..)) = self.h1() {
            h1.through();
            self.activity.on_upgraded();
        }
    }

    /// Tells what follows as it is; what was told is not told again.
    pub(crate) fn proceed_raw(&mut self) {
        if let Some((h1, channel, _)) = self.h1() {
            h1.proceed_raw(channel);
        }
    }

    /// A body ended behind the first `taken` bytes of what was told.
    pub(crate) fn proceed_behind(&mut self, taken: usize) {
        if let Some((h1, channel, lane)) = self.h1() {
            h1.proceed_behind(taken, channel, lane);
        }
    }

    /// Tells the caller of the connection, if it does not know it.
    pub(crate) fn open(&mut self, batch: &mut Batch<'_>) {
        self.lane.open(self.server, batch);
    }
}
