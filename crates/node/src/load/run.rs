use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use millrace_load::plan::Plan;
use millrace_load::{HookResult, HookResults, Outcome, Run, RunError, Snapshot, Stopper};
use napi::bindgen_prelude::{Function, JsObjectValue, Object};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Error, JsDeferred, JsValue, Result};
use napi_derive::napi;

use crate::ffi::node_api::List;
use crate::load::hooks::{JsCaller, NativeHookCall, NativeHookResult};
use crate::load::outcome::{NativeOutcome, NativeSnapshot};
use crate::load::plan::NativePlan;

type Finish = Box<dyn FnOnce(Env) -> Result<NativeOutcome> + Send>;
type Finished = std::result::Result<Outcome, RunError>;

/// The end of a run, and who waits for it: whichever comes first is kept.
enum RunEnd {
    Pending,
    Settled,
    Awaited(JsDeferred<NativeOutcome, Finish>),
    Over(Box<Finished>),
}

/// A run of the load engine, on threads of its own.
#[napi]
pub struct NativeRun {
    stopper: Stopper,
    end: Arc<Mutex<RunEnd>>,
    warmup: std::time::Duration,
    results: HookResults,
}

#[napi]
impl NativeRun {
    /// Starts a run. `onSnapshot` is called ten times a second until it has ended; `onHooks` with calls of the plan's hooks,
    /// whose results `answerHooks` takes.
    #[napi(factory)]
    pub fn start(
        plan: NativePlan,
        on_snapshot: Function<'_, NativeSnapshot, ()>,
        #[napi(ts_arg_type = "(calls: Array<NativeHookCall>) => void")] on_hooks: Option<
            Function<'_, Vec<NativeHookCall>, ()>,
        >,
    ) -> Result<Self> {
        let plan = Plan::try_from(plan)?;
        let warmup = plan.warmup;
        let mut run = Run::new(plan);
        let results = match on_hooks {
            Some(function) => run.call_hooks(JsCaller::new(function)?),
            None => HookResults::default(),
        };
        let snapshots = on_snapshot.build_threadsafe_function().build()?;
        let end = Arc::new(Mutex::new(RunEnd::Pending));
        let (stopper, thread_end) = (run.stopper(), Arc::clone(&end));
        thread::Builder::new()
            .name("millrace-load".into())
            .spawn(move || {
                let mut observer = |snapshot: Snapshot| {
                    snapshots.call(snapshot.into(), ThreadsafeFunctionCallMode::NonBlocking);
                };
                // Whoever waits for the outcome is not to wait for ever.
                let run = AssertUnwindSafe(|| run.run(&mut observer));
                let finished = catch_unwind(run)
                    .unwrap_or_else(|_| Err(RunError::Accounting("the engine panicked".into())));
                let mut end = thread_end.lock().unwrap_or_else(PoisonError::into_inner);
                match std::mem::replace(&mut *end, RunEnd::Settled) {
                    RunEnd::Awaited(deferred) => settle(deferred, finished, warmup),
                    _ => *end = RunEnd::Over(Box::new(finished)),
                }
            })
            .map_err(|error| Error::from_reason(error.to_string()))?;
        Ok(Self { stopper, end, warmup, results })
    }

    /// The outcome; to be called once. Rejects with an error whose `code` is one of `MillraceError`'s.
    #[napi(ts_return_type = "Promise<NativeOutcome>")]
    pub fn finished<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*end, RunEnd::Awaited(_) | RunEnd::Settled) {
            return Err(Error::from_reason("the outcome was asked for before"));
        }
        let (deferred, promise) = env.create_deferred::<NativeOutcome, Finish>()?;
        match std::mem::replace(&mut *end, RunEnd::Settled) {
            RunEnd::Over(finished) => settle(deferred, *finished, self.warmup),
            _ => *end = RunEnd::Awaited(deferred),
        }
        Ok(promise)
    }

    /// Takes results of calls of hooks, in any order.
    #[napi]
    pub fn answer_hooks(
        &self,
        #[napi(ts_arg_type = "Array<NativeHookResult>")] results: List<NativeHookResult>,
    ) {
        self.results.send(results.into_iter().map(HookResult::from).collect());
    }

    /// Ends the run early; `finished` then gives the outcome so far.
    #[napi]
    pub fn stop(&self) {
        self.stopper.stop();
    }
}

fn settle(
    deferred: JsDeferred<NativeOutcome, Finish>,
    finished: Finished,
    warmup: std::time::Duration,
) {
    deferred.resolve(Box::new(move |env| match finished {
        Ok(outcome) => Ok(NativeOutcome::new(outcome, warmup)),
        Err(error) => {
            let code = match error {
                RunError::Usage(_) => "ERR_MILLRACE_USAGE",
                RunError::Unreachable { .. } => "ERR_MILLRACE_UNREACHABLE",
                RunError::System(_) | RunError::Accounting(_) => "ERR_MILLRACE_ENGINE",
            };
            let mut object = env.create_error(Error::from_reason(error.to_string()))?;
            object.set_named_property("code", code)?;
            Err(Error::from(object.to_unknown()))
        }
    }));
}
