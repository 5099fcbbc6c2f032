//! An epoll instance; each descriptor is its own token.

use std::io;
use std::os::fd::RawFd;

/// Readable, edge-triggered.
pub const READ: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
/// Readable or writable, edge-triggered.
pub const READ_WRITE: u32 = READ | libc::EPOLLOUT as u32;
/// Readable, for as long as it is.
pub const READ_LEVEL: u32 = libc::EPOLLIN as u32;

/// How many events one call of [`Epoll::wait`] can bring.
const BATCH: usize = 1024;

/// An epoll instance with room for its events.
pub struct Epoll {
    fd: RawFd,
    events: Vec<libc::epoll_event>,
}

/// What became ready.
#[derive(Clone, Copy)]
pub struct Ready {
    /// The descriptor.
    pub fd: RawFd,
    /// There are bytes to read, an end or an error.
    pub readable: bool,
}

impl Epoll {
    /// Opens an epoll instance.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Self { fd, events: vec![libc::epoll_event { events: 0, u64: 0 }; BATCH] })
    }

    /// Starts to watch `fd`.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&self, fd: RawFd, interest: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest, u64: fd as u64 };
        // SAFETY: `event` is valid for the call.
        check(unsafe { libc::epoll_ctl(self.fd, libc::EPOLL_CTL_ADD, fd, &raw mut event) })?;
        Ok(())
    }

    /// Waits for at most `timeout_ms` (-1: without end, 0: not at all) and tells how many are ready.
    ///
    /// # Errors
    /// The system's, except an interruption, which counts as nothing ready.
    pub fn wait(&mut self, timeout_ms: i32) -> io::Result<usize> {
        let (events, room) = (self.events.as_mut_ptr(), self.events.len() as i32);
        // SAFETY: `events` has room for `room` events.
        match check(unsafe { libc::epoll_wait(self.fd, events, room, timeout_ms) }) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The `index`-th of those that [`Epoll::wait`] told of.
    #[must_use]
    pub fn ready(&self, index: usize) -> Ready {
        let event = self.events[index];
        Ready { fd: event.u64 as RawFd, readable: event.events & !(libc::EPOLLOUT as u32) != 0 }
    }
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
