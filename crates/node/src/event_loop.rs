//! Node's event loop (libuv), as far as a poll descriptor and a timer need it. The symbols are the
//! Node executable's own.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use napi::sys;

/// `UV_POLL` and `UV_TIMER` of `uv_handle_type`, unchanged since libuv 1.0.
const POLL: c_int = 8;
const TIMER: c_int = 13;
/// `UV_READABLE`.
const READABLE: c_int = 1;
/// Alignment of every uv handle.
const ALIGNMENT: usize = 16;

type Callback = unsafe extern "C" fn(*mut c_void);
type PollCallback = unsafe extern "C" fn(*mut c_void, c_int, c_int);

unsafe extern "C" {
    fn uv_handle_size(kind: c_int) -> usize;
    fn uv_handle_set_data(handle: *mut c_void, data: *mut c_void);
    fn uv_handle_get_data(handle: *const c_void) -> *mut c_void;
    fn uv_poll_init(event_loop: *mut c_void, handle: *mut c_void, fd: c_int) -> c_int;
    fn uv_poll_start(handle: *mut c_void, events: c_int, callback: PollCallback) -> c_int;
    fn uv_timer_init(event_loop: *mut c_void, handle: *mut c_void) -> c_int;
    fn uv_timer_start(handle: *mut c_void, callback: Callback, timeout: u64, repeat: u64) -> c_int;
    fn uv_timer_stop(handle: *mut c_void) -> c_int;
    fn uv_ref(handle: *mut c_void);
    fn uv_unref(handle: *mut c_void);
    fn uv_close(handle: *mut c_void, callback: Callback);
}

/// What the loop calls.
pub(crate) trait Woken {
    /// The descriptor is readable, or the timer's time has come.
    fn on_wake(&self);
    /// Both handles are closed.
    fn on_closed(&self);
}

/// A poll handle and a timer in Node's loop, on the loop's thread.
pub(crate) struct EventLoop {
    poll: NonNull<c_void>,
    timer: NonNull<c_void>,
}

impl EventLoop {
    /// Calls `woken` when `fd` is readable. `None` if the loop refuses.
    ///
    /// # Safety
    /// `env` is the present one; `woken` stays where it is until `on_closed` has been called.
    pub(crate) unsafe fn new<W: Woken>(
        env: sys::napi_env,
        fd: c_int,
        woken: *const W,
    ) -> Option<Self> {
        let mut event_loop = std::ptr::null_mut();
        // SAFETY: `env` is valid by contract; the pointer is written only.
        if unsafe { sys::napi_get_uv_event_loop(env, &raw mut event_loop) } != sys::Status::napi_ok
        {
            return None;
        }
        let event_loop = event_loop.cast::<c_void>();
        let (poll, timer) = (allocate(POLL)?, allocate(TIMER)?);
        // SAFETY: the handles are zeroed memory of the size that libuv asked for, on the loop's thread,
        // and are given back only after `uv_close` has called back.
        unsafe {
            if uv_poll_init(event_loop, poll.as_ptr(), fd) != 0
                || uv_timer_init(event_loop, timer.as_ptr()) != 0
            {
                return None;
            }
            uv_handle_set_data(poll.as_ptr(), woken.cast_mut().cast());
            uv_handle_set_data(timer.as_ptr(), woken.cast_mut().cast());
            uv_unref(timer.as_ptr());
            uv_unref(poll.as_ptr());
            uv_poll_start(poll.as_ptr(), READABLE, on_poll::<W>);
        }
        Some(Self { poll, timer })
    }

    /// Whether the loop stays alive for this.
    pub(crate) fn reference(&self, alive: bool) {
        // SAFETY: the handle is initialised and not closed: `close` takes `self`.
        unsafe { if alive { uv_ref(self.poll.as_ptr()) } else { uv_unref(self.poll.as_ptr()) } }
    }

    /// Wakes after so many milliseconds; `None`: not at all.
    pub(crate) fn set_timer<W: Woken>(&self, after: Option<u64>) {
        // SAFETY: as in `reference`; `W` is the type given to `new`.
        unsafe {
            match after {
                Some(after) => uv_timer_start(self.timer.as_ptr(), on_timer::<W>, after, 0),
                None => uv_timer_stop(self.timer.as_ptr()),
            };
        }
    }

    /// Leaves the loop; `on_closed` follows.
    pub(crate) fn close<W: Woken>(self) {
        // SAFETY: both handles are initialised and closed once. The callbacks come in this order.
        unsafe {
            uv_close(self.poll.as_ptr(), on_closed_poll);
            uv_close(self.timer.as_ptr(), on_closed_timer::<W>);
        }
    }
}

fn layout(kind: c_int) -> Option<Layout> {
    // SAFETY: a pure function of libuv.
    let size = unsafe { uv_handle_size(kind) };
    Layout::from_size_align(size, ALIGNMENT).ok()
}

fn allocate(kind: c_int) -> Option<NonNull<c_void>> {
    // SAFETY: no handle has a size of zero.
    NonNull::new(unsafe { alloc_zeroed(layout(kind)?) }.cast())
}

unsafe extern "C" fn on_poll<W: Woken>(handle: *mut c_void, _status: c_int, _events: c_int) {
    // SAFETY: set in `new`, which asks for it to outlive the handle.
    unsafe { (*uv_handle_get_data(handle).cast::<W>()).on_wake() }
}

unsafe extern "C" fn on_timer<W: Woken>(handle: *mut c_void) {
    // SAFETY: as in `on_poll`.
    unsafe { (*uv_handle_get_data(handle).cast::<W>()).on_wake() }
}

unsafe extern "C" fn on_closed_poll(handle: *mut c_void) {
    if let Some(layout) = layout(POLL) {
        // SAFETY: allocated with this layout; libuv has let go of it.
        unsafe { dealloc(handle.cast(), layout) }
    }
}

unsafe extern "C" fn on_closed_timer<W: Woken>(handle: *mut c_void) {
    // SAFETY: as in `on_poll`, for the last time.
    let woken = unsafe { uv_handle_get_data(handle).cast::<W>() };
    if let Some(layout) = layout(TIMER) {
        // SAFETY: as in `on_closed_poll`.
        unsafe { dealloc(handle.cast(), layout) }
    }
    // SAFETY: as in `on_poll`.
    unsafe { (*woken).on_closed() }
}
