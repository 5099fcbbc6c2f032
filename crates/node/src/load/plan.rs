use std::path::PathBuf;

use millrace_load::StatusSet;
use millrace_load::plan::flow::Flows;
use millrace_load::plan::{
    Bound, ConnectionStage, Endpoint, Http2Plan, Model, Origin, Plan, Request, Segment, Stage,
    Table, Versions,
};
use millrace_net::tls::TlsOptions;
use napi::{Error, Result};
use napi_derive::napi;

use super::flows::{NativeFlows, read_body_format};
use crate::ffi::node_api::List;
use crate::ffi::shared_memory::Bytes;
use crate::time::milliseconds;

/// A server.
#[napi(object, object_to_js = false)]
pub struct NativeOrigin {
    /// Name or address literal, without brackets; ignored with `unixPath`.
    pub host: String,
    /// More of them for the same server, tried in turn.
    #[napi(ts_type = "Array<string>")]
    pub other_hosts: Option<List<String>>,
    /// TCP port.
    pub port: u16,
    /// Path of a Unix socket.
    pub unix_path: Option<String>,
    /// Speaks TLS.
    pub tls: bool,
    /// Server name for TLS; the host if absent.
    pub server_name: Option<String>,
    /// Speaks HTTP/2 whatever the plan says: it has calls of gRPC.
    pub http2: Option<bool>,
}

/// A header field.
#[napi(object, object_to_js = false)]
pub struct NativeHeader {
    /// A token.
    pub name: String,
    /// May hold placeholders.
    pub value: String,
}

/// A request of the mix.
#[napi(object, object_to_js = false)]
pub struct NativeRequest {
    /// Index into the plan's origins.
    pub origin: u32,
    /// A token.
    pub method: String,
    /// The request-target; may hold placeholders.
    pub target: String,
    /// Complete, `Host` included, without `Content-Length` and `Connection`.
    #[napi(ts_type = "Array<NativeHeader>")]
    pub headers: List<NativeHeader>,
    /// May hold placeholders.
    #[napi(ts_type = "Buffer")]
    pub body: Option<Bytes>,
    /// Share in a weighted mix.
    pub weight: f64,
    /// Its name, by number.
    pub name: u32,
    /// How placeholders of the body are filled in: `text`, `json` or `form`.
    pub body_format: Option<String>,
    /// Statuses of a success, if they are not the plan's.
    #[napi(ts_type = "Array<number>")]
    pub expected: Option<List<u32>>,
}

/// A straight line from the rate before to this one.
#[napi(object, object_to_js = false)]
pub struct NativeStage {
    /// Milliseconds.
    pub duration_ms: f64,
    /// Arrivals per second at the end.
    pub rate: f64,
}

/// A straight line from the number of connections before to this one.
#[napi(object, object_to_js = false)]
pub struct NativeConnectionStage {
    /// Milliseconds.
    pub duration_ms: f64,
    /// Connections in use at the end.
    pub connections: u32,
}

/// TLS of a run.
#[napi(object, object_to_js = false)]
pub struct NativeTls {
    /// `keep-alive`, `resume` or `full`.
    pub mode: String,
    /// Check the server's certificate.
    pub verify: bool,
    /// Authorities, PEM; the system's if absent.
    #[napi(ts_type = "Buffer")]
    pub ca: Option<Bytes>,
    /// More of them, PEM, beside the system's.
    #[napi(ts_type = "Buffer")]
    pub extra_ca: Option<Bytes>,
    /// Client certificate, PEM.
    #[napi(ts_type = "Buffer")]
    pub cert: Option<Bytes>,
    /// Its key, PEM.
    #[napi(ts_type = "Buffer")]
    pub key: Option<Bytes>,
}

/// A time that samples are held against.
#[napi(object, object_to_js = false)]
pub struct NativeBound {
    /// Of the service time; otherwise of the latency.
    pub service_time: bool,
    /// Milliseconds.
    pub ms: f64,
}

/// Rows for placeholders.
#[napi(object, object_to_js = false)]
pub struct NativeCsv {
    /// The file, as placeholders name it.
    pub name: String,
    /// Names of the columns.
    #[napi(ts_type = "Array<string>")]
    pub columns: List<String>,
    /// Each row has a value per column.
    #[napi(ts_type = "Array<Array<string>>")]
    pub rows: List<List<String>>,
}

/// Where HTTP/2 is spoken, and how.
#[napi(object, object_to_js = false)]
pub struct NativeHttp2 {
    /// The versions that connections with TLS offer.
    #[napi(ts_type = "'http1' | 'http2' | 'either'")]
    pub tls: String,
    /// Connections without TLS speak HTTP/2, with prior knowledge.
    pub cleartext: bool,
    /// Flow-control window of streams and connections, in bytes; absent: the largest.
    pub window: Option<u32>,
}

