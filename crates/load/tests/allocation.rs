//! Requests allocate nothing once the buffers have grown. A program of its own, because an allocator is the whole
//! program's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;

use millrace_load::Run;
use millrace_load::plan::{Endpoint, Http2Plan, Origin, Plan, Request, Table};
use millrace_load::rendered::{RenderOptions, Rendered};
use millrace_load::template::{Names, Values};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Those of all threads.
static ALL: AtomicU64 = AtomicU64::new(0);

/// Bytes that are allocated now, by all threads.
static BYTES: AtomicI64 = AtomicI64::new(0);

struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        ALL.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        ALL.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(size as i64 - layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn rendering_allocates_nothing() {
    let table = Table {
        name: "t.csv".into(),
        columns: vec!["id".into()],
        rows: vec![vec!["1".into()], vec!["22".into()]],
    };
    let tables = [table];
    let request = Request {
        origin: 0,
        method: "POST".into(),
        target: "/{{seq}}".into(),
        fields: vec![("X-Id".into(), "{{uuid}}".into())],
        body: Some(b"{{csv:t.csv:id}} {{random:0-18446744073709551615}}".to_vec()),
        weight: 1.0,
        name: 0,
        body_format: millrace_load::plan::flow::BodyFormat::Text,
        expected: None,
    };
    let rendered = {
        let names = Some(Names { tables: &tables, variables: &[] });
        let options = RenderOptions { close: true, names, copies: 1, traced: true };
        Rendered::new(&request, options).unwrap()
    };
    let mut random = fastrand::Rng::with_seed(1);
    let (mut scratch, mut out) = (Vec::with_capacity(512), Vec::with_capacity(512));
    let before = ALLOCATIONS.get();
    let mut bytes = 0;
    for sequence in 0..10_000 {
        out.clear();
        let mut values = Values::new(sequence, &mut random);
        rendered.render(&mut values, &mut scratch, &mut out);
        bytes += out.len();
    }
    let allocations = ALLOCATIONS.get() - before;
    assert!(before > 0 && bytes > 1_000_000, "nothing was counted or rendered");
    assert_eq!(allocations, 0, "allocations in 10000 requests");
}

/// What is counted belongs to one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn plan(port: u16, target: &str, requests: u64) -> Plan {
    let origin = Origin {
        endpoint: Endpoint::Host("127.0.0.1".into(), port),
        server_name: None,
        http2: false,
    };
    let request = Request {
        origin: 0,
        method: "GET".into(),
        target: target.into(),
        fields: vec![("Host".into(), "peer".into())],
        body: None,
        weight: 1.0,
        name: 0,
        body_format: millrace_load::plan::flow::BodyFormat::Text,
        expected: None,
    };
    Plan {
        placeholders: true,
        duration: None,
        max_requests: Some(requests),
        ..Plan::closed(vec![origin], vec![request])
    }
}

/// Runs a plan against a server on a thread of its own; gives the allocations of all threads.
fn allocations(plan: Plan, listener: TcpListener, serve: fn(TcpStream)) -> u64 {
    let requests = plan.max_requests;
    let server = thread::spawn(move || serve(listener.accept().unwrap().0));
    let before = ALL.load(Ordering::Relaxed);
    let outcome = Run::new(plan).run(&mut |_| ()).unwrap();
    let allocations = ALL.load(Ordering::Relaxed) - before;
    assert_eq!(Some(outcome.total.counts.ok), requests);
    server.join().unwrap();
    allocations
}

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Checks that 10,000 requests more allocate nothing more.
fn assert_no_more(what: &str, mut allocations: impl FnMut(u64) -> u64) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (few, many) = (allocations(1000), allocations(11_000));
    // Windows of statistics allocate: some for each 100 ms.
    let more = many.saturating_sub(few);
    assert!(more < 1000, "{more} allocations in 10000 requests more, {what}");
}

fn serve_http1(mut stream: TcpStream) {
    let mut buffer = [0; 4096];
    let mut line_ends = 0;
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        // A request has three lines: the third one is empty.
        line_ends += buffer[..count].iter().filter(|byte| **byte == b'\n').count();
        for _ in 0..line_ends / 3 {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").unwrap();
        }
        line_ends %= 3;
    }
}

#[test]
fn requests_of_a_run_allocate_nothing() {
    for (pipelining, target) in [(1, "/"), (8, "/"), (8, "/{{seq}}")] {
        assert_no_more(&format!("{pipelining}, {target}"), |requests| {
            let (listener, port) = listen();
            let plan = Plan { pipelining, early_ack_probe: true, ..plan(port, target, requests) };
            allocations(plan, listener, serve_http1)
        });
    }
}

/// HTTP/2 with prior knowledge.
fn http2(plan: Plan) -> Plan {
    let http2 = Http2Plan { cleartext: true, ..Http2Plan::default() };
    Plan { http2, ..plan }
}

