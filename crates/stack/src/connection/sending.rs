//! What leaves by a channel, and what of it waits for the peer.

use std::io;
use std::sync::Arc;

use millrace_cache::Entry;
use millrace_net::Nanos;

use super::channel::{Channel, WriteState};

/// What writing on has come to.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// Bytes still wait.
    Pending,
    /// None did.
    WasEmpty,
    /// All have left, which somebody may wait for.
    Emptied,
}

impl Channel {
    /// Bytes that were sent and have not left.
    pub(crate) fn queued(&self) -> usize {
        self.output.len() + self.transport.unsent()
    }

    /// Sends, and keeps what the system does not take. `last`: our side is about to end, which lets bytes and end
    /// leave in one segment. `true`: if it does not end after all, [`Self::uncork`] has to be called.
    pub(crate) fn send(&mut self, bytes: &[u8], last: bool) -> io::Result<bool> {
        let taken = self.write(bytes, last)?;
        self.output.push(&bytes[taken..]);
        let corked = last && self.queued() == 0 && self.transport.stream().is_none();
        self.write_state.on_sent(corked);
        Ok(corked)
    }

    /// So many bytes were sent another way.
    pub(crate) fn count_given(&mut self, count: usize) {
        self.given += count as u64;
        self.write_state.on_sent(false);
    }

    /// Writes, unless something waits already; gives how many bytes were taken.
    fn write(&mut self, bytes: &[u8], last: bool) -> io::Result<usize> {
        self.check_writable()?;
        let mut taken = 0;
        while taken < bytes.len() && self.output.is_empty() {
            let rest = &bytes[taken..];
            let written = match last {
                true => self.transport.write_last(rest),
                false => self.transport.write(rest),
            };
            match written {
                Ok(0) => break,
                Ok(count) => taken += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.given += taken as u64;
        Ok(taken)
    }

    /// The last bytes wait for the end of our side.
    pub(crate) fn is_corked(&self) -> bool {
        self.write_state == WriteState::Corked
    }

    /// Sends what waits for an end that has not come.
    pub(crate) fn uncork(&mut self, no_delay: bool) {
        if self.write_state.uncork() {
            self.transport.push(no_delay);
        }
    }

    /// Sends bytes from two places in one system call.
    pub(crate) fn send_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        let (of_first, of_second) = self.write_two(first, second)?;
        self.output.push(&first[of_first..]);
        self.output.push(&second[of_second..]);
        Ok(())
    }

    /// Sends bytes and the body of a stored response. What is not taken of the body is not copied.
    pub(crate) fn send_stored(&mut self, head: &[u8], entry: &Arc<Entry>) -> io::Result<()> {
        let (of_head, of_body) = self.write_two(head, entry.body())?;
        self.output.push(&head[of_head..]);
        self.output.push_body(entry, of_body);
        Ok(())
    }

    /// Writes both, unless something waits already; gives how many bytes of each were taken.
    fn write_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<(usize, usize)> {
        if first.is_empty() || second.is_empty() || !self.output.is_empty() {
            let of_first = self.write(first, false)?;
            let all = of_first == first.len();
            return Ok((of_first, if all { self.write(second, false)? } else { 0 }));
        }
        self.check_writable()?;
        let taken = match self.transport.write_two(first, second) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        self.given += taken as u64;
        Ok(match taken.checked_sub(first.len()) {
            Some(of_second) => {
                let more = self.write(&second[of_second..], false)?;
                (first.len(), of_second + more)
            }
            None => (taken, 0),
        })
    }

    /// Writes on.
    pub(crate) fn flush(&mut self) -> io::Result<Flushed> {
        if self.queued() == 0 {
            self.transport.flush()?;
            return Ok(Flushed::WasEmpty);
        }
        while !self.output.is_empty() {
            match self.transport.write(self.output.front()) {
                Ok(0) => return Ok(Flushed::Pending),
                Ok(count) => {
                    self.output.advance(count);
                    self.given += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Flushed::Pending);
                }
                Err(error) => return Err(error),
            }
        }
        if !self.transport.flush()? {
            return Ok(Flushed::Pending);
        }
        self.waiting_since = Nanos::NEVER;
        Ok(Flushed::Emptied)
    }
}