impl From<NativeHttp2> for Http2Plan {
    fn from(http2: NativeHttp2) -> Self {
        let NativeHttp2 { tls, cleartext, window } = http2;
        let tls = match &tls[..] {
            "http2" => Versions::Http2,
            "either" => Versions::Either,
            _ => Versions::Http1,
        };
        let initial = Self::default();
        Self { tls, cleartext, window: window.unwrap_or(initial.window) }
    }
}

/// What a run is to do; every default has been filled in.
#[napi(object, object_to_js = false)]
pub struct NativePlan {
    /// The servers.
    #[napi(ts_type = "Array<NativeOrigin>")]
    pub origins: List<NativeOrigin>,
    /// The mix.
    #[napi(ts_type = "Array<NativeRequest>")]
    pub requests: List<NativeRequest>,
    /// How many names the requests have.
    pub names: u32,
    /// Drawn by weight; otherwise taken in turn.
    pub weighted: bool,
    /// Fill `{{...}}` in.
    pub placeholders: bool,
    /// Files that placeholders name.
    #[napi(ts_type = "Array<NativeCsv>")]
    pub csv: List<NativeCsv>,
    /// Threads of the engine.
    pub threads: u32,
    /// Connections in use (closed) or at most (open).
    pub connections: u32,
    /// Closed model with several origins: each connection keeps to one of them.
    pub pinned: bool,
    /// Connections opened before the clock starts.
    pub initial_connections: u32,
    /// Closed model: changes of the connections in use, from `initialConnections` on.
    #[napi(ts_type = "Array<NativeConnectionStage>")]
    pub connection_stages: List<NativeConnectionStage>,
    /// Addresses of this host that connections come from, in turn.
    #[napi(ts_type = "Array<string>")]
    pub local_addresses: List<String>,
    /// Requests in flight per connection.
    pub pipelining: u32,
    /// A new connection for each request.
    pub close_connections: bool,
    /// Redirections of one request that are followed at most.
    pub follow: u32,
    /// Closed model: milliseconds between a response and the next request.
    pub think_time_ms: f64,
    /// Present: the open model, with this rate per second at the start.
    pub start_rate: Option<f64>,
    /// Open model: changes of the rate.
    #[napi(ts_type = "Array<NativeStage>")]
    pub stages: List<NativeStage>,
    /// Open model: random spacing.
    pub poisson: bool,
    /// Open model: the most arrivals that wait or are in flight.
    pub max_pending: f64,
    /// Length of the measurement in milliseconds.
    pub duration_ms: Option<f64>,
    /// Requests of the measurement.
    pub max_requests: Option<f64>,
    /// Milliseconds.
    pub warmup_ms: f64,
    /// Milliseconds.
    pub timeout_ms: f64,
    /// Milliseconds.
    pub connect_timeout_ms: f64,
    /// For origins with TLS.
    pub tls: NativeTls,
    /// Statuses of a success.
    #[napi(ts_type = "Array<number>")]
    pub expected: List<u32>,
    /// The requests are calls of gRPC.
    pub grpc: bool,
    /// Snapshots have the numbers by name.
    pub snapshots_by_name: bool,
    /// The outcome has the latencies of each window.
    pub window_latencies: bool,
    /// Snapshots count the samples above these.
    #[napi(ts_type = "Array<NativeBound>")]
    pub bounds: List<NativeBound>,
    /// Send an empty line when the first part of a response has arrived; kept connections only.
    pub early_ack_probe: bool,
    /// For random numbers: below 2^53.
    pub seed: f64,
    /// Share of the requests, or of the iterations of flows, that have a trace context, from 0 to 1; absent: none has.
    pub traced: Option<f64>,
    /// The share of a larger run that this one is, from 0; absent: a whole run.
    pub segment: Option<u32>,
    /// Shares of that run; 1 if absent.
    pub segments: Option<u32>,
    /// Milliseconds from now to the start of the load; absent: as soon as the first connections are open.
    pub start_after_ms: Option<f64>,
    /// Where HTTP/2 is spoken; absent: nowhere.
    pub http2: Option<NativeHttp2>,
    /// What users do; the requests are then those of their steps, and the schedule is that of iterations.
    pub flows: Option<NativeFlows>,
}

/// The CSV files that placeholders in these texts name; throws for a placeholder that is neither known nor one of the variables.
#[napi]
pub fn csv_files(
    #[napi(ts_arg_type = "Array<Buffer>")] templates: List<Bytes>,
    #[napi(ts_arg_type = "Array<string>")] variables: List<String>,
) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for template in templates {
        let names = millrace_load::template::table_names(&template.0, &variables.0)
            .map_err(|error| Error::from_reason(error.to_string()))?;
        files.extend(names.into_iter().filter(|name| !files.contains(name)).collect::<Vec<_>>());
    }
    Ok(files)
}

impl From<NativeConnectionStage> for ConnectionStage {
    fn from(stage: NativeConnectionStage) -> Self {
        let NativeConnectionStage { duration_ms, connections } = stage;
        Self { duration: milliseconds(duration_ms), connections: connections as usize }
    }
}

impl TryFrom<NativePlan> for Plan {
    type Error = Error;

