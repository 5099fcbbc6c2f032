//! What a run is to do, complete and typed: every default has been filled in by the caller.

pub mod flow;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use millrace_http::h2::MAX_WINDOW;
use millrace_net::tls::TlsOptions;

use self::flow::{BodyFormat, Flows};
use crate::{RunError, StatusSet};

/// Far above what a machine can use; beyond, there would be no memory for them.
const MAX_THREADS: usize = 1024;
const MAX_CONNECTIONS: usize = 1 << 20;
const MAX_PIPELINING: usize = 1 << 16;

/// Shares of a run.
const MAX_SEGMENTS: u64 = 1 << 20;

/// Figures of one name take some tens of kilobytes per thread.
const MAX_NAMES: usize = 1024;

/// A run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The servers; requests name them by index.
    pub origins: Vec<Origin>,
    /// The mix of requests.
    pub requests: Vec<Request>,
    /// Number of names that the requests have; figures by name are recorded if there are several.
    pub names: usize,
    /// Requests are drawn by weight; otherwise they are taken in turn.
    pub weighted: bool,
    /// `{{...}}` in targets, field values and bodies is filled in per request.
    pub placeholders: bool,
    /// The tables that placeholders refer to.
    pub tables: Vec<Table>,
    /// Closed or open.
    pub model: Model,
    /// Threads; at least one, at most `connections`.
    pub threads: usize,
    /// Connections over all threads: in use (closed) or at most (open).
    pub connections: usize,
    /// Closed model with several servers: each connection keeps to one server. Otherwise the requests go to the servers in
    /// the order of the mix, and each of the `connections` stands for one to each server, of which one is in use.
    pub pinned: bool,
    /// Connections that are opened before the clock starts.
    pub initial_connections: usize,
    /// Closed: how the connections in use change from `initial_connections` on; empty: all are in use throughout.
    pub connection_stages: Vec<ConnectionStage>,
    /// Addresses of this host that connections come from, in turn; empty: the system chooses.
    pub local_addresses: Vec<IpAddr>,
    /// Requests in flight per connection, at least one: pipelined, or streams of HTTP/2.
    pub pipelining: usize,
    /// A new connection for each request.
    pub close: bool,
    /// Redirections of one request that are followed at most: those that stay on its server and its connection. They count
    /// as one request with the last response. Zero: none is.
    pub follow: u32,
    /// Length of the measurement; `None`: until all requests are done.
    pub duration: Option<Duration>,
    /// Requests of the measurement.
    pub max_requests: Option<u64>,
    /// Load before the measurement.
    pub warmup: Duration,
    /// First byte sent to last byte received.
    pub timeout: Duration,
    /// For the connect and, again, for the handshake.
    pub connect_timeout: Duration,
    /// For origins with TLS. The engine sets which protocols it offers.
    pub tls: TlsOptions,
    /// Statuses of a success; others are status errors.
    pub expected: StatusSet,
    /// The requests are calls of gRPC: the status of a response of gRPC is its `grpc-status`, a number below
    /// 100; that of others is the status of HTTP.
    pub grpc: bool,
    /// Snapshots have the numbers by name.
    pub snapshots_by_name: bool,
    /// The outcome has the latencies of each window, so that windows of several runs can be added up.
    pub window_latencies: bool,
    /// Snapshots count the samples above these.
    pub bounds: Vec<Bound>,
    /// An experiment: when the first part of a response has arrived and the rest has not, an empty line is
    /// sent. It carries the acknowledgement, which ends a server's wait for it (Nagle's algorithm, RFC 896)
    /// before the delay of acknowledgements does. Only on connections that are kept: one that ends with
    /// its response does not wait, as the end pushes what is left.
    pub early_ack_probe: bool,
    /// Seeds arrivals and placeholders: the same seed gives the same requests.
    pub seed: u64,
    /// Share of the requests, or of the iterations of flows, that have a trace context; `None`: none has.
    pub traced: Option<f64>,
    /// The share of a larger run that this one is. Rates are those of the whole run; connections and numbers of requests,
    /// users and arrivals that may wait are the share's own.
    pub segment: Segment,
    /// When the load begins at the earliest, from [`Run::new`](crate::Run::new) on; `None`: as soon as the first connections
    /// are open.
    pub start_after: Option<Duration>,
    /// What users do; `None`: the requests are independent of each other.
    pub flows: Option<Flows>,
    /// Where HTTP/2 is spoken.
    pub http2: Http2Plan,
}

/// A share of a run: the requests of the run are dealt in turn to its shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// From 0 to `count - 1`.
    pub index: u64,
    /// Shares of the run, 1 to 2^20.
    pub count: u64,
}

