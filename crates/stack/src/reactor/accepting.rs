//! How connections come: from listeners, or from elsewhere.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use millrace_net::socket::Socket;
use millrace_net::{Clock as _, Listener, Nanos};

use super::source::Source;
use super::{Reactor, Timer};
use crate::batch::{Batch, Event};
use crate::connection::blocked::Blocked;
use crate::connection::id::ConnId;
use crate::connection::routing::Routing;
use crate::connection::work::Work;
use crate::connection::{Connection, READ};
use crate::keep_alive;
use crate::router::SessionInfo;
use crate::server::Server;
use crate::transport::Transport;

/// Connections accepted before those that exist have their turn.
const ACCEPTS: usize = 128;
/// After a lack of descriptors or memory, accepting is tried again this much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where a connection comes from.
#[derive(Debug)]
pub(super) enum SocketOrigin {
    /// A socket that listens, maybe at a shared address.
    Listener { address: Option<usize> },
    /// The caller has accepted it.
    Caller,
    /// Somebody who shares the port, who has read these bytes, and may have the session whose text this is.
    Router { address: usize, session: Option<Box<SessionInfo>>, bytes: Vec<u8> },
}

#[derive(Debug)]
pub(super) struct Accepting {
    listener: Listener,
    server: usize,
    /// The shared address that it is for.
    address: Option<usize>,
    pub(super) ready: bool,
}

impl Reactor {
    /// Accepts connections for a server from a socket that listens.
    pub fn listen(&mut self, server: usize, fd: OwnedFd) -> io::Result<usize> {
        let Server { settings, .. } = self.servers.get(server).ok_or(io::ErrorKind::NotFound)?;
        let entry = self.listeners.vacant_entry();
        let id = entry.key();
        let listener = Listener::new(fd, self.poll.registry(), Source::Listener(id).token())?;
        // Accepted connections inherit it on Linux; it costs a system call for each elsewhere.
        if settings.no_delay {
            listener.options().set_tcp_nodelay(true).ok();
        }
        let address = self.router.as_ref().and_then(|router| router.address_of(server));
        entry.insert(Accepting { listener, server, address, ready: true });
        // What waits in its queue is told by no new event on some systems.
        self.ready_sources.push(Source::Listener(id));
        Ok(id)
    }

    /// Accepts no more.
    pub fn close_listener(&mut self, id: usize) {
        if let Some(mut accepting) = self.listeners.try_remove(id) {
            // The descriptor closes with it; leaving the poll set first cannot fail in a way that matters.
            accepting.listener.deregister(self.poll.registry()).ok();
        }
    }

    /// Takes a connection that was accepted elsewhere.
    pub fn adopt(&mut self, server: usize, fd: OwnedFd) -> io::Result<usize> {
        // The last turn may be long ago.
        let now = self.clock.now();
        let (socket, peer) = Socket::from_fd(fd)?;
        let id = self.add(socket, peer, server, SocketOrigin::Caller, now)?;
        self.wake(id);
        Ok(id.lane().number())
    }

