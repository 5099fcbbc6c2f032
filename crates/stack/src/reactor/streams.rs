//! Streams of HTTP/2: what a session has received goes to the connections of its streams, and what those send becomes frames.

use std::io;

use millrace_http::h1::UnsureReason;
use millrace_http::h2::{ErrorCode, StreamKey};
use millrace_net::{Clock as _, Nanos};

use super::Reactor;
use crate::batch::Batch;
use crate::connection::channel::WriteState;
use crate::connection::id::{ConnId, LaneId};
use crate::connection::routing::Routing;
use crate::connection::sending::Flushed;
use crate::connection::session::{H2, MAX_OUTGOING, StreamNews};
use crate::connection::{Connection, Flow};
use crate::transport::Transport;
use crate::transport::stream::StreamTransport;
use crate::unusual::Unusual;

/// Frames that are sent before a turn ends, while they are in the processor's cache.
const EAGER: usize = 64 * 1024;

impl Reactor {
    fn session_mut(&mut self, id: ConnId) -> Option<&mut H2> {
        self.connections.get_mut(id)?.session.h2_mut()
    }

    /// A connection has received: if it has a session, the streams of that have. Gives what `flow` is then.
    pub(super) fn follow_session(
        &mut self,
        id: ConnId,
        flow: Flow,
        batch: &mut Batch<'_>,
        now: Nanos,
    ) -> Flow {
        if self.session_mut(id).is_none() {
            return flow;
        }
        self.begin_idle(id, now);
        self.follow_streams(id, batch, now);
        self.flush_session(id, now);
        if self.has_room(id) {
            self.go_on_with_session(id, batch, now);
        }
        self.connections.get_mut(id).and_then(Connection::end_session).unwrap_or(flow)
    }

    /// The keep-alive time begins when the client's settings have come. The client is told then that its server was shut down.
    fn begin_idle(&mut self, id: ConnId, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(h2) = connection.session.h2_mut() else { return };
        let (is_settled, counts) = (h2.take_settled(), h2.take_counts());
        if is_settled && connection.is_late {
            h2.go_away();
        }
        if let Some(server) = self.servers.get_mut(connection.server) {
            server.counts.http2.add(is_settled, counts);
            for _ in 0..counts.too_large {
                server.counts.unusual.count(Unusual::Head(UnsureReason::HeadSize));
            }
        }
        if is_settled {
            let became_idle = connection.activity.on_answered(now);
            self.watch_idle(id, became_idle, now);
        }
    }

    fn follow_streams(&mut self, id: ConnId, batch: &mut Batch<'_>, now: Nanos) {
        // What frees one stream may free others.
        while let Some(h2) = self.session_mut(id) {
            let news = h2.take_news();
            if news.is_empty() {
                return h2.recycle(news);
            }
            for &one in &news {
                match one {
                    StreamNews::Opened(key) => {
                        if let Some(stream) = self.open_stream(id, key, now) {
                            self.receive(stream, batch, now);
                        }
                    }
                    StreamNews::Arrived(key) => {
                        let content = self.session_mut(id).and_then(|h2| h2.take_content(key));
                        let Some((stream, bytes, end)) = content else { continue };
                        self.push_content(stream, bytes, end);
                        self.receive(stream, batch, now);
                    }
                    StreamNews::Reset(stream, code) => self.reset_stream(stream, code, batch),
                    StreamNews::Sent(stream, waiting) => self.note_sent(stream, waiting, now),
                    StreamNews::Freed(stream) => self.go_on_sending(stream, batch, now),
                    StreamNews::Ended(key) => self.end_request(id, key, batch, now),
                }
            }
            if let Some(h2) = self.session_mut(id) {
                h2.recycle(news);
            }
        }
    }

