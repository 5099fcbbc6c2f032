//! What a connection speaks: which protocol its bytes are of, and what comes next in it.
//!
//! ```text
//!   Handshake ──> H1 ──> H2     TLS is agreed on; plain connections begin with H1, and the preface of HTTP/2 leads to H2
//!       │          │
//!       └──────────┴──> Tunnel: another process answers what comes
//!   all of them ──> Ended: the peer's side has ended, or TLS has failed
//! ```
//!
//! A connection reads where its session wants something next and nothing blocks its lane: [`Session::next`] and
//! [`Blocked::holds`](super::blocked::Blocked::holds) decide that together.

mod h1;
mod h2;
mod handshake;
mod tunnel;

use super::channel::Channel;
use super::lane::Lane;
use crate::settings::Settings;
use crate::transport::Transport;

pub(super) use h1::{H1, SessionContext, has_body, is_beginning};
pub use h2::Http2Settings;
pub(crate) use h2::{H2, H2Counts, MAX_OUTGOING, StreamNews, is_preface};
pub(crate) use handshake::Handshake;
pub(crate) use tunnel::Tunnel;

/// The protocol of a connection.
#[derive(Debug)]
pub(crate) enum Session {
    /// TLS is being agreed on, or the caller has to say how that goes on.
    Handshake(Handshake),
    /// HTTP/1.0 and HTTP/1.1.
    H1(H1),
    /// HTTP/2.
    H2(Box<H2>),
    /// The text of a TLS session goes to another process, which has its requests.
    Tunnel(Tunnel),
    /// Nothing more is received.
    Ended,
}

/// What a session takes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Messages of a handshake.
    Handshake,
    /// The head of a request.
    Head,
    /// The rest of a request, or what follows the last one.
    Rest,
    /// Text for another process.
    Text,
    /// Nothing, before the caller has said how to go on.
    Nothing,
}

impl Session {
    /// The one that a new connection begins with.
    pub(super) fn first(transport: &Transport) -> Self {
        match transport {
            Transport::Tls(_) => Self::Handshake(Handshake::Agreeing { defers_requests: false }),
            Transport::Plain(_)
            | Transport::Forwarded(..)
            | Transport::Stream(_)
            | Transport::Detached => Self::H1(H1::default()),
        }
    }

    /// The one that follows a handshake.
    pub(super) fn agreed(transport: &Transport, settings: &Settings) -> Self {
        match settings.http2 {
            Some(http2) if transport.protocol() == Some(b"h2") => Self::begin_h2(http2, settings),
            _ => Self::H1(H1::default()),
        }
    }

    /// A session of HTTP/2 that begins.
    pub(super) fn begin_h2(http2: Http2Settings, settings: &Settings) -> Self {
        Self::H2(Box::new(H2::new(http2, &settings.head)))
    }

    /// What it takes next.
    pub(super) fn next(&self) -> Next {
        match self {
            Self::Handshake(Handshake::Agreeing { .. }) => Next::Handshake,
            Self::Handshake(Handshake::Hello | Handshake::Agreed) | Self::Ended => Next::Nothing,
            Self::H1(h1) => h1.next(),
            Self::H2(h2) if h2.has_failed() || h2.is_ended() => Next::Nothing,
            // Nothing is taken while too much waits to be sent.
            Self::H2(_) => Next::Head,
            Self::Tunnel(_) => Next::Text,
        }
    }

    /// TLS is not agreed on yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(self, Self::Handshake(Handshake::Agreeing { .. } | Handshake::Hello))
    }

    pub(crate) fn h2(&self) -> Option<&H2> {
        match self {
            Self::H2(h2) => Some(h2),
            _ => None,
        }
    }

    pub(crate) fn h2_mut(&mut self) -> Option<&mut H2> {
        match self {
            Self::H2(h2) => Some(h2),
            _ => None,
        }
    }

    /// It has streams that are open.
    pub(crate) fn has_streams(&self) -> bool {
        self.h2().is_some_and(H2::has_streams)
    }

    pub(crate) fn is_tunnel(&self) -> bool {
        matches!(self, Self::Tunnel(_))
    }

    /// Nothing more is received.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self, Self::Ended)
    }

    /// The next request's head comes next.
    pub(super) fn is_at_head(&self) -> bool {
        self.next() == Next::Head
    }

    /// A body comes next.
    pub(super) fn is_in_body(&self) -> bool {
        matches!(self, Self::H1(h1) if h1.is_in_body())
    }

    /// The caller's parser has bytes and has not said how to go on.
    pub(super) fn waits_for_caller(&self) -> bool {
        matches!(self, Self::H1(h1) if h1.waits_for_caller())
    }

    /// The caller says at once how to go on: its parser has a part of a body, or TLS is agreed on.
    pub(super) fn is_asked(&self) -> bool {
        match self {
            Self::H1(h1) => h1.is_asked(),
            Self::Handshake(Handshake::Agreed) => true,
            Self::Handshake(_) | Self::H2(_) | Self::Tunnel(_) | Self::Ended => false,
        }
    }

    /// The caller's parser reads a body part by part.
    pub(super) fn is_raw(&self) -> bool {
        matches!(self, Self::H1(h1) if h1.is_raw())
    }

    /// Its peer, which has not ended, is sending or may have sent more.
    pub(super) fn may_hear_more(&self, channel: &Channel, lane: &Lane) -> bool {
        match self {
            Self::Handshake(Handshake::Hello | Handshake::Agreed) => true,
            Self::Handshake(Handshake::Agreeing { .. }) | Self::Ended => false,
            Self::H1(h1) => h1.may_hear_more(channel, lane),
            Self::H2(h2) => !h2.is_ended(),
            Self::Tunnel(tunnel) => !tunnel.client_ended,
        }
    }
}
