//! Node's event loop (libuv), as far as a poll descriptor, a timer and nested runs of the loop need it. The symbols are the
//! Node executable's own.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use napi::{Result, sys};

use crate::stack::{check, reason};

/// `UV_POLL`, `UV_PREPARE` and `UV_TIMER` of `uv_handle_type`, unchanged since libuv 1.0.
const POLL: c_int = 8;
const PREPARE: c_int = 9;
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
    fn uv_poll_stop(handle: *mut c_void) -> c_int;
    fn uv_poll_start(handle: *mut c_void, events: c_int, callback: PollCallback) -> c_int;
    fn uv_timer_init(event_loop: *mut c_void, handle: *mut c_void) -> c_int;
    fn uv_timer_start(handle: *mut c_void, callback: Callback, timeout: u64, repeat: u64) -> c_int;
    fn uv_timer_stop(handle: *mut c_void) -> c_int;
    fn uv_prepare_init(event_loop: *mut c_void, handle: *mut c_void) -> c_int;
    fn uv_prepare_start(handle: *mut c_void, callback: Callback) -> c_int;
    fn uv_prepare_stop(handle: *mut c_void) -> c_int;
    fn uv_is_active(handle: *const c_void) -> c_int;
    fn uv_ref(handle: *mut c_void);
    fn uv_unref(handle: *mut c_void);
    fn uv_close(handle: *mut c_void, callback: Callback);
    fn uv_strerror(status: c_int) -> *const c_char;
}

/// What the loop calls.
pub(crate) trait LoopCallbacks {
    /// The descriptor is readable, or the timer's time has come.
    fn on_wake(&self);
    /// JavaScript that the loop has called runs the loop by itself, which is about to wait.
    fn on_nested_wait(&self);
    /// The loop waits for the descriptor no more: why.
    fn on_failed(&self, why: &str);
    /// All handles are closed.
    fn on_closed(&self);
}

/// A poll handle, a timer and a prepare handle in Node's loop, on the loop's thread.
pub(crate) struct EventLoop {
    poll: NonNull<c_void>,
    timer: NonNull<c_void>,
    /// Active while JavaScript runs, so that only a nested run of the loop comes by.
    prepare: NonNull<c_void>,
}

impl EventLoop {
    /// Calls `woken` when `fd` is readable.
    ///
    /// # Safety
    /// `env` is the present one; `woken` stays where it is until `on_closed` has been called, or for ever where this fails.
    pub(crate) unsafe fn new<W: LoopCallbacks>(
        env: sys::napi_env,
        fd: c_int,
        woken: *const W,
    ) -> Result<Self> {
        let mut event_loop = std::ptr::null_mut();
        // SAFETY: `env` is valid by contract; the pointer is written only.
        check(unsafe { sys::napi_get_uv_event_loop(env, &raw mut event_loop) })?;
        let event_loop = event_loop.cast::<c_void>();
        // SAFETY: zeroed memory of the size that libuv asked for, on the loop's thread, which is given back only after
        // `uv_close` has called back.
        let timer = unsafe { made(TIMER, |handle| uv_timer_init(event_loop, handle)) }?;
        // SAFETY: as above.
        let prepare = unsafe { made(PREPARE, |handle| uv_prepare_init(event_loop, handle)) };
        // SAFETY: the handle is initialised, and nobody else has it.
        let prepare =
            prepare.inspect_err(|_| unsafe { uv_close(timer.as_ptr(), on_freed::<TIMER>) })?;
        // SAFETY: as above.
        let poll = unsafe { made(POLL, |handle| uv_poll_init(event_loop, handle, fd)) };
        // SAFETY: as above.
        let poll = poll.inspect_err(|_| unsafe {
            uv_close(prepare.as_ptr(), on_freed::<PREPARE>);
            uv_close(timer.as_ptr(), on_freed::<TIMER>);
        })?;
        // SAFETY: all are initialised.
        unsafe {
            uv_handle_set_data(prepare.as_ptr(), woken.cast_mut().cast());
            uv_unref(prepare.as_ptr());
            uv_handle_set_data(poll.as_ptr(), woken.cast_mut().cast());
            uv_handle_set_data(timer.as_ptr(), woken.cast_mut().cast());
            uv_unref(timer.as_ptr());
            uv_unref(poll.as_ptr());
            let status = uv_poll_start(poll.as_ptr(), READABLE, on_poll::<W>);
            if status != 0 {
                uv_close(poll.as_ptr(), on_freed::<POLL>);
                uv_close(prepare.as_ptr(), on_freed::<PREPARE>);
                uv_close(timer.as_ptr(), on_freed::<TIMER>);
                return Err(reason(&text(status)));
            }
        }
        Ok(Self { poll, timer, prepare })
    }

    /// Calls nobody any more.
    pub(crate) fn stop(&self) {
        // SAFETY: as in `reference`.
        unsafe {
            uv_poll_stop(self.poll.as_ptr());
            uv_timer_stop(self.timer.as_ptr());
        }
    }

