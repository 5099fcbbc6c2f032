//! The responses of one connection on their way out, told apart again: some are to be stored, and some show that what is
//! stored is out of date. What leaves is what is stored, however it was written.

use std::collections::VecDeque;
use std::time::Duration;

use millrace_cache::{Cache, Fill, NotStored, Request, Response};
use millrace_http::MAX_HEAD;
use millrace_http::{BodyDecoder, BodyEvent, HeadLimits, Method, RequestFraming};
use millrace_http::{Framing, ResponseHead};
use millrace_net::clock::wall_seconds;

/// Of a trailer section.
const LIMITS: HeadLimits = HeadLimits { bytes: 16 * 1024, fields: 1000 };

/// What the response to a request is to the cache.
#[derive(Debug)]
pub(crate) enum CacheAction {
    None,
    /// It is to be stored.
    Store {
        lead: Fill,
        /// The application's word on how long.
        duration: Option<Duration>,
    },
    /// If it is no error, what is stored under the request's target is out of date.
    Invalidate {
        secure: bool,
        target: Box<[u8]>,
        lines: Box<[u8]>,
    },
}

#[derive(Debug)]
struct DueResponse {
    method: Method,
    interest: CacheAction,
}

impl DueResponse {
    /// Its response has this status and these field lines.
    fn invalidate(&self, cache: &mut Cache, status: u16, fields: &[u8]) {
        let CacheAction::Invalidate { secure, target, lines } = &self.interest else { return };
        let request = Request {
            secure: *secure,
            method: self.method,
            target,
            lines,
            body: false,
            certificate: false,
            server_name: b"",
            waits: 0,
        };
        cache.invalidate(&request, status, fields);
    }
}

/// A response that nobody has seen is taken for a success.
pub(crate) const ASSUMED: u16 = 200;

#[derive(Debug, Default)]
enum ResponsePlace {
    #[default]
    Head,
    Body(BodyDecoder),
    UntilEnd,
    /// What leaves is no longer understood.
    Lost,
}

/// The responses that are due on a connection, and where in the first of them its bytes stand. Once what leaves is no longer
/// understood, those that are due are known by their number alone.
#[derive(Debug, Default)]
pub(crate) struct ResponseTracker {
    due: VecDeque<DueResponse>,
    place: ResponsePlace,
    /// A part of a head, or of a line between chunks.
    kept: Vec<u8>,
}

impl ResponseTracker {
    /// A request was told.
    pub(crate) fn expect(&mut self, method: Method, interest: CacheAction) {
        self.due.push_back(DueResponse { method, interest });
    }

