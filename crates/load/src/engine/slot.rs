//! Slots for connections.

use millrace_net::{Nanos, SpareSocket, Stream};
use mio::Token;

use crate::connection::Connection;
use crate::engine::target_server::SocketReuse;
use crate::plan::{Plan, Request};
use crate::redirect::RedirectRule;
use crate::session::SessionOptions;

/// Identifies one of the two sockets of a slot: that of the present connection, or that of an ended one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Side {
    #[default]
    Even,
    Odd,
}

impl Side {
    pub(super) fn token(self, index: usize) -> Token {
        Token(2 * index + usize::from(self == Self::Odd))
    }

    /// Returns the slot's index and the side of a token.
    pub(super) fn of(Token(token): Token) -> (usize, Self) {
        (token / 2, if token % 2 == 0 { Self::Even } else { Self::Odd })
    }

    fn other(self) -> Self {
        match self {
            Self::Even => Self::Odd,
            Self::Odd => Self::Even,
        }
    }
}

/// The socket of a connection that has ended.
#[derive(Debug)]
pub(super) struct Kept {
    stream: Stream,
    pub(super) side: Side,
}

/// A slot holds one connection at a time.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) connection: Connection<Stream>,
    /// Index of the server.
    pub(super) origin: usize,
    /// Index of the pool, where connections are in pools.
    pub(super) pool: usize,
    /// Index of the address in use.
    pub(super) address: usize,
    /// Whether a timer is set, by kind of limit.
    pub(super) armed: [bool; 2],
    /// Number of consecutive connections that completed no request.
    pub(super) failures: u32,
    /// Whether the present connection has completed a request.
    pub(super) productive: bool,
    /// When it became idle: opened, or its last request ended.
    pub(super) idle_since: Nanos,
    /// Whether a `Reopen` timer is set.
    pub(super) backing_off: bool,
    /// Whether it is being opened before the start.
    pub(super) setting_up: bool,
    /// Number of requests of a closed run that wait for the end of the back-off, and of a think time.
    pub(super) deferred: usize,
    pub(super) thinking: usize,
    /// The socket of the last connection, if the server had not closed it: the server should close first, so that the
    /// client's ports do not wait in TIME-WAIT.
    pub(super) ended: Option<Kept>,
    /// A socket that the server has closed, or has had time to close: the next connection may reuse it.
    pub(super) spare: Option<Kept>,
    /// Side of the present connection, or of the last one. While there is a connection, `ended` has the other side; `spare`
    /// and `ended` have different sides.
    pub(super) side: Side,
}

/// Creates the slots of one worker for `count` connections: where a closed run takes its servers in turn, one to each server
/// side by side; otherwise at least one to each server, the others in proportion to the weights of the servers' requests.
pub(super) fn slots(plan: &Plan, count: usize) -> Vec<Slot> {
    let servers = plan.origins.len();
    if plan.servers_per_slot() > 1 {
        let origins = (0..count * servers).map(|index| index % servers);
        return origins.map(|origin| Slot::new(origin, session_options(plan, origin))).collect();
    }
    let weight = |request: &Request| if plan.weighted { request.weight } else { 1.0 };
    let mut weights = vec![0.0; servers];
    for request in &plan.requests {
        weights[request.origin] += weight(request);
    }
    let total: f64 = weights.iter().sum();
    let mut credit = vec![0.0; servers];
    (0..count)
        .map(|index| {
            for (credit, weight) in credit.iter_mut().zip(&weights) {
                *credit += weight / total;
            }
            let richest = (0..servers).max_by(|a, b| credit[*a].total_cmp(&credit[*b]));
            let origin = if index < servers { index } else { richest.unwrap_or(0) };
            credit[origin] -= 1.0;
            Slot::new(origin, session_options(plan, origin))
        })
        .collect()
}

fn session_options(plan: &Plan, origin: usize) -> SessionOptions {
    let origin = &plan.origins[origin];
    let tls = origin.server_name.is_some();
    SessionOptions {
        redirects: (plan.follow > 0).then(|| RedirectRule::new(plan.follow, tls)),
        versions: plan.http2.versions(origin),
        scheme: if tls { "https" } else { "http" },
        window: plan.http2.window,
        // The users of flows share connections without pipelining.
        pipelines: plan.flows.is_none(),
        grpc: plan.grpc,
    }
}

impl Slot {
    fn new(origin: usize, options: SessionOptions) -> Self {
        Self {
            connection: Connection::new(options),
            origin,
            pool: 0,
            address: 0,
            armed: [false; 2],
            failures: 0,
            productive: false,
            idle_since: Nanos::default(),
            backing_off: false,
            setting_up: false,
            deferred: 0,
            thinking: 0,
            ended: None,
            spare: None,
            side: Side::default(),
        }
    }

    /// Records that the present connection has completed its first request.
    pub(super) fn mark_productive(&mut self, close: bool) {
        self.productive = true;
        self.failures = 0;
        if !close {
            // The server has had time to close the last one, and there will hardly be a next one.
            self.ended = None;
        }
    }

    /// Keeps the socket of a connection that has ended by agreement, if `keeping` says so.
    pub(super) fn retire(
        &mut self,
        stream: Option<Stream>,
        keeping: SocketReuse,
        peer_closed: bool,
    ) {
        let side = self.side;
        let kept = stream.map(|stream| Kept { stream, side });
        match keeping {
            SocketReuse::ForReuse if peer_closed => (self.spare, self.ended) = (kept, None),
            SocketReuse::ForReuse => self.spare = std::mem::replace(&mut self.ended, kept),
            SocketReuse::UntilClosed => self.ended = kept.filter(|_| !peer_closed),
            SocketReuse::Never => {}
        }
    }

    /// Returns a socket for the next connection, if there is one, and sets the side of that connection.
    pub(super) fn take_spare(&mut self) -> Option<SpareSocket> {
        if let Some(Kept { stream, side }) = self.spare.take() {
            match stream.into_spare() {
                Ok(spare) => {
                    self.side = side;
                    return Some(spare);
                }
                Err(stream) => drop(self.ended.get_or_insert(Kept { stream, side })),
            }
        }
        if let Some(ended) = &self.ended {
            self.side = ended.side.other();
        }
        None
    }

    /// Keeps at most one socket when no connection follows.
    pub(super) fn idle(&mut self, keeping: SocketReuse) {
        if keeping == SocketReuse::ForReuse && self.ended.is_some() {
            self.spare = self.ended.take();
        }
    }
}
