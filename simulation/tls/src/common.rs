//! What both sides of a session have in rustls: records in, text out, and the reverse.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};

use crate::error::{AlertDescription, Error};
use crate::record::{Incoming, Kind, MOST, Seal};

/// Bytes of one [`ConnectionCommon::read_tls`], as in rustls.
const READ: usize = 4096;
/// Bytes of records that wait for what completes them, as in rustls: one of the longest.
const MOST_INCOMPLETE: usize = 18 * 1024;
/// Bytes of records that wait to be sent, as in rustls.
const MOST_SENDABLE: usize = 64 * 1024;

/// What one side has beside.
pub trait SideData {}

/// A session.
#[derive(Debug)]
pub struct ConnectionCommon<S> {
    pub(crate) side: S,
    pub(crate) incoming: Incoming,
    pub(crate) seal: Seal,
    pub(crate) text: VecDeque<u8>,
    pub(crate) sendable: VecDeque<Vec<u8>>,
    pub(crate) is_handshaking: bool,
    pub(crate) peer_has_closed: bool,
    pub(crate) failure: Option<Error>,
    has_closed: bool,
}

impl<S> ConnectionCommon<S> {
    pub(crate) fn new(side: S, incoming: Incoming) -> Self {
        Self {
            side,
            incoming,
            seal: Seal::default(),
            text: VecDeque::new(),
            sendable: VecDeque::new(),
            is_handshaking: true,
            peer_has_closed: false,
            failure: None,
            has_closed: false,
        }
    }

    /// Whether the handshake goes on.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.is_handshaking
    }

    /// Takes records, at most 4 KiB of them.
    pub fn read_tls(&mut self, from: &mut dyn Read) -> io::Result<usize> {
        if self.text.len() > MOST {
            return Err(io::Error::other("received plaintext buffer full"));
        }
        if self.peer_has_closed {
            return Ok(0);
        }
        read_into(&mut self.incoming, from)
    }

    /// Whether records wait to be sent.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        !self.sendable.is_empty()
    }

    /// Sends records, as many as `to` takes at once.
    pub fn write_tls(&mut self, to: &mut dyn Write) -> io::Result<usize> {
        let parts: Vec<_> = self.sendable.iter().take(64).map(|it| IoSlice::new(it)).collect();
        let sent = to.write_vectored(&parts)?;
        let mut left = sent;
        while let Some(first) = self.sendable.front_mut() {
            if left < first.len() {
                first.drain(..left);
                break;
            }
            left -= first.len();
            self.sendable.pop_front();
        }
        Ok(sent)
    }

    /// Where text comes from.
    pub fn reader(&mut self) -> Reader<'_> {
        Reader { text: &mut self.text, peer_has_closed: self.peer_has_closed }
    }

    /// Where text goes to.
    pub fn writer(&mut self) -> Writer<'_, S> {
        Writer(self)
    }

    /// Announces the end of our side.
    pub fn send_close_notify(&mut self) {
        if !std::mem::replace(&mut self.has_closed, true) {
            self.send_alert(AlertDescription::CLOSE_NOTIFY);
        }
    }

    pub(crate) fn send_alert(&mut self, alert: AlertDescription) {
        self.send(Kind::Alert, &[alert.0]);
    }

    pub(crate) fn send(&mut self, kind: Kind, carried: &[u8]) {
        let mut record = Vec::new();
        self.seal.seal(kind, carried, &mut record);
        self.sendable.push_back(record);
    }
}

/// Takes records, at most 4 KiB of them.
pub(crate) fn read_into(incoming: &mut Incoming, from: &mut dyn Read) -> io::Result<usize> {
    let room = MOST_INCOMPLETE.saturating_sub(incoming.len()).min(READ);
    if room == 0 {
        return Err(io::Error::other("message buffer full"));
    }
    let mut bytes = [0; READ];
    let count = from.read(&mut bytes[..room])?;
    incoming.add(&bytes[..count]);
    Ok(count)
}

/// Text that has come.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a mut VecDeque<u8>,
    peer_has_closed: bool,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.text.is_empty() && !self.peer_has_closed {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.text.read(buffer)
    }
}

/// Text that is to be sent.
#[derive(Debug)]
pub struct Writer<'a, S>(&'a mut ConnectionCommon<S>);

impl<S> Write for Writer<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let Self(session) = self;
        assert!(!session.is_handshaking, "nobody sends text in a handshake");
        let waits: usize = session.sendable.iter().map(Vec::len).sum();
        let mut text: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        text.truncate(MOST_SENDABLE.saturating_sub(waits));
        for part in text.chunks(MOST) {
            session.send(Kind::Text, part);
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
