//! The server stack in Node's own event loop: one reactor per JavaScript thread. `unsafe` is used only here, in `send`,
//! `memory`, `uv` and `unacknowledged`.

mod cache;
mod connections;
mod memory;
mod send;
mod settings;
mod sharing;
mod tls;
mod unacknowledged;
mod uv;

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use millrace_stack::{Batch, Companion, Reactor, Shared as SharedReactor};
use napi::bindgen_prelude::{FnArgs, Function};
use napi::{Env, Error, JsValue, Result, Status, sys};
use napi_derive::napi;

use crate::stack::memory::Memory;
use crate::stack::uv::{EventLoop, LoopCallbacks};

/// Batches in a row before Node's loop looks after everything else.
const BATCHES: usize = 4;

/// Why the stack has failed, in one line with what the system says.
const DEAF: &str = "millrace: the HTTP stack receives nothing any more";
const BESIDE: &str = "millrace: nothing is served any more while JavaScript is busy";

/// The reactor of one JavaScript thread and what connects it with JavaScript.
struct Stack {
    env: sys::napi_env,
    reactor: Arc<SharedReactor>,
    companion: RefCell<Option<Companion>>,
    event_loop: RefCell<Option<EventLoop>>,
    context: sys::napi_async_context,
    callbacks: Callbacks,
    cleanup: Cell<sys::napi_async_cleanup_hook_handle>,
    memory: Rc<Memory>,
    /// JavaScript has a batch and has not come back.
    taking: Cell<bool>,
    references: Cell<u32>,
    /// The time for which the timer is set.
    timer: Cell<Option<u64>>,
}

/// Functions of JavaScript.
struct Callbacks {
    /// Takes a batch.
    take: sys::napi_ref,
    /// Hears of a failure.
    hear: sys::napi_ref,
}

thread_local! {
    static STACK: RefCell<Option<Rc<Stack>>> = const { RefCell::new(None) };
}

impl LoopCallbacks for Stack {
    fn on_wake(&self) {
        // A handler runs the event loop by itself: what is left of its batch comes first, in the same memory.
        if self.taking.get() && !self.take(0) {
            return;
        }
        for _ in 0..BATCHES {
            let (count, more) = match self.turn() {
                Ok(turn) => turn,
                Err(error) => return self.on_failed(&error.to_string()),
            };
            if count > 0 && !self.take(count) {
                return;
            }
            if !more {
                break;
            }
        }
        self.reactor.with(Reactor::wake_again);
        self.set_timer();
        if let Some(error) = self.reactor.take_failure() {
            self.tell(&format!("{BESIDE}: {error}"), false);
        }
    }

    fn on_nested_wait(&self) {
        // What this batch has accepted, or has left over, wakes the nested run as well.
        self.reactor.with(Reactor::wake_again);
        self.set_timer();
    }

    fn on_failed(&self, why: &str) {
        // It would fail again at once.
        if let Some(event_loop) = &*self.event_loop.borrow() {
            event_loop.stop();
        }
        self.tell(&format!("{DEAF}: {why}"), true);
    }

    fn on_closed(&self) {
        if !self.cleanup.get().is_null() {
            // SAFETY: the hook was added in `start` and is removed once.
            unsafe { sys::napi_remove_async_cleanup_hook(self.cleanup.get()) };
        }
        // The loop is over for this thread; memory goes with the process or here.
        // SAFETY: the count was raised in `start` for the loop's pointer, which is not used any more.
        unsafe { Rc::decrement_strong_count(ptr::from_ref(self)) };
    }
}

impl Stack {
    fn turn(&self) -> io::Result<(usize, bool)> {
        // SAFETY: JavaScript does not run during this function.
        let (events, input) = unsafe { self.memory.batch() };
        let mut batch = Batch::new(events, input);
        let more = self.reactor.turn(&mut batch)?;
        Ok((batch.count(), more))
    }

    /// Lets JavaScript take a batch, or what is left of one if there are no events; `false` if it cannot run any more.
    fn take(&self, count: usize) -> bool {
        let outer = self.taking.replace(true);
        self.notice_nested(true);
        let alive = self.with_scope(|| {
            let mut count = number(self.env, count);
            while let Err(thrown) = self.call(self.callbacks.take, &[count]) {
                // A handler has thrown. The process may survive it (uncaughtException); then the rest
                // of the batch is taken.
                // SAFETY: `env` belongs to this thread, the value to this scope.
                let status = unsafe { sys::napi_fatal_exception(self.env, thrown?) };
                if status != sys::Status::napi_ok {
                    return None;
                }
                count = number(self.env, 0);
            }
            Some(())
        });
        self.taking.set(outer);
        self.notice_nested(outer);
        alive.is_some()
    }

    fn notice_nested(&self, notices: bool) {
        if let Some(event_loop) = &*self.event_loop.borrow() {
            event_loop.notice_nested::<Self>(notices);
        }
    }

