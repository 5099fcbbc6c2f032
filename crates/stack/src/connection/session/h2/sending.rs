//! What the streams of a session send.

use millrace_http::h2::{ErrorCode, StreamKey};

use super::{H2, MAX_OUTGOING, Responded, StreamNews, response};
use crate::connection::id::ConnId;

/// Content of one stream that is sent before the others have their turn.
const PART: usize = 16 * 1024;

impl H2 {
    /// Makes frames of what a response has next; `is_last`: our side ends behind it. `None`: the stream is over already.
    pub(crate) fn respond(
        &mut self,
        key: StreamKey,
        id: ConnId,
        parts: [&[u8]; 2],
        is_last: bool,
    ) -> Option<Responded> {
        self.own(key, id)?;
        let Self { http2, writer, outgoing, .. } = self;
        let [first, second] = parts;
        let responded = response::respond(http2, writer, key, (first, is_last), outgoing);
        let responded = match second {
            [] => responded,
            _ => responded
                .and_then(|()| response::respond(http2, writer, key, (second, is_last), outgoing)),
        };
        // Nothing opens the windows any more of a client that has ended its side.
        let waits = self.http2.get(key).is_some_and(|stream| stream.response.waiting() > 0);
        let is_stuck = self.is_ended && waits && self.http2.sendable(key) == 0;
        if responded.is_err() || is_stuck {
            let code = if self.is_ended { ErrorCode::CANCEL } else { ErrorCode::INTERNAL_ERROR };
            self.remove(key, code);
            return Some(Responded { waiting: 0, is_sent: true, is_over: true, is_broken: true });
        }
        let waiting = self.http2.get(key).map_or(0, |stream| stream.response.waiting());
        if waiting > 0
            && let Some(stream) = self.http2.get_mut(key)
            && !std::mem::replace(&mut stream.waits, true)
        {
            self.waiting.push_back(key);
        }
        let is_sent = self.http2.is_sent(key);
        Some(Responded { waiting, is_sent, is_over: self.conclude(key), is_broken: false })
    }

    /// Bytes of a response that wait for a window.
    pub(crate) fn waiting(&self, key: StreamKey, id: ConnId) -> usize {
        let stream = self.http2.get(key).filter(|stream| stream.connection == Some(id));
        stream.map_or(0, |stream| stream.response.waiting())
    }

    /// Whether all of a response has been sent, or the stream is over.
    pub(crate) fn is_sent(&self, key: StreamKey, id: ConnId) -> bool {
        let is_own = self.http2.get(key).is_some_and(|stream| stream.connection == Some(id));
        !is_own || self.http2.is_sent(key)
    }

    /// Removes a stream whose messages are both complete; gives whether it was that.
    fn conclude(&mut self, key: StreamKey) -> bool {
        let is_complete = self.http2.is_complete(key) == Some(true);
        if is_complete {
            self.http2.progress();
            self.http2.remove(key, ErrorCode::NO_ERROR, &mut self.outgoing);
        }
        is_complete
    }

    /// The connection of a stream is gone. A response that is complete is no error, though its request may not be.
    pub(crate) fn close_stream(&mut self, key: StreamKey, id: ConnId, code: Option<ErrorCode>) {
        if self.own(key, id).is_none() {
            return;
        }
        let code = code.unwrap_or(match self.http2.is_sent(key) {
            true => ErrorCode::NO_ERROR,
            false => ErrorCode::CANCEL,
        });
        self.remove(key, code);
    }

    /// Removes a stream whose connection knows of it.
    fn remove(&mut self, key: StreamKey, code: ErrorCode) {
        let stream = self.http2.remove(key, code, &mut self.outgoing);
        if stream.is_some_and(|stream| stream.waits) {
            self.waiting.retain(|it| *it != key);
        }
    }

    /// Sends content that waits, each stream a part in its turn, as far as windows and the socket's queue allow.
    pub(crate) fn send_waiting(&mut self) {
        let mut idle = 0;
        self.is_full = false;
        while idle < self.waiting.len() {
            if self.outgoing.len() >= MAX_OUTGOING {
                self.is_full = true;
                return;
            }
            let Some(key) = self.waiting.pop_front() else { return };
            let Self { http2, writer, outgoing, .. } = self;
            let Some(connection) = http2.get(key).map(|it| it.connection) else { continue };
            let sent = response::send_waiting(http2, writer, key, PART, outgoing);
            let Some(stream) = self.http2.get_mut(key) else { continue };
            let waiting = stream.response.waiting();
            if waiting > 0 && sent == 0 && self.is_ended {
                self.give_up(key);
                continue;
            }
            if waiting > 0 {
                idle = if sent > 0 { 0 } else { idle + 1 };
                if sent > 0 {
                    self.news.extend(connection.map(|id| StreamNews::Sent(id, waiting)));
                }
                self.waiting.push_back(key);
                continue;
            }
            stream.waits = false;
            idle = 0;
            self.news.extend(connection.map(StreamNews::Freed));
            self.conclude(key);
        }
    }

    /// A connection's output waits until the socket has taken what is there.
    pub(crate) fn stall(&mut self, id: ConnId) {
        self.stalled.push(id);
    }

    /// Something waits until the socket has taken what is there.
    pub(crate) fn waits_for_socket(&self) -> bool {
        self.is_full || !self.stalled.is_empty()
    }

    /// The socket has taken what was there: those go on that have waited for it.
    pub(crate) fn take_stalled(&mut self) -> Vec<ConnId> {
        std::mem::take(&mut self.stalled)
    }
}
