//! An application behind a cache, for tests.

use std::time::Duration;

use millrace_cache::{
    Cache, Credentials, Fill, Lookup, Mode, NotStored, Request, Response, Settings, Statistics,
};
use millrace_http::h1::Method;

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) const WALL: i64 = 784_111_777;
pub(crate) const DATE: &str = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
pub(crate) const HOST: &str = "Host: a.example\r\n";

pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

pub(crate) fn settings() -> Settings {
    Settings { mode: Mode::All(seconds(10.0)), early_refresh: false, ..Settings::default() }
}

pub(crate) fn get<'a>(target: &'a str, lines: &'a str) -> Request<'a> {
    Request {
        secure: false,
        method: Method::Get,
        target: target.as_bytes(),
        lines: lines.as_bytes(),
        body: false,
        certificate: false,
        authenticated: false,
        server_name: b"",
        waits: 0,
    }
}

pub(crate) fn credentials(fields: &str) -> Credentials {
    let has = |name: &str| fields.lines().any(|line| line.starts_with(name));
    Credentials { authorization: has("Authorization:"), cookie: has("Cookie:") }
}

/// A cache, the time, and the responses that its application gives.
pub(crate) struct Site {
    pub(crate) cache: Cache,
    pub(crate) now: Duration,
    pub(crate) wall: i64,
}

impl Site {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { cache: Cache::new(settings), now: seconds(1000.0), wall: WALL }
    }

    pub(crate) fn advance(&mut self, by: f64) {
        self.now += seconds(by);
        self.wall += by as i64;
    }

    /// A GET with `Host` and these fields.
    pub(crate) fn get(&mut self, target: &str, fields: &str) -> Lookup<'_> {
        let lines = format!("{HOST}{fields}");
        self.cache.lookup(self.now, &get(target, &lines), 0)
    }

    pub(crate) fn wait(
        &mut self,
        target: &str,
        fields: &str,
        waiter: u64,
        waits: u8,
    ) -> Lookup<'_> {
        let lines = format!("{HOST}{fields}");
        self.cache.lookup(self.now, &Request { waits, ..get(target, &lines) }, waiter)
    }

    pub(crate) fn lead(&mut self, target: &str, fields: &str) -> Fill {
        match self.get(target, fields) {
            Lookup::Fill(lead) => lead,
            other => panic!("not a lead: {other:?}"),
        }
    }

    pub(crate) fn answer(&mut self, lead: Fill, head: &str, body: &str) -> Result<(), NotStored> {
        self.answer_with(lead, head, None, body)
    }

    /// `head` without its end.
    pub(crate) fn answer_with(
        &mut self,
        lead: Fill,
        head: &str,
        duration: Option<Duration>,
        body: &str,
    ) -> Result<(), NotStored> {
        let head = format!("{head}\r\n");
        let response = Response { head: head.as_bytes(), duration };
        self.cache.begin(lead, self.now, self.wall, &response)?;
        if !body.is_empty() {
            self.cache.append(lead, self.now, body.as_bytes())?;
        }
        self.cache.finish(lead, self.now)
    }

    /// Leads, and stores a 200 with these fields.
    pub(crate) fn store(&mut self, target: &str, request: &str, response: &str, body: &str) {
        let lead = self.lead(target, request);
        let head = format!("HTTP/1.1 200 OK\r\n{DATE}{response}");
        self.answer(lead, &head, body).expect("it is stored");
    }

    /// The body that is stored for such a request, if it is answered from the cache.
    pub(crate) fn body(&mut self, target: &str, fields: &str) -> Option<String> {
        match self.get(target, fields) {
            Lookup::Hit(hit) => Some(String::from_utf8_lossy(hit.body()).into_owned()),
            _ => None,
        }
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.cache.statistics()
    }

    pub(crate) fn woken(&mut self) -> Vec<millrace_cache::Woken> {
        std::iter::from_fn(|| self.cache.pop_woken()).collect()
    }
}
