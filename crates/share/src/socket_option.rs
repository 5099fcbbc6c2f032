//! Options of sockets that no library tells, or not with all of their values.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The value of an option of the level `SOL_SOCKET` that takes `N` bytes.
#[expect(unsafe_code, reason = "a call of the system")]
pub(crate) fn socket_option<const N: usize>(
    socket: BorrowedFd<'_>,
    name: libc::c_int,
) -> io::Result<[u8; N]> {
    let mut value = [0; N];
    // In range: a handful of bytes.
    let mut length = N as libc::socklen_t;
    let (fd, at) = (socket.as_raw_fd(), value.as_mut_ptr().cast());
    // SAFETY: the system writes `length` bytes at most, which are there, and any bytes are a value; both pointers are valid for the call.
    let result = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, name, at, &raw mut length) };
    match result {
        0 if length as usize == N => Ok(value),
        0 => Err(io::ErrorKind::InvalidData.into()),
        _ => Err(io::Error::last_os_error()),
    }
}
