//! Rendering requests allocates nothing once the buffers have grown. A program of its own, because an
//! allocator is the whole program's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use millrace_load::plan::{Request, Table};
use millrace_load::rendered::Rendered;
use millrace_load::template::Values;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
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
    };
    let rendered = Rendered::new(&request, true, Some(&tables), 1).unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    let (mut scratch, mut out) = (Vec::with_capacity(512), Vec::with_capacity(512));
    let before = ALLOCATIONS.get();
    let mut bytes = 0;
    for sequence in 0..10_000 {
        out.clear();
        let mut values = Values { sequence, random: &mut random };
        rendered.render(&mut values, &mut scratch, &mut out);
        bytes += out.len();
    }
    let allocations = ALLOCATIONS.get() - before;
    assert!(before > 0 && bytes > 1_000_000, "nothing was counted or rendered");
    assert_eq!(allocations, 0, "allocations in 10000 requests");
}
