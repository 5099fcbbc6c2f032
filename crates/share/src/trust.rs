//! Who shares an address with us, and what its word is worth.
//!
//! Who may join speaks for itself. What it says of others, of a client above all, counts if it is root or a process of our own user: these
//! could do in our place whatever they like. What others say of a client does not count: who it is only we can have seen, and where it is
//! the socket tells.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use millrace_stack::router::SessionInfo;
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};
use socket2::{SockRef, Type};

#[cfg(target_os = "linux")]
use crate::socket_option::socket_option;

/// The user that others know this process by.
pub(crate) fn own_user() -> u32 {
    geteuid().as_raw()
}

/// Whether what a process of this user says of others counts.
pub(crate) fn is_trusted(user: u32) -> bool {
    user == 0 || user == own_user()
}

/// The user at the other end, and its process; `None`: it is in none of our namespaces of processes.
#[cfg(target_os = "linux")]
pub(crate) fn peer_of(socket: impl AsFd) -> io::Result<(u32, Option<Pid>)> {
    // `struct ucred` of unix(7): process, user, group. rustix takes it for granted that there is a process.
    let credentials: [u8; 12] = socket_option(socket.as_fd(), libc::SO_PEERCRED)?;
    let [process, user, _] = words(credentials);
    Ok((user, Pid::from_raw(process.cast_signed())))
}

/// The user at the other end: nobody else can reach the socket where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn peer_of(_: impl AsFd) -> io::Result<(u32, Option<Pid>)> {
    Ok((own_user(), None))
}

#[cfg(target_os = "linux")]
fn words(bytes: [u8; 12]) -> [u32; 3] {
    let (words, _) = bytes.as_chunks();
    [words[0], words[1], words[2]].map(u32::from_ne_bytes)
}

/// Whether a process is no more, or about to be (proc(5): its state, and its flag `PF_EXITING`).
pub(crate) fn is_ending(process: Pid) -> bool {
    const EXITING: u64 = 4;
    let Ok(stat) = std::fs::read(format!("/proc/{process}/stat")) else {
        // Files of others may be hidden, or all our descriptors in use.
        return test_kill_process(process) == Err(Errno::SRCH);
    };
    // Its name may hold anything, parentheses too.
    let name = stat.iter().rposition(|&byte| byte == b')').map_or(0, |at| at + 1);
    let fields = String::from_utf8_lossy(&stat[name..]);
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next();
    let flags = fields.nth(5).and_then(|flags| flags.parse().ok()).unwrap_or(0);
    matches!(state, Some("Z" | "X")) || flags & EXITING != 0
}

/// The client of a connection that another user's process gives, as the socket tells it; `is_text`: it is the text of a session, which has
/// no address. An error: it cannot have been accepted from this listener. From then on it does not block.
pub(crate) fn client_of(
    socket: &OwnedFd,
    is_text: bool,
    listener: &OwnedFd,
) -> io::Result<Option<SocketAddr>> {
    let (given, listens) = (SockRef::from(socket), SockRef::from(listener));
    let client = given.peer_addr()?;
    let (local, shared) = (given.local_addr()?, listens.local_addr()?);
    let is_its = match (local.as_socket(), shared.as_socket()) {
        (None, _) => is_text && local.is_unix(),
        (Some(local), Some(shared)) => !is_text && is_at(local, shared.ip(), shared.port()),
        (Some(_), None) => false,
    };
    let is_stream = given.r#type()? == Type::STREAM;
    // Addresses of another network mean nothing here: whoever has made it chooses them.
    if !is_its || !is_stream || !(is_text || is_of_one_network(socket, listener)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    given.set_nonblocking(true)?;
    Ok(client.as_socket())
}

/// Takes out of it what only whoever has the session can have seen of its client.
pub(crate) fn forget_client(session: &mut SessionInfo) {
    (session.local, session.peer, session.asked) = (None, None, false);
    session.certificates.clear();
}

/// Whether what another user's process gives is a socket that listens at this address, in the network of `own`, a socket of ours.
pub(crate) fn is_listener_at(
    socket: &OwnedFd,
    (address, port): (Option<IpAddr>, u16),
    own: impl AsFd,
) -> bool {
    let given = SockRef::from(socket);
    let local = given.local_addr().ok().and_then(|local| local.as_socket());
    let is_there = local.is_some_and(|local| match address {
        Some(address) => (local.ip(), local.port()) == (address, port),
        None => local.ip().is_unspecified() && local.port() == port,
    });
    is_there && given.is_listener().unwrap_or(false) && is_of_one_network(socket, own)
}

fn is_at(local: SocketAddr, address: IpAddr, port: u16) -> bool {
    let is_address =
        address.is_unspecified() || local.ip().to_canonical() == address.to_canonical();
    is_address && local.port() == port
}

/// Whether two sockets are of one network namespace, or the system does not tell (Linux before 5.14).
#[cfg(target_os = "linux")]
fn is_of_one_network(one: impl AsFd, other: impl AsFd) -> bool {
    let network = |socket: &dyn AsFd| socket_option::<8>(socket.as_fd(), libc::SO_NETNS_COOKIE);
    match (network(&one), network(&other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(error), _) | (_, Err(error)) => error.raw_os_error() == Some(libc::ENOPROTOOPT),
    }
}

#[cfg(not(target_os = "linux"))]
fn is_of_one_network(_: impl AsFd, _: impl AsFd) -> bool {
    true
}
