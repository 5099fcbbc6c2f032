//! What the cache learns from the responses of one connection on their way out: some are to be stored, and some show that
//! what is stored is out of date. What leaves is what is stored, however it was written.

use std::collections::VecDeque;
use std::time::Duration;

use millrace_cache::{Cache, Fill, NotStored, Request, Response};
use millrace_http::h1::{Method, ResponseHead, ResponseSink, ResponseSplitter};
use millrace_net::clock::wall_seconds;

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

/// A response that is due, or under way.
#[derive(Debug)]
struct DueResponse {
    method: Method,
    action: CacheAction,
}

impl DueResponse {
    /// Its response has this status and these field lines.
    fn invalidate(&self, cache: &mut Cache, status: u16, fields: &[u8]) {
        let CacheAction::Invalidate { secure, target, lines } = &self.action else { return };
        let request = Request {
            secure: *secure,
            method: self.method,
            target,
            lines,
            body: false,
            certificate: false,
            authenticated: false,
            server_name: b"",
            waits: 0,
        };
        cache.invalidate(&request, status, fields);
    }

    /// It is not stored.
    fn abandon(&mut self, cache: &mut Cache, now: Duration, why: NotStored) {
        if let CacheAction::Store { lead, .. } = self.action {
            cache.abandon(lead, now, why);
            self.action = CacheAction::None;
        }
    }
}

/// A response that nobody has seen is taken for a success.
pub(crate) const ASSUMED: u16 = 200;

/// The responses that are due on a connection, and where in the first of them its bytes stand. Once what leaves is no longer
/// understood, those that are due are known by their number alone.
#[derive(Debug)]
pub(crate) struct ResponseTracker {
    due: VecDeque<DueResponse>,
    /// `None`: what leaves is no longer understood.
    splitter: Option<ResponseSplitter>,
}

impl Default for ResponseTracker {
    fn default() -> Self {
        Self { due: VecDeque::new(), splitter: Some(ResponseSplitter::default()) }
    }
}

impl ResponseTracker {
    /// A request was told.
    pub(crate) fn expect(&mut self, method: Method, action: CacheAction) {
        self.due.push_back(DueResponse { method, action });
    }

    /// Whether what leaves is still understood.
    pub(crate) fn is_lost(&self) -> bool {
        self.splitter.is_none()
    }

    /// Whether nothing has left that belongs to no response, as a body that is longer than its head says.
    pub(crate) fn is_between_responses(&self) -> bool {
        let is_between = ResponseSplitter::is_between_responses;
        self.due.is_empty() && self.splitter.as_ref().is_some_and(is_between)
    }

    /// The application says how long the response to a request is fresh: the one before so many others that were told.
    /// Too late once the response's head has left.
    pub(crate) fn set_duration(&mut self, behind: u32, fresh: Duration) {
        let at = self.due.len().checked_sub(behind as usize + 1);
        let due = at.and_then(|at| self.due.get_mut(at));
        if let Some(DueResponse { action: CacheAction::Store { duration, .. }, .. }) = due {
            *duration = Some(fresh);
        }
    }

    /// These bytes leave.
    pub(crate) fn sent(&mut self, cache: &mut Cache, now: Duration, bytes: &[u8]) {
        let Some(splitter) = &mut self.splitter else { return };
        let mut sink = CacheSink { due: &mut self.due, cache, now };
        if splitter.split(bytes, &mut sink).is_err() {
            self.lose(cache, now, NotStored::Malformed);
        }
    }

    /// So many responses are under way now: no more can be due, but one whose end is the connection's.
    pub(crate) fn settle(&mut self, cache: &mut Cache, now: Duration, in_flight: u32) {
        let open = usize::from(self.ends_with_connection());
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

    fn ends_with_connection(&self) -> bool {
        self.splitter.as_ref().is_some_and(ResponseSplitter::ends_with_connection)
    }

    /// Our side ends behind what was sent.
    pub(crate) fn ended(&mut self, cache: &mut Cache, now: Duration) {
        if self.ends_with_connection() {
            CacheSink { due: &mut self.due, cache, now }.end();
        }
        self.lose(cache, now, NotStored::Aborted);
    }

    /// What leaves is no longer followed, and nothing of it is stored. What is still due may make entries out of date.
    pub(crate) fn lose(&mut self, cache: &mut Cache, now: Duration, why: NotStored) {
        self.splitter = None;
        for due in &mut self.due {
            due.abandon(cache, now, why);
        }
    }
}

/// What the cache is told of the responses that leave.
struct CacheSink<'a> {
    due: &'a mut VecDeque<DueResponse>,
    cache: &'a mut Cache,
    now: Duration,
}

impl ResponseSink for CacheSink<'_> {
    fn head(&mut self, head: &ResponseHead, bytes: &[u8]) -> Option<Method> {
        let due = self.due.front_mut()?;
        match &due.action {
            CacheAction::None => {}
            &CacheAction::Store { lead, duration } => {
                let response = Response { head: bytes, duration };
                if self.cache.begin(lead, self.now, wall_seconds(), &response).is_err() {
                    due.action = CacheAction::None;
                }
            }
            CacheAction::Invalidate { .. } => {
                let status_line =
                    bytes.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
                due.invalidate(self.cache, head.status, &bytes[status_line..]);
            }
        }
        Some(due.method)
    }

    fn data(&mut self, bytes: &[u8], _: bool) {
        if let Some(due) = self.due.front_mut()
            && let CacheAction::Store { lead, .. } = due.action
            && self.cache.append(lead, self.now, bytes).is_err()
        {
            due.action = CacheAction::None;
        }
    }

    fn trailers(&mut self, _: &[u8]) {
        if let Some(due) = self.due.front_mut() {
            due.abandon(self.cache, self.now, NotStored::Trailers);
        }
    }

    fn end(&mut self) {
        if let Some(DueResponse { action: CacheAction::Store { lead, .. }, .. }) =
            self.due.pop_front()
        {
            // The cache counts why not.
            self.cache.finish(lead, self.now).ok();
        }
    }
}
