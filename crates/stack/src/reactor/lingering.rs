//! Connections that are over for their caller, while their peer may still send.
//!
//! Had they been closed at once, the system would answer what comes with a reset, upon which the peer's system may drop
//! what it has received and not read: the last response (RFC 9112, section 9.6). So only our side has ended; what comes
//! is read and dropped until the peer ends, or one of these limits is met.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use millrace_net::Nanos;
use millrace_net::socket::Socket;

use super::source::Source;
use super::{Reactor, Timer};
use crate::batch::Batch;
use crate::connection::Connection;

/// Without a byte, and in all.
const SILENCE: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(30);
/// Bytes of one connection.
const MAX_BYTES: usize = 64 << 20;
/// Connections of one server. Those beyond are closed at once.
const MOST: usize = 256;
/// Reads of one connection before the others have their turn, and the room that a read wants.
const READS: usize = 4;
const ROOM: usize = 4 * 1024;

#[derive(Debug)]
pub(super) struct Lingering {
    socket: Socket,
    /// Bytes that may still come.
    room: usize,
    /// No event will tell of what is still unread.
    pub(super) peer_ended: bool,
    /// When it is closed in any case, and since when nothing has come.
    ends: Nanos,
    heard: Nanos,
    /// When its timer comes; any other is of one that had this number before.
    pub(super) timer: Nanos,
    /// There are as many of these as the server has such connections, and one more.
    _counted: Arc<()>,
}

impl Lingering {
    /// `true`: there is more at once; an error: it is over.
    fn discard(&mut self, scratch: &mut [u8], now: Nanos) -> io::Result<bool> {
        for _ in 0..READS {
            let read = match self.socket.read(scratch) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                read => read?,
            };
            if read.count == 0 || read.count > self.room {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.room -= read.count;
            self.heard = now;
            if read.drained && !self.peer_ended {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Reactor {
    /// The end of a connection that was taken out. Where our side has ended, its peer hears the rest.
    pub(super) fn part_with(&mut self, connection: Connection, now: Nanos) {
        if !connection.may_hear_more() {
            return;
        }
        let Some(server) = self.servers.get(connection.server) else { return };
        if Arc::strong_count(&server.lingering) > MOST {
            return;
        }
        let counted = Arc::clone(&server.lingering);
        let is_watched = !connection.is_unregistered();
        let Some((mut socket, _)) = connection.channel.into_parts() else { return };
        let entry = self.lingering.vacant_entry();
        let id = entry.key();
        let (registry, token) = (self.poll.registry(), Source::Lingering(id).token());
        let registered = match is_watched {
            true => socket.register_again(registry, token),
            false => socket.register(registry, token),
        };
        // Only a lack of memory makes that fail.
        if registered.is_err() {
            return;
        }
        entry.insert(Lingering {
            socket,
            room: MAX_BYTES,
            peer_ended: false,
            ends: now + LONGEST,
            heard: now,
            timer: now + SILENCE,
            _counted: counted,
        });
        self.timers.push(now + SILENCE, Timer::Lingering(id));
        self.timers_changed = true;
    }

    /// Something has come.
    pub(super) fn discard(&mut self, id: usize, batch: &mut Batch<'_>, now: Nanos) {
        let Some(lingering) = self.lingering.get_mut(id) else { return };
        let scratch = batch.memory.scratch();
        if scratch.len() < ROOM {
            return self.ready_sources.push(Source::Lingering(id));
        }
        match lingering.discard(scratch, now) {
            Ok(true) => self.ready_sources.push(Source::Lingering(id)),
            Ok(false) => {}
            Err(_) => {
                self.lingering.remove(id);
                self.forget_timer();
            }
        }
    }

    pub(super) fn on_lingering(&mut self, id: usize, at: Nanos, now: Nanos) {
        let Some(lingering) = self.lingering.get_mut(id).filter(|it| it.timer == at) else {
            return;
        };
        lingering.timer = lingering.ends.min(lingering.heard + SILENCE);
        if lingering.timer <= now {
            self.lingering.remove(id);
        } else {
            self.timers.push(lingering.timer, Timer::Lingering(id));
        }
    }
}
