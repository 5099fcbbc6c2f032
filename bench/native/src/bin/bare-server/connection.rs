use std::io::{self, ErrorKind};
use std::os::fd::RawFd;

use millrace_bench::socket;

use crate::answers::{Answers, Unfinished};
use crate::tls::Session;

/// A connection of the server; closes its descriptor when it goes.
pub struct Connection {
    fd: RawFd,
    tls: Option<Box<Session>>,
    unfinished: Unfinished,
    /// What the socket had no room for.
    unsent: Vec<u8>,
    /// Ends when everything is sent.
    close: bool,
}

impl Connection {
    pub fn new(fd: RawFd, tls: Option<Box<Session>>) -> Self {
        Self { fd, tls, unfinished: Unfinished::default(), unsent: Vec::new(), close: false }
    }

    /// Answers all that has arrived; false when the connection is at its end.
    pub fn readable(&mut self, buffer: &mut [u8], answers: &mut Answers) -> io::Result<bool> {
        while !self.close {
            let count = match socket::receive(self.fd, buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            let input = &buffer[..count];
            if let Some(tls) = &mut self.tls {
                let (output, close) = tls.answer(&mut self.unfinished, input, answers)?;
                self.close = close;
                self.send(&output)?;
            } else {
                let (output, close) = answers.to(&mut self.unfinished, input);
                self.close = close;
                self.send(output)?;
            }
            // A read that did not fill the buffer emptied the socket: what comes later is a new edge.
            if count < buffer.len() {
                break;
            }
        }
        Ok(!self.close || !self.unsent.is_empty())
    }

    /// Sends what had no room before; false when the connection is at its end.
    pub fn writable(&mut self) -> io::Result<bool> {
        if !self.unsent.is_empty() {
            let bytes = std::mem::take(&mut self.unsent);
            self.send(&bytes)?;
        }
        Ok(!self.close || !self.unsent.is_empty())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let sent = if self.unsent.is_empty() {
            match socket::send(self.fd, bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                result => result?,
            }
        } else {
            0
        };
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        socket::close(self.fd);
    }
}
