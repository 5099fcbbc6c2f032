//! The server stack in Node's own loop: one reactor per JavaScript thread. One file, since all that is `unsafe` in the stack
//! stands here and in `event_loop.rs`.

use std::cell::{Cell, RefCell};
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use millrace_stack::{Batch, Companion, Counts, Reactor, Settings, Shared as SharedReactor};
use napi::bindgen_prelude::{Buffer, Function, Int32Array, Uint8Array};
use napi::{Env, Error, JsValue, Result, sys};
use napi_derive::napi;

use crate::cache::NativeCacheSettings;
use crate::event_loop::{EventLoop, Woken};
use crate::unacknowledged::unacknowledged;

/// Batches in a row before Node's loop looks after everything else.
const BATCHES: usize = 4;

/// Numbers of an entry of the outbox (`src/http/outbox.ts`): connection, where its bytes begin in the output memory, how
/// many they are, how many responses end with them, 1 if our side of the connection ends behind them.
const ENTRY: usize = 5;

/// A time that does not come.
const NO_LIMIT: Duration = Duration::from_secs(u32::MAX as u64);

/// Memory that JavaScript made and that is referenced for as long as the reactor lives.
struct Shared<T> {
    start: *mut T,
    length: usize,
}

impl<T> Shared<T> {
    /// # Safety
    /// Nobody else uses the memory while the slice lives: JavaScript does not run, and it is of this thread.
    #[expect(clippy::mut_from_ref, reason = "the memory is JavaScript's, not ours")]
    unsafe fn slice(&self) -> &mut [T] {
        // SAFETY: by contract; the memory is kept alive by a reference and does not move.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

/// The reactor of one JavaScript thread and what connects it with JavaScript.
struct Stack {
    env: sys::napi_env,
    reactor: Arc<SharedReactor>,
    companion: RefCell<Option<Companion>>,
    event_loop: RefCell<Option<EventLoop>>,
    context: sys::napi_async_context,
    receiver: sys::napi_ref,
    callback: sys::napi_ref,
    cleanup: Cell<sys::napi_async_cleanup_hook_handle>,
    events: Shared<i32>,
    input: Shared<u8>,
    output: Shared<u8>,
    outbox: Shared<i32>,
    references: Cell<u32>,
    /// The time for which the timer is set.
    timer: Cell<Option<u64>>,
}

thread_local! {
    static STACK: RefCell<Option<Rc<Stack>>> = const { RefCell::new(None) };
}

impl Woken for Stack {
    fn on_wake(&self) {
        for _ in 0..BATCHES {
            let (count, more) = self.turn();
            if count > 0 && !self.call(count) {
                return;
            }
            if !more {
                break;
            }
        }
        self.reactor.with(Reactor::wake_again);
        self.set_timer();
    }

    fn on_closed(&self) {
        // SAFETY: the hook was added in `start` and is removed once.
        unsafe { sys::napi_remove_async_cleanup_hook(self.cleanup.get()) };
        // The loop is over for this thread; memory goes with the process or here.
        // SAFETY: the count was raised in `start` for the loop's pointer, which is not used any more.
        unsafe { Rc::decrement_strong_count(ptr::from_ref(self)) };
    }
}

impl Stack {
    fn turn(&self) -> (usize, bool) {
        // SAFETY: JavaScript does not run during this function.
        let (events, input) = unsafe { (self.events.slice(), self.input.slice()) };
        let mut batch = Batch::new(events, input);
        let more = self.reactor.turn(&mut batch).unwrap_or(false);
        (batch.count(), more)
    }

    /// Lets JavaScript take a batch; `false` if it cannot run any more.
    fn call(&self, count: usize) -> bool {
        let mut scope = ptr::null_mut();
        // SAFETY: `env` belongs to this thread, the references were made in `start`.
        unsafe {
            if sys::napi_open_handle_scope(self.env, &raw mut scope) != sys::Status::napi_ok {
                return false;
            }
            let (mut receiver, mut function) = (ptr::null_mut(), ptr::null_mut());
            let (mut argument, mut result) = (ptr::null_mut(), ptr::null_mut());
            sys::napi_get_reference_value(self.env, self.receiver, &raw mut receiver);
            sys::napi_get_reference_value(self.env, self.callback, &raw mut function);
            sys::napi_create_uint32(self.env, count as u32, &raw mut argument);
            let alive = loop {
                let status = sys::napi_make_callback(
                    self.env,
                    self.context,
                    receiver,
                    function,
                    1,
                    &raw const argument,
                    &raw mut result,
                );
                if status == sys::Status::napi_ok {
                    break true;
                }
                // A handler has thrown. The process may survive it (uncaughtException); then the rest
                // of the batch is taken.
                let mut exception = ptr::null_mut();
                if sys::napi_get_and_clear_last_exception(self.env, &raw mut exception)
                    != sys::Status::napi_ok
                    || sys::napi_fatal_exception(self.env, exception) != sys::Status::napi_ok
                {
                    break false;
                }
            };
            sys::napi_close_handle_scope(self.env, scope);
            alive
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

/// Milliseconds as a time; `None`: none, or not more than zero of them.
pub(crate) fn positive(ms: f64) -> Option<Duration> {
    (ms > 0.0).then(|| Duration::try_from_secs_f64(ms / 1e3).ok()).flatten()
}

pub(crate) fn duplicate(fd: i32) -> Result<OwnedFd> {
    if fd < 0 {
        return Err(Error::from_reason(format!("{fd} is not a descriptor")));
    }
    // SAFETY: borrowed for the call only; a number that is no descriptor makes it fail.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned().map_err(system_error)
}

pub(crate) fn system_error(error: std::io::Error) -> Error {
    Error::from_reason(error.to_string())
}

/// Starts the stack on this thread; once. The memory is the batch's events and bytes, the bytes to be sent and
/// whose they are; `callback` takes the number of events of a batch.
#[napi]
pub fn stack_start(
    env: Env,
    mut events: Int32Array,
    mut input: Uint8Array,
    mut output: Uint8Array,
    mut outbox: Int32Array,
    receiver: napi::bindgen_prelude::Object<'_>,
    callback: Function<'_, u32, ()>,
) -> Result<()> {
    let reactor = Reactor::new().map_err(system_error)?;
    let descriptor = reactor.descriptor();
    let raw = env.raw();
    let (mut context, mut name) = (ptr::null_mut(), ptr::null_mut());
    let (mut receiver_reference, mut callback_reference) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: `raw` is the present environment; the values are alive during this call.
    unsafe {
        sys::napi_create_string_utf8(raw, c"MILLRACE".as_ptr(), 8, &raw mut name);
        sys::napi_async_init(raw, ptr::null_mut(), name, &raw mut context);
        sys::napi_create_reference(raw, receiver.raw(), 1, &raw mut receiver_reference);
        sys::napi_create_reference(raw, callback.raw(), 1, &raw mut callback_reference);
    }
    // SAFETY: typed arrays that `receiver` keeps alive; only this thread uses them.
    let (events, input, output, outbox) = unsafe {
        (
            Shared { start: events.as_mut().as_mut_ptr(), length: events.len() },
            Shared { start: input.as_mut().as_mut_ptr(), length: input.len() },
            Shared { start: output.as_mut().as_mut_ptr(), length: output.len() },
            Shared { start: outbox.as_mut().as_mut_ptr(), length: outbox.len() },
        )
    };
    let stack = Rc::new(Stack {
        env: raw,
        reactor: SharedReactor::new(reactor),
        companion: RefCell::new(None),
        event_loop: RefCell::new(None),
        context,
        receiver: receiver_reference,
        callback: callback_reference,
        cleanup: Cell::new(ptr::null_mut()),
        events,
        input,
        output,
        outbox,
        references: Cell::new(0),
        timer: Cell::new(None),
    });
    let pointer = Rc::into_raw(Rc::clone(&stack));
    // SAFETY: the count raised by `into_raw` keeps the stack until `on_closed`.
    let event_loop = unsafe { EventLoop::new(raw, descriptor, pointer) }
        .ok_or_else(|| Error::from_reason("Node's event loop refused the poll descriptor"))?;
    stack.event_loop.replace(Some(event_loop));
    let mut cleanup = ptr::null_mut();
    // SAFETY: the hook is called once, on this thread, while the stack is alive.
    unsafe {
        sys::napi_add_async_cleanup_hook(
            raw,
            Some(on_cleanup),
            pointer.cast_mut().cast(),
            &raw mut cleanup,
        );
    }
    stack.cleanup.set(cleanup);
    STACK.with_borrow_mut(|slot| *slot = Some(stack));
    Ok(())
}

/// The environment ends: all connections are closed, the loop's handles given back.
unsafe extern "C" fn on_cleanup(
    _: sys::napi_async_cleanup_hook_handle,
    stack: *mut std::ffi::c_void,
) {
    // SAFETY: the pointer given to the hook, see `stack_start`.
    let stack = unsafe { &*stack.cast::<Stack>() };
    STACK.with_borrow_mut(Option::take);
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
    /// 0: off.
    pub tcp_keep_alive_ms: f64,
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
            tcp_keep_alive: positive(native.tcp_keep_alive_ms),
            keep_alive_told: native.keep_alive_seconds,
            cache: native.cache.map(Into::into).unwrap_or_default(),
            tells_hits,
            counts_requests: native.counts_requests,
            screens: native.screens,
            max_in_flight: (native.max_in_flight > 0).then_some(native.max_in_flight),
            response_limit: positive(native.response_ms),
            response_status: native.response_status,
            tls: native.handshake_ms.map(|ms| positive(ms).unwrap_or(NO_LIMIT)),
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

/// Closes at once.
#[napi]
pub fn stack_close(connection: u32, reset: bool) -> Result<()> {
    with(|reactor| reactor.close(connection as usize, reset))
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
}

/// Gives a connection away.
#[napi]
pub fn stack_release(connection: u32) -> Result<NativeReleased> {
    let (fd, told, bytes) =
        with(|reactor| reactor.release(connection as usize))?.map_err(system_error)?;
    // In range: an offset within a batch's memory.
    Ok(NativeReleased { fd: fd.into_raw_fd(), told: told as u32, bytes: bytes.into() })
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

/// TCP's probes.
#[napi]
pub fn stack_set_keep_alive(connection: u32, on: bool, after_ms: f64) -> Result<()> {
    with(|reactor| {
        if let Some(socket) = reactor.socket(connection as usize) {
            socket.set_keepalive(on).ok();
            if on && after_ms >= 1000.0 {
                let after =
                    socket2::TcpKeepalive::new().with_time(Duration::from_secs_f64(after_ms / 1e3));
                socket.set_tcp_keepalive(&after).ok();
            }
        }
    })
}

/// What a server has done without JavaScript.
#[napi(object)]
pub struct NativeCounts {
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
    let Counts { moved, relayed, unowned, refused, timed_out } =
        with(|reactor| reactor.counts(server as usize))?;
    let [moved, relayed, unowned, refused, timed_out] =
        [moved, relayed, unowned, refused, timed_out].map(|count| count as f64);
    Ok(NativeCounts { moved, relayed, unowned, refused, timed_out })
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
        let (output, outbox) = unsafe { (stack.output.slice(), stack.outbox.slice()) };
        stack.reactor.with(|reactor| {
            for entry in outbox.chunks_exact_mut(ENTRY).take(count as usize) {
                // JavaScript wrote them: none is negative.
                let [id, start, length, done, last] = std::array::from_fn(|at| entry[at] as usize);
                let bytes = output.get(start..start + length).unwrap_or_default();
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
    let (mut data, mut length) = (ptr::null_mut(), 0usize);
    let mut result = ptr::null_mut();
    // SAFETY: as in `send`; a value that is no buffer leaves the length at zero.
    unsafe {
        let at = arguments.as_mut_ptr();
        sys::napi_get_cb_info(env, info, &raw mut count, at, ptr::null_mut(), ptr::null_mut());
        sys::napi_get_value_uint32(env, arguments[0], &raw mut connection);
        sys::napi_get_value_uint32(env, arguments[1], &raw mut start);
        sys::napi_get_value_uint32(env, arguments[2], &raw mut first);
        sys::napi_get_buffer_info(env, arguments[3], &raw mut data, &raw mut length);
        sys::napi_get_value_uint32(env, arguments[4], &raw mut done);
    }
    let queued = STACK.with_borrow(|stack| {
        let Some(stack) = stack else { return -1 };
        let bytes: &[u8] = if length == 0 || data.is_null() {
            &[]
        } else {
            // SAFETY: the buffer's memory, which cannot change or move while JavaScript waits.
            unsafe { std::slice::from_raw_parts(data.cast(), length) }
        };
        // SAFETY: as in `send`.
        let output = unsafe { stack.output.slice() };
        let first = output.get(start as usize..(start + first) as usize).unwrap_or_default();
        let sent =
            stack.reactor.with(|reactor| reactor.send_two(connection as usize, first, bytes, done));
        stack.check_timer();
        outcome(sent)
    });
    // SAFETY: as in `send`.
    unsafe { sys::napi_create_int32(env, queued, &raw mut result) };
    result
}

fn outcome(sent: std::io::Result<usize>) -> i32 {
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