impl Default for Segment {
    /// The whole run.
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

/// Where HTTP/2 is spoken, and how. Servers with calls of gRPC ([`Origin::http2`]) speak it in any case.
#[derive(Clone, Copy, Debug)]
pub struct Http2Plan {
    /// The versions that connections with TLS offer.
    pub tls: Versions,
    /// Connections without TLS speak HTTP/2, with prior knowledge (RFC 9113, section 3.3).
    pub cleartext: bool,
    /// The window of each stream, and of a connection, for what the server sends: 1 to 2^31-1 bytes. That of a connection is
    /// at least 65,535.
    pub window: u32,
}

impl Default for Http2Plan {
    fn default() -> Self {
        Self { tls: Versions::Http1, cleartext: false, window: MAX_WINDOW }
    }
}

impl Http2Plan {
    /// The versions that connections to this server may speak.
    pub(crate) fn versions(&self, origin: &Origin) -> Versions {
        match &origin.server_name {
            _ if origin.http2 => Versions::Http2,
            Some(_) => self.tls,
            None if self.cleartext => Versions::Http2,
            None => Versions::Http1,
        }
    }
}

/// Versions of HTTP that a connection may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone.
    Http2,
    /// HTTP/2, or HTTP/1.1 where the server has no HTTP/2.
    Either,
}

/// A time that samples are held against.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Of the service time; otherwise of the latency.
    pub service_time: bool,
    /// What a sample may be above.
    pub time: Duration,
}

/// A server.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Where it is.
    pub endpoint: Endpoint,
    /// The name for TLS, if TLS is spoken.
    pub server_name: Option<String>,
    /// HTTP/2 is spoken whatever [`Http2Plan`] says: some of the requests to it are calls of gRPC.
    pub http2: bool,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// A name or address literal, and a port.
    Host(String, u16),
    /// Several of them for one server, used as the addresses of a name are.
    Hosts(Vec<String>, u16),
    /// A Unix socket.
    Unix(PathBuf),
}

/// One request of the mix. `Content-Length` and `Connection` are added by the engine.
#[derive(Clone, Debug)]
pub struct Request {
    /// Index into the plan's origins.
    pub origin: usize,
    /// A token.
    pub method: String,
    /// The request-target.
    pub target: String,
    /// Names and values, `Host` among them.
    pub fields: Vec<(String, String)>,
    /// The body; `None`: no body and no `Content-Length`.
    pub body: Option<Vec<u8>>,
    /// Share in a weighted mix.
    pub weight: f64,
    /// Its name, by number: requests with the same name have their figures together.
    pub name: u32,
    /// How placeholders of the body are filled in.
    pub body_format: BodyFormat,
    /// Statuses of a success, if they are not the plan's.
    pub expected: Option<StatusSet>,
}

/// Rows that placeholders are filled from.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name that placeholders use.
    pub name: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Each row has a value per column.
    pub rows: Vec<Vec<String>>,
}

/// Who decides when the next request is due.
#[derive(Clone, Debug)]
pub enum Model {
    /// The responses: a slot sends its next request `think_time` after the last one was answered.
    Closed {
        /// Zero: flat out.
        think_time: Duration,
    },
    /// The schedule.
    Open {
        /// Arrivals per second at the start.
        rate: f64,
        /// Changes of the rate; the last rate holds to the end.
        stages: Vec<Stage>,
        /// Random spacing with the given rate; otherwise even.
        poisson: bool,
        /// The most arrivals that wait or are in flight.
        max_pending: u64,
    },
}

/// A straight line from the rate before to `rate`.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// May be zero: a step.
    pub duration: Duration,
    /// Arrivals per second at the end.
    pub rate: f64,
}

/// A straight line from the number of connections before to `connections`.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionStage {
    /// May be zero: a step.
    pub duration: Duration,
    /// Connections in use at the end.
    pub connections: usize,
}

impl Plan {
    /// A closed run over one connection for 10 s, with requests in turn.
    #[must_use]
    pub fn closed(origins: Vec<Origin>, requests: Vec<Request>) -> Self {
        Self {
            origins,
            requests,
            names: 1,
            weighted: false,
            placeholders: false,
            tables: Vec::new(),
            model: Model::Closed { think_time: Duration::ZERO },
            threads: 1,
            connections: 1,
            pinned: false,
            initial_connections: 1,
            connection_stages: Vec::new(),
            local_addresses: Vec::new(),
            pipelining: 1,
            close: false,
            follow: 0,
            duration: Some(Duration::from_secs(10)),
            max_requests: None,
            warmup: Duration::ZERO,
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(3),
            tls: TlsOptions::default(),
            expected: StatusSet::below_400(),
            snapshots_by_name: false,
            window_latencies: false,
            bounds: Vec::new(),
            early_ack_probe: false,
            seed: 1,
            traced: None,
            segment: Segment::default(),
            start_after: None,
            flows: None,
            http2: Http2Plan::default(),
            grpc: false,
        }
    }

