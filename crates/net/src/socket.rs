//! Sockets that never block: TCP and Unix sockets.

use std::io::{self, Read as _, Write as _};
#[cfg(unix)]
use std::net::Shutdown;
use std::net::{IpAddr, SocketAddr};
#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt as _;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt as _;
#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use std::time::Duration;

use mio::net::TcpStream;
#[cfg(unix)]
use mio::net::UnixStream;
use mio::{Interest, Registry, Token};

use crate::{Address, Progress, Read};

/// Whether a read that did not fill the buffer has emptied the socket: man epoll(7), question 9. On Windows the next event
/// comes only after a `WouldBlock`.
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
        local: Option<IpAddr>,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match address {
            Address::Inet(address) => {
                let mut stream = match local {
                    None => TcpStream::connect(*address)?,
                    Some(local) => connect_from(local, *address)?,
                };
                // A request's last, short segment must not wait for an acknowledgement.
                stream.set_nodelay(true)?;
                registry.register(&mut stream, token, both)?;
                Ok(Self::Tcp(stream))
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                let mut stream = connect_unix(path)?;
                registry.register(&mut stream, token, both)?;
                Ok(Self::Unix(stream))
            }
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Checks whether the connect has completed: the socket has a peer, or a pending error.
    pub(crate) fn establish(&mut self) -> io::Result<Progress> {
        let peer = match self {
            Self::Tcp(stream) => stream.peer_addr().map(drop),
            #[cfg(unix)]
            Self::Unix(stream) => stream.peer_addr().map(drop),
        };
        match peer {
            Ok(()) => Ok(Progress::Ready { resumed: None, protocol: None }),
            Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
            Err(_) => match self.take_error()? {
                Some(error) => Err(error),
                None => Ok(Progress::Connecting),
            },
        }
    }

    /// Returns the pending error, which is told once.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Self::Tcp(stream) => stream.take_error(),
            #[cfg(unix)]
            Self::Unix(stream) => stream.take_error(),
        }
    }

    /// Reads received bytes.
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

    /// Reads received bytes that nobody looks at. Linux drops those of TCP without copying them (tcp(7), `MSG_TRUNC`).
    pub fn discard(&mut self, scratch: &mut [u8]) -> io::Result<Read> {
        #[cfg(target_os = "linux")]
        if let Self::Tcp(stream) = self {
            use rustix::net::RecvFlags;

            let length = scratch.len();
            loop {
                match rustix::net::recv(&*stream, &mut *scratch, RecvFlags::TRUNC) {
                    Ok((_, count)) => return Ok(Read { count, drained: count < length }),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.read(scratch)
    }

    /// Writes as many bytes of both parts as the socket accepts now.
    pub fn write_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<usize> {
        self.write_many(&[io::IoSlice::new(first), io::IoSlice::new(second)])
    }

    /// Writes as many bytes of all parts as the socket accepts now.
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

    /// Writes as many bytes as the socket accepts now.
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
    /// Returns the number of received bytes that have not been read; zero where the system does not report it.
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

/// Begins to connect from an address of this host. The system chooses the port when both ends are known, where it can.
fn connect_from(local: IpAddr, address: SocketAddr) -> io::Result<TcpStream> {
    use socket2::{Domain, Protocol, Socket, Type};

    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // Ports that wait in TIME-WAIT for other peers may be used.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    let bound = socket.bind(&SocketAddr::new(local, 0).into());
    bound
        .map_err(|error| io::Error::new(error.kind(), format!("local address {local}: {error}")))?;
    match socket.connect(&address.into()) {
        Err(error) if !is_in_progress(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

fn is_in_progress(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error())
    }
    #[cfg(not(unix))]
    {
        error.kind() == io::ErrorKind::WouldBlock
    }
}

#[cfg(unix)]
impl Socket {
    /// Takes a connected socket and makes it non-blocking.
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

    /// Takes a connected non-blocking socket of a known family.
    #[must_use]
    pub fn from_known(fd: OwnedFd, is_unix: bool) -> Self {
        match is_unix {
            true => Self::Unix(UnixStream::from_std(fd.into())),
            false => Self::Tcp(TcpStream::from_std(fd.into())),
        }
    }

    /// Registers for readiness in both directions.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(stream) => registry.register(stream, token, both),
            Self::Unix(stream) => registry.register(stream, token, both),
        }
    }

    /// Registers under another token, for readiness to read.
    pub fn register_again(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => registry.reregister(stream, token, Interest::READABLE),
            Self::Unix(stream) => registry.reregister(stream, token, Interest::READABLE),
        }
    }

    /// Removes the socket from the poll loop.
    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => registry.deregister(stream),
            Self::Unix(stream) => registry.deregister(stream),
        }
    }

    /// Removes the socket from the poll loop and returns its descriptor.
    pub fn release(mut self, registry: Option<&Registry>) -> io::Result<OwnedFd> {
        if let Some(registry) = registry {
            self.deregister(registry)?;
        }
        Ok(match self {
            Self::Tcp(stream) => stream.into(),
            Self::Unix(stream) => stream.into(),
        })
    }

    /// Writes the final bytes with `MSG_MORE`, so that they share a segment with the FIN. Call [`Self::push`] if the
    /// connection is kept after all.
    pub fn write_last(&self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        const MORE: i32 = rustix::net::SendFlags::MORE.bits() as i32;
        #[cfg(not(target_os = "linux"))]
        const MORE: i32 = 0;
        self.options().send_with_flags(bytes, MORE)
    }

    /// Sends bytes that [`Self::write_last`] holds back. `no_delay`: the present value of the option.
    pub fn push(&self, no_delay: bool) {
        // Setting it sends what waits (tcp(7)). It fails where there is no TCP, and nothing waits.
        self.options().set_tcp_nodelay(true).ok();
        if !no_delay {
            self.options().set_tcp_nodelay(false).ok();
        }
    }

    /// Ends our side: the peer reads to the end of what was written.
    pub fn shutdown_write(&self) -> io::Result<()> {
        self.options().shutdown(Shutdown::Write)
    }

    /// Closing it resets the connection: what was written and has not left is dropped.
    pub fn reset_on_close(&self) -> io::Result<()> {
        self.options().set_linger(Some(Duration::ZERO))
    }

    /// Returns the socket for reading and setting options.
    #[must_use]
    pub fn options(&self) -> socket2::SockRef<'_> {
        match self {
            Self::Tcp(stream) => socket2::SockRef::from(stream),
            Self::Unix(stream) => socket2::SockRef::from(stream),
        }
    }
}

/// Connects to a path, or to a name in Linux's abstract namespace. Such a name may be padded with zero bytes to the length of
/// an address, as by Node.js 20: then it is another one.
#[cfg(unix)]
fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    check_length(path)?;
    #[cfg(target_os = "linux")]
    if let Some(name) = path.as_os_str().as_bytes().strip_prefix(b"@") {
        let connect = |name: &[u8]| {
            UnixStream::connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)
        };
        return match connect(name) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let mut padded = [0; MAX_PATH];
                padded[..name.len()].copy_from_slice(name);
                connect(&padded)
            }
            result => result,
        };
    }
    UnixStream::connect(path)
}

/// Maximum bytes of a path or a name, without the zero byte that ends the one or begins the other.
#[cfg(unix)]
const MAX_PATH: usize =
    if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };

/// Refuses a path that does not fit into a socket's address, man unix(7): the system's own error does not name it.
#[cfg(unix)]
fn check_length(path: &Path) -> io::Result<()> {
    let length = path.as_os_str().len();
    if length <= MAX_PATH {
        return Ok(());
    }
    let text =
        format!("the path of the Unix socket is too long: at most {MAX_PATH} bytes (got {length})");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}
