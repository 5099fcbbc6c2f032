//! The server stack in Node's own event loop: one reactor per JavaScript thread.

mod cache;
mod connections;
mod send;
mod settings;
mod sharing;
mod tls;

use std::cell::{Cell, OnceCell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use millrace_stack::driver::{Driver, Step, Timer, Wake};
use millrace_stack::{Batch, Reactor, ReactorHandle, StandbyThread};
use napi::bindgen_prelude::{FnArgs, Function, Unknown};
use napi::{Env, Error, Result};
use napi_derive::napi;

use crate::ffi::descriptor;
use crate::ffi::node_api::{self, Callback, Caller, CleanupHook, OnCleanup};
use crate::ffi::shared_memory::SharedMemory;
use crate::ffi::uv::{EventLoop, LoopCallbacks};

/// Why the stack has failed, in one line with what the system says.
const DEAF: &str = "millrace: the HTTP stack receives nothing any more";
const BESIDE: &str = "millrace: nothing is served any more while JavaScript is busy";

/// The reactor of one JavaScript thread and what connects it with JavaScript.
struct Stack {
    reactor: Arc<ReactorHandle>,
    standby: RefCell<Option<StandbyThread>>,
    event_loop: RefCell<Option<EventLoop<Self>>>,
    caller: Caller,
    callbacks: Callbacks,
    memory: Rc<SharedMemory>,
    driver: RefCell<Driver>,
    /// JavaScript has a batch and has not come back.
    taking: Cell<bool>,
    references: Cell<u32>,
    /// As the timer was set last.
    timer: Cell<Timer>,
    /// The environment waits until this is dropped, as the last one.
    cleanup: OnceCell<CleanupHook>,
}

/// Functions of JavaScript.
struct Callbacks {
    /// Takes a batch.
    take: Callback,
    /// Hears of a failure.
    hear: Callback,
}

thread_local! {
    static STACK: RefCell<Option<Rc<Stack>>> = const { RefCell::new(None) };
}

impl LoopCallbacks for Stack {
    fn on_wake(&self) {
        let mut wake = self.driver.borrow_mut().wake();
        loop {
            let count = match self.next(&mut wake) {
                Ok(Step::TakeRest) => 0,
                Ok(Step::Take(count)) => count,
                Ok(Step::Wait(timer)) => break self.set_timer(timer),
                Err(error) => return self.on_failed(&error.to_string()),
            };
            if !self.take(count) {
                return self.driver.borrow_mut().abandon(wake);
            }
        }
        if let Some(error) = self.reactor.take_failure() {
            self.tell(&format!("{BESIDE}: {error}"), false);
        }
    }

    fn on_nested_wait(&self) {
        let timer = self.driver.borrow().on_nested_wait(&mut &*self.reactor);
        self.set_timer(timer);
    }

    fn on_failed(&self, why: &str) {
        // It would fail again at once.
        if let Some(event_loop) = &*self.event_loop.borrow() {
            event_loop.stop();
        }
        self.tell(&format!("{DEAF}: {why}"), true);
    }
}

impl OnCleanup for Stack {
    /// All connections are closed, the loop's handles given back.
    fn on_cleanup(&self) {
        // It may be the thread's end already.
        STACK.try_with(|slot| slot.try_borrow_mut().map(|mut slot| slot.take())).ok();
        self.standby.take();
        self.event_loop.take();
    }
}

impl Stack {
    fn next(&self, wake: &mut Wake) -> io::Result<Step> {
        self.memory.with_batch(|events, input| {
            let mut batch = Batch::new(events, input);
            self.driver.borrow_mut().next(wake, &mut &*self.reactor, &mut batch)
        })
    }

    /// Gives commands to the reactor.
    fn command<R>(&self, action: impl FnOnce(&mut Reactor) -> R) -> R {
        let (result, timer) = self.reactor.with(|reactor| {
            let result = action(reactor);
            (result, self.driver.borrow().after_command(reactor))
        });
        if let Some(timer) = timer {
            self.set_timer(timer);
        }
        result
    }

    /// Lets JavaScript take a batch, or what is left of one if there are no events; `false` if it cannot run any more.
    fn take(&self, count: usize) -> bool {
        let outer = self.taking.replace(true);
        self.notice_nested(true);
        let alive = self.caller.with_scope(|scope| {
            // In range: events of a batch.
            let mut count = scope.number(count as u32);
            while let Err(thrown) = scope.call(&self.callbacks.take, &[count]) {
                // A handler has thrown. The process may survive it (uncaughtException); then the rest
                // of the batch is taken.
                if !scope.report_uncaught(thrown?) {
                    return None;
                }
                count = scope.number(0);
            }
            Some(())
        });
        self.taking.set(outer);
        self.notice_nested(outer);
        alive.is_some()
    }

    fn notice_nested(&self, notices: bool) {
        if let Some(event_loop) = &*self.event_loop.borrow() {
            event_loop.notice_nested(notices);
        }
    }

    /// Tells the application of a failure; `fatal`: unless it handles uncaught exceptions, it ends.
    fn tell(&self, message: &str, fatal: bool) {
        self.caller.with_scope(|scope| {
            let arguments = [scope.text(message), scope.flag(fatal)];
            // It throws nothing, unless it cannot run any more.
            scope.call(&self.callbacks.hear, &arguments).ok()
        });
    }

    fn set_timer(&self, next: Timer) {
        let before = self.timer.replace(next);
        // The same time from now as the one that has just come is a new one.
        if let Some(event_loop) = &*self.event_loop.borrow()
            && (next != before || next.is_some() && !event_loop.is_timer_set())
        {
            event_loop.set_timer(next);
        }
    }
}

pub(crate) fn with<R>(f: impl FnOnce(&mut Reactor) -> R) -> Result<R> {
    STACK.with_borrow(|stack| {
        let stack =
            stack.as_ref().ok_or_else(|| Error::from_reason("the stack has not been started"))?;
        Ok(stack.command(f))
    })
}

pub(crate) fn duplicate(fd: i32) -> Result<OwnedFd> {
    descriptor::duplicate(fd).map_err(system_error)
}

pub(crate) fn reason(text: &str) -> Error {
    Error::from_reason(text)
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
    let memory = SharedMemory::of(env)?;
    let reactor = Reactor::new().map_err(system_error)?;
    let descriptor = reactor.descriptor();
    let stack = Rc::new(Stack {
        reactor: ReactorHandle::new(reactor),
        standby: RefCell::new(None),
        event_loop: RefCell::new(None),
        caller: Caller::new(env, c"MILLRACE")?,
        callbacks: Callbacks { take: Callback::new(env, &take)?, hear: Callback::new(env, &hear)? },
        memory,
        driver: RefCell::default(),
        taking: Cell::new(false),
        references: Cell::new(0),
        timer: Cell::new(None),
        cleanup: OnceCell::new(),
    });
    // Where one of these fails, what has been made is given back.
    let event_loop = EventLoop::new(env, descriptor, &stack)?;
    let cleanup = CleanupHook::new(env, &stack)?;
    stack.cleanup.get_or_init(|| cleanup);
    stack.event_loop.replace(Some(event_loop));
    STACK.set(Some(stack));
    Ok(())
}

/// Starts or ends the thread that serves what needs no JavaScript while this thread is busy.
#[napi]
pub fn stack_standby_thread(on: bool) -> Result<()> {
    STACK.with_borrow(|stack| {
        let Some(stack) = stack else { return Ok(()) };
        let standby = &mut *stack.standby.borrow_mut();
        match (on, standby.is_some()) {
            (true, false) => {
                *standby = Some(StandbyThread::start(&stack.reactor).map_err(system_error)?);
            }
            (false, true) => *standby = None,
            _ => {}
        }
        Ok(())
    })
}

/// Lets 'uncaughtException' decide about an error, as for errors of Node's own callbacks.
#[napi]
pub fn stack_fatal(env: Env, error: Unknown<'_>) {
    node_api::report_uncaught(env, error);
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
