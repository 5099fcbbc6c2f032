//! One TCP connection, as Linux behaves: both ends, the bytes between them, and what epoll would say of the server's.

use std::collections::VecDeque;
use std::io;

use mio::Token;

/// How a socket is watched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) poll: usize,
    pub(crate) token: Token,
    pub(crate) writable: bool,
}

/// What epoll says of a socket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    pub(crate) read_closed: bool,
    pub(crate) error: bool,
}

impl Ready {
    pub(crate) fn is_any(self) -> bool {
        self.readable || self.writable || self.read_closed || self.error
    }
}

#[derive(Debug, Default)]
pub(crate) struct Connection {
    pub(crate) to_server: VecDeque<u8>,
    pub(crate) to_client: VecDeque<u8>,
    /// How much of each there may be.
    pub(crate) room_in: usize,
    pub(crate) room_out: usize,
    /// The last bytes to the client that wait for what follows (`MSG_MORE`).
    pub(crate) held: usize,
    /// The client has ended its side; it has closed its socket.
    pub(crate) client_ended: bool,
    pub(crate) client_gone: bool,
    /// The same of the server.
    pub(crate) server_ended: bool,
    pub(crate) server_gone: bool,
    /// A reset has arrived at the server; what its socket has not told of that.
    pub(crate) server_reset: bool,
    pub(crate) error: Option<i32>,
    /// A reset has arrived at the client; bytes that it had not read then.
    pub(crate) client_reset: bool,
    pub(crate) lost: usize,
    /// Closing resets.
    pub(crate) resets: bool,
    /// The server was told that there is no room, and waits for some.
    pub(crate) no_space: bool,
    pub(crate) watch: Option<Watch>,
    /// It is in its poll's list.
    pub(crate) is_listed: bool,
}

impl Connection {
    /// Room for the server's bytes.
    pub(crate) fn room(&self) -> usize {
        self.room_out.saturating_sub(self.to_client.len())
    }

    /// As `sk_stream_is_writeable`: a third is free.
    pub(crate) fn is_writable(&self) -> bool {
        self.room() > 0 && self.room() * 3 >= self.room_out
    }

    /// As `tcp_poll`: who asks and finds no room waits for it.
    pub(crate) fn ready(&mut self) -> Ready {
        let Some(watch) = self.watch else { return Ready::default() };
        let writable = self.server_reset || self.server_ended || self.is_writable();
        if !writable {
            self.no_space = true;
        }
        let read_closed = self.client_ended || self.server_reset;
        Ready {
            readable: read_closed || !self.to_server.is_empty(),
            writable: writable && watch.writable,
            read_closed,
            error: self.error.is_some(),
        }
    }

    /// The server reads.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.to_server.is_empty() {
            return Ok(take(&mut self.to_server, buffer));
        }
        if let Some(error) = self.error.take() {
            return Err(io::Error::from_raw_os_error(error));
        }
        if self.client_ended || self.server_reset {
            return Ok(0);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// The server writes.
    pub(crate) fn write(&mut self, parts: &[&[u8]]) -> io::Result<usize> {
        if let Some(error) = self.error.take() {
            return Err(io::Error::from_raw_os_error(error));
        }
        if self.server_ended || self.server_reset {
            return Err(io::Error::from_raw_os_error(libc::EPIPE));
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length == 0 {
            return Ok(0);
        }
        let count = length.min(self.room());
        self.no_space |= count < length;
        if count == 0 {
            // What is held does not wait for what cannot follow: the timer for probes sends it.
            self.held = 0;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if self.client_gone {
            // Nobody reads: the answer is a reset.
            self.reset_server();
            return Ok(count);
        }
        self.to_client.extend(parts.iter().copied().flatten().take(count));
        Ok(count)
    }

    /// A reset arrives at the server, as in `tcp_reset`.
    pub(crate) fn reset_server(&mut self) {
        if self.server_gone || self.server_reset {
            return;
        }
        self.error = Some(if self.client_ended { libc::EPIPE } else { libc::ECONNRESET });
        self.server_reset = true;
    }

    /// A reset arrives at the client, whose system drops what it has not read (RFC 9112, section 9.6).
    pub(crate) fn reset_client(&mut self) {
        if self.client_gone || self.client_reset {
            return;
        }
        self.client_reset = true;
        self.lost = self.to_client.len();
        self.to_client.clear();
        self.held = 0;
    }

    /// The server closes its socket.
    pub(crate) fn close_server(&mut self) {
        self.watch = None;
        self.server_gone = true;
        if self.resets || !self.to_server.is_empty() {
            self.reset_client();
        }
        self.server_ended = true;
        self.held = 0;
        self.to_server.clear();
    }

    /// The client takes up to so many bytes; `true`: the server has room again.
    pub(crate) fn take(&mut self, most: usize) -> (Vec<u8>, bool) {
        let count = most.min(self.to_client.len() - self.held);
        let bytes: Vec<u8> = self.to_client.drain(..count).collect();
        let has_room = self.no_space && self.is_writable();
        if has_room {
            self.no_space = false;
        }
        (bytes, has_room)
    }
}

fn take(queue: &mut VecDeque<u8>, buffer: &mut [u8]) -> usize {
    let count = queue.len().min(buffer.len());
    let (first, second) = queue.as_slices();
    let of_first = first.len().min(count);
    buffer[..of_first].copy_from_slice(&first[..of_first]);
    buffer[of_first..count].copy_from_slice(&second[..count - of_first]);
    queue.drain(..count);
    count
}
