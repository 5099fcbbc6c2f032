//! When bytes last came from the peer or left for it.

use millrace_net::Nanos;

use super::Connection;
use crate::transport::Transport;

/// The last progress of a connection, in either direction.
#[derive(Debug)]
pub(crate) struct Activity {
    /// When bytes were last found to have come or left; before any have, when the connection came.
    last: Nanos,
    /// Bytes that had come and left by then.
    traffic: u64,
}

impl Activity {
    pub(super) fn new(now: Nanos) -> Self {
        Self { last: now, traffic: 0 }
    }

    /// When bytes last came or left.
    pub(crate) fn last(&self) -> Nanos {
        self.last
    }
}

impl Connection {
    /// Notes the time if bytes have come or left since the last call. Whatever reads or writes calls this with its time: a
    /// later call would take earlier bytes for new ones.
    pub(crate) fn note_progress(&mut self, now: Nanos) {
        let traffic = self.traffic();
        if std::mem::replace(&mut self.activity.traffic, traffic) != traffic {
            self.activity.last = now;
        }
    }

    /// Bytes that the system has given and taken: with TLS those of records, so that a handshake and a part of a record count.
    fn traffic(&self) -> u64 {
        match &self.transport {
            Transport::Tls(tls) => tls.traffic(),
            Transport::Plain(_) | Transport::Forwarded(..) | Transport::Detached => {
                self.bytes_read.wrapping_add(self.given)
            }
        }
    }
}