    /// Tells the application of a failure; `fatal`: unless it handles uncaught exceptions, it ends.
    fn tell(&self, message: &str, fatal: bool) {
        self.with_scope(|| {
            let (mut text, mut flag) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: `env` belongs to this thread, the text is copied.
            unsafe {
                let length = message.len() as isize;
                sys::napi_create_string_utf8(
                    self.env,
                    message.as_ptr().cast(),
                    length,
                    &raw mut text,
                );
                sys::napi_get_boolean(self.env, fatal, &raw mut flag);
            }
            // It throws nothing, unless it cannot run any more.
            self.call(self.callbacks.hear, &[text, flag]).ok()
        });
    }

    /// `None`: JavaScript cannot run any more.
    fn with_scope<R>(&self, action: impl FnOnce() -> Option<R>) -> Option<R> {
        let mut scope = ptr::null_mut();
        // SAFETY: `env` belongs to this thread.
        if unsafe { sys::napi_open_handle_scope(self.env, &raw mut scope) } != sys::Status::napi_ok
        {
            return None;
        }
        let result = action();
        // SAFETY: opened above, and those that were opened since are closed.
        unsafe { sys::napi_close_handle_scope(self.env, scope) };
        result
    }

    /// Calls a function of JavaScript, in a scope; an error is what it has thrown, or `None`: it cannot run any more.
    fn call(
        &self,
        callback: sys::napi_ref,
        arguments: &[sys::napi_value],
    ) -> std::result::Result<(), Option<sys::napi_value>> {
        let (mut receiver, mut function) = (ptr::null_mut(), ptr::null_mut());
        let (mut result, mut thrown) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: `env` belongs to this thread, the references were made in `start`.
        unsafe {
            sys::napi_get_global(self.env, &raw mut receiver);
            sys::napi_get_reference_value(self.env, callback, &raw mut function);
            let status = sys::napi_make_callback(
                self.env,
                self.context,
                receiver,
                function,
                arguments.len(),
                arguments.as_ptr(),
                &raw mut result,
            );
            if status == sys::Status::napi_ok {
                return Ok(());
            }
            let status = sys::napi_get_and_clear_last_exception(self.env, &raw mut thrown);
            Err((status == sys::Status::napi_ok).then_some(thrown))
        }
    }

    /// Sets the timer anew if the reactor has a new one, outside of a turn.
    fn check_timer(&self) {
        if self.reactor.with(Reactor::timers_changed) {
            self.set_timer();
        }
    }

    fn set_timer(&self) {
        let next = self.reactor.with(|reactor| reactor.next_timer());
        // One more millisecond: libuv counts whole ones and would come too early.
        let next = next.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX - 1) + 1);
        let before = self.timer.replace(next);
        // The same time from now as the one that has just come is a new one.
        if let Some(event_loop) = &*self.event_loop.borrow()
            && (next != before || next.is_some() && !event_loop.is_timer_set())
        {
            event_loop.set_timer::<Self>(next);
        }
    }
}

pub(crate) fn with<R>(f: impl FnOnce(&mut Reactor) -> R) -> Result<R> {
    STACK.with_borrow(|stack| {
        let stack =
            stack.as_ref().ok_or_else(|| Error::from_reason("the stack has not been started"))?;
        Ok(stack.reactor.with(f))
    })
}

pub(crate) fn duplicate(fd: i32) -> Result<OwnedFd> {
    if fd < 0 {
        return Err(Error::from_reason(format!("{fd} is not a descriptor")));
    }
    // SAFETY: borrowed for the call only; a number that is no descriptor makes it fail.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned().map_err(system_error)
}

pub(crate) fn reason(text: &str) -> Error {
    Error::from_reason(text)
}

/// What Node-API says of a call.
pub(crate) fn check(status: sys::napi_status) -> Result<()> {
    match status {
        sys::Status::napi_ok => Ok(()),
        status => Err(Error::from_status(Status::from(status))),
    }
}

fn number(env: sys::napi_env, count: usize) -> sys::napi_value {
    let mut value = ptr::null_mut();
    // SAFETY: the environment of this thread; in range: events of a batch.
    unsafe { sys::napi_create_uint32(env, count as u32, &raw mut value) };
    value
}

pub(crate) fn system_error(error: io::Error) -> Error {
    Error::from_reason(error.to_string())
}