    /// Makes the connection of a stream whose request has begun.
    fn open_stream(&mut self, session: ConnId, key: StreamKey, now: Nanos) -> Option<ConnId> {
        let id = self.connections.next_id();
        let of = self.connections.get_mut(session)?;
        let request = of.session.h2_mut()?.take_request(key, id)?;
        let is_secure = of.channel.transport.is_secure();
        let transport =
            StreamTransport::new(session, key, is_secure, request.head, request.framing);
        let transport = Transport::Stream(Box::new(transport));
        let mut stream = Connection::new(id, transport, of.server, of.peer, now);
        stream.client = of.client.of_stream();
        stream.routing = of.routing.as_ref().map(|routing| Box::new(Routing::new(routing.address)));
        // It is told of with its request.
        stream.lane.unopened = true;
        stream.lane.session = Some(of.lane.id);
        self.connections.insert(stream);
        Some(id)
    }

    fn push_content(&mut self, id: ConnId, bytes: Vec<u8>, end: Option<Vec<u8>>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(stream) = connection.channel.transport.stream_mut() else { return };
        stream.push(bytes);
        if let Some(trailers) = end {
            stream.end_content(trailers);
        }
        connection.channel.readable = true;
    }

    /// The client of a session has ended its side: so it is for each request, as with HTTP/1.1.
    fn end_request(&mut self, id: ConnId, key: StreamKey, batch: &mut Batch<'_>, now: Nanos) {
        let Some(stream) = self.session_mut(id).and_then(|h2| h2.connection(key)) else { return };
        let Some(connection) = self.connections.get_mut(stream) else { return };
        if let Some(transport) = connection.channel.transport.stream_mut() {
            transport.peer_ended = true;
        }
        connection.channel.readable = true;
        self.receive(stream, batch, now);
    }

    fn reset_stream(&mut self, id: ConnId, code: ErrorCode, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if let Some(stream) = connection.channel.transport.stream_mut() {
            stream.is_reset = true;
            stream.code = Some(code);
        }
        self.tell_closed(id, 0, batch);
    }

    /// Some of what waited for a window has left: the stream makes progress.
    fn note_sent(&mut self, id: ConnId, waiting: usize, now: Nanos) {
        if let Some(connection) = self.connections.get_mut(id)
            && let Some(stream) = connection.channel.transport.stream_mut()
        {
            stream.waiting = waiting;
            self.note_progress(id, now);
        }
    }

    /// The caller is told of the connection of a session before it is of a stream.
    pub(super) fn open_session(&mut self, lane: LaneId, batch: &mut Batch<'_>) {
        let Some(connection) = self.connections.of_mut(lane) else { return };
        if !batch.can_tell() {
            return;
        }
        connection.lane.open(connection.server, batch);
        if std::mem::take(&mut connection.lane.unreported.secured) {
            connection.tell_secure(batch);
        }
    }

    /// If a connection is one of a stream: tells the session what was read, and makes frames of what was written.
    pub(super) fn settle_stream(&mut self, id: ConnId, now: Nanos) {
        while self.settle_part(id, now) {}
    }

    /// The same for a part of it; gives whether there may be more.
    fn settle_part(&mut self, id: ConnId, now: Nanos) -> bool {
        let Some(connection) = self.connections.get_mut(id) else { return false };
        let Some(stream) = connection.channel.transport.stream_mut() else { return false };
        if !stream.has_output() {
            return false;
        }
        let (session, key, read) = (stream.session, stream.key, stream.take_read());
        let was_stalled = stream.is_stalled;
        let Some(of) = self.connections.get_mut(session) else { return false };
        let queued = of.channel.queued();
        let Some(h2) = of.session.h2_mut() else { return false };
        h2.release(key, id, read);
        let is_full = queued + h2.outgoing() > MAX_OUTGOING;
        if is_full && !was_stalled {
            h2.stall(id);
        }
        self.list_session(session);
        let Some(connection) = self.connections.get_mut(id) else { return false };
        let Some(stream) = connection.channel.transport.stream_mut() else { return false };
        stream.is_stalled |= is_full;
        if stream.is_stalled || stream.waiting > 0 {
            return false;
        }
        let (output, is_last) = stream.take_output();
        if output.is_empty() && !is_last {
            return false;
        }
        self.respond(id, session, key, [&output, &[]], is_last, now);
        let Some(connection) = self.connections.get_mut(id) else { return false };
        if let Some(stream) = connection.channel.transport.stream_mut() {
            stream.recycle(output);
        }
        // It takes a part at a time of what is stored.
        let has_more =
            connection.channel.queued() > 0 && connection.channel.transport.unsent() == 0;
        if has_more && let Err(error) = connection.channel.flush() {
            connection.fail_behind_input(error);
        }
        has_more
    }