    /// Whether the loop stays alive for this.
    pub(crate) fn reference(&self, alive: bool) {
        // SAFETY: the handle is initialised and not closed: `close` takes `self`.
        unsafe { if alive { uv_ref(self.poll.as_ptr()) } else { uv_unref(self.poll.as_ptr()) } }
    }

    /// Wakes after so many milliseconds; `None`: not at all.
    pub(crate) fn set_timer<W: LoopCallbacks>(&self, after: Option<u64>) {
        // SAFETY: as in `reference`; `W` is the type given to `new`.
        unsafe {
            match after {
                Some(after) => uv_timer_start(self.timer.as_ptr(), on_timer::<W>, after, 0),
                None => uv_timer_stop(self.timer.as_ptr()),
            };
        }
    }

    /// While `notices`, a run of the loop within JavaScript is told of before it waits.
    pub(crate) fn notice_nested<W: LoopCallbacks>(&self, notices: bool) {
        // SAFETY: as in `set_timer`; neither fails for an initialised handle.
        unsafe {
            if notices {
                uv_prepare_start(self.prepare.as_ptr(), on_prepare::<W>);
            } else {
                uv_prepare_stop(self.prepare.as_ptr());
            }
        }
    }

    /// Whether a time was set that has not come yet.
    pub(crate) fn is_timer_set(&self) -> bool {
        // SAFETY: as in `reference`.
        unsafe { uv_is_active(self.timer.as_ptr()) != 0 }
    }

    /// Leaves the loop; `on_closed` follows.
    pub(crate) fn close<W: LoopCallbacks>(self) {
        // SAFETY: all handles are initialised and closed once. The timer's callback, which may free `woken`, may come first:
        // the others do not use it.
        unsafe {
            uv_close(self.poll.as_ptr(), on_freed::<POLL>);
            uv_close(self.prepare.as_ptr(), on_freed::<PREPARE>);
            uv_close(self.timer.as_ptr(), on_closed_timer::<W>);
        }
    }
}

fn layout(kind: c_int) -> Option<Layout> {
    // SAFETY: a pure function of libuv.
    let size = unsafe { uv_handle_size(kind) };
    Layout::from_size_align(size, ALIGNMENT).ok()
}

/// A handle of this kind, made by `initialise`, which is libuv's.
///
/// # Safety
/// `initialise` may have its way with zeroed memory of this kind's size, and keeps nothing where it fails.
unsafe fn made(
    kind: c_int,
    initialise: impl FnOnce(*mut c_void) -> c_int,
) -> Result<NonNull<c_void>> {
    let layout = layout(kind).ok_or_else(|| reason("libuv knows no such handle"))?;
    // SAFETY: no handle has a size of zero.
    let handle = NonNull::new(unsafe { alloc_zeroed(layout) }.cast::<c_void>());
    let handle = handle.ok_or_else(|| reason("there is no memory"))?;
    let status = initialise(handle.as_ptr());
    if status != 0 {
        // SAFETY: allocated with this layout, and nobody has it.
        unsafe { dealloc(handle.as_ptr().cast(), layout) };
        return Err(reason(&text(status)));
    }
    Ok(handle)
}

/// An error of libuv in words.
fn text(status: c_int) -> String {
    // SAFETY: gives a string that stays, or one of its own for a number that it does not know.
    unsafe { CStr::from_ptr(uv_strerror(status)) }.to_string_lossy().into_owned()
}

unsafe extern "C" fn on_poll<W: LoopCallbacks>(handle: *mut c_void, status: c_int, _events: c_int) {
    // SAFETY: set in `new`, which asks for it to outlive the handle.
    let woken = unsafe { &*uv_handle_get_data(handle).cast::<W>() };
    // libuv has stopped the handle where there is an error.
    if status < 0 { woken.on_failed(&text(status)) } else { woken.on_wake() }
}

unsafe extern "C" fn on_timer<W: LoopCallbacks>(handle: *mut c_void) {
    // SAFETY: as in `on_poll`.
    unsafe { (*uv_handle_get_data(handle).cast::<W>()).on_wake() }
}

unsafe extern "C" fn on_prepare<W: LoopCallbacks>(handle: *mut c_void) {
    // SAFETY: as in `on_poll`.
    unsafe { (*uv_handle_get_data(handle).cast::<W>()).on_nested_wait() }
}

/// Frees a closed handle of this kind.
unsafe extern "C" fn on_freed<const KIND: c_int>(handle: *mut c_void) {
    if let Some(layout) = layout(KIND) {
        // SAFETY: allocated with this layout; libuv has let go of it.
        unsafe { dealloc(handle.cast(), layout) }
    }
}

unsafe extern "C" fn on_closed_timer<W: LoopCallbacks>(handle: *mut c_void) {
    // SAFETY: as in `on_poll`, for the last time.
    let woken = unsafe { uv_handle_get_data(handle).cast::<W>() };
    // SAFETY: libuv has let go of the handle.
    unsafe { on_freed::<TIMER>(handle) };
    // SAFETY: as in `on_poll`.
    unsafe { (*woken).on_closed() }
}
