//! What happens with the events of a connection.

use millrace_http::h2::{ErrorCode, Event, StreamError, StreamKey};
use millrace_net::Nanos;

use super::grpc::{self, CallEnd, Messages};
use super::{Exchange, GoAway, H2Session};
use crate::ErrorKind;
use crate::metrics::in_flight::{Loss, NO_USER};
use crate::metrics::kept::{KeepReason, MAX_KEPT_BODY};
use crate::metrics::recorder::Recorder;
use crate::rendered::Capture;
use crate::session::other_protocol::{detect_other, is_http2};
use crate::session::{End, Received, Receiving};

/// Bytes of a server's greeting that are kept to recognise another protocol.
const MAX_GREETING: usize = 16;

/// What ended a response.
#[derive(Clone, Copy, Debug)]
enum EndedBy {
    Head,
    Data,
    Trailers,
}

impl H2Session {
    pub(in crate::session) fn receive(
        &mut self,
        bytes: &[u8],
        now: Nanos,
        receiving: &mut Receiving<'_>,
    ) -> Received {
        receiving.recorder.bytes_received(bytes.len());
        if !self.is_ready() {
            let room = MAX_GREETING.saturating_sub(self.greeting.len());
            self.greeting.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let mut received = Received::default();
        let mut input = bytes;
        loop {
            match self.connection.next(&mut input, &mut receiving.memory.outgoing) {
                Ok(Some(event)) => self.handle(event, now, &mut received, receiving),
                Ok(None) => break,
                Err(error) => {
                    self.connection.go_away(error.code, &mut receiving.memory.outgoing);
                    let other = if self.is_ready() { None } else { self.detect_other() };
                    let why = other.unwrap_or_else(|| error.reason.to_owned());
                    received.end = Some(End::Failed(kind_of(error.code), why));
                    return received;
                }
            }
        }
        if received.completed > 0 {
            self.connection.progress();
        }
        if self.is_drained() {
            received.end = Some(End::Agreed);
        }
        received
    }

    /// Names the protocol of a server whose first bytes are not those of HTTP/2, and what to do.
    fn detect_other(&self) -> Option<String> {
        if is_http2(&self.greeting) {
            return None;
        }
        if self.greeting.starts_with(b"HTTP/1") && self.options.grpc {
            return Some("the server speaks HTTP/1.1, and gRPC needs HTTP/2".to_owned());
        }
        if self.greeting.starts_with(b"HTTP/1") {
            let flag = if self.options.scheme == "https" { "--http2" } else { "--h2c" };
            return Some(format!("the server speaks HTTP/1.1: leave out {flag}"));
        }
        detect_other(&self.greeting).map(str::to_owned)
    }

    #[inline]
    fn handle(
        &mut self,
        event: Event<'_>,
        now: Nanos,
        received: &mut Received,
        receiving: &mut Receiving<'_>,
    ) {
        match event {
            Event::Head { stream, section, length, ends } => {
                self.begin_response(stream, length, now, receiving.recorder);
                self.on_head(stream, section.status.unwrap_or(0), receiving);
                if ends {
                    self.complete(stream, EndedBy::Head, now, received, receiving);
                }
            }
            Event::Data { stream, bytes, length, ends } => {
                self.connection.release(stream, bytes.len(), &mut receiving.memory.outgoing);
                self.on_data(stream, bytes, length, receiving.recorder);
                if ends {
                    self.complete(stream, EndedBy::Data, now, received, receiving);
                }
            }
            Event::Trailers { stream, length } => {
                self.on_trailers(stream, length, receiving.recorder);
                self.complete(stream, EndedBy::Trailers, now, received, receiving);
            }
            Event::Interim { stream, length } => {
                self.begin_response(stream, length, now, receiving.recorder);
            }
            Event::Settings => {
                receiving.recorder.max_streams(self.connection.peer().max_concurrent_streams);
                received.has_grown = true;
                self.resume(now, receiving);
            }
            Event::WindowOpened if self.uploading.is_empty() => {}
            Event::WindowOpened => self.resume(now, receiving),
            Event::Reset { stream, code } => self.on_reset(stream, code, now, received, receiving),
            Event::Malformed { stream, error: StreamError { code, reason } } => {
                let loss = Loss::Transport(kind_of(code));
                self.end_without_response(
                    stream,
                    loss,
                    reason.to_owned(),
                    now,
                    received,
                    receiving,
                );
            }
            // Only a server's.
            Event::HeadTooLarge { .. } => {}
            Event::GoAway { last_stream, code } => {
                self.on_go_away(last_stream, code, now, received, receiving);
            }
        }
    }

    fn resume(&mut self, now: Nanos, receiving: &mut Receiving<'_>) {
        let Receiving { mix, memory, recorder, .. } = receiving;
        self.resume_uploads(mix, now, &mut memory.outgoing, recorder);
    }

    /// A head has come whose frames have this length.
    fn begin_response(
        &mut self,
        stream: StreamKey,
        length: usize,
        now: Nanos,
        recorder: &mut Recorder,
    ) {
        // A server that answers a request it cannot know.
        self.end_buffering(stream, now, recorder);
        let Some(exchange) = self.connection.get_mut(stream) else { return };
        exchange.first.get_or_insert(now);
        exchange.bytes += length as u64;
        recorder.bytes_received_for(&exchange.request, length);
    }

    fn on_head(&mut self, stream: StreamKey, status: u16, receiving: &mut Receiving<'_>) {
        let is_grpc = self.options.grpc && grpc::is_response(self.connection.head());
        let Some(exchange) = self.connection.get_mut(stream) else { return };
        exchange.status = status;
        exchange.messages = is_grpc.then(Messages::default);
        let request = exchange.request;
        let capture = receiving.mix[request.request as usize].capture;
        let max_body = match capture {
            Capture::Body(most) if request.user != NO_USER => Some(most.max(MAX_KEPT_BODY)),
            Capture::Head if request.user != NO_USER => Some(MAX_KEPT_BODY),
            // The status of gRPC is known at the end.
            _ if is_grpc => None,
            _ => receiving
                .recorder
                .wants(KeepReason::Status(status), &request)
                .then_some(MAX_KEPT_BODY),
        };
        if let Some(max_body) = max_body {
            self.capture(stream, status, max_body);
        }
        if self.options.redirects.is_some() {
            self.keep_location(stream, status);
        }
    }

    /// Keeps a response from its head on.
    fn capture(&mut self, stream: StreamKey, status: u16, max_body: usize) {
        let mut captured = self.spare.pop().unwrap_or_default();
        captured.begin(status, Some(self.connection.head()), max_body);
        if let Some(exchange) = self.connection.get_mut(stream) {
            exchange.captured = Some(captured);
        }
    }

    #[inline]
    /// `length`: that of the content in its frame.
    fn on_data(&mut self, stream: StreamKey, bytes: &[u8], length: usize, recorder: &mut Recorder) {
        let Some(exchange) = self.connection.get_mut(stream) else { return };
        exchange.bytes += length as u64;
        recorder.bytes_received_for(&exchange.request, length);
        if let Some(captured) = &mut exchange.captured {
            captured.add_content(bytes);
        }
        if let Some(messages) = &mut exchange.messages {
            recorder.messages(&exchange.request, messages.take(bytes));
        }
    }

    fn on_trailers(&mut self, stream: StreamKey, length: usize, recorder: &mut Recorder) {
        let Some(exchange) = self.connection.get_mut(stream) else { return };
        exchange.bytes += length as u64;
        recorder.bytes_received_for(&exchange.request, length);
        let mut captured = exchange.captured.take();
        if let Some(captured) = &mut captured {
            captured.add_fields(self.connection.trailers());
        }
        if let Some(exchange) = self.connection.get_mut(stream) {
            exchange.captured = captured;
        }
    }

    /// A response is complete.
    fn complete(
        &mut self,
        stream: StreamKey,
        ended_by: EndedBy,
        now: Nanos,
        received: &mut Received,
        receiving: &mut Receiving<'_>,
    ) {
        if self.options.redirects.is_some() && self.follow(stream, now, receiving) {
            return;
        }
        self.give_up_upload(stream);
        let outgoing = &mut receiving.memory.outgoing;
        // What the server did not want to read of the request is not sent (RFC 9113, section 8.1).
        let Some(exchange) = self.connection.remove(stream, ErrorCode::CANCEL, outgoing) else {
            return;
        };
        let http_status = exchange.status;
        let last_fields = match ended_by {
            EndedBy::Head => Some(self.connection.head()),
            EndedBy::Data => None,
            EndedBy::Trailers => Some(self.connection.trailers()),
        };
        let call = exchange.messages.map(|it| grpc::end_call(http_status, last_fields, &it));
        let status = match call {
            None => http_status,
            Some(CallEnd::Status(status)) => status,
            Some(CallEnd::Broken(why)) => {
                let loss = Loss::Transport(ErrorKind::Protocol);
                self.lose(exchange, now, loss, || why.to_owned(), receiving.recorder);
                received.lost += 1;
                return;
            }
        };
        let Exchange { request, first, mut captured, .. } = exchange;
        let recorder = &mut *receiving.recorder;
        recorder.completed(&request, now, status);
        received.completed += 1;
        if let Some(first) = first.filter(|first| *first < now) {
            recorder.came_in_parts(&request, first, now);
        }
        let why = KeepReason::Status(status);
        let wants = recorder.wants(why, &request);
        if wants && captured.is_none() {
            // Of gRPC: what it ended with.
            let mut ended = self.spare.pop().unwrap_or_default();
            ended.begin(http_status, last_fields, MAX_KEPT_BODY);
            captured = Some(ended);
        }
        let Some(mut captured) = captured else { return };
        let is_cut = captured.is_cut();
        let parts = captured.end();
        if request.user != NO_USER
            && receiving.mix[request.request as usize].capture != Capture::Status
        {
            recorder.ends.capture(parts, is_cut);
        }
        if wants {
            let [head, body] = captured.shown();
            recorder.keep(why, &request, [&head, &body]);
        }
        self.keep_memory(Some(captured));
    }

    fn on_reset(
        &mut self,
        stream: StreamKey,
        code: ErrorCode,
        now: Nanos,
        received: &mut Received,
        receiving: &mut Receiving<'_>,
    ) {
        let kind = match code {
            ErrorCode::REFUSED_STREAM => ErrorKind::RefusedStream,
            _ => ErrorKind::StreamReset,
        };
        let status = self.connection.get(stream).map_or(0, |exchange| exchange.status);
        let text = match status {
            0 => format!("the server reset the stream: {code}"),
            status => {
                format!("the server reset the stream after the head with status {status}: {code}")
            }
        };
        self.end_without_response(stream, Loss::Transport(kind), text, now, received, receiving);
    }

    /// A stream has been reset, by either side.
    fn end_without_response(
        &mut self,
        stream: StreamKey,
        loss: Loss,
        text: String,
        now: Nanos,
        received: &mut Received,
        receiving: &mut Receiving<'_>,
    ) {
        self.end_buffering(stream, now, receiving.recorder);
        let Some(exchange) = self.connection.forget(stream) else { return };
        self.stop_upload(stream, &exchange);
        self.lose(exchange, now, loss, || text, receiving.recorder);
        received.lost += 1;
    }

    /// Something has come for a stream: if its request waits in the write buffer, it counts as sent.
    fn end_buffering(&mut self, stream: StreamKey, now: Nanos, recorder: &mut Recorder) {
        if self.connection.get(stream).is_some_and(|exchange| exchange.is_buffered) {
            self.buffered.retain(|held| held.stream != stream);
            recorder.remove_buffered(1);
            self.sent(stream, now, recorder);
        }
    }

    fn on_go_away(
        &mut self,
        last_stream: u32,
        code: ErrorCode,
        now: Nanos,
        received: &mut Received,
        receiving: &mut Receiving<'_>,
    ) {
        if self.goaway.is_none() {
            receiving.recorder.go_away();
        }
        let goaway = GoAway { last_stream, code };
        self.goaway = Some(goaway);
        received.completed += self.complete_redirected(last_stream, now, receiving.recorder);
        let mut next = self.connection.first();
        while let Some(stream) = next {
            next = self.connection.after(stream);
            let is_buffered = self.connection.get(stream).is_some_and(|it| it.is_buffered);
            // What has not been sent goes to the next connection.
            if self.is_refused(stream) && !is_buffered {
                let loss = Loss::Transport(ErrorKind::RefusedStream);
                let text = goaway.describe_refusal();
                self.end_without_response(stream, loss, text, now, received, receiving);
            }
        }
    }

    pub(in crate::session) fn finish(&mut self, now: Nanos, recorder: &mut Recorder) -> Received {
        let completed = self.complete_redirected(0, now, recorder);
        let other = if self.is_ready() { None } else { self.detect_other() };
        let end = match other {
            // What it said was shorter than the head of a frame.
            Some(why) => End::Failed(ErrorKind::Protocol, why),
            // A server that has said so ends the connection when all is answered.
            None if self.is_drained() => End::Agreed,
            None => End::Eof,
        };
        Received { completed, end: Some(end), ..Received::default() }
    }
}

/// The kind of an error that the server made.
fn kind_of(code: ErrorCode) -> ErrorKind {
    match code {
        ErrorCode::FLOW_CONTROL_ERROR => ErrorKind::FlowControl,
        _ => ErrorKind::Protocol,
    }
}
