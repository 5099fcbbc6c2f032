//! Sending: the functions that are called for every response, without napi-rs' conversions.

use std::io;
use std::ptr;

use napi::{Env, Result, sys};
use napi_derive::napi;

use super::STACK;
use super::memory::ENTRY_LENGTH;
use crate::list::View;

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
