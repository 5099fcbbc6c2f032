//! What napi-rs does not have of Node-API: calls of JavaScript from Node's loop, a hook that holds up the end of an environment,
//! and functions without conversions.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::rc::Rc;

use napi::bindgen_prelude::{Array, FromNapiValue, JsObjectValue as _, Object, Unknown};
use napi::{Env, Error, JsValue, Result, Status, sys};

use super::shared_memory::{is_lent, with_bytes, with_bytes_mut};

/// What Node-API says of a call.
pub(super) fn check(status: sys::napi_status) -> Result<()> {
    match status {
        sys::Status::napi_ok => Ok(()),
        status => Err(Error::from_status(Status::from(status))),
    }
}

/// Lets 'uncaughtException' decide about an error, as for errors of Node's own callbacks.
pub(crate) fn report_uncaught(env: Env, error: Unknown<'_>) {
    // SAFETY: a value of the present call and its environment.
    unsafe { sys::napi_fatal_exception(env.raw(), error.raw()) };
}

/// A function of JavaScript that stays.
pub(crate) struct Callback(sys::napi_ref);

impl Callback {
    pub(crate) fn new<'a>(env: Env, function: &impl JsValue<'a>) -> Result<Self> {
        let mut reference = ptr::null_mut();
        // SAFETY: the present environment and a value of the present call.
        check(unsafe {
            sys::napi_create_reference(env.raw(), function.raw(), 1, &raw mut reference)
        })?;
        Ok(Self(reference))
    }
}

/// Calls JavaScript from Node's loop, on the environment's thread. It is not used any more when the environment's
/// [`CleanupHook`] is dropped.
pub(crate) struct Caller {
    env: sys::napi_env,
    context: sys::napi_async_context,
}

impl Caller {
    /// `name` is that of the asynchronous resource.
    pub(crate) fn new(env: Env, name: &CStr) -> Result<Self> {
        let (mut context, mut resource) = (ptr::null_mut(), ptr::null_mut());
        let (env, length) = (env.raw(), name.to_bytes().len() as isize);
        // SAFETY: the present environment; the name is copied.
        unsafe {
            check(sys::napi_create_string_utf8(env, name.as_ptr(), length, &raw mut resource))?;
            check(sys::napi_async_init(env, ptr::null_mut(), resource, &raw mut context))?;
        }
        Ok(Self { env, context })
    }

    /// `None`: JavaScript cannot run any more, or has lent its memory.
    pub(crate) fn with_scope<R>(&self, action: impl FnOnce(&Scope<'_>) -> Option<R>) -> Option<R> {
        if is_lent() {
            return None;
        }
        let mut scope = ptr::null_mut();
        // SAFETY: `env` belongs to this thread.
        let status = unsafe { sys::napi_open_handle_scope(self.env, &raw mut scope) };
        if status != sys::Status::napi_ok {
            return None;
        }
        let result = action(&Scope { caller: self });
        // SAFETY: opened above, and those that were opened since are closed.
        unsafe { sys::napi_close_handle_scope(self.env, scope) };
        result
    }
}

/// Keeps values of JavaScript while it is open.
pub(crate) struct Scope<'a> {
    caller: &'a Caller,
}

/// A value of JavaScript in a scope; null where Node-API gave none, which all of it refuses.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Value<'a> {
    value: sys::napi_value,
    scope: PhantomData<&'a ()>,
}

impl Scope<'_> {
    fn value(
        &self,
        make: impl FnOnce(sys::napi_env, *mut sys::napi_value) -> sys::napi_status,
    ) -> Value<'_> {
        let mut value = ptr::null_mut();
        make(self.caller.env, &raw mut value);
        Value { value, scope: PhantomData }
    }

    pub(crate) fn number(&self, number: u32) -> Value<'_> {
        // SAFETY: `env` belongs to this thread, in a scope.
        self.value(|env, value| unsafe { sys::napi_create_uint32(env, number, value) })
    }

    pub(crate) fn flag(&self, is_set: bool) -> Value<'_> {
        // SAFETY: as in `number`.
        self.value(|env, value| unsafe { sys::napi_get_boolean(env, is_set, value) })
    }

    pub(crate) fn text(&self, text: &str) -> Value<'_> {
        let (start, length) = (text.as_ptr().cast(), text.len() as isize);
        // SAFETY: as in `number`; the text is copied.
        self.value(|env, value| unsafe { sys::napi_create_string_utf8(env, start, length, value) })
    }

    /// An error is what the function has thrown, or `None`: JavaScript cannot run any more.
    pub(crate) fn call(
        &self,
        callback: &Callback,
        arguments: &[Value<'_>],
    ) -> std::result::Result<(), Option<Value<'_>>> {
        let Caller { env, context } = *self.caller;
        let (mut receiver, mut function) = (ptr::null_mut(), ptr::null_mut());
        let (mut result, mut thrown) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: `env` belongs to this thread, the reference is strong, and a `Value` is what it contains. Where the
        // environment gives no values any more, the call refuses them.
        unsafe {
            sys::napi_get_global(env, &raw mut receiver);
            sys::napi_get_reference_value(env, callback.0, &raw mut function);
            let (count, arguments) = (arguments.len(), arguments.as_ptr().cast());
            let status = sys::napi_make_callback(
                env,
                context,
                receiver,
                function,
                count,
                arguments,
                &raw mut result,
            );
            if status == sys::Status::napi_ok {
                return Ok(());
            }
            let status = sys::napi_get_and_clear_last_exception(env, &raw mut thrown);
            let thrown = Value { value: thrown, scope: PhantomData };
            Err((status == sys::Status::napi_ok).then_some(thrown))
        }
    }

    /// Lets 'uncaughtException' decide about what was thrown; `false`: JavaScript cannot run any more.
    pub(crate) fn report_uncaught(&self, thrown: Value<'_>) -> bool {
        // SAFETY: `env` belongs to this thread, the value to this scope.
        let status = unsafe { sys::napi_fatal_exception(self.caller.env, thrown.value) };
        status == sys::Status::napi_ok
    }
}

