//! One server: its limits, and what it answers by itself.

use std::sync::Arc;

use millrace_cache::{Cache, Mode};
use millrace_net::Nanos;
use millrace_net::tls::secure_context::SecureContext;

use crate::connection::id::{ConnId, LaneId};
use crate::connection::session::H2Counts;
use crate::settings::Settings;
use crate::started::Started;
use crate::unusual::UnusualCounts;

/// A server as its connections meet it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) settings: Settings,
    pub(crate) cache: Cache,
    /// Answers to the connection at hand that have not been sent: those to one read leave together.
    pub(crate) answers: Vec<u8>,
    /// Scratch: the lines of an answer that are made for it.
    pub(crate) lines: Vec<u8>,
    /// The lines of an answer behind which the connection stays.
    kept: Vec<u8>,
    /// Requests that are with the caller, and those that have come since it is busy.
    pub(crate) in_flight: u32,
    pub(crate) held: u32,
    /// Those that the caller has not begun to answer, where responses have a limit.
    pub(crate) unanswered: Started<LaneId>,
    /// What handshakes are answered with while the caller is busy.
    pub(crate) context: Option<SecureContext>,
    /// Handshakes that go on, and whether there is a timer for them.
    pub(crate) handshakes: Started<ConnId>,
    pub(crate) has_handshake_timer: bool,
    /// Its connections, and those of them that were accepted since the caller has heard of all that there was to report.
    pub(crate) connections: usize,
    pub(crate) accepted_unreported: usize,
    /// When the timer comes for those who wait for another's response.
    pub(crate) timed: Nanos,
    pub(crate) counts: ServerCounts,
    /// Held by each of its connections that linger, and here.
    pub(crate) lingering: Arc<()>,
}

/// What a server has done without its caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerCounts {
    /// Connections that were accepted and could not be taken, for want of memory or of the system's room to watch them.
    pub lost: u64,
    /// Connections that were given to others.
    pub moved: u64,
    /// TLS connections whose text went to another server, mostly of another process.
    pub relayed: u64,
    /// Requests that were answered since nobody has them.
    pub unowned: u64,
    /// Requests that were refused, since too many were with the caller and it was busy.
    pub refused: u64,
    /// Responses that were given up, since the caller was busy for too long.
    pub timed_out: u64,
    /// Requests that the caller's parser has read, or decided about.
    pub unusual: UnusualCounts,
    /// HTTP/2.
    pub http2: Http2Counts,
}

/// What a server has seen of HTTP/2.
#[derive(Clone, Copy, Debug, Default)]
pub struct Http2Counts {
    /// Connections that speak it.
    pub connections: u64,
    /// Streams that clients have opened.
    pub streams: u64,
    /// Streams that clients have reset, or that broke a rule.
    pub resets: u64,
    /// Streams that were refused: there were too many, or the connection was about to end.
    pub refused: u64,
    /// Connections that ended with an error of the protocol.
    pub errors: u64,
    /// Streams whose request is another process's, and was answered 421.
    pub misdirected: u64,
}

impl Http2Counts {
    pub(crate) fn add(&mut self, is_new: bool, counts: H2Counts) {
        self.connections += u64::from(is_new);
        self.streams += u64::from(counts.streams);
        self.resets += u64::from(counts.resets);
        self.refused += u64::from(counts.refused);
        self.errors += u64::from(counts.errors);
    }
}

/// Connections that are accepted while the caller is busy: as many as wait in the system's queue, by Node's default. Those
/// beyond wait there.
pub(crate) const MAX_UNREPORTED: usize = 511;

/// The line of an answer behind which the connection ends (RFC 9112, section 9.6).
const CLOSES: &[u8] = b"Connection: close\r\n";

impl Server {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            cache: Cache::new(settings.cache.clone()),
            kept: kept_lines(&settings),
            settings,
            answers: Vec::new(),
            lines: Vec::new(),
            unanswered: Started::default(),
            handshakes: Started::default(),
            has_handshake_timer: false,
            connections: 0,
            accepted_unreported: 0,
            timed: Nanos::NEVER,
            in_flight: 0,
            held: 0,
            context: None,
            counts: ServerCounts::default(),
            lingering: Arc::default(),
        }
    }

    pub(crate) fn configure(&mut self, settings: Settings) {
        self.cache.set_settings(settings.cache.clone());
        self.kept = kept_lines(&settings);
        self.settings = settings;
    }

    /// Takes the lines that each answer has.
    pub(crate) fn set_lines(&mut self, keep_alive: bool) {
        self.lines.clear();
        self.lines.extend_from_slice(if keep_alive { &self.kept } else { CLOSES });
    }

    /// One more request would be too much.
    pub(crate) fn is_full(&self) -> bool {
        self.settings.max_in_flight.is_some_and(|most| self.in_flight + self.held >= most)
    }

    /// No more connections are accepted before the caller is there.
    pub(crate) fn is_crowded(&self) -> bool {
        let most = self.settings.max_connections.unwrap_or(usize::MAX);
        self.accepted_unreported >= MAX_UNREPORTED || self.connections >= most
    }

    /// Whether anything may be answered from the cache.
    pub(crate) fn caches(&self) -> bool {
        self.settings.cache.mode != Mode::Off
    }
}

fn kept_lines(settings: &Settings) -> Vec<u8> {
    let mut lines = b"Connection: keep-alive\r\n".to_vec();
    if let Some(seconds) = settings.keep_alive_told {
        lines.extend_from_slice(format!("Keep-Alive: timeout={seconds}\r\n").as_bytes());
    }
    lines
}
