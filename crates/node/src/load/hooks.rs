//! Calls of JavaScript by the steps of flows.

use std::sync::Arc;

use millrace_load::{HookCall, HookCaller, HookResponse, HookResult};
use napi::bindgen_prelude::{Buffer, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Result, Status};
use napi_derive::napi;

use crate::ffi::node_api::List;
use crate::load::outcome::ms;

/// The value of a variable.
#[napi(object)]
pub struct NativeVariable {
    /// Index into the plan's variables.
    pub variable: u32,
    /// A JSON text; absent: it has no value.
    pub json: Option<String>,
}

/// A call of JavaScript.
#[napi(object, object_from_js = false)]
pub struct NativeHookCall {
    /// The worker of the user, for the result.
    pub worker: u32,
    /// The user, for the result.
    pub user: u32,
    /// The number of the call in the plan.
    pub hook: u32,
    /// The iteration's number.
    pub iteration: f64,
    /// Variables that have a value.
    pub variables: Vec<NativeVariable>,
    /// The response, for a call after it.
    pub response: Option<NativeHookResponse>,
}

/// The response that a call is about.
#[napi(object, object_from_js = false)]
pub struct NativeHookResponse {
    /// Its status.
    pub status: u32,
    /// Names and values.
    pub headers: Vec<Vec<String>>,
    /// The content, decoded; absent if it was too long or could not be decoded.
    pub body: Option<Buffer>,
    /// From when the step was due to the end of the response.
    pub duration_ms: f64,
}

/// The result of a call.
#[napi(object, object_to_js = false)]
pub struct NativeHookResult {
    /// As in the call.
    pub worker: u32,
    /// As in the call.
    pub user: u32,
    /// Variables that change.
    #[napi(ts_type = "Array<NativeVariable>")]
    pub variables: List<NativeVariable>,
    /// Why the step fails.
    pub error: Option<String>,
}

type Function1 = ThreadsafeFunction<Vec<NativeHookCall>, (), Vec<NativeHookCall>, Status, false>;

/// Calls JavaScript from the workers.
pub(super) struct JsCaller(Function1);

impl JsCaller {
    pub(super) fn new(function: Function<'_, Vec<NativeHookCall>, ()>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self(function.build_threadsafe_function().build()?)))
    }
}

impl HookCaller for JsCaller {
    fn call(&self, calls: Vec<HookCall>) {
        let calls = calls.into_iter().map(NativeHookCall::from).collect();
        self.0.call(calls, ThreadsafeFunctionCallMode::NonBlocking);
    }
}

impl From<HookCall> for NativeHookCall {
    fn from(call: HookCall) -> Self {
        let HookCall { worker, user, hook, sequence, variables, response } = call;
        let variables = variables.into_iter();
        Self {
            worker,
            user,
            hook,
            iteration: sequence as f64,
            variables: variables
                .map(|(variable, json)| NativeVariable { variable, json: Some(json) })
                .collect(),
            response: response.map(NativeHookResponse::from),
        }
    }
}

impl From<HookResponse> for NativeHookResponse {
    fn from(HookResponse { status, fields, body, time }: HookResponse) -> Self {
        Self {
            status: u32::from(status),
            headers: fields.into_iter().map(|(name, value)| vec![name, value]).collect(),
            body: body.map(Buffer::from),
            duration_ms: ms(time),
        }
    }
}

impl From<NativeHookResult> for HookResult {
    fn from(result: NativeHookResult) -> Self {
        let NativeHookResult { worker, user, variables, error } = result;
        let variables = variables.into_iter().map(|it| (it.variable, it.json)).collect();
        Self { worker, user, variables, error }
    }
}
