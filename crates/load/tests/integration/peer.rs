//! A server on threads of its own that does what a test tells it, and counts what arrives: the truth
//! that outcomes are held against.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use millrace_load::plan::{Endpoint, Model, Origin, Plan, Request};
use millrace_load::{Outcome, Run};

/// An ordinary response.
pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

pub(crate) struct Peer {
    address: SocketAddr,
    seen: Arc<Seen>,
    stopped: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    /// Method and target of each request.
    requests: Mutex<Vec<String>>,
}

/// One connection, as the server sees it.
pub(crate) struct Exchange {
    pub(crate) stream: TcpStream,
    arrived: Vec<u8>,
    seen: Arc<Seen>,
}

impl Peer {
    /// `serve` is called with each connection; when it returns the connection is closed.
    pub(crate) fn start(serve: impl Fn(&mut Exchange) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, stopped) = (Arc::<Seen>::default(), Arc::<AtomicBool>::default());
        let (all, until) = (Arc::clone(&seen), Arc::clone(&stopped));
        let thread = thread::spawn(move || {
            thread::scope(|scope| {
                for stream in listener.incoming().map_while(Result::ok) {
                    if until.load(Ordering::SeqCst) {
                        return;
                    }
                    all.connections.fetch_add(1, Ordering::SeqCst);
                    let (seen, arrived) = (Arc::clone(&all), Vec::new());
                    let mut exchange = Exchange { stream, arrived, seen };
                    let serve = &serve;
                    scope.spawn(move || serve(&mut exchange));
                }
            });
        });
        Self { address, seen, stopped, thread }
    }

    /// Answers every request with [`OK`].
    pub(crate) fn prompt() -> Self {
        Self::start(|exchange| exchange.answer_all(|_| OK.to_vec()))
    }

    /// Reads every request and answers none.
    pub(crate) fn hung() -> Self {
        Self::start(|exchange| while exchange.request().is_some() {})
    }

    /// A closed run of `GET /` for 200 ms over one connection on one thread, to be changed at will.
    pub(crate) fn plan(&self) -> Plan {
        plan(Endpoint::Host(self.address.ip().to_string(), self.address.port()))
    }

    /// Waits for the end of all connections; gives their number, and what arrived on them.
    pub(crate) fn finish(self) -> (usize, Vec<String>) {
        self.stopped.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        self.thread.join().unwrap();
        let requests = std::mem::take(&mut *self.seen.requests.lock().unwrap());
        (self.seen.connections.load(Ordering::SeqCst), requests)
    }
}

impl Exchange {
    /// The next request's method and target; `None` at the end of the connection.
    pub(crate) fn request(&mut self) -> Option<String> {
        let (head, _) = self.whole_request()?;
        Some(head.split(" HTTP/1.1").next().unwrap().to_owned())
    }

    /// The next request's head and body.
    pub(crate) fn whole_request(&mut self) -> Option<(String, String)> {
        loop {
            if let Some(end) = self.arrived.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(self.arrived[..end].to_vec()).unwrap();
                let length = head.split("Content-Length: ").nth(1);
                let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
                let end = end + 4 + length.unwrap_or(0);
                if self.arrived.len() >= end {
                    let start = end - length.unwrap_or(0);
                    let body = String::from_utf8(self.arrived[start..end].to_vec()).unwrap();
                    self.arrived.drain(..end);
                    let request = head.split(" HTTP/1.1").next().unwrap().to_owned();
                    self.seen.requests.lock().unwrap().push(request);
                    return Some((head, body));
                }
            }
            let mut buffer = [0; 4096];
            let count = self.stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
            self.arrived.extend_from_slice(&buffer[..count]);
        }
    }

    /// Records a request that has arrived in another protocol.
    pub(crate) fn record(&self, request: String) {
        self.seen.requests.lock().unwrap().push(request);
    }

    /// Sends bytes; a client that has gone is no matter.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    pub(crate) fn answer_all(&mut self, mut response: impl FnMut(&str) -> Vec<u8>) {
        while let Some(request) = self.request() {
            let response = response(&request);
            self.send(&response);
        }
    }
}

pub(crate) fn plan(endpoint: Endpoint) -> Plan {
    Plan {
        placeholders: true,
        duration: Some(Duration::from_millis(200)),
        connect_timeout: Duration::from_secs(5),
        ..Plan::closed(vec![Origin { endpoint, server_name: None, http2: false }], vec![get("/")])
    }
}

pub(crate) fn get(target: &str) -> Request {
    Request {
        origin: 0,
        method: "GET".into(),
        target: target.into(),
        fields: vec![("Host".into(), "peer".into())],
        body: None,
        weight: 1.0,
        name: 0,
        body_format: millrace_load::plan::flow::BodyFormat::Text,
        expected: None,
    }
}

/// Runs a plan to its end, and checks what holds for every outcome.
pub(crate) fn run(plan: Plan) -> Outcome {
    let open = matches!(plan.model, Model::Open { .. });
    let outcome = Run::new(plan).run(&mut |_| ()).unwrap();
    assert!(outcome.total.adds_up());
    assert!(!open || outcome.total.schedule_adds_up());
    let in_series: u64 = outcome.series.windows.iter().map(|window| window.completed).sum();
    assert_eq!(in_series, outcome.total.counts.arrived());
    let by_workers: u64 = outcome.workers.iter().map(|worker| worker.requests).sum();
    assert_eq!(by_workers, outcome.total.counts.sent);
    outcome
}

/// Requests by number of the errors of each kind.
pub(crate) fn errors(outcome: &Outcome) -> Vec<(&'static str, u64)> {
    outcome.total.counts.errors().map(|(kind, count, _)| (kind.name(), count)).collect()
}
