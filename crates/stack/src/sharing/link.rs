//! The way between two processes: messages, and descriptors with them.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;

use mio::net::UnixStream;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::Pid;

use super::message::{self, Message};

const READ: usize = 64 * 1024;
/// Descriptors that come with one read: with each message one at most.
const DESCRIPTORS: usize = 16;

/// One end of a link. Neither blocking nor not: as its socket is.
#[derive(Debug)]
pub(crate) struct Link<S> {
    pub(crate) socket: S,
    /// What has come, up to `end`; what lies before `start` has been taken.
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// Descriptors that came, whose messages have not been taken; `None`: there was no room for it in the process.
    descriptors: VecDeque<Option<OwnedFd>>,
    output: VecDeque<Outgoing>,
}

#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    descriptor: Option<Arc<OwnedFd>>,
}

impl<S: std::os::fd::AsFd> Link<S> {
    pub(crate) fn new(socket: S) -> Self {
        Self {
            socket,
            input: Vec::new(),
            start: 0,
            end: 0,
            descriptors: VecDeque::new(),
            output: VecDeque::new(),
        }
    }

    /// Says something; what the system does not take waits for [`Self::flush`].
    pub(crate) fn send(
        &mut self,
        message: &Message<'_>,
        descriptor: Option<Arc<OwnedFd>>,
    ) -> io::Result<()> {
        self.output.push_back(Outgoing { bytes: message.to_bytes(), sent: 0, descriptor });
        self.flush()
    }

    /// Nothing waits to be said.
    pub(crate) fn is_flushed(&self) -> bool {
        self.output.is_empty()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while let Some(next) = self.output.front_mut() {
            match next.send(self.socket.as_fd()) {
                Ok(()) if next.sent == next.bytes.len() => drop(self.output.pop_front()),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what has come; `false`: the other end is gone.
    pub(crate) fn receive(&mut self) -> io::Result<bool> {
        self.input.drain(..self.start);
        (self.start, self.end) = (0, self.end - self.start);
        if self.input.len() < self.end + READ {
            self.input.resize(self.end + READ, 0);
        }
        let count = self.receive_into_input()?;
        self.end += count;
        Ok(count > 0)
    }

    fn receive_into_input(&mut self) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut self.input[self.end..])];
        #[cfg(target_os = "linux")]
        let flags = RecvFlags::CMSG_CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = RecvFlags::empty();
        let message = recvmsg(self.socket.as_fd(), &mut into, &mut ancillary, flags)?;
        let mut came = false;
        for control in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = control {
                self.descriptors.extend(descriptors.map(Some));
                came = true;
            }
        }
        // What comes with a message is told with its first byte, and one at a time.
        if message.flags.contains(ReturnFlags::CTRUNC) && !came {
            self.descriptors.push_back(None);
        }
        Ok(message.bytes)
    }

    /// Calls `take` for the next message; `None`: there is none. Its descriptor, where it has
    /// one, is the second argument.
    pub(crate) fn next<R>(
        &mut self,
        take: impl FnOnce(&Message<'_>, Option<OwnedFd>) -> R,
    ) -> io::Result<Option<R>> {
        let malformed = |_| io::Error::from(io::ErrorKind::InvalidData);
        let Some((message, length)) =
            message::read(&self.input[self.start..self.end]).map_err(malformed)?
        else {
            return Ok(None);
        };
        let with = matches!(message, Message::Connection { .. } | Message::Welcome { .. });
        let descriptor = if with { self.descriptors.pop_front().flatten() } else { None };
        let result = take(&message, descriptor);
        self.start += length;
        Ok(Some(result))
    }
}

impl Outgoing {
    fn send(&mut self, socket: std::os::fd::BorrowedFd<'_>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = self.descriptor.as_ref().filter(|_| self.sent == 0);
        let descriptors = descriptors.map(|descriptor| [descriptor.as_fd()]);
        if let Some(descriptors) = &descriptors {
            // There is room for one.
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let bytes = [IoSlice::new(&self.bytes[self.sent..])];
        #[cfg(target_os = "linux")]
        let flags = SendFlags::NOSIGNAL;
        #[cfg(not(target_os = "linux"))]
        let flags = SendFlags::empty();
        self.sent += sendmsg(socket, &bytes, &mut ancillary, flags)?;
        Ok(())
    }
}

impl Link<StdStream> {
    /// The same for a poll loop.
    pub(crate) fn into_async(self) -> io::Result<Link<UnixStream>> {
        let Self { socket, input, start, end, descriptors, output } = self;
        socket.set_nonblocking(true)?;
        let socket = UnixStream::from_std(socket);
        Ok(Link { socket, input, start, end, descriptors, output })
    }
}

/// The user at the other end, and its process.
#[cfg(target_os = "linux")]
pub(crate) fn peer_of(socket: impl std::os::fd::AsFd) -> io::Result<(u32, Option<Pid>)> {
    let credentials = rustix::net::sockopt::socket_peercred(socket)?;
    Ok((credentials.uid.as_raw(), Some(credentials.pid)))
}

/// Whether a process is no more, or about to be (proc(5): its state, and its flag `PF_EXITING`).
pub(crate) fn is_ending(process: Pid) -> bool {
    const EXITING: u64 = 4;
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    // Its name may hold anything, parentheses too.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let state = fields.next();
    let flags = fields.nth(5).and_then(|flags| flags.parse().ok()).unwrap_or(0);
    matches!(state, Some("Z" | "X")) || flags & EXITING != 0
}

/// The user at the other end: nobody else can reach the socket where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn peer_of(_: impl std::os::fd::AsFd) -> io::Result<(u32, Option<Pid>)> {
    Ok((rustix::process::getuid().as_raw(), None))
}
