//! A hit allocates nothing, and memory stays within the bound. A program of its own, because an allocator is the whole
//! program's.

#[expect(dead_code, reason = "of the tests of the crate, of which this takes a part")]
#[path = "integration/origin.rs"]
mod origin;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use millrace_cache::{Lookup, Pass, Settings};
use origin::{HOST, Site, get, settings};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        BYTES.set(BYTES.get().wrapping_add(layout.size()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get().wrapping_sub(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_hit_allocates_nothing() {
    let mut site = Site::new(settings());
    let fields = "Accept-Encoding: gzip, br\r\nX-Forwarded-Proto: https\r\n\
                  Forwarded: for=192.0.2.1;host=b.example\r\nX-Request-Id: 1\r\n";
    site.store("/", fields, "Vary: Accept-Encoding\r\nETag: \"1\"\r\n", "hello");
    let private = site.lead("/private", fields);
    site.cache.abandon(private, site.now, millrace_cache::NotStored::Private);
    let lines = format!("{HOST}{fields}If-None-Match: \"2\"\r\n");
    let mut out = Vec::with_capacity(1024);
    let mut before = 0;
    for round in 0..1001 {
        if round == 1 {
            // From here on, scratch memory has grown.
            before = ALLOCATIONS.get();
        }
        out.clear();
        let Lookup::Hit(hit) = site.cache.lookup(site.now, &get("/", &lines), 0) else {
            panic!("a hit")
        };
        hit.write(b"Connection: close\r\n", &mut out);
        let passed = site.cache.lookup(site.now, &get("/private", &lines), 0);
        assert!(matches!(passed, Lookup::Pass(Pass::Uncacheable)));
    }
    assert!(before > 0 && out.ends_with(b"hello"), "nothing was counted or written");
    assert_eq!(ALLOCATIONS.get() - before, 0, "allocations in 2000 lookups");
}

/// What the cache says it holds is what it holds, small entries with long keys and none included.
#[test]
fn memory_stays_within_the_bound() {
    const BOUND: usize = 4 << 20;
    for body in [0, 100, 2000, 200_000] {
        let before = BYTES.get();
        let mut site = Site::new(Settings { max_bytes: BOUND, ..settings() });
        let body = "x".repeat(body);
        let count = if body.len() > 10_000 { 200 } else { 8_000 };
        for n in 0..count {
            let target = format!("/{n}?{}", "y".repeat(n % 100));
            // Half of them for one URI each, half of them of one URI.
            let target = if n % 2 == 0 { target.as_str() } else { "/" };
            let fields = format!("A: 1\r\nX-Forwarded-Host: {n}.example\r\n");
            site.store(target, &fields, "Vary: A\r\n", &body);
            assert!(site.statistics().bytes <= BOUND);
        }
        assert!(site.statistics().evictions > 0, "the bound was not reached");
        let held = BYTES.get().wrapping_sub(before);
        assert!(held <= BOUND + body.len(), "{held} bytes, body {}", body.len());
        assert!(held * 2 >= site.statistics().bytes, "it counts what is not there: {held}");
    }
}

/// Nothing stays of what was asked for and not stored.
#[test]
fn what_is_not_stored_costs_nothing() {
    let mut site = Site::new(settings());
    let ask = |site: &mut Site, n: usize| {
        let target = format!("/{n}");
        let lead = site.lead(&target, "");
        site.get(&target, "");
        site.cache.abandon(lead, site.now, millrace_cache::NotStored::Failed);
        assert!(site.woken().len() == 1);
    };
    ask(&mut site, 0);
    let before = BYTES.get();
    (1..5000).for_each(|n| ask(&mut site, n));
    let held = BYTES.get().wrapping_sub(before);
    assert!(held < 1000, "{held} bytes of 5000 requests");
}
