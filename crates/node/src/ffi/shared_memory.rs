//! Memory that JavaScript has as well: that of the stack, and bytes of the caller's.
//!
//! Slices of it live only within the functions that lend them. While one lives, nothing here enters JavaScript, and whatever is
//! lent to be written to is lent alone.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use millrace_stack::batch::EVENT_LENGTH;
use napi::bindgen_prelude::{FromNapiValue, Object};
use napi::{Env, Error, Result, Status, sys};
use napi_derive::napi;

use super::node_api::check;

/// Events of a batch.
const EVENTS: usize = 4096;
/// Bytes that come in with a batch.
const INPUT: usize = 1024 * 1024;
/// Bytes that are collected before they are sent.
const OUTPUT: usize = 256 * 1024;
/// Entries of the outbox.
const ENTRIES: usize = 64;
/// Numbers of an entry of the outbox (`src/http/sending/write-batch.ts`): connection, where its bytes begin in the output memory, how
/// many they are, how many responses end with them, 1 if our side of the connection ends behind them.
pub(crate) const ENTRY_LENGTH: usize = 5;

thread_local! {
    /// Borrowed while memory of this thread's JavaScript is lent; to be written to: mutably.
    static LENT: RefCell<()> = const { RefCell::new(()) };
    static MEMORY: RefCell<Option<Rc<SharedMemory>>> = const { RefCell::new(None) };
}

/// Whether memory is lent on this thread: JavaScript must not run.
pub(super) fn is_lent() -> bool {
    LENT.with(|lent| lent.try_borrow_mut().is_err())
}

/// Memory for as long as somebody has a count of it: Rust, and an array buffer, wherever JavaScript moves its contents.
struct Block<T>(NonNull<[T]>);

impl<T: Clone + Default> Block<T> {
    fn new(length: usize) -> Arc<Self> {
        let memory = Box::leak(vec![T::default(); length].into_boxed_slice());
        Arc::new(Self(NonNull::from(memory)))
    }
}

