//! Redirections that are followed: each request that follows is a stream of the same connection.

use millrace_http::h2::StreamKey;
use millrace_net::Nanos;

use super::captured::Captured;
use super::request_block::RequestText;
use super::sending::is_head;
use super::{H2Session, Upload};
use crate::metrics::in_flight::InFlight;
use crate::metrics::kept::KeepReason;
use crate::metrics::recorder::Recorder;
use crate::redirect::{parse_request, render_request};
use crate::session::Receiving;

/// The redirections of one request.
#[derive(Debug)]
pub(super) struct Redirects {
    /// The last request, as text.
    text: Vec<u8>,
    /// Number of redirections that have been followed.
    followed: u32,
    /// Where the present response leads, if it may be followed.
    location: Option<Vec<u8>>,
    /// The status of the redirection that was followed last, and what is kept of it; the status is 0 before.
    answered: u16,
    response: Option<Box<Captured>>,
}

impl Redirects {
    /// Begins with a request as text.
    pub(super) fn new(text: Vec<u8>) -> Self {
        Self { text, followed: 0, location: None, answered: 0, response: None }
    }
}

impl H2Session {
    /// Keeps where a redirection leads, which is followed at its end.
    pub(super) fn keep_location(&mut self, stream: StreamKey, status: u16) {
        let location = {
            let mut fields = self.connection.head().iter();
            fields.find(|(name, _)| *name == b"location").map(|(_, value)| value.to_vec())
        };
        if let (Some(rule), Some(exchange)) =
            (self.options.redirects, self.connection.get_mut(stream))
            && let Some(redirects) = &mut exchange.redirects
        {
            redirects.location = location.filter(|_| rule.concerns(status, redirects.followed));
        }
    }

    /// Follows a redirection on the same connection, as the same request. `false`: the response is the final one.
    pub(super) fn follow(
        &mut self,
        stream: StreamKey,
        now: Nanos,
        receiving: &mut Receiving<'_>,
    ) -> bool {
        let Some(rule) = self.options.redirects else { return false };
        let Some(exchange) = self.connection.get_mut(stream) else { return false };
        let (status, request) = (exchange.status, exchange.request);
        let Some(mut redirects) = exchange.redirects.take() else { return false };
        let Some(location) = redirects.location.take().filter(|_| self.goaway.is_none()) else {
            return false;
        };
        let next = parse_request(&redirects.text).and_then(|it| rule.next(status, &location, it));
        let Some(text) = next.as_ref().map(render_request) else { return false };
        let (outgoing, shared) = (&mut receiving.memory.outgoing, &mut receiving.memory.h2);
        let Some(()) = self.connection.reopen(stream, is_head(&text), outgoing) else {
            return false;
        };
        self.give_up_upload(stream);
        let block = &mut shared.block;
        let head = RequestText { text: &text, scheme: self.options.scheme, is_repeated: false };
        let body = self.blocks.encode(head, self.connection.encoder(), block);
        let before = outgoing.len();
        let taken = self.send(stream, block, &text, body, outgoing);
        receiving.recorder.followed(&request);
        receiving.recorder.bytes_sent_for(&request, outgoing.len() - before);
        redirects.followed += 1;
        redirects.answered = status;
        redirects.text = text;
        let Some(exchange) = self.connection.get_mut(stream) else { return true };
        if taken < redirects.text.len() {
            let text = Some(redirects.text.clone());
            exchange.upload = Some(Box::new(Upload { text, at: taken, since: now }));
            self.uploading.push_back(stream);
        }
        (exchange.status, exchange.first, exchange.bytes) = (0, None, 0);
        let before = std::mem::replace(&mut redirects.response, exchange.captured.take());
        exchange.redirects = Some(redirects);
        self.keep_memory(before);
        true
    }

    /// Completes the requests on streams above this one as the redirections that were followed last, where nothing has come of
    /// the response to the next request: the server ends the connection. Returns their number.
    pub(in crate::session) fn complete_redirected(
        &mut self,
        last_stream: u32,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> usize {
        if self.options.redirects.is_none() {
            return 0;
        }
        let mut count = 0;
        let mut next = self.connection.first();
        while let Some(stream) = next {
            next = self.connection.after(stream);
            if self.connection.number(stream).is_none_or(|number| number <= last_stream) {
                continue;
            }
            let Some((request, redirects)) = self.take_unanswered(stream) else {
                continue;
            };
            let why = KeepReason::Status(redirects.answered);
            recorder.completed(&request, now, redirects.answered);
            count += 1;
            let Some(mut response) = redirects.response else { continue };
            if recorder.wants(why, &request) {
                response.end();
                let [head, body] = response.shown();
                recorder.keep(why, &request, [&head, &body]);
            }
            self.keep_memory(Some(response));
        }
        count
    }

    /// Takes a request from its stream if it has followed a redirection and nothing has come of the next response.
    fn take_unanswered(&mut self, stream: StreamKey) -> Option<(InFlight, Box<Redirects>)> {
        let exchange = self.connection.get_mut(stream).filter(|it| it.first.is_none())?;
        let redirects = exchange.redirects.take_if(|it| it.followed > 0)?;
        let request = exchange.request;
        self.give_up_upload(stream);
        drop(self.connection.forget(stream));
        Some((request, redirects))
    }
}