    fn try_from(plan: NativePlan) -> Result<Self> {
        let NativePlan {
            origins,
            requests,
            names,
            weighted,
            placeholders,
            csv,
            threads,
            connections,
            pinned,
            initial_connections,
            connection_stages,
            local_addresses,
            pipelining,
            close_connections,
            follow,
            think_time_ms,
            start_rate,
            stages,
            poisson,
            max_pending,
            duration_ms,
            max_requests,
            warmup_ms,
            timeout_ms,
            connect_timeout_ms,
            tls,
            expected,
            grpc,
            snapshots_by_name,
            window_latencies,
            bounds,
            early_ack_probe,
            seed,
            traced,
            segment,
            segments,
            start_after_ms,
            http2,
            flows,
        } = plan;
        let model = match start_rate {
            None => Model::Closed { think_time: milliseconds(think_time_ms) },
            Some(rate) => Model::Open {
                rate,
                stages: stages.into_iter().map(Stage::from).collect(),
                poisson,
                max_pending: max_pending as u64,
            },
        };
        Ok(Self {
            origins: origins.into_iter().map(Origin::from).collect(),
            requests: requests.into_iter().map(Request::from).collect(),
            names: names as usize,
            weighted,
            placeholders,
            tables: csv.into_iter().map(Table::from).collect(),
            model,
            threads: threads as usize,
            connections: connections as usize,
            pinned,
            initial_connections: initial_connections as usize,
            connection_stages: connection_stages.into_iter().map(ConnectionStage::from).collect(),
            // They have been read as addresses before.
            local_addresses: local_addresses.into_iter().filter_map(|it| it.parse().ok()).collect(),
            pipelining: pipelining as usize,
            close: close_connections,
            follow,
            duration: duration_ms.map(milliseconds),
            max_requests: max_requests.map(|requests| requests as u64),
            warmup: milliseconds(warmup_ms),
            timeout: milliseconds(timeout_ms),
            connect_timeout: milliseconds(connect_timeout_ms),
            tls: tls.into(),
            expected: read_statuses(expected),
            grpc,
            snapshots_by_name,
            window_latencies,
            bounds: bounds.into_iter().map(Bound::from).collect(),
            early_ack_probe,
            seed: seed as u64,
            traced,
            segment: Segment {
                index: segment.unwrap_or(0).into(),
                count: segments.unwrap_or(1).into(),
            },
            start_after: start_after_ms.map(milliseconds),
            flows: flows.map(Flows::try_from).transpose()?,
            http2: http2.map(Http2Plan::from).unwrap_or_default(),
        })
    }
}

fn read_statuses(statuses: List<u32>) -> StatusSet {
    statuses.into_iter().filter_map(|status| u16::try_from(status).ok()).collect()
}

impl From<NativeOrigin> for Origin {
    fn from(origin: NativeOrigin) -> Self {
        let NativeOrigin { host, other_hosts, port, unix_path, tls, server_name, http2 } = origin;
        let server_name = tls.then(|| server_name.unwrap_or_else(|| host.clone()));
        let endpoint = match (unix_path, other_hosts) {
            (Some(path), _) => Endpoint::Unix(PathBuf::from(path)),
            (None, None) => Endpoint::Host(host, port),
            (None, Some(others)) => {
                Endpoint::Hosts(std::iter::once(host).chain(others).collect(), port)
            }
        };
        Self { endpoint, server_name, http2: http2.unwrap_or(false) }
    }
}

impl From<NativeRequest> for Request {
    fn from(request: NativeRequest) -> Self {
        let NativeRequest {
            origin,
            method,
            target,
            headers,
            body,
            weight,
            name,
            body_format,
            expected,
        } = request;
        Self {
            origin: origin as usize,
            method,
            target,
            fields: headers.into_iter().map(|NativeHeader { name, value }| (name, value)).collect(),
            body: body.map(|body| body.0),
            weight,
            name,
            body_format: read_body_format(body_format.as_deref()),
            expected: expected.map(read_statuses),
        }
    }
}

impl From<NativeBound> for Bound {
    fn from(NativeBound { service_time, ms }: NativeBound) -> Self {
        Self { service_time, time: milliseconds(ms) }
    }
}

impl From<NativeStage> for Stage {
    fn from(NativeStage { duration_ms, rate }: NativeStage) -> Self {
        Self { duration: milliseconds(duration_ms), rate }
    }
}

impl From<NativeTls> for TlsOptions {
    fn from(NativeTls { mode, verify, ca, extra_ca, cert, key }: NativeTls) -> Self {
        Self {
            verify,
            authorities: ca.map(|pem| pem.0),
            more_authorities: extra_ca.map(|pem| pem.0),
            identity: cert.zip(key).map(|(cert, key)| (cert.0, key.0)),
            resume: mode != "full",
            ..Self::default()
        }
    }
}

impl From<NativeCsv> for Table {
    fn from(NativeCsv { name, columns, rows }: NativeCsv) -> Self {
        Self { name, columns: columns.0, rows: rows.into_iter().map(|row| row.0).collect() }
    }
}