    /// What the types cannot rule out.
    pub fn check(&self) -> Result<(), RunError> {
        let usage = |message: String| Err(RunError::Usage(message));
        if self.requests.is_empty() || self.requests.iter().any(|r| r.origin >= self.origins.len())
        {
            return usage("a run needs a request, and each request an origin".into());
        }
        if self.threads == 0 || self.connections < self.threads || self.pipelining == 0 {
            return usage(format!(
                "{} connections, {} threads, pipelining {}: each must be at least 1, and connections \
                 at least the number of threads",
                self.connections, self.threads, self.pipelining
            ));
        }
        if self.threads > MAX_THREADS
            || self.connections.saturating_mul(self.servers_per_slot()) > MAX_CONNECTIONS
            || self.pipelining > MAX_PIPELINING
        {
            return usage(format!(
                "{} connections, {} threads, pipelining {}: at most {MAX_CONNECTIONS}, {MAX_THREADS} and \
                 {MAX_PIPELINING}",
                self.connections, self.threads, self.pipelining
            ));
        }
        let Segment { index, count } = self.segment;
        if index >= count || count > MAX_SEGMENTS {
            return usage(format!(
                "share {index} of {count}: shares count from 0, and there are at most {MAX_SEGMENTS}"
            ));
        }
        let is_share = |number: &f64| number.is_finite() && *number >= 0.0;
        if !self.requests.iter().all(|request| is_share(&request.weight)) {
            return usage("a weight that is no number of at least zero".into());
        }
        if self.names > MAX_NAMES || self.requests.iter().any(|r| r.name as usize >= self.names) {
            return usage(format!("{} names: requests may have up to {MAX_NAMES}", self.names));
        }
        if !self.traced.iter().all(|share| (0.0..=1.0).contains(share)) {
            return usage("a share of trace contexts that is not from 0 to 1".into());
        }
        if !self.rates().iter().all(is_share) {
            return usage("a rate that is no number of at least zero".into());
        }
        let are_shared = self.servers_per_slot() == 1;
        if are_shared && self.connections < self.threads * self.origins.len() {
            return usage(format!(
                "{} connections are too few: {} servers on {} threads need at least {}",
                self.connections,
                self.origins.len(),
                self.threads,
                self.threads * self.origins.len()
            ));
        }
        let named = |origin| self.requests.iter().any(|request| request.origin == origin);
        if !(0..self.origins.len()).all(named) {
            return usage("a server that no request goes to".into());
        }
        if self.close && self.pipelining > 1 {
            return usage("pipelining needs connections that are kept".into());
        }
        if self.http2.window == 0 || self.http2.window > MAX_WINDOW {
            return usage(format!(
                "a window of {} bytes: 1 to {MAX_WINDOW} are possible",
                self.http2.window
            ));
        }
        let speaks_http1 = |origin| self.http2.versions(origin) == Versions::Http1;
        let may_pipeline = self.pipelining > 1 && self.origins.iter().any(speaks_http1);
        if self.follow > 0 && (self.close || may_pipeline) {
            return usage(
                "redirections are followed on connections that are kept, without pipelining".into(),
            );
        }
        if self.close && self.early_ack_probe {
            return usage("empty lines between requests need connections that are kept".into());
        }
        if !self.connection_stages.is_empty() && matches!(self.model, Model::Open { .. }) {
            return usage("stages of connections need the closed model".into());
        }
        let numbers = self.connection_stages.iter().map(|stage| stage.connections);
        if let Some(most) = numbers.max()
            && most > self.connections
        {
            return usage(format!("{most} connections in a stage of {}", self.connections));
        }
        if self.duration.is_none() && self.max_requests.is_none() {
            return usage("a run needs a duration or a number of requests".into());
        }
        Ok(())
    }

    /// Servers to which a place for a connection has one: all of them where a closed run takes them in turn, otherwise one.
    pub(crate) fn servers_per_slot(&self) -> usize {
        match self.model {
            Model::Closed { .. } if !self.pinned => self.origins.len().max(1),
            _ => 1,
        }
    }

    /// Arrivals per second, all that the schedule names.
    fn rates(&self) -> Vec<f64> {
        let Model::Open { rate, stages, .. } = &self.model else { return Vec::new() };
        std::iter::once(*rate).chain(stages.iter().map(|stage| stage.rate)).collect()
    }

    /// Share of thread `index` of `total` things: the remainder goes to the first threads.
    pub(crate) fn share(&self, total: u64, index: usize) -> u64 {
        let threads = self.threads as u64;
        total / threads + u64::from((index as u64) < total % threads)
    }
}

#[cfg(test)]
pub(crate) mod tests;