    /// Sends bytes of a stream's response past its connection's buffers. `false`: something waits already, or it is no stream.
    pub(super) fn respond_at_once(&mut self, id: ConnId, parts: [&[u8]; 2], now: Nanos) -> bool {
        let Some(connection) = self.connections.get_mut(id) else { return false };
        let has_queued = connection.channel.queued() > 0;
        let Some(stream) = connection.channel.transport.stream() else { return false };
        if has_queued || stream.is_stalled || stream.is_reset || stream.is_complete {
            return false;
        }
        let (session, key) = (stream.session, stream.key);
        let Some(of) = self.connections.get(session) else { return false };
        let outgoing = of.session.h2().map_or(usize::MAX, H2::outgoing);
        if of.channel.queued().saturating_add(outgoing) > MAX_OUTGOING {
            return false;
        }
        if let Some(connection) = self.connections.get_mut(id) {
            connection.channel.count_given(parts[0].len() + parts[1].len());
            connection.lane.untouched &= parts.iter().all(|part| part.is_empty());
        }
        self.respond(id, session, key, parts, false, now);
        true
    }

    /// Makes frames of what a stream's response has next. `is_last`: our side ends behind it.
    fn respond(
        &mut self,
        id: ConnId,
        session: ConnId,
        key: StreamKey,
        parts: [&[u8]; 2],
        is_last: bool,
        now: Nanos,
    ) {
        let responded =
            self.session_mut(session).and_then(|h2| h2.respond(key, id, parts, is_last));
        self.list_session(session);
        if self.session_mut(session).is_some_and(|h2| h2.outgoing() >= EAGER) {
            self.flush_session(session, now);
        }
        let Some(connection) = self.connections.get_mut(id) else { return };
        let has_more = !connection.lane.is_last();
        let Some(stream) = connection.channel.transport.stream_mut() else { return };
        stream.waiting = responded.map_or(0, |responded| responded.waiting);
        let is_sent = responded.is_none_or(|responded| responded.is_sent);
        if is_sent && connection.lane.unopened {
            self.remove(id, now);
        } else if responded.is_some_and(|responded| responded.is_broken) {
            stream.is_reset = true;
            connection.fail_behind_input(io::ErrorKind::ConnectionReset.into());
            self.run_again(id);
            self.call_again();
        } else if responded.is_none_or(|responded| responded.is_over) {
            stream.is_complete = true;
            // The caller closes it behind the response, unless Node's parser has read the request.
            if has_more {
                connection.channel.readable = true;
                self.run_again(id);
                self.call_again();
            }
        }
        self.end_if_over(session);
    }

    /// Frames of a session are to be sent in this turn.
    fn list_session(&mut self, id: ConnId) {
        if let Some(h2) = self.session_mut(id)
            && h2.outgoing() > 0
            && !std::mem::replace(&mut h2.is_listed, true)
        {
            self.sessions.push(id);
        }
    }

    /// Sends the frames of all sessions that have any.
    pub(super) fn flush_sessions(&mut self, now: Nanos) {
        while let Some(id) = self.sessions.pop() {
            self.flush_session(id, now);
        }
    }

    /// A command of the caller was the last of several: what it sends leaves now, unless a turn's end is to come.
    pub(crate) fn finish_command(&mut self) {
        if !self.in_turn {
            self.flush_written();
        }
    }

    /// Sends what streams have written: the caller has sent all that it collects, and may be busy for long.
    pub fn flush_written(&mut self) {
        if !self.sessions.is_empty() {
            self.flush_sessions(self.clock.now());
        }
    }