    /// Whether what leaves is still understood.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.place, ResponsePlace::Lost)
    }

    /// Whether nothing has left that belongs to no response, as a body that is longer than its head says.
    pub(crate) fn is_between_responses(&self) -> bool {
        matches!(self.place, ResponsePlace::Head) && self.kept.is_empty() && self.due.is_empty()
    }

    /// The application says how long the response to a request is fresh: the one before so many others that were told.
    /// Too late once the response's head has left.
    pub(crate) fn set_duration(&mut self, behind: u32, fresh: Duration) {
        let at = self.due.len().checked_sub(behind as usize + 1);
        let due = at.and_then(|at| self.due.get_mut(at));
        if let Some(DueResponse { interest: CacheAction::Store { duration, .. }, .. }) = due {
            *duration = Some(fresh);
        }
    }

    /// These bytes leave.
    pub(crate) fn sent(&mut self, cache: &mut Cache, now: Duration, bytes: &[u8]) {
        if self.kept.is_empty() {
            let taken = self.take(cache, now, bytes);
            self.kept.extend_from_slice(&bytes[taken..]);
        } else {
            let mut kept = std::mem::take(&mut self.kept);
            kept.extend_from_slice(bytes);
            let taken = self.take(cache, now, &kept);
            kept.drain(..taken);
            self.kept = kept;
        }
    }

    /// So many responses are under way now: no more can be due, but one whose end is the connection's.
    pub(crate) fn settle(&mut self, cache: &mut Cache, now: Duration, in_flight: u32) {
        let open = usize::from(matches!(self.place, ResponsePlace::UntilEnd));
        if self.due.len() > in_flight as usize + open && !self.is_lost() {
            self.lose(cache, now, NotStored::Incomplete);
        }
        if self.is_lost() {
            while self.due.len() > in_flight as usize
                && let Some(due) = self.due.pop_front()
            {
                due.invalidate(cache, ASSUMED, b"");
            }
        }
    }

    /// Our side ends behind what was sent.
    pub(crate) fn ended(&mut self, cache: &mut Cache, now: Duration) {
        if matches!(self.place, ResponsePlace::UntilEnd) {
            self.complete(cache, now);
        }
        self.lose(cache, now, NotStored::Aborted);
    }

    /// What leaves is no longer followed, and nothing of it is stored. What is still due may make entries out of date.
    pub(crate) fn lose(&mut self, cache: &mut Cache, now: Duration, why: NotStored) {
        self.place = ResponsePlace::Lost;
        self.kept = Vec::new();
        for due in &mut self.due {
            if let CacheAction::Store { lead, .. } = due.interest {
                cache.abandon(lead, now, why);
                due.interest = CacheAction::None;
            }
        }
    }

    /// Gives how many of the bytes are done with.
    fn take(&mut self, cache: &mut Cache, now: Duration, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.place {
                ResponsePlace::Head => match ResponseHead::parse(rest) {
                    Ok(Some(head)) => {
                        self.begin(cache, now, &rest[..head.length], &head);
                        at += head.length;
                    }
                    Ok(None) if rest.len() <= MAX_HEAD => return at,
                    _ => self.lose(cache, now, NotStored::Malformed),
                },
                ResponsePlace::Body(decoder) => match decoder.next(rest, &LIMITS) {
                    BodyEvent::Data { start, end } => {
                        at += end;
                        // An end without further bytes is found now.
                        let ends = matches!(decoder.next(&[], &LIMITS), BodyEvent::End { .. });
                        self.body(cache, now, &rest[start..end]);
                        if ends {
                            self.complete(cache, now);
                        }
                    }
                    BodyEvent::More { consumed } => return at + consumed,
                    BodyEvent::End { consumed, trailers } => {
                        at += consumed;
                        if trailers.0 < trailers.1 {
                            self.give_up(cache, now, NotStored::Trailers);
                        }
                        self.complete(cache, now);
                    }
                    BodyEvent::Unsure { .. } => self.lose(cache, now, NotStored::Malformed),
                },
                ResponsePlace::UntilEnd => {
                    self.body(cache, now, rest);
                    at = bytes.len();
                }
                ResponsePlace::Lost => return bytes.len(),
            }
        }
        at
    }

    fn begin(&mut self, cache: &mut Cache, now: Duration, bytes: &[u8], head: &ResponseHead) {
        // An interim response is none (RFC 9110, section 15.2).
        if (100..200).contains(&head.status) && head.status != 101 {
            return;
        }
        let Some(due) = self.due.front_mut().filter(|_| head.status != 101) else {
            return self.lose(cache, now, NotStored::Malformed);
        };
        match &due.interest {
            CacheAction::None => {}
            &CacheAction::Store { lead, duration } => {
                let response = Response { head: bytes, duration };
                if cache.begin(lead, now, wall_seconds(), &response).is_err() {
                    due.interest = CacheAction::None;
                }
            }
            CacheAction::Invalidate { .. } => {
                let status_line =
                    bytes.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
                due.invalidate(cache, head.status, &bytes[status_line..]);
            }
        }
        // RFC 9112, section 6.3.
        let bodiless = due.method == Method::Head || matches!(head.status, 204 | 304);
        match head.framing {
            _ if bodiless => self.complete(cache, now),
            Framing::Length(0) => self.complete(cache, now),
            Framing::Length(length) => {
                self.place = ResponsePlace::Body(BodyDecoder::new(RequestFraming::Length(length)));
            }
            Framing::Chunked => {
                self.place = ResponsePlace::Body(BodyDecoder::new(RequestFraming::Chunked))
            }
            Framing::UntilClose => self.place = ResponsePlace::UntilEnd,
        }
    }

    fn body(&mut self, cache: &mut Cache, now: Duration, bytes: &[u8]) {
        if let Some(due) = self.due.front_mut()
            && let CacheAction::Store { lead, .. } = due.interest
            && cache.append(lead, now, bytes).is_err()
        {
            due.interest = CacheAction::None;
        }
    }

    fn give_up(&mut self, cache: &mut Cache, now: Duration, why: NotStored) {
        if let Some(due) = self.due.front_mut()
            && let CacheAction::Store { lead, .. } = due.interest
        {
            cache.abandon(lead, now, why);
            due.interest = CacheAction::None;
        }
    }

    fn complete(&mut self, cache: &mut Cache, now: Duration) {
        self.place = ResponsePlace::Head;
        if let Some(DueResponse { interest: CacheAction::Store { lead, .. }, .. }) =
            self.due.pop_front()
        {
            // The cache counts why not.
            cache.finish(lead, now).ok();
        }
    }
}