impl<T> Block<T> {
    fn start(&self) -> *mut T {
        self.0.as_ptr().cast()
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        // SAFETY: of `Box::leak`, and nobody has it any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// An array buffer on a block has ended.
unsafe extern "C" fn release<T>(_: sys::napi_env, _: *mut c_void, block: *mut c_void) {
    // SAFETY: the count that the array buffer was given, which is taken once.
    drop(unsafe { Arc::from_raw(block.cast::<Block<T>>().cast_const()) });
}

/// A typed array and its memory.
struct Part<T> {
    array: sys::napi_ref,
    start: *mut T,
    length: usize,
    /// `None`: Node.js wants no memory but its own, which the array keeps as long as it is not detached. Nobody but
    /// `src/http/reactor/native.ts` has it, which does not.
    _block: Option<Arc<Block<T>>>,
}

impl<T> Part<T> {
    /// # Safety
    /// The memory is lent alone while the slice lives.
    #[expect(clippy::mut_from_ref, reason = "the memory is JavaScript's, not ours")]
    unsafe fn slice_mut(&self) -> &mut [T] {
        // SAFETY: by contract; the memory is kept alive and does not move.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }

    /// # Safety
    /// The memory is lent while the slice lives.
    unsafe fn slice(&self) -> &[T] {
        // SAFETY: by contract; the memory is kept alive and does not move.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// Of one environment: a batch's events and bytes, the bytes to be sent and whose they are.
pub(crate) struct SharedMemory {
    env: sys::napi_env,
    events: Part<i32>,
    input: Part<u8>,
    output: Part<u8>,
    outbox: Part<i32>,
}

impl SharedMemory {
    /// That of the present environment.
    pub(crate) fn of(env: Env) -> Result<Rc<Self>> {
        let memory = MEMORY.with_borrow(Clone::clone);
        let memory = memory.ok_or_else(|| Error::from_reason("there is no memory"))?;
        // A thread has one environment, but where somebody embeds Node.js.
        if memory.env != env.raw() {
            return Err(Error::from_reason("another environment of this thread has the stack"));
        }
        Ok(memory)
    }

    /// Lends events and bytes of a batch.
    pub(crate) fn with_batch<R>(&self, action: impl FnOnce(&mut [i32], &mut [u8]) -> R) -> R {
        // SAFETY: lent alone; they are two.
        LENT.with_borrow_mut(|()| unsafe {
            action(self.events.slice_mut(), self.input.slice_mut())
        })
    }

    /// Lends the bytes to be sent.
    pub(crate) fn with_output<R>(&self, action: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: lent.
        LENT.with_borrow(|()| unsafe { action(self.output.slice()) })
    }

    /// Lends the bytes to be sent, and whose they are.
    pub(crate) fn with_outbox<R>(&self, action: impl FnOnce(&[u8], &mut [i32]) -> R) -> R {
        // SAFETY: lent alone; they are two.
        LENT.with_borrow_mut(|()| unsafe { action(self.output.slice(), self.outbox.slice_mut()) })
    }

    fn new(env: sys::napi_env) -> Result<Self> {
        Ok(Self {
            env,
            events: numbers(env, EVENTS * EVENT_LENGTH)?,
            input: bytes(env, INPUT)?,
            output: bytes(env, OUTPUT)?,
            outbox: numbers(env, ENTRIES * ENTRY_LENGTH)?,
        })
    }
}

fn numbers(env: sys::napi_env, length: usize) -> Result<Part<i32>> {
    let kind = sys::TypedarrayType::int32_array;
    let size = length * size_of::<i32>();
    let (mut buffer, mut array) = (ptr::null_mut(), ptr::null_mut());
    let memory = on_block(Block::new(length), |data, hint| {
        let release = Some(release::<i32> as _);
        // SAFETY: `env` is the present environment; the array buffer has a count of the memory, which is so large.
        unsafe {
            sys::napi_create_external_arraybuffer(env, data, size, release, hint, &raw mut buffer)
        }
    })?;
    let (start, block) = match memory {
        Some(block) => (block.start(), Some(block)),
        None => {
            let mut start = ptr::null_mut();
            // SAFETY: as above; Node-API writes to these variables only. It gives zeros.
            check(unsafe {
                sys::napi_create_arraybuffer(env, size, &raw mut start, &raw mut buffer)
            })?;
            (start.cast(), None)
        }
    };
    // SAFETY: as above.
    check(unsafe { sys::napi_create_typedarray(env, kind, length, buffer, 0, &raw mut array) })?;
    Ok(Part { array: reference(env, array)?, start, length, _block: block })
}

fn bytes(env: sys::napi_env, length: usize) -> Result<Part<u8>> {
    let mut array = ptr::null_mut();
    let memory = on_block(Block::new(length), |data, hint| {
        let release = Some(release::<u8> as _);
        // SAFETY: as in `numbers`.
        unsafe {
            sys::napi_create_external_buffer(env, length, data, release, hint, &raw mut array)
        }
    })?;
    let (start, block) = match memory {
        Some(block) => (block.start(), Some(block)),
        None => {
            let mut start = ptr::null_mut();
            // SAFETY: as in `numbers`; but a slice has to be initialized, and the memory is so long.
            unsafe {
                check(sys::napi_create_buffer(env, length, &raw mut start, &raw mut array))?;
                start.cast::<u8>().write_bytes(0, length);
            }
            (start.cast(), None)
        }
    };
    Ok(Part { array: reference(env, array)?, start, length, _block: block })
}

/// Makes an array buffer on a block, by its start and a count of it. `None`: Node.js wants no memory but its own.
fn on_block<T>(
    block: Arc<Block<T>>,
    make: impl FnOnce(*mut c_void, *mut c_void) -> sys::napi_status,
) -> Result<Option<Arc<Block<T>>>> {
    let count = Arc::into_raw(Arc::clone(&block));
    match make(block.start().cast(), count.cast_mut().cast()) {
        sys::Status::napi_no_external_buffers_allowed => {
            // SAFETY: of `into_raw`; nobody has it.
            drop(unsafe { Arc::from_raw(count) });
            Ok(None)
        }
        // Where it fails otherwise, the count may have been given back or not: the memory stays.
        status => {
            let made = check(status).map(|()| Some(Arc::clone(&block)));
            if made.is_err() {
                std::mem::forget(block);
            }
            made
        }
    }
}

fn reference(env: sys::napi_env, value: sys::napi_value) -> Result<sys::napi_ref> {
    let mut reference = ptr::null_mut();
    // SAFETY: as in `numbers`; the value is of this call.
    check(unsafe { sys::napi_create_reference(env, value, 1, &raw mut reference) })?;
    Ok(reference)
}

/// The memory of this thread's stack: always the same.
#[napi(
    ts_return_type = "{ events: Int32Array; input: Buffer; output: Buffer; outbox: Int32Array }"
)]
pub fn stack_memory(env: Env) -> Result<Object<'static>> {
    let raw = env.raw();
    if MEMORY.with_borrow(Option::is_none) {
        let memory = SharedMemory::new(raw)?;
        // SAFETY: the present environment; the hook uses nothing but this thread's variable.
        check(unsafe { sys::napi_add_env_cleanup_hook(raw, Some(forget), ptr::null_mut()) })?;
        MEMORY.set(Some(Rc::new(memory)));
    }
    let memory = SharedMemory::of(env)?;
    let mut object = ptr::null_mut();
    // SAFETY: as in `numbers`; the references are of this environment.
    unsafe {
        check(sys::napi_create_object(raw, &raw mut object))?;
        for (name, array) in [
            (c"events", memory.events.array),
            (c"input", memory.input.array),
            (c"output", memory.output.array),
            (c"outbox", memory.outbox.array),
        ] {
            let mut value = ptr::null_mut();
            check(sys::napi_get_reference_value(raw, array, &raw mut value))?;
            check(sys::napi_set_named_property(raw, object, name.as_ptr(), value))?;
        }
    }
    Ok(Object::from_raw(raw, object))
}

/// The environment ends.
unsafe extern "C" fn forget(_: *mut c_void) {
    // It may be the thread's end already.
    MEMORY.try_with(|memory| memory.try_borrow_mut().map(|mut memory| memory.take())).ok();
}

/// A copy of the bytes of a `Uint8Array`, of shared memory as well.
#[derive(Clone)]
pub struct Bytes(pub(crate) Vec<u8>);

impl FromNapiValue for Bytes {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        // SAFETY: by contract.
        let bytes = unsafe { with_bytes(env, value, <[u8]>::to_vec) };
        bytes.map(Self).ok_or_else(|| Error::new(Status::InvalidArg, "Expected a Uint8Array"))
    }
}

/// Lends the bytes of a `Uint8Array`: where they are, or a copy if other threads may change them. `None`: the value is another
/// one.
///
/// # Safety
/// The environment is the present one, the value one of the present call.
pub(super) unsafe fn with_bytes<R>(
    env: sys::napi_env,
    value: sys::napi_value,
    action: impl FnOnce(&[u8]) -> R,
) -> Option<R> {
    // SAFETY: by contract.
    let view = unsafe { View::of(env, value) }?;
    Some(LENT.with_borrow(|()| match (view.length, view.is_shared) {
        (0, _) => action(&[]),
        (_, true) => action(&view.copy()),
        // SAFETY: memory of a buffer that is this thread's alone and stays as it is while JavaScript waits.
        (length, false) => action(unsafe { std::slice::from_raw_parts(view.start, length) }),
    }))
}

/// Lends the bytes of a `Uint8Array` to be written to. `None`: the value is another one, or other threads may use its memory.
///
/// # Safety
/// The environment is the present one, the value one of the present call.
pub(super) unsafe fn with_bytes_mut<R>(
    env: sys::napi_env,
    value: sys::napi_value,
    action: impl FnOnce(&mut [u8]) -> R,
) -> Option<R> {
    // SAFETY: by contract.
    let view = unsafe { View::of(env, value) }?;
    if view.is_shared || view.length == 0 {
        return None;
    }
    Some(LENT.with_borrow_mut(|()| {
        // SAFETY: memory of a buffer that is this thread's alone and stays as it is while JavaScript waits; lent alone.
        action(unsafe { std::slice::from_raw_parts_mut(view.start, view.length) })
    }))
}

/// Where the bytes of a `Uint8Array` are, until JavaScript runs again.
struct View {
    start: *mut u8,
    length: usize,
    is_shared: bool,
}

impl View {
    /// `None`: the value is another one.
    ///
    /// # Safety
    /// The environment is the present one, the value one of the present call.
    unsafe fn of(env: sys::napi_env, value: sys::napi_value) -> Option<Self> {
        let (mut is_view, mut is_unshared) = (false, false);
        let (mut kind, mut length, mut offset) = (0, 0, 0);
        let (mut data, mut buffer): (*mut c_void, _) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: by contract; Node-API only writes to these variables.
        let statuses = unsafe {
            [
                sys::napi_is_typedarray(env, value, &raw mut is_view),
                sys::napi_get_typedarray_info(
                    env,
                    value,
                    &raw mut kind,
                    &raw mut length,
                    &raw mut data,
                    &raw mut buffer,
                    &raw mut offset,
                ),
                sys::napi_is_arraybuffer(env, buffer, &raw mut is_unshared),
            ]
        };
        let is_bytes = is_view && kind == sys::TypedarrayType::uint8_array;
        if statuses.iter().any(|&status| status != sys::Status::napi_ok) || !is_bytes {
            return None;
        }
        // A detached buffer has no memory.
        let length = if data.is_null() { 0 } else { length };
        Some(Self { start: data.cast(), length, is_shared: !is_unshared })
    }

    /// A copy of the bytes, whoever changes them meanwhile.
    fn copy(&self) -> Vec<u8> {
        let byte = |at| {
            // SAFETY: within the buffer, which JavaScript keeps while this thread does not return to it; where it is
            // shared, other threads may write to it, so it is read atomically.
            unsafe { AtomicU8::from_ptr(self.start.add(at)) }.load(Ordering::Relaxed)
        };
        (0..self.length).map(byte).collect()
    }
}
