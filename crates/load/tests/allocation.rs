//! Requests allocate nothing once the buffers have grown. A program of its own, because an allocator is the whole
//! program's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use millrace_load::Run;
use millrace_load::plan::{Endpoint, Origin, Plan, Request, Table};
use millrace_load::rendered::Rendered;
use millrace_load::template::{Names, Values};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Those of all threads.
static ALL: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        ALL.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        ALL.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
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
    let rendered =
        Rendered::new(&request, true, Some(Names { tables: &tables, variables: &[] }), 1).unwrap();
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

/// Allocations of a whole run of so many requests, with those of all its threads.
fn allocations(requests: u64, pipelining: usize, target: &str) -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
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
    });
    let origin = Origin { endpoint: Endpoint::Host("127.0.0.1".into(), port), server_name: None };
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
    let plan = Plan {
        placeholders: true,
        pipelining,
        duration: None,
        max_requests: Some(requests),
        early_ack_probe: true,
        ..Plan::closed(vec![origin], vec![request])
    };
    let before = ALL.load(Ordering::Relaxed);
    let outcome = Run::new(plan).run(&mut |_| ()).unwrap();
    let allocations = ALL.load(Ordering::Relaxed) - before;
    assert_eq!(outcome.total.counts.ok, requests);
    server.join().unwrap();
    allocations
}

#[test]
fn requests_of_a_run_allocate_nothing() {
    for (pipelining, target) in [(1, "/"), (8, "/"), (8, "/{{seq}}")] {
        let few = allocations(1000, pipelining, target);
        let many = allocations(11_000, pipelining, target);
        // Windows of statistics allocate: some for each 100 ms.
        let more = many.saturating_sub(few);
        assert!(more < 1000, "{more} allocations in 10000 requests more, {pipelining}, {target}");
    }
}