    fn flush_session(&mut self, id: ConnId, now: Nanos) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(h2) = connection.session.h2_mut() else { return };
        h2.is_listed = false;
        if h2.outgoing() == 0 {
            return;
        }
        let frames = h2.take_frames();
        let sent = connection.channel.send(&frames, false);
        if let Some(h2) = connection.session.h2_mut() {
            h2.give_back(frames);
        }
        if let Err(error) = sent {
            connection.fail_behind_input(error);
            self.wake(id);
        }
        self.note_progress(id, now);
        if self.has_room(id) {
            self.wake(id);
        }
        self.end_if_over(id);
    }

    /// What waits for the socket of a session can go on.
    fn has_room(&self, id: ConnId) -> bool {
        let Some(connection) = self.connections.get(id) else { return false };
        let waits = connection.session.h2().is_some_and(H2::waits_for_socket);
        waits && connection.channel.queued() == 0
    }

    /// Nothing more comes or leaves of a session: its connection is closed by the caller.
    fn end_if_over(&mut self, id: ConnId) {
        let Some(connection) = self.connections.get(id) else { return };
        let is_over = connection.session.h2().is_some_and(H2::is_over);
        if is_over && connection.channel.queued() == 0 {
            self.wake(id);
        }
    }

    /// The socket of a session has taken all that was there.
    pub(super) fn go_on_with_session(&mut self, id: ConnId, batch: &mut Batch<'_>, now: Nanos) {
        let Some(h2) = self.session_mut(id) else { return };
        h2.send_waiting();
        for stream in h2.take_stalled() {
            self.go_on_sending(stream, batch, now);
        }
        self.follow_streams(id, batch, now);
        self.flush_session(id, now);
    }

    /// What a stream's connection has kept goes on: nothing of its response waits for the socket any more, or for a window.
    fn go_on_sending(&mut self, id: ConnId, batch: &mut Batch<'_>, now: Nanos) {
        loop {
            let Some(connection) = self.connections.get_mut(id) else { return };
            let had_output = connection.channel.queued() > 0;
            let Some(stream) = connection.channel.transport.stream() else { return };
            let (session, key) = (stream.session, stream.key);
            let waiting = self.session_mut(session).map_or(0, |h2| h2.waiting(key, id));
            let Some(connection) = self.connections.get_mut(id) else { return };
            let Some(stream) = connection.channel.transport.stream_mut() else { return };
            (stream.waiting, stream.is_stalled) = (waiting, false);
            self.settle_stream(id, now);
            if self.remove_unopened(id, now) {
                return;
            }
            let Some(connection) = self.connections.get_mut(id) else { return };
            if connection.channel.transport.unsent() > 0 {
                return;
            }
            let flushed = connection.channel.flush();
            let is_written = !matches!(flushed, Ok(Flushed::WasEmpty));
            self.settle_stream(id, now);
            let Some(connection) = self.connections.get_mut(id) else { return };
            match flushed {
                Err(error) => return self.after_flush(id, Err(error), batch, now),
                Ok(_) if connection.channel.transport.unsent() > 0 => return,
                Ok(_) if connection.channel.queued() > 0 && is_written => {}
                Ok(_) if had_output => {
                    return self.after_flush(id, Ok(Flushed::Emptied), batch, now);
                }
                Ok(_) => return,
            }
        }
    }

    /// The caller has sent the last of a stream's response, and has forgotten its connection: it ends by itself.
    pub fn forget_stream(&mut self, id: usize) {
        let now = self.clock.now();
        let Some(connection) = self.connections.at_mut(id) else { return };
        if connection.lane.session.is_none() {
            return;
        }
        let (id, lane) = (connection.id, connection.lane.id);
        connection.lane.unopened = true;
        connection.lane.unreported.drained = false;
        if connection.channel.transport.stream().is_some_and(|stream| stream.is_reset) {
            self.remove(id, now);
            return;
        }
        self.end_when_written(lane, now);
        if self.connections.get(id).is_some() {
            self.remove_unopened(id, now);
        }
    }

    /// The caller does not know the connection of a stream, and its response has been sent: it is gone.
    fn remove_unopened(&mut self, id: ConnId, now: Nanos) -> bool {
        let Some(connection) = self.connections.get(id) else { return true };
        let Some(stream) = connection.channel.transport.stream() else { return false };
        let (session, key) = (stream.session, stream.key);
        let is_unopened = connection.lane.unopened && connection.channel.queued() == 0;
        let is_sent = self.session_mut(session).is_none_or(|h2| h2.is_sent(key, id));
        if is_unopened && is_sent {
            self.remove(id, now);
        }
        is_unopened && is_sent
    }

    /// A connection that has a session is about to end: the client is told, and by which of its streams.
    pub(super) fn leave_session(&mut self, id: ConnId, now: Nanos) {
        if let Some(h2) = self.session_mut(id) {
            h2.go_away();
            self.flush_session(id, now);
            if let Some(connection) = self.connections.get_mut(id)
                && connection.channel.write_state != WriteState::Ended
            {
                // What fails is found when the socket is closed.
                connection.channel.end(true).ok();
            }
        }
    }

    /// No more streams are opened on connections of a server; each ends when those that are open have.
    pub fn shut_down(&mut self, server: usize) {
        let now = self.clock.now();
        let of_it = |it: &Connection| (it.server == server).then_some(it.id);
        let ids: Vec<ConnId> = self.connections.iter().filter_map(of_it).collect();
        for id in ids {
            if let Some(connection) = self.connections.get_mut(id)
                && connection.session.h2().is_none()
            {
                connection.is_late = true;
            } else {
                self.leave_gracefully(id, now);
            }
        }
    }

    /// No more streams are opened on a connection.
    pub(super) fn leave_gracefully(&mut self, id: ConnId, now: Nanos) {
        if let Some(h2) = self.session_mut(id) {
            h2.go_away();
        }
        self.flush_session(id, now);
    }

    /// The client of one connection may open no more streams; it ends when those that are open have.
    pub fn go_away(&mut self, id: usize) {
        let now = self.clock.now();
        if let Some(id) = self.connections.at(id).map(|connection| connection.id) {
            self.leave_gracefully(id, now);
        }
    }

    /// The code with which the client has reset a stream, if it has; it is told of that by an event.
    #[must_use]
    pub fn reset_code(&self, id: usize) -> Option<u32> {
        Some(self.connections.at(id)?.channel.transport.stream()?.code?.0)
    }

    /// A stream is reset with this code if its connection is closed before its messages are complete.
    pub fn set_reset_code(&mut self, id: usize, code: u32) {
        if let Some(connection) = self.connections.at(id).map(|connection| connection.id)
            && let Some(connection) = self.connections.get_mut(connection)
            && let Some(stream) = connection.channel.transport.stream_mut()
        {
            stream.code = Some(ErrorCode(code));
        }
    }

    /// Whether a connection speaks HTTP/2.
    #[must_use]
    pub fn is_http2(&self, id: usize) -> bool {
        self.connections.at(id).is_some_and(|connection| connection.session.h2().is_some())
    }

    /// A connection was taken out. That of a stream ends it; that of a session takes those streams along that the caller does not know.
    pub(super) fn part_streams(&mut self, connection: &Connection, now: Nanos) {
        if let Some(stream) = connection.channel.transport.stream() {
            let (session, key, code) = (stream.session, stream.key, stream.code);
            if let Some(h2) = self.session_mut(session) {
                h2.close_stream(key, connection.id, code);
            }
            self.list_session(session);
            return self.end_if_over(session);
        }
        if let Some(h2) = connection.session.h2() {
            self.end_streams(h2.connections().collect(), now);
        }
    }

    /// The end of a session's connection is told: none of its streams is told of from now on, but their ends.
    pub(super) fn end_streams_of(&mut self, id: ConnId) {
        let Some(h2) = self.session_mut(id) else { return };
        let streams = h2.connections().collect();
        let now = self.clock.now();
        self.end_streams(streams, now);
    }

    fn end_streams(&mut self, streams: Vec<ConnId>, now: Nanos) {
        for id in streams {
            let Some(stream) = self.connections.get_mut(id) else { continue };
            if stream.lane.unopened {
                self.remove(id, now);
            } else if let Some(transport) = stream.channel.transport.stream_mut() {
                transport.is_reset = true;
                // It is told though the caller may read nothing for now.
                stream.fail_behind_input(io::ErrorKind::ConnectionReset.into());
                self.wake(id);
            }
        }
    }
}