/// What ends with an environment.
pub(crate) trait OnCleanup {
    /// The environment is about to end, and waits for the hook to be dropped.
    fn on_cleanup(&self);
}

/// Holds up the end of an environment, from its beginning until this is dropped, on the environment's thread.
pub(crate) struct CleanupHook(sys::napi_async_cleanup_hook_handle);

impl CleanupHook {
    /// Has a count of `ending` until it is told.
    pub(crate) fn new<T: OnCleanup>(env: Env, ending: &Rc<T>) -> Result<Self> {
        let pointer = Rc::into_raw(Rc::clone(ending));
        let (data, mut hook) = (pointer.cast_mut().cast(), ptr::null_mut());
        // SAFETY: the present environment, which calls the hook once, on this thread.
        let status = unsafe {
            sys::napi_add_async_cleanup_hook(env.raw(), Some(on_cleanup::<T>), data, &raw mut hook)
        };
        check(status).map(|()| Self(hook)).inspect_err(|_| {
            // SAFETY: of `into_raw`; nobody has it.
            drop(unsafe { Rc::from_raw(pointer) });
        })
    }
}

impl Drop for CleanupHook {
    fn drop(&mut self) {
        // SAFETY: the hook was added and is removed here alone.
        unsafe { sys::napi_remove_async_cleanup_hook(self.0) };
    }
}

unsafe extern "C" fn on_cleanup<T: OnCleanup>(
    _: sys::napi_async_cleanup_hook_handle,
    ending: *mut c_void,
) {
    // SAFETY: the hook's count, which is taken once.
    unsafe { Rc::from_raw(ending.cast::<T>().cast_const()) }.on_cleanup();
}

/// A function that is called so often that napi-rs' conversions would be noticed.
pub(crate) trait BareFunction<const ARGUMENTS: usize> {
    const NAME: &CStr;

    /// Gives a number, or `undefined`.
    fn call(arguments: &Arguments<ARGUMENTS>) -> Option<i32>;
}

/// Arguments of the present call; those that are missing are `undefined`.
pub(crate) struct Arguments<const COUNT: usize> {
    env: sys::napi_env,
    values: [sys::napi_value; COUNT],
}

impl<const COUNT: usize> Arguments<COUNT> {
    /// Zero: it is none.
    pub(crate) fn number(&self, index: usize) -> u32 {
        let mut number = 0;
        // SAFETY: a value of the present call, or null, which is refused.
        unsafe { sys::napi_get_value_uint32(self.env, self.values[index], &raw mut number) };
        number
    }

    /// `None`: it is no `Uint8Array`.
    pub(crate) fn with_bytes<R>(&self, index: usize, action: impl FnOnce(&[u8]) -> R) -> Option<R> {
        // SAFETY: as in `number`.
        unsafe { with_bytes(self.env, self.values[index], action) }
    }

    /// `None`: it is no `Uint8Array` of this thread's own memory.
    pub(crate) fn with_bytes_mut<R>(
        &self,
        index: usize,
        action: impl FnOnce(&mut [u8]) -> R,
    ) -> Option<R> {
        // SAFETY: as in `number`.
        unsafe { with_bytes_mut(self.env, self.values[index], action) }
    }
}

unsafe extern "C" fn enter<const COUNT: usize, F: BareFunction<COUNT>>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    let (mut values, mut count, mut result) = ([ptr::null_mut(); COUNT], COUNT, ptr::null_mut());
    let (receiver, data) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: called by Node with its environment; there is room for so many arguments.
    unsafe {
        sys::napi_get_cb_info(env, info, &raw mut count, values.as_mut_ptr(), receiver, data);
    }
    if let Some(number) = F::call(&Arguments { env, values }) {
        // SAFETY: as above.
        unsafe { sys::napi_create_int32(env, number, &raw mut result) };
    }
    result
}

/// Adds a function to an object, by its name.
pub(crate) fn add_function<const COUNT: usize, F: BareFunction<COUNT>>(
    env: Env,
    object: &mut Object<'_>,
) -> Result<()> {
    let (name, mut function) = (F::NAME, ptr::null_mut());
    let length = name.to_bytes().len() as isize;
    // SAFETY: the present environment; the name is copied, and the function as Node-API wants it.
    let function = unsafe {
        check(sys::napi_create_function(
            env.raw(),
            name.as_ptr(),
            length,
            Some(enter::<COUNT, F>),
            ptr::null_mut(),
            &raw mut function,
        ))?;
        Unknown::from_napi_value(env.raw(), function)?
    };
    object.set_c_named_property(name, function)
}

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
