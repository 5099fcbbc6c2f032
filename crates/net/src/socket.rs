//! Sockets that never block: TCP and Unix sockets.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
#[cfg(unix)]
use std::os::fd::OwnedFd;

use mio::net::TcpStream;
#[cfg(unix)]
use mio::net::UnixStream;
use mio::{Interest, Registry, Token};

use crate::{Address, Progress, Read};

/// A read that did not fill the buffer has emptied the socket: man epoll(7), question 9. On Windows the
/// next readiness is told only after a `WouldBlock`.
const SHORT_READ_DRAINS: bool = cfg!(unix);

/// A socket that never blocks.
#[derive(Debug)]
pub enum Socket {
    /// TCP over IPv4 or IPv6.
    Tcp(TcpStream),
    /// A Unix socket of stream type.
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Socket {
    pub(crate) fn connect(
        address: &Address,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match address {
            Address::Inet(address) => {
                let mut stream = TcpStream::connect(*address)?;
                // A request's last, short segment must not wait for an acknowledgement.
                stream.set_nodelay(true)?;
                registry.register(&mut stream, token, both)?;
                Ok(Self::Tcp(stream))
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                check_length(path)?;
                let mut stream = UnixStream::connect(path)?;
                registry.register(&mut stream, token, both)?;
                Ok(Self::Unix(stream))
            }
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Connected once the socket has a peer; until then a pending error is the connect's.
    pub(crate) fn establish(&mut self) -> io::Result<Progress> {
        let peer = match self {
            Self::Tcp(stream) => stream.peer_addr().map(drop),
            #[cfg(unix)]
            Self::Unix(stream) => stream.peer_addr().map(drop),
        };
        match peer {
            Ok(()) => Ok(Progress::Ready { resumed: None }),
            Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
            Err(_) => match self.take_error()? {
                Some(error) => Err(error),
                None => Ok(Progress::Connecting),
            },
        }
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Self::Tcp(stream) => stream.take_error(),
            #[cfg(unix)]
            Self::Unix(stream) => stream.take_error(),
        }
    }

    /// Reads what has arrived.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        loop {
            let result = match self {
                Self::Tcp(stream) => stream.read(buffer),
                #[cfg(unix)]
                Self::Unix(stream) => stream.read(buffer),
            };
            match result {
                Ok(count) => {
                    return Ok(Read { count, drained: SHORT_READ_DRAINS && count < buffer.len() });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes as many of the bytes of both as can go out now.
    pub fn write_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<usize> {
        self.write_many(&[io::IoSlice::new(first), io::IoSlice::new(second)])
    }

    /// Takes as many of the bytes of all parts as can go out now.
    pub fn write_many(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        loop {
            let result = match self {
                Self::Tcp(stream) => stream.write_vectored(parts),
                #[cfg(unix)]
                Self::Unix(stream) => stream.write_vectored(parts),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Takes as many of the bytes as can go out now.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let result = match self {
                Self::Tcp(stream) => stream.write(bytes),
                #[cfg(unix)]
                Self::Unix(stream) => stream.write(bytes),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

impl Socket {
    /// Bytes that have arrived and were not read, as far as the system says.
    #[must_use]
    pub fn unread(&self) -> u64 {
        #[cfg(target_os = "linux")]
        {
            rustix::io::ioctl_fionread(&*self.options()).unwrap_or(0)
        }
        #[cfg(not(target_os = "linux"))]
        {
            0
        }
    }
}

#[cfg(unix)]
impl Socket {
    /// Takes a connected socket.
    pub fn from_fd(fd: OwnedFd) -> io::Result<(Self, Option<SocketAddr>)> {
        let socket = socket2::Socket::from(fd);
        // What is no socket is left as it is: others may have it, too.
        let is_unix = socket.local_addr()?.is_unix();
        socket.set_nonblocking(true)?;
        let peer = socket.peer_addr().ok().and_then(|peer| peer.as_socket());
        if is_unix {
            Ok((Self::Unix(UnixStream::from_std(OwnedFd::from(socket).into())), peer))
        } else {
            Ok((Self::Tcp(TcpStream::from_std(OwnedFd::from(socket).into())), peer))
        }
    }

    /// Takes a connected socket that does not block, from whoever knows it.
    #[must_use]
    pub fn from_known(fd: OwnedFd, is_unix: bool) -> Self {
        match is_unix {
            true => Self::Unix(UnixStream::from_std(fd.into())),
            false => Self::Tcp(TcpStream::from_std(fd.into())),
        }
    }

    /// Asks for readiness in both directions.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(stream) => registry.register(stream, token, both),
            Self::Unix(stream) => registry.register(stream, token, both),
        }
    }

    /// Asks, under another token, for readiness to be read.
    pub fn register_again(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => registry.reregister(stream, token, Interest::READABLE),
            Self::Unix(stream) => registry.reregister(stream, token, Interest::READABLE),
        }
    }

    /// Leaves the loop in which it is registered.
    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => registry.deregister(stream),
            Self::Unix(stream) => registry.deregister(stream),
        }
    }

    /// The same, and gives the descriptor away.
    pub fn release(mut self, registry: Option<&Registry>) -> io::Result<OwnedFd> {
        if let Some(registry) = registry {
            self.deregister(registry)?;
        }
        Ok(match self {
            Self::Tcp(stream) => stream.into(),
            Self::Unix(stream) => stream.into(),
        })
    }

    /// Writes what is the last before our side ends: it leaves with the end, in one segment where that can be.
    /// Without an end, what is less than a segment waits for [`Self::push`].
    pub fn write_last(&self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        const MORE: i32 = rustix::net::SendFlags::MORE.bits() as i32;
        #[cfg(not(target_os = "linux"))]
        const MORE: i32 = 0;
        self.options().send_with_flags(bytes, MORE)
    }

    /// Sends what [`Self::write_last`] has left waiting. `no_delay`: as the option is set.
    pub fn push(&self, no_delay: bool) {
        // Setting it sends what waits (tcp(7)). It fails where there is no TCP, and nothing waits.
        self.options().set_tcp_nodelay(true).ok();
        if !no_delay {
            self.options().set_tcp_nodelay(false).ok();
        }
    }

    /// The options that socket2 knows.
    #[must_use]
    pub fn options(&self) -> socket2::SockRef<'_> {
        match self {
            Self::Tcp(stream) => socket2::SockRef::from(stream),
            Self::Unix(stream) => socket2::SockRef::from(stream),
        }
    }
}

/// Refuses a path that does not fit into a socket's address, man unix(7): the system's own error does not name it.
#[cfg(unix)]
fn check_length(path: &std::path::Path) -> io::Result<()> {
    /// Bytes, without the one of 0 that ends the path.
    const MAX: usize =
        if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };
    let length = path.as_os_str().len();
    if length <= MAX {
        return Ok(());
    }
    let text =
        format!("the path of the Unix socket is too long: at most {MAX} bytes (got {length})");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}
