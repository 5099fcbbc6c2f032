//! The memory that JavaScript and the reactor share.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use millrace_stack::batch::EVENT_LENGTH;
use napi::bindgen_prelude::Object;
use napi::{Env, Result, sys};
use napi_derive::napi;

use crate::stack::{check, reason};

/// Events of a batch.
const EVENTS: usize = 4096;
/// Bytes that come in with a batch.
const INPUT: usize = 1024 * 1024;
/// Bytes that are collected before they are sent.
const OUTPUT: usize = 256 * 1024;
/// Entries of the outbox.
const ENTRIES: usize = 64;
/// Numbers of an entry of the outbox (`src/http/response/write-batch.ts`): connection, where its bytes begin in the output memory, how
/// many they are, how many responses end with them, 1 if our side of the connection ends behind them.
pub(crate) const ENTRY_LENGTH: usize = 5;

/// A typed array and its memory, which a reference keeps alive. Nobody but `src/http/reactor/native.ts` has it, which neither detaches
/// it nor gives it to another thread.
struct Part<T> {
    array: sys::napi_ref,
    start: *mut T,
    length: usize,
}

impl<T> Part<T> {
    /// # Safety
    /// Nobody else uses the memory while the slice lives: JavaScript does not run, and it is of this thread.
    #[expect(clippy::mut_from_ref, reason = "the memory is JavaScript's, not ours")]
    unsafe fn slice(&self) -> &mut [T] {
        // SAFETY: by contract; the memory is kept alive by a reference and does not move.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

/// Of one environment: a batch's events and bytes, the bytes to be sent and whose they are.
pub(crate) struct Memory {
    env: sys::napi_env,
    events: Part<i32>,
    input: Part<u8>,
    output: Part<u8>,
    outbox: Part<i32>,
}

thread_local! {
    static MEMORY: RefCell<Option<Rc<Memory>>> = const { RefCell::new(None) };
}

impl Memory {
    /// That of the present environment.
    pub(crate) fn of(env: Env) -> Result<Rc<Self>> {
        let memory =
            MEMORY.with_borrow(Clone::clone).ok_or_else(|| reason("there is no memory"))?;
        // A thread has one environment, but where somebody embeds Node.js.
        if memory.env != env.raw() {
            return Err(reason("another environment of this thread has the stack"));
        }
        Ok(memory)
    }

    /// Events and bytes of a batch.
    ///
    /// # Safety
    /// JavaScript does not run while they live, nor does this function.
    #[expect(clippy::mut_from_ref, reason = "the memory is JavaScript's, not ours")]
    pub(crate) unsafe fn batch(&self) -> (&mut [i32], &mut [u8]) {
        // SAFETY: by contract.
        unsafe { (self.events.slice(), self.input.slice()) }
    }

    /// The bytes to be sent.
    ///
    /// # Safety
    /// JavaScript does not run while they live.
    pub(crate) unsafe fn output(&self) -> &[u8] {
        // SAFETY: by contract; nothing else writes to it.
        unsafe { self.output.slice() }
    }

    /// Whose they are.
    ///
    /// # Safety
    /// JavaScript does not run while it lives, nor does this function.
    #[expect(clippy::mut_from_ref, reason = "the memory is JavaScript's, not ours")]
    pub(crate) unsafe fn outbox(&self) -> &mut [i32] {
        // SAFETY: by contract.
        unsafe { self.outbox.slice() }
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
    let (mut start, mut buffer, mut array) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let kind = sys::TypedarrayType::int32_array;
    // SAFETY: `env` is the present environment; Node-API writes to these variables only.
    unsafe {
        check(sys::napi_create_arraybuffer(env, 4 * length, &raw mut start, &raw mut buffer))?;
        check(sys::napi_create_typedarray(env, kind, length, buffer, 0, &raw mut array))?;
    }
    Ok(Part { array: reference(env, array)?, start: start.cast(), length })
}

fn bytes(env: sys::napi_env, length: usize) -> Result<Part<u8>> {
    let (mut start, mut array) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: as in `numbers`.
    check(unsafe { sys::napi_create_buffer(env, length, &raw mut start, &raw mut array) })?;
    // Never read before it is written; but a slice has to be initialised.
    // SAFETY: it was made with this length.
    unsafe { start.cast::<u8>().write_bytes(0, length) };
    Ok(Part { array: reference(env, array)?, start: start.cast(), length })
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
        let memory = Memory::new(raw)?;
        // SAFETY: the present environment; the hook uses nothing but this thread's variable.
        check(unsafe { sys::napi_add_env_cleanup_hook(raw, Some(forget), ptr::null_mut()) })?;
        MEMORY.set(Some(Rc::new(memory)));
    }
    let memory = Memory::of(env)?;
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
