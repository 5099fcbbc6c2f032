//! What a caller asks for between two turns, of one connection.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use millrace_net::{Clock as _, Nanos};

use super::Reactor;
use crate::batch::Batch;
use crate::connection::Connection;
use crate::connection::id::{ConnId, LaneId};
use crate::keep_alive;
use crate::settings::KeepAlive;

impl Reactor {
    /// Stops or resumes the reading of a connection.
    pub fn pause(&mut self, id: usize, paused: bool) {
        let Some(connection) = self.connections.at_mut(id) else { return };
        connection.lane.pause(paused, self.clock.now());
        if !paused && connection.can_go_on() {
            let id = connection.id;
            self.wake(id);
        }
    }

    /// Receives the next part of a body after [`Kind::BodyReadable`](crate::batch::Kind::BodyReadable), at most 64 KiB; gives
    /// its length, which is 0 if the connection is paused or broken, or its socket is empty.
    pub fn receive_body(&mut self, id: usize, buffer: &mut [u8]) -> usize {
        let now = self.clock.now();
        let Some(connection) = self.connections.at_mut(id) else { return 0 };
        let id = connection.id;
        let received = connection.receive_body(buffer);
        self.note_progress(id, now);
        match received {
            Ok(length) => length,
            Err(error) => {
                let number = error.raw_os_error().unwrap_or(0);
                self.tell_closed(id, number, &mut Batch::silent(&mut []));
                0
            }
        }
    }

    /// Takes an upgrade for an ordinary request.
    pub fn proceed(&mut self, id: usize) {
        self.proceed_with(id, Connection::proceed);
    }

    /// Hands on the next bytes as they come.
    pub fn proceed_raw(&mut self, id: usize) {
        self.proceed_with(id, Connection::proceed_raw);
    }

    /// Reads on by itself: a body ended behind the first `taken` bytes of those told last.
    pub fn proceed_behind(&mut self, id: usize, taken: usize) {
        self.proceed_with(id, |connection| connection.proceed_behind(taken));
    }

    /// Hands on everything as it comes, what was read and not told first.
    pub fn through(&mut self, id: usize) {
        self.proceed_with(id, Connection::through);
    }

    fn proceed_with(&mut self, id: usize, proceed: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.connections.at_mut(id) {
            proceed(connection);
            let id = connection.id;
            self.wake(id);
        }
    }

    /// Ends our side when all is written.
    pub fn end(&mut self, id: usize) {
        let now = self.clock.now();
        if let Some(connection) = self.connections.at(id) {
            let (id, lane) = (connection.id, connection.lane.id);
            // Streams that are open come to their ends; then the connection does.
            if connection.session.has_streams() {
                return self.leave_gracefully(id, now);
            }
            self.leave_session(id, now);
            self.end_when_written(lane, now);
        }
    }

    pub(super) fn end_when_written(&mut self, lane: LaneId, now: Nanos) {
        let Some(connection) = self.connections.of(lane) else { return };
        let has_written_all = connection.channel.queued() == 0;
        self.end_channel(lane, has_written_all, now);
    }

    pub(super) fn end_output(&mut self, lane: LaneId, now: Nanos) {
        self.end_channel(lane, true, now);
    }

    /// Ends our side, at once or behind what waits.
    fn end_channel(&mut self, lane: LaneId, at_once: bool, now: Nanos) {
        let Some(connection) = self.connections.of_mut(lane) else { return };
        match connection.channel.end(at_once) {
            Ok(false) => return,
            // The end of what the peer says was told.
            Ok(true) | Err(_) if connection.session.is_ended() => {}
            Ok(true) => {}
            Err(error) => {
                connection.fail_behind_input(error);
                let id = connection.id;
                self.wake(id);
            }
        }
        self.end_responses(lane, now);
        if let Some(id) = self.connections.of(lane).map(|it| it.id) {
            self.settle_stream(id, now);
        }
    }

    /// Closes a connection at once; nothing more is told of it. If our side has ended before, its last response is not
    /// lost on a peer that still sends.
    pub fn close(&mut self, id: usize, reset: bool) {
        let now = self.clock.now();
        let Some(id) = self.connections.at(id).map(|connection| connection.id) else { return };
        self.settle_stream(id, now);
        if !reset {
            self.leave_session(id, now);
        }
        let Some(mut connection) = self.remove(id, now) else { return };
        connection.channel.uncork(true);
        if reset {
            // Best effort: the connection is closed either way.
            if let Some(socket) = connection.channel.transport.socket() {
                socket.reset_on_close().ok();
            }
        } else {
            self.part_with(connection, now);
        }
    }

    /// Gives a connection away: its descriptor, where in its last batch the bytes end that were told, and those that
    /// were read and not told.
    pub fn release(&mut self, id: usize) -> io::Result<(OwnedFd, usize, Vec<u8>)> {
        let now = self.clock.now();
        let id = self.own(id)?.id;
        let mut connection = self.remove(id, now).ok_or(io::ErrorKind::NotConnected)?;
        let server = self.servers.get(connection.server);
        connection.channel.uncork(server.is_none_or(|server| server.settings.no_delay));
        let (unregistered, told) = (connection.is_unregistered(), connection.lane.delivered_end);
        let (socket, input) = connection.channel.into_parts().ok_or(io::ErrorKind::NotConnected)?;
        let watched = (!unregistered).then(|| self.poll.registry());
        Ok((socket.release(watched)?, told, input))
    }

    /// Takes a connection out; the cache hears of it.
    pub(super) fn remove(&mut self, id: ConnId, now: Nanos) -> Option<Connection> {
        let mut connection = self.connections.remove(id)?;
        if let Some(server) = self.servers.get_mut(connection.server) {
            server.in_flight = server.in_flight.saturating_sub(connection.lane.in_flight);
            if connection.channel.transport.stream().is_none() {
                server.connections = server.connections.saturating_sub(1);
            }
            connection.leave_cache(server, now);
        }
        self.go_on_woken(connection.server);
        if connection.activity.timer != Nanos::NEVER {
            self.forget_timer();
        }
        self.part_streams(&connection, now);
        Some(connection)
    }

    /// Both ends of a connection; `None` where they have no address.
    #[must_use]
    pub fn addresses(&self, id: usize) -> (Option<SocketAddr>, Option<SocketAddr>) {
        let Some(connection) = self.connections.at(id) else { return (None, None) };
        if let Some(stream) = connection.channel.transport.stream() {
            return self.addresses(stream.session.lane().number());
        }
        if let Some(session) = connection.channel.transport.forwarded() {
            return (session.local, session.peer);
        }
        let local = connection
            .channel
            .transport
            .socket()
            .and_then(|it| it.options().local_addr().ok()?.as_socket());
        (local, connection.peer)
    }

    /// Turns TCP's own probes of a connection on or off.
    pub fn keep_alive(&self, id: usize, probes: Option<KeepAlive>) {
        if let Some(socket) = self.socket(id) {
            keep_alive::set(&socket, probes);
        }
    }

    /// Bytes that have been read of a connection, told or not.
    #[must_use]
    pub fn bytes_read(&self, id: usize) -> u64 {
        self.connections.at(id).map_or(0, |connection| connection.channel.bytes_read)
    }

    /// The options of a connection's socket.
    #[must_use]
    pub fn socket(&self, id: usize) -> Option<socket2::SockRef<'_>> {
        Some(self.connections.at(id)?.channel.transport.socket()?.options())
    }
}
