//! TCP sockets on 127.0.0.1, as plain descriptors. None of the calls blocks.

use std::io::{self, Error};
use std::mem::size_of;
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::{IntoRawFd, RawFd};

/// A listening socket on `port` (0: any free one). Several can share a port, the system then
/// spreads the connections over them.
///
/// # Errors
/// The system's.
pub fn listen(port: u16) -> io::Result<RawFd> {
    let fd = stream_socket()?;
    set(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR)?;
    set(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT)?;
    // Inherited by what is accepted.
    set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
    let address = loopback(port);
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: `address` is a sockaddr_in of this length.
    check(unsafe { libc::bind(fd, (&raw const address).cast(), length) })?;
    // SAFETY: no pointers are passed.
    check(unsafe { libc::listen(fd, 4096) })?;
    Ok(fd)
}

/// The port that a socket is bound to.
///
/// # Errors
/// The system's.
pub fn port(fd: RawFd) -> io::Result<u16> {
    let mut address = loopback(0);
    let mut length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: `address` has room for `length` bytes.
    check(unsafe { libc::getsockname(fd, (&raw mut address).cast(), &raw mut length) })?;
    Ok(u16::from_be(address.sin_port))
}

/// The next connection, or `None` if none waits or it failed before it was taken.
#[must_use]
pub fn accept(listener: RawFd) -> Option<RawFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let none = std::ptr::null_mut();
    // SAFETY: no address is asked for.
    check(unsafe { libc::accept4(listener, none, none.cast(), flags) }).ok()
}

/// Connects, without blocking afterwards.
///
/// # Errors
/// The system's.
pub fn connect(port: u16) -> io::Result<RawFd> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream.into_raw_fd())
}

/// Begins to connect.
///
/// # Errors
/// The system's.
pub fn start_connect(port: u16) -> io::Result<RawFd> {
    let fd = stream_socket()?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
    let address = loopback(port);
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: `address` is a sockaddr_in of this length.
    match check(unsafe { libc::connect(fd, (&raw const address).cast(), length) }) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(fd),
    }
}

/// Reads into `buffer`; 0 is the end.
///
/// # Errors
/// The system's, `WouldBlock` among them.
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one buffer.
    let count = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    usize::try_from(count).map_err(|_| Error::last_os_error())
}

/// Writes `bytes`, or the part of them that finds room.
///
/// # Errors
/// The system's, `WouldBlock` among them.
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one buffer.
    let count = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    usize::try_from(count).map_err(|_| Error::last_os_error())
}

/// Closes a descriptor.
pub fn close(fd: RawFd) {
    // SAFETY: no pointers are passed; the caller owns the descriptor.
    unsafe { libc::close(fd) };
}

fn stream_socket() -> io::Result<RawFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed.
    check(unsafe { libc::socket(libc::AF_INET, kind, 0) })
}

fn loopback(port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be() },
        sin_zero: [0; 8],
    }
}

fn set(fd: RawFd, level: i32, option: i32) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `on` is valid for `length` bytes.
    check(unsafe { libc::setsockopt(fd, level, option, (&raw const on).cast(), length) }).map(drop)
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}
