//! How requests become frames.

use std::collections::VecDeque;

use millrace_http::h2::StreamKey;
use millrace_net::Nanos;

use super::redirects::Redirects;
use super::request_block::RequestText;
use super::{Buffered, Exchange, H2Session, Upload};
use crate::engine::numbers::{Purpose, random_for};
use crate::metrics::in_flight::{Due, InFlight, NO_USER};
use crate::metrics::recorder::Recorder;
use crate::rendered::Rendered;
use crate::session::{Rendering, RequestBatch, Written};
use crate::template::Values;

impl H2Session {
    pub(in crate::session) fn render<'a>(
        &mut self,
        due: &mut VecDeque<Due>,
        count: usize,
        rendering: &'a mut Rendering<'_>,
    ) -> RequestBatch<'a> {
        rendering.memory.outgoing.clear();
        rendering.memory.h2.starts.clear();
        self.rendered.clear();
        for due in due.iter_mut().take(count) {
            rendering.memory.h2.starts.push(rendering.memory.outgoing.len());
            self.render_one(due, rendering);
        }
        let memory = &*rendering.memory;
        RequestBatch { bytes: &memory.outgoing, count, starts: &memory.h2.starts }
    }

    fn render_one(&mut self, due: &mut Due, rendering: &mut Rendering<'_>) {
        let number = rendering.number(due);
        let trace = rendering.trace(number);
        let Rendering { mix, seed, traces, memory, users, .. } = rendering;
        let rendered = &mix[due.request as usize];
        let (outgoing, shared) = (&mut memory.outgoing, &mut memory.h2);
        let scheme = self.options.scheme;
        // A user's request has its cookies, and may be the one that follows a redirection.
        let repeated = if due.user == NO_USER { rendered.batch(1) } else { None };
        let encoder = self.connection.encoder();
        let (text, body) = match repeated {
            Some(text) => {
                let request = RequestText { text, scheme, is_repeated: true };
                let index = due.request as usize;
                let body = self.blocks.encode_repeated(index, request, encoder, &mut shared.block);
                (text, body)
            }
            None => {
                shared.text.clear();
                if due.user == NO_USER {
                    let mut random = random_for(*seed, number, Purpose::Values);
                    let mut values = Values::new(number, &mut random).with_trace(trace);
                    rendered.render(&mut values, &mut shared.scratch, &mut shared.text);
                } else {
                    users.render(due, rendered, *traces, &mut shared.scratch, &mut shared.text);
                }
                let request = RequestText { text: &shared.text, scheme, is_repeated: false };
                let body = self.blocks.encode(request, encoder, &mut shared.block);
                (&shared.text[..], body)
            }
        };
        let Some(stream) = self.connection.open(Exchange::default(), is_head(text)) else { return };
        self.rendered.push(stream);
        let taken = self.send(stream, &shared.block, text, body, outgoing);
        let Some(exchange) = self.connection.get_mut(stream) else { return };
        if taken < text.len() {
            let text = repeated.is_none().then(|| text.to_vec());
            let since = Nanos::default();
            exchange.upload = Some(Box::new(Upload { text, at: taken, since }));
        }
        if self.options.redirects.is_some() {
            exchange.redirects = Some(Box::new(Redirects::new(text.to_vec())));
        }
    }

    /// Appends the head of a request, and its body, which begins at `body` of the text, as far as the windows allow. Returns
    /// where the rest begins.
    pub(super) fn send(
        &mut self,
        stream: StreamKey,
        block: &[u8],
        text: &[u8],
        body: usize,
        outgoing: &mut Vec<u8>,
    ) -> usize {
        let is_all = body == text.len();
        self.connection.send_head(stream, block, is_all, outgoing);
        match is_all {
            true => body,
            false => body + self.connection.send_data(stream, &text[body..], true, outgoing),
        }
    }

    pub(in crate::session) fn submit(
        &mut self,
        due: &mut VecDeque<Due>,
        batch: &RequestBatch<'_>,
        written: Written,
        now: Nanos,
        recorder: &mut Recorder,
    ) {
        let streams = std::mem::take(&mut self.rendered);
        for (index, stream) in streams.iter().enumerate() {
            let Some(Due { intended, request, user, number }) = due.pop_front() else { break };
            let Some(exchange) = self.connection.get_mut(*stream) else { break };
            exchange.request = InFlight { intended, sent: now, request, user, number };
            exchange.length = batch.length(index) as u32;
            if let Some(upload) = &mut exchange.upload {
                upload.since = now;
                self.uploading.push_back(*stream);
            }
            // Of several that have not been sent, each begins in the write buffer.
            let start = batch.start(index);
            if start < written.count {
                self.sent(*stream, now, recorder);
            } else {
                let start = written.start + start as u64;
                self.buffered.push_back(Buffered { start, stream: *stream });
                recorder.add_buffered(1);
            }
        }
        self.rendered = streams;
    }

    pub(in crate::session) fn sent_to(
        &mut self,
        position: u64,
        now: Nanos,
        recorder: &mut Recorder,
    ) {
        while let Some(Buffered { start, stream, .. }) = self.buffered.front().copied()
            && start < position
        {
            self.buffered.pop_front();
            recorder.remove_buffered(1);
            self.sent(stream, now, recorder);
        }
    }

    /// Records that the first byte of a request has been sent.
    pub(super) fn sent(&mut self, stream: StreamKey, now: Nanos, recorder: &mut Recorder) {
        let Some(exchange) = self.connection.get_mut(stream) else { return };
        exchange.request.sent = now;
        exchange.is_buffered = false;
        recorder.sent(&exchange.request, self.carried);
        recorder.bytes_sent_for(&exchange.request, exchange.length as usize);
        self.carried = true;
    }

    /// Goes on with bodies that wait for a window, in order.
    pub(super) fn resume_uploads(
        &mut self,
        mix: &[Rendered],
        now: Nanos,
        outgoing: &mut Vec<u8>,
        recorder: &mut Recorder,
    ) {
        for _ in 0..self.uploading.len() {
            let Some(stream) = self.uploading.pop_front() else { return };
            let Some(exchange) = self.connection.get_mut(stream) else { continue };
            let (request, Some(mut upload)) = (exchange.request, exchange.upload.take()) else {
                continue;
            };
            let repeated = mix.get(request.request as usize).and_then(|rendered| rendered.batch(1));
            let text = upload.text.as_deref().or(repeated).unwrap_or_default();
            let before = outgoing.len();
            let rest = text.get(upload.at..).unwrap_or_default();
            let taken = self.connection.send_data(stream, rest, true, outgoing);
            recorder.bytes_sent_for(&request, outgoing.len() - before);
            if taken == rest.len() {
                if let Some(exchange) = self.connection.get_mut(stream) {
                    let is_first = !std::mem::replace(&mut exchange.has_waited, true);
                    recorder.window_waited(&request, now.since(upload.since), is_first);
                }
                continue;
            }
            upload.at += taken;
            if let Some(exchange) = self.connection.get_mut(stream) {
                exchange.upload = Some(upload);
            }
            self.uploading.push_back(stream);
        }
    }
}

/// Whether a request's text is one of HEAD, whose response has no content.
pub(super) fn is_head(text: &[u8]) -> bool {
    text.starts_with(b"HEAD ")
}
