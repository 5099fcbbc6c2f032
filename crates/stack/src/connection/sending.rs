//! What a connection sends, and what of it waits for the peer.

use std::io;

use millrace_net::Nanos;

use super::Connection;

impl Connection {
    /// Bytes that were sent and have not left.
    pub(crate) fn queued(&self) -> usize {
        self.output.len() - self.written + self.channel.unsent()
    }

    /// Sends, and keeps what the system does not take. `last`: our side is about to end, which lets bytes and end
    /// leave in one segment. `true`: if it does not end after all, [`Self::push`] has to be called.
    pub(crate) fn send(&mut self, bytes: &[u8], last: bool) -> io::Result<bool> {
        let mut taken = 0;
        if self.output.is_empty() {
            while taken < bytes.len() {
                let rest = &bytes[taken..];
                let written = match last {
                    true => self.channel.write_last(rest),
                    false => self.channel.write(rest),
                };
                match written {
                    Ok(0) => break,
                    Ok(count) => taken += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        self.keep(&bytes[taken..]);
        self.held = last && self.queued() == 0;
        Ok(self.held)
    }

    /// The last bytes wait for the end of our side.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Sends what waits for an end that has not come.
    pub(crate) fn push(&mut self, no_delay: bool) {
        if std::mem::take(&mut self.held) && !self.ended {
            self.channel.push(no_delay);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.output.is_empty() && !bytes.is_empty() {
            self.waiting_since = Nanos::default();
        }
        self.output.extend_from_slice(bytes);
    }

    /// Sends bytes from two places in one system call.
    pub(crate) fn send_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        if first.is_empty() || second.is_empty() || !self.output.is_empty() {
            self.send(first, false)?;
            self.send(second, false)?;
            return Ok(());
        }
        let taken = match self.channel.write_two(first, second) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        let rest = &first[taken.min(first.len())..];
        if rest.is_empty() {
            self.send(&second[taken - first.len()..], false)?;
        } else {
            self.keep(rest);
            self.keep(second);
        }
        Ok(())
    }

    /// Writes on; `true` if the queue has become empty.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        if self.queued() == 0 {
            self.channel.flush()?;
            return Ok(false);
        }
        while self.written < self.output.len() {
            match self.channel.write(&self.output[self.written..]) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.written += count;
                    self.left += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.output = Vec::new();
        self.written = 0;
        if !self.channel.flush()? {
            return Ok(false);
        }
        self.waiting_since = Nanos::NEVER;
        self.left = 0;
        Ok(true)
    }
}
