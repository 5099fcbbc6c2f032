//! Sending: the functions that are called for every response, without napi-rs' conversions.

use std::ffi::CStr;
use std::io;

use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;

use super::STACK;
use crate::ffi::node_api::{Arguments, BareFunction, add_function};
use crate::ffi::shared_memory::ENTRY_LENGTH;

/// `(count)`: sends what the first entries of the outbox name. In the place of each connection stands afterwards how many
/// bytes wait, or a negative error number.
struct Send;

/// What follows the bytes of an entry (`src/http/sending/write-batch.ts`).
const LAST: usize = 1;
const FORGOTTEN: usize = 2;

impl BareFunction<1> for Send {
    const NAME: &CStr = c"send";

    fn call(arguments: &Arguments<1>) -> Option<i32> {
        let count = arguments.number(0) as usize;
        STACK.with_borrow(|stack| {
            let Some(stack) = stack else { return };
            stack.memory.with_outbox(|output, outbox| {
                stack.command(|reactor| {
                    for entry in outbox.chunks_exact_mut(ENTRY_LENGTH).take(count) {
                        // JavaScript wrote them: none is negative. Where one is, there is no such place.
                        let [id, start, length, done, then] =
                            std::array::from_fn(|at| entry[at] as usize);
                        let end = start.saturating_add(length);
                        let bytes = output.get(start..end).unwrap_or_default();
                        entry[0] = outcome(reactor.send(id, bytes, done as u32, then == LAST));
                        if then == FORGOTTEN {
                            reactor.forget_stream(id);
                        }
                    }
                });
            });
        });
        None
    }
}

/// `(connection, start, length, bytes, done)`: sends bytes of the output memory, followed by bytes of the caller's; gives
/// how many wait, or a negative error number. What is no array of bytes has none.
struct SendBytes;

impl BareFunction<5> for SendBytes {
    const NAME: &CStr = c"sendBytes";

    fn call(arguments: &Arguments<5>) -> Option<i32> {
        let [connection, start, length] = [0, 1, 2].map(|at| arguments.number(at) as usize);
        let done = arguments.number(4);
        let send = |bytes: &[u8]| {
            STACK.with_borrow(|stack| {
                let Some(stack) = stack else { return -1 };
                outcome(stack.memory.with_output(|output| {
                    let first = output.get(start..start + length).unwrap_or_default();
                    stack.command(|reactor| reactor.send_two(connection, first, bytes, done))
                }))
            })
        };
        Some(arguments.with_bytes(3, send).unwrap_or_else(|| send(&[])))
    }
}

/// `()`: what streams of HTTP/2 have written leaves, though a turn's end is to come.
struct Flush;

impl BareFunction<0> for Flush {
    const NAME: &CStr = c"flush";

    fn call(_: &Arguments<0>) -> Option<i32> {
        STACK.with_borrow(|stack| {
            let Some(stack) = stack else { return };
            stack.command(millrace_stack::Reactor::flush_written);
        });
        None
    }
}

/// `(connection, buffer)`: receives the next part of a body; gives how many bytes it has.
struct ReceiveBody;

impl BareFunction<2> for ReceiveBody {
    const NAME: &CStr = c"receiveBody";

    fn call(arguments: &Arguments<2>) -> Option<i32> {
        let connection = arguments.number(0) as usize;
        let receive = |buffer: &mut [u8]| {
            STACK.with_borrow(|stack| {
                let Some(stack) = stack else { return 0 };
                stack.command(|reactor| reactor.receive_body(connection, buffer))
            })
        };
        // In range: a part has 64 KiB at most.
        Some(arguments.with_bytes_mut(1, receive).unwrap_or(0) as i32)
    }
}

fn outcome(sent: io::Result<usize>) -> i32 {
    match sent {
        Ok(queued) => i32::try_from(queued).unwrap_or(i32::MAX),
        Err(error) => -error.raw_os_error().unwrap_or(1),
    }
}

/// The functions of the hot path: `send(count)`, `sendBytes(connection, start, length, bytes, done)`,
/// `receiveBody(connection, buffer)` and `flush()`.
#[napi(
    ts_return_type = "{ send(count: number): void; sendBytes(connection: number, start: number, length: number, bytes: Uint8Array, done: number): number; receiveBody(connection: number, buffer: Uint8Array): number; flush(): void }"
)]
pub fn stack_functions(env: Env) -> Result<Object<'static>> {
    let mut object = Object::new(&env)?;
    add_function::<1, Send>(env, &mut object)?;
    add_function::<5, SendBytes>(env, &mut object)?;
    add_function::<2, ReceiveBody>(env, &mut object)?;
    add_function::<0, Flush>(env, &mut object)?;
    Ok(object)
}
