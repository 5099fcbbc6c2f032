//! Arrays and bytes of JavaScript, taken over as they are while they are read.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use napi::bindgen_prelude::{Array, FromNapiValue};
use napi::{Error, Result, Status, sys};

/// The elements of an array. An array without elements may say that it has 2^32 of them, so no room is made beforehand.
pub struct List<T>(pub(crate) Vec<T>);

impl<T: FromNapiValue> FromNapiValue for List<T> {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        // SAFETY: by contract.
        let array = unsafe { Array::from_napi_value(env, value)? };
        let mut elements = Vec::new();
        for index in 0..array.len() {
            // A getter may have made it shorter.
            let Some(element) = array.get(index)? else { break };
            elements.push(element);
        }
        Ok(Self(elements))
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A copy of the bytes of a `Uint8Array`, of shared memory as well.
#[derive(Clone)]
pub struct Bytes(pub(crate) Vec<u8>);

impl FromNapiValue for Bytes {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        // SAFETY: by contract; nothing of JavaScript runs while `view` is looked at.
        let view = unsafe { View::of(env, value) };
        let view = view.ok_or_else(|| Error::new(Status::InvalidArg, "Expected a Uint8Array"))?;
        // SAFETY: as above.
        Ok(Self(unsafe { view.bytes() }.map_or_else(|| view.copy(), <[u8]>::to_vec)))
    }
}

/// Where the bytes of a `Uint8Array` are, until JavaScript runs again.
pub(crate) struct View {
    start: *mut u8,
    length: usize,
    is_shared: bool,
}

impl View {
    /// `None`: the value is another one.
    ///
    /// # Safety
    /// The environment is the present one, the value one of the present call.
    pub(crate) unsafe fn of(env: sys::napi_env, value: sys::napi_value) -> Option<Self> {
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

    /// The bytes where they are; `None`: other threads may change them.
    ///
    /// # Safety
    /// JavaScript does not run as long as the slice lives.
    pub(crate) unsafe fn bytes<'a>(&self) -> Option<&'a [u8]> {
        match (self.length, self.is_shared) {
            (0, _) => Some(&[]),
            (_, true) => None,
            // SAFETY: memory of a buffer that is this thread's alone and stays as it is while JavaScript waits.
            (length, false) => Some(unsafe { std::slice::from_raw_parts(self.start, length) }),
        }
    }

    /// A copy of the bytes, whoever changes them meanwhile.
    pub(crate) fn copy(&self) -> Vec<u8> {
        let byte = |at| {
            // SAFETY: within the buffer, which JavaScript keeps while this thread does not return to it; where it is
            // shared, other threads may write to it, so it is read atomically.
            unsafe { AtomicU8::from_ptr(self.start.add(at)) }.load(Ordering::Relaxed)
        };
        (0..self.length).map(byte).collect()
    }
}
