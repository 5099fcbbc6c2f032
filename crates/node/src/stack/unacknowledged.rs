//! What a socket was given and its peer has not taken.

use std::os::fd::BorrowedFd;

/// So many bytes; `None`: the system does not say.
#[cfg(target_os = "linux")]
pub(crate) fn unacknowledged(socket: BorrowedFd<'_>) -> Option<u64> {
    use std::os::fd::AsRawFd as _;

    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open; the system writes one integer (tcp(7), SIOCOUTQ).
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result == 0 { u64::try_from(bytes).ok() } else { None }
}

/// So many bytes; `None`: the system does not say.
#[cfg(not(target_os = "linux"))]
pub(crate) fn unacknowledged(_: BorrowedFd<'_>) -> Option<u64> {
    None
}
