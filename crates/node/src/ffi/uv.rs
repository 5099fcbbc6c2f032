//! Handles in Node's own event loop. An initialized handle has a count of what it calls, until libuv has let go of it.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::rc::Rc;

use napi::{Env, Error, Result};

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
}

/// A poll handle, a timer and a prepare handle in Node's loop, on the loop's thread. It leaves the loop with this; libuv closes
/// the handles in any order, afterwards.
pub(crate) struct EventLoop<W: LoopCallbacks> {
    poll: Handle<W, POLL>,
    timer: Handle<W, TIMER>,
    /// Active while JavaScript runs, so that only a nested run of the loop comes by.
    prepare: Handle<W, PREPARE>,
}

impl<W: LoopCallbacks> EventLoop<W> {
    /// Calls `woken` when `fd` is readable, and does not keep the loop alive. `woken` owns the descriptor, or libuv watches none.
    pub(crate) fn new(env: Env, fd: RawFd, woken: &Rc<W>) -> Result<Self> {
        let event_loop = env.get_uv_event_loop()?.cast::<c_void>();
        // SAFETY: zeroed memory of the size that libuv asked for, on the loop's thread.
        let timer = Handle::new(woken, |handle| unsafe { uv_timer_init(event_loop, handle) })?;
        // SAFETY: as above.
        let prepare = Handle::new(woken, |handle| unsafe { uv_prepare_init(event_loop, handle) })?;
        // SAFETY: as above; what is no descriptor is refused.
        let poll = Handle::new(woken, |handle| unsafe { uv_poll_init(event_loop, handle, fd) })?;
        let this = Self { poll, timer, prepare };
        // SAFETY: all are initialized, and not closed before `this` is dropped.
        let status = unsafe {
            uv_unref(this.poll.get());
            uv_unref(this.timer.get());
            uv_unref(this.prepare.get());
            uv_poll_start(this.poll.get(), READABLE, on_poll::<W>)
        };
        if status == 0 { Ok(this) } else { Err(error(status)) }
    }

    /// Calls nobody any more.
    pub(crate) fn stop(&self) {
        // SAFETY: the handles are initialized and not closed: they are closed with `self`.
        unsafe {
            uv_poll_stop(self.poll.get());
            uv_timer_stop(self.timer.get());
        }
    }

    /// Whether the loop stays alive for this.
    pub(crate) fn reference(&self, alive: bool) {
        // SAFETY: as in `stop`.
        unsafe { if alive { uv_ref(self.poll.get()) } else { uv_unref(self.poll.get()) } }
    }

    /// Wakes after so many milliseconds; `None`: not at all.
    pub(crate) fn set_timer(&self, after: Option<u64>) {
        // SAFETY: as in `stop`; `W` is what the handle calls.
        unsafe {
            match after {
                Some(after) => uv_timer_start(self.timer.get(), on_timer::<W>, after, 0),
                None => uv_timer_stop(self.timer.get()),
            };
        }
    }

    /// Whether a time was set that has not come yet.
    pub(crate) fn is_timer_set(&self) -> bool {
        // SAFETY: as in `stop`.
        unsafe { uv_is_active(self.timer.get()) != 0 }
    }

    /// While `notices`, a run of the loop within JavaScript is told of before it waits.
    pub(crate) fn notice_nested(&self, notices: bool) {
        // SAFETY: as in `set_timer`; neither fails for an initialized handle.
        unsafe {
            if notices {
                uv_prepare_start(self.prepare.get(), on_prepare::<W>);
            } else {
                uv_prepare_stop(self.prepare.get());
            }
        }
    }
}

/// An initialized handle, closed with this.
struct Handle<W, const KIND: c_int> {
    pointer: NonNull<c_void>,
    called: PhantomData<Rc<W>>,
}

impl<W, const KIND: c_int> Handle<W, KIND> {
    /// `initialize` is libuv's for this kind, and keeps nothing where it fails.
    fn new(called: &Rc<W>, initialize: impl FnOnce(*mut c_void) -> c_int) -> Result<Self> {
        let layout = layout(KIND).ok_or_else(|| Error::from_reason("no such kind of handle"))?;
        // SAFETY: no handle has a size of zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) }.cast::<c_void>());
        let pointer = pointer.ok_or_else(|| Error::from_reason("there is no memory"))?;
        let status = initialize(pointer.as_ptr());
        if status != 0 {
            // SAFETY: allocated with this layout, and nobody has it.
            unsafe { dealloc(pointer.as_ptr().cast(), layout) };
            return Err(error(status));
        }
        let data = Rc::into_raw(Rc::clone(called)).cast_mut();
        // SAFETY: the handle is initialized; its count is given back in `on_closed`.
        unsafe { uv_handle_set_data(pointer.as_ptr(), data.cast()) };
        Ok(Self { pointer, called: PhantomData })
    }

    fn get(&self) -> *mut c_void {
        self.pointer.as_ptr()
    }
}

impl<W, const KIND: c_int> Drop for Handle<W, KIND> {
    fn drop(&mut self) {
        // SAFETY: initialized, on the loop's thread, and closed here alone.
        unsafe { uv_close(self.get(), on_closed::<W, KIND>) }
    }
}

fn layout(kind: c_int) -> Option<Layout> {
    // SAFETY: a pure function of libuv.
    let size = unsafe { uv_handle_size(kind) };
    Layout::from_size_align(size, ALIGNMENT).ok()
}

/// An error of libuv in words.
fn text(status: c_int) -> String {
    // SAFETY: gives a string that stays, or one of its own for a number that it does not know.
    unsafe { CStr::from_ptr(uv_strerror(status)) }.to_string_lossy().into_owned()
}

fn error(status: c_int) -> Error {
    Error::from_reason(text(status))
}

/// What a handle calls, with a count for the time of the call: the call may close the handle.
///
/// # Safety
/// The handle was made by `Handle::<W, _>::new`, and libuv has not let go of it.
unsafe fn called<W>(handle: *mut c_void) -> Rc<W> {
    // SAFETY: by contract, the pointer is one of `Rc::into_raw` with a count of its own.
    unsafe {
        let called = uv_handle_get_data(handle).cast::<W>().cast_const();
        Rc::increment_strong_count(called);
        Rc::from_raw(called)
    }
}

unsafe extern "C" fn on_poll<W: LoopCallbacks>(handle: *mut c_void, status: c_int, _events: c_int) {
    // SAFETY: libuv calls for the handle that was started with this function.
    let woken = unsafe { called::<W>(handle) };
    // libuv has stopped the handle where there is an error.
    if status < 0 { woken.on_failed(&text(status)) } else { woken.on_wake() }
}

unsafe extern "C" fn on_timer<W: LoopCallbacks>(handle: *mut c_void) {
    // SAFETY: as in `on_poll`.
    unsafe { called::<W>(handle) }.on_wake();
}

unsafe extern "C" fn on_prepare<W: LoopCallbacks>(handle: *mut c_void) {
    // SAFETY: as in `on_poll`.
    unsafe { called::<W>(handle) }.on_nested_wait();
}

/// libuv has let go of a handle.
unsafe extern "C" fn on_closed<W, const KIND: c_int>(handle: *mut c_void) {
    // SAFETY: the count that the handle was given, which is taken once.
    let called = unsafe { Rc::from_raw(uv_handle_get_data(handle).cast::<W>().cast_const()) };
    if let Some(layout) = layout(KIND) {
        // SAFETY: allocated with this layout; nobody has it any more.
        unsafe { dealloc(handle.cast(), layout) }
    }
    drop(called);
}
