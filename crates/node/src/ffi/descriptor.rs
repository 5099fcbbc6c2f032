//! Descriptors whose numbers JavaScript has. A number is not trusted: it is borrowed for one call of the system, which refuses
//! what is no descriptor.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, FromRawFd as _, IntoRawFd as _, OwnedFd, RawFd};

/// A duplicate of the descriptor with this number.
pub(crate) fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{fd} is not a descriptor"),
        ));
    }
    // SAFETY: borrowed for the call only; a number that is no descriptor makes it fail.
    unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()
}

/// The number of a socket's duplicate that JavaScript was given and may not come to use.
pub(crate) struct GivenSocket(RawFd);

impl GivenSocket {
    pub(crate) fn duplicate_of(socket: &OwnedFd) -> io::Result<Self> {
        socket.try_clone().map(|fd| Self(fd.into_raw_fd()))
    }

    pub(crate) fn number(&self) -> RawFd {
        self.0
    }

    /// Closes it, which JavaScript says that nobody uses, unless the number is another file's by now.
    pub(crate) fn take_back(self, socket: &OwnedFd) {
        // SAFETY: borrowed for the call only; it is no negative number, and one that is no descriptor makes the call fail.
        let given = unsafe { BorrowedFd::borrow_raw(self.0) };
        if cookie(given).is_some_and(|given| Some(given) == cookie(socket.as_fd())) {
            // SAFETY: it is the duplicate that was made for JavaScript, which says that nobody uses it.
            drop(unsafe { OwnedFd::from_raw_fd(self.0) });
        }
    }
}

/// What tells a socket from all others; `None`: it is none, or the system does not tell.
#[cfg(target_os = "linux")]
fn cookie(fd: BorrowedFd<'_>) -> Option<u64> {
    socket2::SockRef::from(&fd).cookie().ok()
}

#[cfg(not(target_os = "linux"))]
fn cookie(_: BorrowedFd<'_>) -> Option<u64> {
    None
}

/// Bytes that a socket was given and its peer has not taken; `None`: the system does not say.
#[cfg(target_os = "linux")]
pub(crate) fn unacknowledged(socket: BorrowedFd<'_>) -> Option<u64> {
    use std::os::fd::AsRawFd as _;

    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open; the system writes one integer (tcp(7), SIOCOUTQ).
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result == 0 { u64::try_from(bytes).ok() } else { None }
}

/// Bytes that a socket was given and its peer has not taken; `None`: the system does not say.
#[cfg(not(target_os = "linux"))]
pub(crate) fn unacknowledged(_: BorrowedFd<'_>) -> Option<u64> {
    None
}
