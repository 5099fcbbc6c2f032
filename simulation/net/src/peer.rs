//! The client's end of a connection.

use std::os::fd::OwnedFd;

use crate::connection::Connection;
use crate::network::{Endpoint, Network, with_network};

/// What a client reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Bytes; none if there are none for now.
    Bytes(Vec<u8>),
    /// The server has ended its side.
    End,
    /// The server has reset the connection, and so many bytes were lost by that.
    Reset(usize),
}

/// Bytes that a connection has room for, in each direction.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// From the client to the server.
    pub to_server: usize,
    /// From the server to the client.
    pub to_client: usize,
}

/// A client's socket.
#[derive(Debug)]
pub struct Peer {
    at: usize,
}

impl Peer {
    /// Connects to a listener; it waits to be accepted.
    #[must_use]
    pub fn connect(listener: usize, buffers: Buffers) -> Self {
        with_network(|network| {
            let peer = Self::add(network, buffers);
            network.listeners[listener].waiting.push_back(peer.at);
            network.notify(Endpoint::Listener(listener));
            peer
        })
    }

    /// A connection that somebody has accepted: the descriptor of the server's end.
    #[must_use]
    pub fn pair(buffers: Buffers) -> (Self, OwnedFd) {
        with_network(|network| {
            let peer = Self::add(network, buffers);
            let fd = network.descriptor(Endpoint::Connection(peer.at));
            (peer, fd)
        })
    }

    fn add(network: &mut Network, Buffers { to_server, to_client }: Buffers) -> Self {
        let at = network.connections.len();
        let connection =
            Connection { room_in: to_server, room_out: to_client, ..Connection::default() };
        network.connections.push(connection);
        Self { at }
    }

    /// The number of the connection, in the order of their making.
    #[must_use]
    pub fn number(&self) -> usize {
        self.at
    }

    /// Sends as much as there is room for; gives how much that is.
    pub fn send(&mut self, bytes: &[u8]) -> usize {
        self.change(|network, at| {
            let connection = &mut network.connections[at];
            if connection.client_ended || connection.client_gone || connection.client_reset {
                return 0;
            }
            if connection.server_gone {
                // Nobody reads: the answer is a reset.
                connection.reset_client();
                return bytes.len();
            }
            let room = connection.room_in.saturating_sub(connection.to_server.len());
            let count = bytes.len().min(room);
            if count > 0 && !connection.server_reset {
                connection.to_server.extend(&bytes[..count]);
                network.notify(Endpoint::Connection(at));
            }
            count
        })
    }

    /// Takes up to so many bytes.
    pub fn receive(&mut self, most: usize) -> Received {
        self.change(|network, at| {
            let (bytes, has_room) = network.connections[at].take(most);
            if has_room {
                network.notify(Endpoint::Connection(at));
            }
            let connection = &network.connections[at];
            if bytes.is_empty() && connection.client_reset {
                return Received::Reset(connection.lost);
            }
            match bytes.is_empty() && connection.to_client.is_empty() && connection.server_ended {
                true => Received::End,
                false => Received::Bytes(bytes),
            }
        })
    }

    /// What it would take, all of it.
    #[must_use]
    pub fn peek(&self) -> Vec<u8> {
        self.change(|network, at| {
            let connection = &network.connections[at];
            let count = connection.to_client.len() - connection.held;
            connection.to_client.iter().take(count).copied().collect()
        })
    }

    /// Ends the client's side.
    pub fn end(&mut self) {
        self.change(|network, at| {
            let connection = &mut network.connections[at];
            if !connection.client_reset && !connection.server_reset {
                connection.client_ended = true;
                network.notify(Endpoint::Connection(at));
            }
        });
    }

    /// Closes the socket: what it has not read makes that a reset.
    pub fn close(&mut self) {
        self.change(|network, at| {
            let connection = &mut network.connections[at];
            match connection.to_client.is_empty() {
                true => connection.client_ended |= !connection.server_reset,
                false => connection.reset_server(),
            }
            connection.client_gone = true;
            network.notify(Endpoint::Connection(at));
        });
    }

    /// Resets the connection.
    pub fn reset(&mut self) {
        self.change(|network, at| {
            network.connections[at].reset_server();
            network.connections[at].client_gone = true;
            network.notify(Endpoint::Connection(at));
        });
    }

    /// The system gives it more room.
    pub fn widen(&mut self) {
        self.change(|network, at| {
            let connection = &mut network.connections[at];
            (connection.room_in, connection.room_out) = (1 << 20, 1 << 20);
            if std::mem::take(&mut connection.no_space) {
                network.notify(Endpoint::Connection(at));
            }
        });
    }

    /// How the connection stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.change(|network, at| {
            let it = &network.connections[at];
            Standing {
                unread: it.to_server.len(),
                undelivered: it.to_client.len(),
                held: it.held,
                is_writable: it.is_writable(),
                is_reset: it.server_reset,
                has_ended: it.client_ended,
                server_ended: it.server_ended,
                server_gone: it.server_gone,
                is_watched: it.watch.is_some(),
            }
        })
    }

    fn change<R>(&self, action: impl FnOnce(&mut Network, usize) -> R) -> R {
        with_network(|network| action(network, self.at))
    }
}

/// What nobody but the network knows of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Bytes that the server has not read, and those that the client has not.
    pub unread: usize,
    /// Bytes that the client has not read.
    pub undelivered: usize,
    /// Those of them that wait for what follows.
    pub held: usize,
    /// There is room for the server's bytes.
    pub is_writable: bool,
    /// A reset has arrived at the server.
    pub is_reset: bool,
    /// The client's end has arrived at the server.
    pub has_ended: bool,
    /// The server has ended its side.
    pub server_ended: bool,
    /// The server has closed its socket.
    pub server_gone: bool,
    /// The server waits for events.
    pub is_watched: bool,
}

/// Whoever has this descriptor of a server's end closes it.
pub fn close_descriptor(fd: OwnedFd) {
    crate::socket::Socket::from_fd(fd).ok();
}
