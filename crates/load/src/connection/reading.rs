//! How a connection reads.

use std::io;

use millrace_net::{Clock, Nanos, Read, Transport};

use super::{Connection, State};
use crate::session::{NextRead, Received, Receiving};

/// Bytes of one read; larger than most responses, small enough to stay in the cache.
const READ_BUFFER: usize = 64 * 1024;
/// Maximum bytes that are discarded at once. Linux writes nothing there for TCP, so the memory is not the process's.
const MAX_DISCARDED: usize = 1024 * 1024;

/// The memory that the connections of a worker read into.
#[derive(Debug)]
pub(crate) struct ReadBuffers {
    bytes: Box<[u8]>,
    discarded: Box<[u8]>,
}

impl Default for ReadBuffers {
    fn default() -> Self {
        Self { bytes: vec![0; READ_BUFFER].into(), discarded: vec![0; MAX_DISCARDED].into() }
    }
}

/// The result of a read.
#[derive(Debug)]
pub(crate) struct ReadResult {
    /// When the read ended.
    pub(crate) at: Nanos,
    /// Whether everything has been read for now; see [`Read::drained`].
    pub(crate) drained: bool,
    pub(crate) received: Received,
}

impl<T: Transport> Connection<T> {
    /// Reads once, as much as the session wants, and processes what was read.
    pub(crate) fn read(
        &mut self,
        buffers: &mut ReadBuffers,
        clock: &impl Clock,
        receiving: &mut Receiving<'_>,
    ) -> io::Result<ReadResult> {
        let (State::Greeting { transport, .. } | State::Open(transport)) = &mut self.state else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let next = self.session.next_read(receiving.memory);
        let Read { count, drained } = match next {
            NextRead::Bytes(most) => {
                let most = most.min(buffers.bytes.len());
                transport.read(&mut buffers.bytes[..most])?
            }
            NextRead::Discard(count) => {
                let count = count.min(buffers.discarded.len() as u64) as usize;
                transport.discard(&mut buffers.discarded[..count])?
            }
        };
        let now = clock.now();
        let received = match next {
            _ if count == 0 => self.session.finish(now, receiving.recorder),
            NextRead::Discard(_) => self.session.receive_discarded(count, now, receiving.recorder),
            NextRead::Bytes(most) => {
                let received = self.receive(&buffers.bytes[..count], now, receiving);
                if count == most {
                    self.session.cut_read();
                }
                received
            }
        };
        Ok(ReadResult { at: now, drained, received })
    }

    /// Processes received bytes, and sends what the session says to them.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        now: Nanos,
        receiving: &mut Receiving<'_>,
    ) -> Received {
        receiving.memory.outgoing.clear();
        let is_flushed = self.write_buffer.is_empty();
        let received = self.session.receive(bytes, is_flushed, now, receiving);
        let Receiving { memory, recorder, .. } = receiving;
        if !memory.outgoing.is_empty() {
            self.send_of_session(&memory.outgoing, recorder);
        }
        received
    }

    /// Nothing more has arrived: the rest of a partial response is another part.
    pub(crate) fn await_rest(&mut self) {
        self.session.await_rest();
    }
}
