//! The way between two processes: messages, and descriptors with them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;

use mio::net::UnixStream;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::message::{self, Malformed, Message};

const READ: usize = 64 * 1024;
/// Messages that leave in one call at most, with one descriptor each. The system has room for 253 (unix(7)).
const TOGETHER: usize = 64;

/// One end of a link. Whether it blocks is its socket's.
#[derive(Debug)]
pub(crate) struct Link<S> {
    pub(crate) socket: S,
    /// What has come, up to `end`; what lies before `start` has been taken.
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// Descriptors that came with one call each, whose first message has not been taken.
    groups: VecDeque<Vec<OwnedFd>>,
    /// Descriptors whose messages have not been taken; `None`: there was no room for it in the process.
    descriptors: VecDeque<Option<OwnedFd>>,
    output: VecDeque<Outgoing>,
    /// The system has no room for what is to be said, which it does not tell when it has.
    stalled: bool,
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
            groups: VecDeque::new(),
            descriptors: VecDeque::new(),
            output: VecDeque::new(),
            stalled: false,
        }
    }

    /// Says something; what the system does not take waits for [`Self::flush`].
    pub(crate) fn send(
        &mut self,
        message: &Message<'_>,
        descriptor: Option<Arc<OwnedFd>>,
    ) -> io::Result<()> {
        self.push(message, descriptor)?;
        self.flush()
    }

    /// Says that a prefix is ours, or is no more. What was not said yet of the contrary is not said at all: so no more waits for
    /// an end that does not listen than there are prefixes, and have been when it listened last.
    pub(crate) fn send_change(&mut self, prefix: &str, is_added: bool) -> io::Result<()> {
        let prefix = Cow::Borrowed(prefix);
        let (message, contrary) = match is_added {
            true => (Message::Added { prefix: prefix.clone() }, Message::Removed { prefix }),
            false => (Message::Removed { prefix: prefix.clone() }, Message::Added { prefix }),
        };
        let contrary = contrary.to_bytes().map_err(|Malformed| malformed())?;
        let is_contrary = |it: &Outgoing| it.sent == 0 && it.bytes == contrary;
        match self.output.iter().rposition(is_contrary) {
            Some(at) => drop(self.output.remove(at)),
            None => self.push(&message, None)?,
        }
        self.flush()
    }

    /// Has something to say with the next [`Self::flush`]; an error: it is too long to be said.
    pub(crate) fn push(
        &mut self,
        message: &Message<'_>,
        descriptor: Option<Arc<OwnedFd>>,
    ) -> io::Result<()> {
        let bytes = message.to_bytes().map_err(|Malformed| malformed())?;
        self.output.push_back(Outgoing { bytes, sent: 0, descriptor });
        Ok(())
    }

    /// Nothing waits to be said.
    pub(crate) fn is_flushed(&self) -> bool {
        self.output.is_empty()
    }

    /// The same but for connections.
    pub(crate) fn has_answered(&self) -> bool {
        self.is_flushed() || self.output.iter().all(|it| it.descriptor.is_some())
    }

    /// What waits for room of which no event tells: [`Self::flush`] has to be called again some time.
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled
    }

    /// What has come is a part of a message.
    pub(crate) fn is_halfway(&self) -> bool {
        self.start < self.end
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stalled = false;
        loop {
            let together = self.together();
            if together == 0 {
                break;
            }
            match self.send_some(together) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_transient(&error) && !self.stalled => self.stall(),
                Err(error) if is_transient(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What has no descriptor leaves first: the other waits for some of it, and may be the one who makes room.
    fn stall(&mut self) {
        self.stalled = true;
        self.output.make_contiguous().sort_by_key(|it| it.descriptor.is_some());
    }

    /// Messages that leave next, with one call.
    fn together(&self) -> usize {
        let may_leave = |it: &&Outgoing| !self.stalled || it.descriptor.is_none();
        match self.output.front() {
            Some(first) if first.sent > 0 => 1,
            _ => self.output.iter().take(TOGETHER).take_while(may_leave).count(),
        }
    }

    /// One call for as many messages as may leave together. Their descriptors go with the first byte; the first message says how many, unless
    /// it is the rest of one.
    fn send_some(&mut self, together: usize) -> io::Result<()> {
        let is_rest = self.output.front().is_some_and(|first| first.sent > 0);
        let descriptors = self.output.range(..together).filter(|it| it.descriptor.is_some());
        // In range: no more than TOGETHER.
        let count = descriptors.count() as u8;
        if let Some(first) = self.output.front_mut().filter(|_| !is_rest) {
            message::set_descriptors(&mut first.bytes, count);
        }
        let mut sent = self.call(together)?;
        for outgoing in self.output.range_mut(..together) {
            outgoing.descriptor = None;
        }
        while let Some(first) = self.output.front_mut() {
            let left = first.bytes.len() - first.sent;
            if sent < left {
                first.sent += sent;
                break;
            }
            sent -= left;
            self.output.pop_front();
        }
        Ok(())
    }

    fn call(&self, together: usize) -> io::Result<usize> {
        let leaving = || self.output.range(..together);
        let bytes: Vec<_> = leaving().map(|it| IoSlice::new(&it.bytes[it.sent..])).collect();
        let descriptors: Vec<_> =
            leaving().filter_map(|it| it.descriptor.as_deref()).map(OwnedFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(TOGETHER))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            // There is room for them.
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        #[cfg(target_os = "linux")]
        let flags = SendFlags::NOSIGNAL;
        #[cfg(not(target_os = "linux"))]
        let flags = SendFlags::empty();
        Ok(sendmsg(self.socket.as_fd(), &bytes, &mut ancillary, flags)?)
    }

    /// Reads what has come; zero: the other end is gone.
    pub(crate) fn receive(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.input.len() < self.end + READ {
            self.input.resize(self.end + READ, 0);
        }
        let count = self.receive_into_input()?;
        self.end += count;
        Ok(count)
    }

    fn receive_into_input(&mut self) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(TOGETHER))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut self.input[self.end..])];
        #[cfg(target_os = "linux")]
        let flags = RecvFlags::CMSG_CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = RecvFlags::empty();
        let message = recvmsg(self.socket.as_fd(), &mut into, &mut ancillary, flags)?;
        let mut group = None;
        for control in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = control {
                group.get_or_insert_with(Vec::new).extend(descriptors);
            }
        }
        // Where there was no room for any, nothing else tells that some came.
        if message.flags.contains(ReturnFlags::CTRUNC) {
            group.get_or_insert_with(Vec::new);
        }
        self.groups.extend(group);
        Ok(message.bytes)
    }

    /// Calls `take` for the next message; `None`: there is none. Its descriptor, where it has
    /// one, is the second argument.
    pub(crate) fn next<R>(
        &mut self,
        take: impl FnOnce(&Message<'_>, Option<OwnedFd>) -> R,
    ) -> io::Result<Option<R>> {
        let input = &self.input[self.start..self.end];
        let Some((message, length)) = message::read(input).map_err(|Malformed| malformed())? else {
            // They come with the first byte of a message, which is the next one at most.
            let most = usize::from(!input.is_empty());
            return if self.groups.len() > most { Err(malformed()) } else { Ok(None) };
        };
        let with = message::descriptors(input);
        if with > 0 {
            let came = self.groups.front().map_or(0, Vec::len);
            // Each is for one of as many messages as leave together.
            if came > with || self.descriptors.len() + with > TOGETHER {
                return Err(malformed());
            }
            self.descriptors.extend(self.groups.pop_front().into_iter().flatten().map(Some));
            self.descriptors.extend((came..with).map(|_| None));
        }
        let with = matches!(message, Message::Connection { .. } | Message::Welcome { .. });
        let descriptor = if with { self.descriptors.pop_front().flatten() } else { None };
        let result = take(&message, descriptor);
        self.start += length;
        Ok(Some(result))
    }
}

/// Whether the system lacks room, which says nothing of the other end: for descriptors on their way, of which each user has as many as it may
/// open (unix(7)), or for memory.
pub(crate) fn is_transient(error: &io::Error) -> bool {
    const TRANSIENT: [Errno; 3] = [Errno::TOOMANYREFS, Errno::NOBUFS, Errno::NOMEM];
    TRANSIENT.iter().any(|it| error.raw_os_error() == Some(it.raw_os_error()))
}

fn malformed() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

impl Link<StdStream> {
    /// The same for a poll loop.
    pub(crate) fn into_async(self) -> io::Result<Link<UnixStream>> {
        let Self { socket, input, start, end, groups, descriptors, output, stalled } = self;
        socket.set_nonblocking(true)?;
        let socket = UnixStream::from_std(socket);
        Ok(Link { socket, input, start, end, groups, descriptors, output, stalled })
    }
}
