//! The server stack in Node's own loop: one reactor per JavaScript thread. One file, since all that is `unsafe` in the stack
//! stands here and in `event_loop.rs`.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use millrace_stack::settings::KeepAlive;
use millrace_stack::{Batch, Companion, Counts, Reactor, Settings, Shared as SharedReactor};
use napi::bindgen_prelude::{Buffer, FnArgs, Function};
use napi::{Env, Error, JsValue, Result, Status, sys};
use napi_derive::napi;

use crate::cache::NativeCacheSettings;
use crate::event_loop::{EventLoop, Woken};
use crate::list::View;
use crate::memory::{ENTRY_LENGTH, Memory};
use crate::time::{FOREVER, milliseconds, positive};
use crate::unacknowledged::unacknowledged;

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

impl Woken for Stack {
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

/// The limits of a server.
#[napi(object)]
pub struct NativeSettings {
    /// Bytes of a head.
    pub max_header_size: u32,
    /// Fields of a head.
    pub max_fields: u32,
    /// Requests at once per connection.
    pub max_pipelined: u32,
    /// 0: for ever.
    pub keep_alive_ms: f64,
    /// Small segments at once.
    pub no_delay: bool,
    /// TCP probes a peer after so much silence; 0: after the system's own time; missing: not at all.
    pub tcp_keep_alive_ms: Option<f64>,
    /// How long TLS handshakes may take; missing: no TLS.
    pub handshake_ms: Option<f64>,
    /// What answers from the cache say about how long a connection stays; missing: nothing.
    pub keep_alive_seconds: Option<u32>,
    /// Each request has to be told, since they are counted.
    pub counts_requests: bool,
    /// Each connection has to be told before anything is answered.
    pub screens: bool,
    /// 0: no limit.
    pub max_in_flight: u32,
    /// 0: no limit.
    pub response_ms: f64,
    /// What those that take longer are answered with.
    pub response_status: u32,
    /// The output cache; missing: off.
    pub cache: Option<NativeCacheSettings>,
}

impl From<NativeSettings> for Settings {
    fn from(native: NativeSettings) -> Self {
        let tells_hits = native.cache.as_ref().is_some_and(|cache| cache.tells_hits);
        let head = millrace_stack::settings::HeadLimits {
            bytes: native.max_header_size as usize,
            fields: native.max_fields as usize,
        };
        Self {
            head,
            max_pipelined: native.max_pipelined,
            keep_alive: positive(native.keep_alive_ms),
            no_delay: native.no_delay,
            tcp_keep_alive: native.tcp_keep_alive_ms.map(|ms| KeepAlive::after(milliseconds(ms))),
            keep_alive_told: native.keep_alive_seconds,
            cache: native.cache.map(Into::into).unwrap_or_default(),
            tells_hits,
            counts_requests: native.counts_requests,
            screens: native.screens,
            max_in_flight: (native.max_in_flight > 0).then_some(native.max_in_flight),
            response_limit: positive(native.response_ms),
            response_status: native.response_status,
            tls: native.handshake_ms.map(|ms| positive(ms).unwrap_or(FOREVER)),
        }
    }
}

/// Lets 'uncaughtException' decide about an error, as for errors of Node's own callbacks.
#[napi]
pub fn stack_fatal(env: Env, error: napi::bindgen_prelude::Unknown<'_>) {
    // SAFETY: a value of the present call and its environment.
    unsafe { sys::napi_fatal_exception(env.raw(), error.raw()) };
}

/// Adds a server; gives its number.
#[napi]
pub fn stack_add_server(settings: NativeSettings) -> Result<u32> {
    with(|reactor| reactor.add_server(settings.into()) as u32)
}

/// Removes a server that accepts no more and has no connections.
#[napi]
pub fn stack_remove_server(server: u32) -> Result<()> {
    with(|reactor| reactor.remove_server(server as usize))
}

/// Changes a server's limits.
#[napi]
pub fn stack_configure(server: u32, settings: NativeSettings) -> Result<()> {
    with(|reactor| reactor.configure(server as usize, settings.into()))
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

/// Stops or resumes reading.
#[napi]
pub fn stack_pause(connection: u32, paused: bool) -> Result<()> {
    with(|reactor| reactor.pause(connection as usize, paused))
}

/// Takes an upgrade for an ordinary request.
#[napi]
pub fn stack_proceed(connection: u32) -> Result<()> {
    with(|reactor| reactor.proceed(connection as usize))
}

/// Hands on the next bytes as they come.
#[napi]
pub fn stack_proceed_raw(connection: u32) -> Result<()> {
    with(|reactor| reactor.proceed_raw(connection as usize))
}

/// Reads on: a body ended behind the first `taken` bytes of those told last.
#[napi]
pub fn stack_proceed_behind(connection: u32, taken: u32) -> Result<()> {
    with(|reactor| reactor.proceed_behind(connection as usize, taken as usize))
}

/// Ends this side when all is written.
#[napi]
pub fn stack_end(connection: u32) -> Result<()> {
    with(|reactor| reactor.end(connection as usize))
}

/// Closes at once; gives how many bytes were read of it.
#[napi]
pub fn stack_close(connection: u32, reset: bool) -> Result<f64> {
    with(|reactor| {
        let read = reactor.bytes_read(connection as usize);
        reactor.close(connection as usize, reset);
        read as f64
    })
}

/// Bytes that were read of a connection, told or not.
#[napi]
pub fn stack_bytes_read(connection: u32) -> Result<f64> {
    with(|reactor| reactor.bytes_read(connection as usize) as f64)
}

/// Duplicates a descriptor; the new one is the caller's.
#[napi]
pub fn stack_duplicate(fd: i32) -> Result<i32> {
    Ok(duplicate(fd)?.into_raw_fd())
}

/// Duplicates a connection's descriptor; the new one is the caller's.
#[napi]
pub fn stack_duplicate_connection(connection: u32) -> Result<i32> {
    let gone = || io::Error::from(io::ErrorKind::NotConnected);
    with(|reactor| reactor.socket(connection as usize).ok_or_else(gone)?.try_clone())?
        .map(|socket| OwnedFd::from(socket).into_raw_fd())
        .map_err(system_error)
}

/// A connection that was given away.
#[napi(object)]
pub struct NativeReleased {
    /// Its descriptor, now the caller's.
    pub fd: i32,
    /// Where in the input memory the bytes end that were told in this batch.
    pub told: u32,
    /// Bytes that were read and not told.
    pub bytes: Buffer,
    /// How many bytes were read in all.
    pub read: f64,
}

/// Gives a connection away.
#[napi]
pub fn stack_release(connection: u32) -> Result<NativeReleased> {
    with(|reactor| {
        let read = reactor.bytes_read(connection as usize) as f64;
        let (fd, told, bytes) = reactor.release(connection as usize).map_err(system_error)?;
        // In range: an offset within a batch's memory.
        Ok(NativeReleased { fd: fd.into_raw_fd(), told: told as u32, bytes: bytes.into(), read })
    })?
}

/// One end of a connection.
#[napi(object)]
pub struct NativeAddress {
    /// Without brackets.
    pub address: String,
    /// IPv4 or IPv6.
    pub family: String,
    /// Port.
    pub port: u32,
}

/// Both ends of a connection; empty where they have no address.
#[napi(object)]
pub struct NativeAddresses {
    /// This side.
    pub local: Option<NativeAddress>,
    /// The peer's.
    pub remote: Option<NativeAddress>,
}

/// Both ends of a connection.
#[napi]
pub fn stack_addresses(connection: u32) -> Result<NativeAddresses> {
    let (local, remote) = with(|reactor| reactor.addresses(connection as usize))?;
    let convert = |address: std::net::SocketAddr| NativeAddress {
        address: address.ip().to_string(),
        family: if address.is_ipv6() { "IPv6" } else { "IPv4" }.into(),
        port: address.port().into(),
    };
    Ok(NativeAddresses { local: local.map(convert), remote: remote.map(convert) })
}

/// TCP's own settings; no effect where the socket is not TCP.
#[napi]
pub fn stack_set_no_delay(connection: u32, on: bool) -> Result<()> {
    with(|reactor| {
        if let Some(socket) = reactor.socket(connection as usize) {
            socket.set_tcp_nodelay(on).ok();
        }
    })
}

/// TCP's probes of a peer that is silent: after so much time, so far apart, so many at most.
#[napi]
pub fn stack_set_keep_alive(
    connection: u32,
    on: bool,
    after_ms: f64,
    interval_ms: f64,
    probes: u32,
) -> Result<()> {
    let (after, interval) = (milliseconds(after_ms), milliseconds(interval_ms));
    let keep_alive = on.then_some(KeepAlive { after, interval, probes });
    with(|reactor| reactor.keep_alive(connection as usize, keep_alive))
}

/// What a server has done without JavaScript.
#[napi(object)]
pub struct NativeCounts {
    /// Connections that were accepted and could not be taken.
    pub lost: f64,
    /// Connections that were given to others, where the port is shared.
    pub moved: f64,
    /// TLS connections whose text went to another server, where the port is shared.
    pub relayed: f64,
    /// Requests that nobody has, where the port is shared.
    pub unowned: f64,
    /// Requests refused while JavaScript was busy.
    pub refused: f64,
    /// Responses given up while JavaScript was busy.
    pub timed_out: f64,
}

/// What a server has done without JavaScript.
#[napi]
pub fn stack_counts(server: u32) -> Result<NativeCounts> {
    let Counts { lost, moved, relayed, unowned, refused, timed_out } =
        with(|reactor| reactor.counts(server as usize))?;
    let [lost, moved, relayed, unowned, refused, timed_out] =
        [lost, moved, relayed, unowned, refused, timed_out].map(|count| count as f64);
    Ok(NativeCounts { lost, moved, relayed, unowned, refused, timed_out })
}

/// Whether the response to a connection was given up while JavaScript was busy.
#[napi]
pub fn stack_is_timed_out(connection: u32) -> Result<bool> {
    with(|reactor| reactor.is_timed_out(connection as usize))
}

/// Connections whose request takes too long to arrive; 0: no limit.
#[napi]
pub fn stack_late(server: u32, head_ms: f64, whole_ms: f64) -> Result<Vec<u32>> {
    let (head, whole) = (positive(head_ms), positive(whole_ms));
    let late = with(|reactor| reactor.late(server as usize, head, whole))?;
    Ok(late.into_iter().map(|id| id as u32).collect())
}

/// Connections that are slower than they have to be.
#[napi(object)]
pub struct NativeSlow {
    /// Their bodies arrive slowly.
    pub receiving: Vec<u32>,
    /// They take responses slowly.
    pub sending: Vec<u32>,
}

/// Connections that send, or take, fewer bytes per second than this; 0: no limit.
#[napi]
pub fn stack_slow(server: u32, receive: f64, send: f64) -> Result<NativeSlow> {
    let (receiving, sending) =
        with(|reactor| reactor.slow(server as usize, receive, send, unacknowledged))?;
    let numbers = |ids: Vec<usize>| ids.into_iter().map(|id| id as u32).collect();
    Ok(NativeSlow { receiving: numbers(receiving), sending: numbers(sending) })
}

/// Milliseconds since a connection became idle; missing: it is not.
#[napi]
pub fn stack_idle_for(connection: u32) -> Result<Option<f64>> {
    let idle = with(|reactor| reactor.idle_for(connection as usize))?;
    Ok(idle.map(|idle| idle.as_secs_f64() * 1e3))
}

/// Connections on which no request is arriving, each followed by how many of its requests were told; `unused`: those that
/// have sent nothing yet among them.
#[napi]
pub fn stack_idle(server: u32, unused: bool) -> Result<Vec<u32>> {
    let both = |(id, requests)| [id as u32, requests];
    with(|reactor| reactor.idle(server as usize, unused).flat_map(both).collect())
}

/// Bytes of a connection that have not left.
#[napi]
pub fn stack_queued(connection: u32) -> Result<u32> {
    Ok(with(|reactor| reactor.queued(connection as usize))? as u32)
}

/// `(count)`: sends what the first entries of the outbox name. In the place of each connection stands afterwards how many
/// bytes wait, or a negative error number. Written by hand: it is called for every few responses.
unsafe extern "C" fn send(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let (mut argument, mut arguments, mut count) = (ptr::null_mut(), 1, 0u32);
    // SAFETY: called by Node with its environment; a missing argument is `undefined`, which leaves zero.
    unsafe {
        let (receiver, data) = (ptr::null_mut(), ptr::null_mut());
        sys::napi_get_cb_info(env, info, &raw mut arguments, &raw mut argument, receiver, data);
        sys::napi_get_value_uint32(env, argument, &raw mut count);
    }
    STACK.with_borrow(|stack| {
        let Some(stack) = stack else { return };
        // SAFETY: JavaScript waits for this function.
        let (output, outbox) = unsafe { (stack.memory.output(), stack.memory.outbox()) };
        stack.reactor.with(|reactor| {
            for entry in outbox.chunks_exact_mut(ENTRY_LENGTH).take(count as usize) {
                // JavaScript wrote them: none is negative. Where one is, there is no such place.
                let [id, start, length, done, last] = std::array::from_fn(|at| entry[at] as usize);
                let bytes = output.get(start..start.saturating_add(length)).unwrap_or_default();
                entry[0] = outcome(reactor.send(id, bytes, done as u32, last == 1));
            }
        });
        stack.check_timer();
    });
    ptr::null_mut()
}

/// `(connection, start, length, bytes, done)`: sends bytes of the output memory, followed by bytes of the caller's; gives
/// how many wait, or a negative error number.
unsafe extern "C" fn send_bytes(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    let mut arguments = [ptr::null_mut(); 5];
    let mut count = arguments.len();
    let (mut connection, mut start, mut first, mut done) = (0u32, 0u32, 0u32, 0u32);
    let mut result = ptr::null_mut();
    // SAFETY: as in `send`; what is no array of bytes has none.
    let view = unsafe {
        let at = arguments.as_mut_ptr();
        sys::napi_get_cb_info(env, info, &raw mut count, at, ptr::null_mut(), ptr::null_mut());
        sys::napi_get_value_uint32(env, arguments[0], &raw mut connection);
        sys::napi_get_value_uint32(env, arguments[1], &raw mut start);
        sys::napi_get_value_uint32(env, arguments[2], &raw mut first);
        sys::napi_get_value_uint32(env, arguments[4], &raw mut done);
        View::of(env, arguments[3])
    };
    let queued = STACK.with_borrow(|stack| {
        let Some(stack) = stack else { return -1 };
        let copy;
        // SAFETY: JavaScript waits for this function, and the slice does not outlive it.
        let bytes = match view.as_ref().map(|view| (unsafe { view.bytes() }, view)) {
            None => &[],
            Some((Some(bytes), _)) => bytes,
            Some((None, view)) => {
                copy = view.copy();
                copy.as_slice()
            }
        };
        // SAFETY: as in `send`.
        let output = unsafe { stack.memory.output() };
        let start = start as usize;
        let first = output.get(start..start + first as usize).unwrap_or_default();
        let sent =
            stack.reactor.with(|reactor| reactor.send_two(connection as usize, first, bytes, done));
        stack.check_timer();
        outcome(sent)
    });
    // SAFETY: as in `send`.
    unsafe { sys::napi_create_int32(env, queued, &raw mut result) };
    result
}

fn outcome(sent: io::Result<usize>) -> i32 {
    match sent {
        Ok(queued) => i32::try_from(queued).unwrap_or(i32::MAX),
        Err(error) => -error.raw_os_error().unwrap_or(1),
    }
}

/// The functions of the hot path: `send(count)` and `sendBytes(connection, start, length, bytes, done)`.
#[napi(
    ts_return_type = "{ send(count: number): void; sendBytes(connection: number, start: number, length: number, bytes: Uint8Array, done: number): number }"
)]
pub fn stack_functions(env: Env) -> Result<napi::bindgen_prelude::Object<'static>> {
    let raw = env.raw();
    let mut object = ptr::null_mut();
    let functions: [(&std::ffi::CStr, sys::napi_callback); 2] =
        [(c"send", Some(send)), (c"sendBytes", Some(send_bytes))];
    // SAFETY: the present environment; the names are static, the functions as Node-API wants them.
    unsafe {
        sys::napi_create_object(raw, &raw mut object);
        for (name, callback) in functions {
            let mut function = ptr::null_mut();
            let length = name.to_bytes().len() as isize;
            sys::napi_create_function(
                raw,
                name.as_ptr(),
                length,
                callback,
                ptr::null_mut(),
                &raw mut function,
            );
            sys::napi_set_named_property(raw, object, name.as_ptr(), function);
        }
    }
    Ok(napi::bindgen_prelude::Object::from_raw(raw, object))
}