    pub(super) fn add(
        &mut self,
        mut socket: Socket,
        peer: Option<SocketAddr>,
        server: usize,
        origin: SocketOrigin,
        now: Nanos,
    ) -> io::Result<ConnId> {
        let is_new = matches!(origin, SocketOrigin::Listener { .. });
        let server_of = self.servers.get(server).ok_or(io::ErrorKind::NotFound)?;
        let settings = &server_of.settings;
        if peer.is_some() {
            let options = socket.options();
            // Those who share a port accept from the same socket.
            let inherits = cfg!(target_os = "linux") && !matches!(origin, SocketOrigin::Caller);
            if settings.no_delay && !inherits {
                // A peer that is gone already makes it fail: whoever reads finds that out.
                options.set_tcp_nodelay(true).ok();
            }
            if settings.tcp_keep_alive.is_some() {
                keep_alive::set(&options, settings.tcp_keep_alive);
            }
        }
        let id = self.connections.next_id();
        let registers_later = settings.tls.is_none() && is_new;
        if !registers_later {
            socket.register(self.poll.registry(), Source::Connection(id).token())?;
        }
        let (address, session, bytes) = match origin {
            SocketOrigin::Router { address, session, bytes } => (Some(address), session, bytes),
            SocketOrigin::Listener { address } => (address, None, Vec::new()),
            SocketOrigin::Caller => (None, None, Vec::new()),
        };
        let (channel, input) = match (session, settings.tls) {
            (Some(session), _) => (Transport::Forwarded(socket, session), bytes),
            (None, None) => (Transport::Plain(socket), bytes),
            (None, Some(_)) => (Transport::tls(socket, bytes), Vec::new()),
        };
        let mut connection = Connection::new(id, channel, server, peer, now);
        if let Some(session) = connection.channel.transport.forwarded().cloned() {
            connection.client.server_name = session.name.map(Into::into);
            connection.client.certified = !session.certificates.is_empty();
        }
        connection.channel.set_input(input);
        connection.routing = address.map(|address| Box::new(Routing::new(address)));
        // Those of a shared address are told of, and screened, with their first request for this server.
        connection.lane.unopened = address.is_some();
        if registers_later && settings.requires_admission && address.is_none() {
            connection.lane.blocked = Blocked::Admission;
        }
        if registers_later {
            self.settling.push(&mut connection, Work::REGISTER);
        }
        self.connections.insert(connection);
        self.count_connections(server, |count| count + 1);
        self.watch_handshake(server, id);
        Ok(id)
    }

    /// The number of a server's connections changes.
    pub(super) fn count_connections(&mut self, server: usize, change: fn(usize) -> usize) {
        if let Some(server) = self.servers.get_mut(server) {
            server.connections = change(server.connections);
        }
    }

    pub(super) fn accept(&mut self, id: usize, batch: &mut Batch<'_>, now: Nanos) {
        for _ in 0..ACCEPTS {
            if !batch.can_tell() || batch.memory.free() < READ {
                break;
            }
            if !self.accept_next(id, batch, now) {
                return;
            }
        }
        self.ready_sources.push(Source::Listener(id));
    }

    /// Whether the next connection from a listener waits for the caller.
    pub(super) fn is_crowded(&self, id: usize) -> bool {
        let accepting = self.listeners.get(id);
        accepting.and_then(|it| self.servers.get(it.server)).is_some_and(Server::is_crowded)
    }

    /// Accepts one; `false`: there is none for now.
    pub(super) fn accept_next(&mut self, id: usize, batch: &mut Batch<'_>, now: Nanos) -> bool {
        let Some(accepting) = self.listeners.get_mut(id).filter(|it| it.ready) else {
            return false;
        };
        let (server, address) = (accepting.server, accepting.address);
        match accepting.listener.accept() {
            Ok((socket, peer)) => {
                let origin = SocketOrigin::Listener { address };
                let added = self.add(socket, peer, server, origin, now);
                if added.is_err()
                    && let Some(server) = self.servers.get_mut(server)
                {
                    server.counts.lost += 1;
                }
                if let Ok(id) = added {
                    self.on_accepted(id, batch, now);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                accepting.ready = false;
                return false;
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                ) => {}
            // The caller finds the same in its next turn.
            Err(_) if !batch.can_tell() => {
                self.timers.push(now, Timer::Accept(id));
                self.timers_changed = true;
                return false;
            }
            Err(error) => {
                // Their descriptors are needed.
                self.lingering.clear();
                let error = error.raw_os_error().unwrap_or(0);
                batch.push_global(Event::AcceptFailed { error, server });
                self.timers.push(now + ACCEPT_PAUSE, Timer::Accept(id));
                return false;
            }
        }
        true
    }

    /// Tells of a connection that was accepted, and takes its first request.
    fn on_accepted(&mut self, id: ConnId, batch: &mut Batch<'_>, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if batch.silent
            && let Some(server) = self.servers.get_mut(connection.server)
        {
            server.accepted_unreported += 1;
        }
        if connection.lane.unopened {
            // Told with the first of its requests that is for this server.
        } else if !batch.can_tell() {
            connection.lane.unreported.opened = true;
            self.reports.push(&mut connection.lane);
        } else {
            batch
                .push(connection.lane.id, Event::Open { server: connection.server, session: None });
            if connection.lane.blocked == Blocked::Admission {
                self.behind_caller.push(connection, Work::ADMIT);
            }
        }
        if connection.is_unregistered() {
            self.receive(id, batch, now);
        }
    }
}
