//! How much memory something takes: the allocator of programs of tests that bound it. It counts for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that are allocated, and the most that were.
    static ALLOCATED: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

struct Counting;

impl Counting {
    fn count(change: isize) {
        let (now, most) = ALLOCATED.get();
        ALLOCATED.set((now + change, most.max(now + change)));
    }
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that is taken at a time while this runs.
pub(crate) fn peak(run: impl FnOnce()) -> isize {
    let (before, _) = ALLOCATED.get();
    ALLOCATED.set((before, before));
    run();
    ALLOCATED.get().1 - before
}