/// Starts the stack on this thread, once. `take` takes the number of events of a batch; none: what is left of the last one.
/// `hear` hears why the stack has failed, and whether it cannot go on.
#[napi]
pub fn stack_start(
    env: Env,
    take: Function<'_, u32, ()>,
    hear: Function<'_, FnArgs<(String, bool)>, ()>,
) -> Result<()> {
    if STACK.with_borrow(Option::is_some) {
        return Err(reason("the stack has been started on this thread already"));
    }
    let memory = Memory::of(env)?;
    let reactor = Reactor::new().map_err(system_error)?;
    let descriptor = reactor.descriptor();
    let raw = env.raw();
    let (mut context, mut name) = (ptr::null_mut(), ptr::null_mut());
    let mut callbacks = Callbacks { take: ptr::null_mut(), hear: ptr::null_mut() };
    // SAFETY: `raw` is the present environment; the values are alive during this call.
    unsafe {
        check(sys::napi_create_string_utf8(raw, c"MILLRACE".as_ptr(), 8, &raw mut name))?;
        check(sys::napi_async_init(raw, ptr::null_mut(), name, &raw mut context))?;
        check(sys::napi_create_reference(raw, take.raw(), 1, &raw mut callbacks.take))?;
        check(sys::napi_create_reference(raw, hear.raw(), 1, &raw mut callbacks.hear))?;
    }
    let stack = Rc::new(Stack {
        env: raw,
        reactor: SharedReactor::new(reactor),
        companion: RefCell::new(None),
        event_loop: RefCell::new(None),
        context,
        callbacks,
        cleanup: Cell::new(ptr::null_mut()),
        memory,
        taking: Cell::new(false),
        references: Cell::new(0),
        timer: Cell::new(None),
    });
    let pointer = Rc::into_raw(Rc::clone(&stack));
    // SAFETY: the count raised by `into_raw` keeps the stack until `on_closed`.
    let event_loop = unsafe { EventLoop::new(raw, descriptor, pointer) }.inspect_err(|_| {
        // SAFETY: of `into_raw`; nobody has it.
        drop(unsafe { Rc::from_raw(pointer) });
    })?;
    let mut cleanup = ptr::null_mut();
    // SAFETY: the hook is called once, on this thread, while the stack is alive.
    let hooked = check(unsafe {
        sys::napi_add_async_cleanup_hook(
            raw,
            Some(on_cleanup),
            pointer.cast_mut().cast(),
            &raw mut cleanup,
        )
    });
    if let Err(error) = hooked {
        event_loop.close::<Stack>();
        return Err(error);
    }
    stack.event_loop.replace(Some(event_loop));
    stack.cleanup.set(cleanup);
    STACK.set(Some(stack));
    Ok(())
}

/// The environment ends: all connections are closed, the loop's handles given back.
unsafe extern "C" fn on_cleanup(
    _: sys::napi_async_cleanup_hook_handle,
    stack: *mut std::ffi::c_void,
) {
    // SAFETY: the pointer given to the hook, see `stack_start`.
    let stack = unsafe { &*stack.cast::<Stack>() };
    // It may be the thread's end already.
    STACK.try_with(|slot| slot.try_borrow_mut().map(|mut slot| slot.take())).ok();
    stack.companion.take();
    if let Some(event_loop) = stack.event_loop.take() {
        event_loop.close::<Stack>();
    }
}

/// Starts or ends the thread that serves what needs no JavaScript while this thread is busy.
#[napi]
pub fn stack_companion(on: bool) -> Result<()> {
    STACK.with_borrow(|stack| {
        let Some(stack) = stack else { return Ok(()) };
        let companion = &mut *stack.companion.borrow_mut();
        match (on, companion.is_some()) {
            (true, false) => {
                *companion = Some(Companion::start(&stack.reactor).map_err(system_error)?);
            }
            (false, true) => *companion = None,
            _ => {}
        }
        Ok(())
    })
}

/// Lets 'uncaughtException' decide about an error, as for errors of Node's own callbacks.
#[napi]
pub fn stack_fatal(env: Env, error: napi::bindgen_prelude::Unknown<'_>) {
    // SAFETY: a value of the present call and its environment.
    unsafe { sys::napi_fatal_exception(env.raw(), error.raw()) };
}

/// Accepts for a server from a listening socket, whose descriptor is duplicated; gives the listener's number.
#[napi]
pub fn stack_listen(server: u32, fd: i32) -> Result<u32> {
    let fd = duplicate(fd)?;
    with(|reactor| reactor.listen(server as usize, fd))?.map(|id| id as u32).map_err(system_error)
}

/// Accepts no more.
#[napi]
pub fn stack_close_listener(listener: u32) -> Result<()> {
    with(|reactor| reactor.close_listener(listener as usize))
}

/// Takes a connected socket, whose descriptor is duplicated.
#[napi]
pub fn stack_adopt(server: u32, fd: i32) -> Result<u32> {
    let fd = duplicate(fd)?;
    with(|reactor| reactor.adopt(server as usize, fd))?.map(|id| id as u32).map_err(system_error)
}

/// How many of listeners and connections keep the process alive.
#[napi]
pub fn stack_reference(count: u32) -> Result<()> {
    STACK.with_borrow(|stack| {
        let Some(stack) = stack else { return Ok(()) };
        let before = stack.references.replace(count);
        if (before > 0) != (count > 0)
            && let Some(event_loop) = &*stack.event_loop.borrow()
        {
            event_loop.reference(count > 0);
        }
        Ok(())
    })
}
