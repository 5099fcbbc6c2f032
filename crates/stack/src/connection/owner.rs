//! Whom a connection's next request belongs to, where the port is shared.

use std::io;
use std::os::fd::OwnedFd;

use millrace_http::{Method, ReceivedHead, field_lines};
use millrace_net::readiness::Registry;

use super::Connection;
use super::receiving::{Receiving, has_body};
use super::state::Blocked;
use crate::connection::cache::MAX_QUEUED;
use crate::server::Server;
use crate::sharing::{MAX_HOPS, Owner, Place, host_and_path};
use crate::transport::Transport;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is this server's.
    Here,
    /// It is another's: the connection leaves.
    Leaves(Owner),
    /// It is another's, or is to be declined, and has to wait for that.
    Waits,
    /// Nobody has it; `gone`: any more.
    Nobody { gone: bool },
}

impl Connection {
    /// Whom the request with this head belongs to.
    pub(super) fn find_owner(
        &mut self,
        server: &mut Server,
        bytes: &[u8],
        head: &ReceivedHead,
    ) -> Found {
        let is_quiet = self.is_quiet(server);
        let server_full = self.queued() + server.answers.len() > MAX_QUEUED;
        let routes = self.ground.and_then(|ground| server.routes_of(ground));
        let Some(routes) = routes.filter(|_| !self.final_bytes_sent) else { return Found::Here };
        let mut fields = field_lines(&bytes[head.lines.0..head.lines.1]);
        let host = fields.find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
        let host = host.map_or(&b""[..], |(_, value)| value);
        let (host, path) = host_and_path(&bytes[head.target.0..head.target.1], host);
        let here = Owner::Server(self.server);
        let place = match self.hops > MAX_HOPS {
            // Those who gave it on do not agree whose it is.
            true => Place::Gone,
            false => routes.place(host, path, self.server, self.pinned),
        };
        match place {
            Place::To(owner) if owner == here => {
                (self.pinned, self.hops) = (true, 0);
                Found::Here
            }
            Place::To(owner) if is_quiet => Found::Leaves(owner),
            // Its answer has its turn.
            Place::Gone | Place::Nowhere if self.lane.in_flight == 0 && !server_full => {
                self.hops = 0;
                Found::Nobody { gone: place == Place::Gone }
            }
            _ => {
                self.blocked = Blocked::Owner;
                Found::Waits
            }
        }
    }

    /// All that was asked is answered, and has left.
    pub(super) fn is_quiet(&self, server: &Server) -> bool {
        self.lane.in_flight == 0 && self.queued() == 0 && server.answers.is_empty()
    }

    /// Answers a request that nobody has. `true`: the caller has to be told that the connection ends.
    pub(super) fn decline(
        &mut self,
        cx: &mut Receiving<'_, '_>,
        head: &ReceivedHead,
        gone: bool,
    ) -> bool {
        let Receiving { server, batch, effects, .. } = cx;
        // Whether a body follows that was not asked for yet, nobody knows (RFC 9110, section 10.1.1).
        let keep_alive = head.keep_alive && !(head.expect && has_body(head)) && !self.withdrawn;
        let (line, text) = if gone { GONE } else { NOWHERE };
        server.set_lines(keep_alive);
        server.counts.unowned += 1;
        let Server { answers, lines, .. } = &mut **server;
        for part in
            [line, TYPE, lines, format!("Content-Length: {}\r\n\r\n", text.len()).as_bytes()]
        {
            answers.extend_from_slice(part);
        }
        if head.method != Method::Head {
            answers.extend_from_slice(text);
        }
        effects.answered = true;
        let ends = self.after_answer(batch, keep_alive);
        if has_body(head) && keep_alive {
            // The caller hears of a body of no request, and lets it pass.
            self.open(batch);
            self.await_body(head.framing);
        } else {
            self.next_head();
        }
        ends
    }

    /// These bytes come first; an event tells of more.
    pub(crate) fn set_input(&mut self, bytes: Vec<u8>) {
        self.readable = bytes.is_empty();
        self.bytes_read = bytes.len() as u64;
        self.input = bytes;
    }

    /// Bytes that were read and not taken.
    pub(crate) fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }

    /// It was given to another process; what is left is to be forgotten.
    pub(crate) fn is_moved(&self) -> bool {
        matches!(self.transport, Transport::Gone)
    }

    /// Gives the socket away, and what was read of it and not taken; what stays is to be forgotten.
    pub(crate) fn give_away(&mut self, registry: &Registry) -> io::Result<(OwnedFd, Vec<u8>)> {
        let watched = (!self.is_unregistered()).then_some(registry);
        let channel = std::mem::replace(&mut self.transport, Transport::Gone);
        let (socket, mut bytes) = channel.into_parts().ok_or(io::ErrorKind::NotConnected)?;
        bytes.append(&mut self.take_input());
        Ok((socket.release(watched)?, bytes))
    }
}

/// Whoever had the prefix has ended without giving it back.
const GONE: (&[u8], &[u8]) =
    (b"HTTP/1.1 503 Service Unavailable\r\n", b"The process that serves this URL is gone.\n");
const NOWHERE: (&[u8], &[u8]) =
    (b"HTTP/1.1 404 Not Found\r\n", b"No process serves this URL here.\n");
const TYPE: &[u8] = b"Content-Type: text/plain\r\n";
