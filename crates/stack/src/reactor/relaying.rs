//! TLS connections whose requests are another process's. A session cannot move, so its text does: see
//! [`crate::relay`].

use std::io;
use std::os::fd::OwnedFd;

use millrace_net::Nanos;

use super::Reactor;
use super::source::Source;
use crate::batch::Batch;
use crate::connection::id::ConnId;
use crate::connection::state::{Blocked, WriteState};
use crate::connection::{Connection, READ};
use crate::relay::Relay;
use crate::router::SessionInfo;
use crate::transport::Transport;

/// Reads in each direction before everything else has its turn.
const READS: usize = 4;

/// How far a relay has come.
enum Pumped {
    /// It goes on with the next event.
    Waits,
    Again,
    Over,
}

impl Reactor {
    /// From now on the text of a connection goes to another process and comes from there. Gives what that is to have: the
    /// other end, and what is to be known of the session.
    pub(super) fn relay(&mut self, id: ConnId) -> io::Result<(OwnedFd, Box<SessionInfo>)> {
        let (local, peer) = self.addresses(id.index());
        let connection = self.connections.get_mut(id).ok_or(io::ErrorKind::NotConnected)?;
        let mut session = connection.session_info().ok_or(io::ErrorKind::Unsupported)?;
        (session.local, session.peer) = (local, peer);
        let bytes = connection.take_input();
        let (relay, socket) = Relay::new(self.poll.registry(), Source::Relay(id).token(), bytes)?;
        connection.routing.as_mut().ok_or(io::ErrorKind::Unsupported)?.relay = Some(relay);
        // Neither idle nor late, whatever its requests are.
        connection.blocked = Blocked::Relayed;
        connection.readable = true;
        self.run_again(id);
        Ok((socket, Box::new(session)))
    }

    /// Whether the text of a connection goes to another process.
    #[must_use]
    pub fn is_relayed(&self, id: usize) -> bool {
        self.connections.at(id).is_some_and(|connection| connection.relay().is_some())
    }

    /// Moves text both ways.
    pub(super) fn pump(&mut self, id: ConnId, batch: &mut Batch<'_>, now: Nanos) {
        match self.pump_on(id, batch, now) {
            Ok(Pumped::Waits) => {}
            Ok(Pumped::Again) => self.run_again(id),
            Ok(Pumped::Over) => self.tell_closed(id, 0, batch),
            Err(error) => self.tell_closed(id, error.raw_os_error().unwrap_or(0), batch),
        }
    }

    fn pump_on(&mut self, id: ConnId, batch: &mut Batch<'_>, now: Nanos) -> io::Result<Pumped> {
        let Some(connection) = self.connections.get_mut(id) else { return Ok(Pumped::Waits) };
        let Some(mut routing) = connection.routing.take() else { return Ok(Pumped::Waits) };
        let result = match &mut routing.relay {
            Some(relay) => pump(connection, relay, batch),
            None => Ok(Pumped::Waits),
        };
        if result.is_err() {
            routing.relay = None;
        }
        connection.routing = Some(routing);
        self.note_progress(id, now);
        result
    }
}

/// Moves text both ways.
fn pump(
    connection: &mut Connection,
    relay: &mut Relay,
    batch: &mut Batch<'_>,
) -> io::Result<Pumped> {
    let room = connection.transport.room();
    let Some(scratch) = batch.bytes.get_mut(batch.used..).filter(|it| it.len() >= room) else {
        return Ok(Pumped::Again);
    };
    let more = to_owner(
        &mut connection.transport,
        relay,
        (&mut connection.readable, connection.peer_ended),
        scratch,
    )?;
    let mut again = more;
    for _ in 0..READS {
        if relay.owner_ended || connection.queued() > 0 {
            again = more;
            break;
        }
        match relay.take(&mut scratch[..READ]) {
            Ok(0) => relay.owner_ended = true,
            Ok(count) => drop(connection.send(&scratch[..count], false)?),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                again = more;
                break;
            }
            // It has left what it was sent; all that it has said is here.
            Err(_) => relay.owner_ended = true,
        }
        again = true;
    }
    if relay.owner_ended && connection.queued() == 0 && connection.write_state.end(true) {
        connection.transport.end();
    }
    // Whoever has answered all and ended wants no more; a client that goes on would not be heard.
    let over = connection.write_state == WriteState::Ended;
    Ok(match (over, again) {
        (true, _) => Pumped::Over,
        (false, true) => Pumped::Again,
        (false, false) => Pumped::Waits,
    })
}

/// Text from the client; `true`: there is more.
fn to_owner(
    channel: &mut Transport,
    relay: &mut Relay,
    (readable, peer_ended): (&mut bool, bool),
    scratch: &mut [u8],
) -> io::Result<bool> {
    for _ in 0..READS {
        if relay.client_ended || !relay.give(&[]) || !*readable {
            return Ok(false);
        }
        match channel.read(scratch) {
            Ok(read) if read.count == 0 => relay.end(),
            Ok(read) => {
                *readable = !read.drained || peer_ended;
                relay.give(&scratch[..read.count]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => *readable = false,
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