/// A connection of HTTP/2 that allocates nothing.
struct Http2Connection {
    stream: TcpStream,
    /// What has arrived of the next frame.
    buffer: Box<[u8; 65_536]>,
    length: usize,
}

impl Http2Connection {
    /// Reads the preface and sends settings: windows of 2^31-1 bytes.
    fn accept(listener: &TcpListener) -> Self {
        let (stream, _) = listener.accept().unwrap();
        Self::begin(stream)
    }

    fn begin(mut stream: TcpStream) -> Self {
        stream.read_exact(&mut [0; 24]).unwrap();
        stream.write_all(b"\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff").unwrap();
        stream.write_all(b"\0\0\x04\x08\0\0\0\0\0\x7f\xff\0\0").unwrap();
        Self { stream, buffer: Box::new([0; 65_536]), length: 0 }
    }

    /// Reads once, and calls `ended` with each stream whose request has ended. `false`: the client has gone.
    fn read(&mut self, mut ended: impl FnMut(&mut TcpStream, u32)) -> bool {
        let Ok(count @ 1..) = self.stream.read(&mut self.buffer[self.length..]) else {
            return false;
        };
        self.length += count;
        let mut at = 0;
        while let Some(&[a, b, c, kind, flags, s0, s1, s2, s3]) =
            self.buffer[at..self.length].first_chunk()
        {
            let end = at + 9 + u32::from_be_bytes([0, a, b, c]) as usize;
            if end > self.length {
                break;
            }
            at = end;
            if kind <= 1 && flags & 1 != 0 {
                ended(&mut self.stream, u32::from_be_bytes([s0, s1, s2, s3]));
            }
        }
        self.buffer.copy_within(at..self.length, 0);
        self.length -= at;
        true
    }
}

/// A response to a stream: HEADERS with `:status: 200`, DATA with two bytes.
fn answer(stream: &mut TcpStream, number: u32) {
    let [a, b, c, d] = number.to_be_bytes();
    let head = [0, 0, 1, 1, 4, a, b, c, d, 0x88];
    let data = [0, 0, 2, 0, 1, a, b, c, d, b'h', b'i'];
    let mut response = [0; 21];
    response[..10].copy_from_slice(&head);
    response[10..].copy_from_slice(&data);
    stream.write_all(&response).unwrap();
}

fn serve_http2(stream: TcpStream) {
    let mut connection = Http2Connection::begin(stream);
    while connection.read(answer) {}
}

/// Blocks that are kept and blocks that are encoded anew, bodies within the windows.
#[test]
fn requests_of_a_run_over_http2_allocate_nothing() {
    for (streams, target, body) in
        [(1, "/", None), (10, "/", None), (10, "/{{seq}}", None), (10, "/", Some(vec![b'x'; 900]))]
    {
        assert_no_more(&format!("{streams} streams, {target}"), |requests| {
            let (listener, port) = listen();
            let mut plan = Plan { pipelining: streams, ..http2(plan(port, target, requests)) };
            plan.requests[0].body.clone_from(&body);
            allocations(plan, listener, serve_http2)
        });
    }
}

/// Bytes that are allocated while so many connections have 100 streams each, of which the first ones have been answered.
fn bytes_with(connections: usize) -> i64 {
    const STREAMS: usize = 100;
    let (listener, port) = listen();
    let server = thread::spawn(move || {
        let accepted = (0..connections).map(|_| Http2Connection::accept(&listener));
        let mut accepted: Vec<_> = accepted.collect();
        let mut bytes = 0;
        for _ in 0..3 {
            let mut open = vec![Vec::with_capacity(STREAMS); connections];
            for (connection, open) in accepted.iter_mut().zip(&mut open) {
                while open.len() < STREAMS {
                    assert!(connection.read(|_, stream| open.push(stream)));
                }
            }
            bytes = BYTES.load(Ordering::Relaxed);
            for (connection, open) in accepted.iter_mut().zip(open) {
                open.into_iter().for_each(|stream| answer(&mut connection.stream, stream));
            }
        }
        while accepted.iter_mut().all(|connection| connection.read(answer)) {}
        bytes
    });
    let requests = (3 * STREAMS * connections) as u64;
    let plan = Plan {
        pipelining: STREAMS,
        connections,
        initial_connections: connections,
        ..http2(plan(port, "/", requests))
    };
    let outcome = Run::new(plan).run(&mut |_| ()).unwrap();
    assert_eq!(outcome.total.counts.ok, requests);
    server.join().unwrap()
}

#[test]
fn a_connection_with_100_streams_takes_less_than_64_kib() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // The server's buffer and list of streams are not the client's.
    let of_server = 65_536 + 100 * 4;
    let each = (bytes_with(21) - bytes_with(1)) / 20 - of_server;
    writeln!(std::io::stderr(), "a connection with 100 streams: {each} bytes").unwrap();
    assert!((1024..64 * 1024).contains(&each), "{each} bytes");
}
