//! TLS connections whose requests are another process's. A session cannot move, so its text does: see
//! [`crate::forwarded`].

use std::io;
use std::os::fd::OwnedFd;

use super::Reactor;
use super::source::Source;
use crate::batch::Batch;
use crate::connection::READ;
use crate::connection::id::ConnId;
use crate::connection::state::{Blocked, WriteState};
use crate::forwarded::{About, Relay};
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
    pub(super) fn relay(&mut self, id: ConnId) -> io::Result<(OwnedFd, Box<About>)> {
        let (local, peer) = self.addresses(id.index());
        let connection = self.connections.get_mut(id).ok_or(io::ErrorKind::NotConnected)?;
        let mut about = connection.about().ok_or(io::ErrorKind::Unsupported)?;
        (about.local, about.peer) = (local, peer);
        let bytes = connection.take_input();
        let (relay, socket) = Relay::new(self.poll.registry(), Source::Relay(id).token(), bytes)?;
        connection.relay = Some(Box::new(relay));
        // Neither idle nor late, whatever its requests are.
        connection.blocked = Blocked::Relayed;
        connection.readable = true;
        self.run_again(id);
        Ok((socket, Box::new(about)))
    }

    /// Whether the text of a connection goes to another process.
    #[must_use]
    pub fn is_relayed(&self, id: usize) -> bool {
        self.connections.at(id).is_some_and(|connection| connection.relay.is_some())
    }

    /// Moves text both ways.
    pub(super) fn pump(&mut self, id: ConnId, batch: &mut Batch<'_>) {
        match self.pump_on(id, batch) {
            Ok(Pumped::Waits) => {}
            Ok(Pumped::Again) => self.run_again(id),
            Ok(Pumped::Over) => self.tell_closed(id, 0, batch),
            Err(error) => self.tell_closed(id, error.raw_os_error().unwrap_or(0), batch),
        }
    }

    fn pump_on(&mut self, id: ConnId, batch: &mut Batch<'_>) -> io::Result<Pumped> {
        let Some(connection) = self.connections.get_mut(id) else { return Ok(Pumped::Waits) };
        let Some(mut relay) = connection.relay.take() else { return Ok(Pumped::Waits) };
        let room = connection.transport.room();
        let Some(scratch) = batch.bytes.get_mut(batch.used..).filter(|it| it.len() >= room) else {
            connection.relay = Some(relay);
            return Ok(Pumped::Again);
        };
        let more = to_owner(
            &mut connection.transport,
            &mut relay,
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
        connection.relay = Some(relay);
        Ok(match (over, again) {
            (true, _) => Pumped::Over,
            (false, true) => Pumped::Again,
            (false, false) => Pumped::Waits,
        })
    }
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
