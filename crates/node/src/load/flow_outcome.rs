//! The figures of flows, as JavaScript receives them.

use millrace_load::metrics::flow_stats::{
    CheckStats, FailureStats, FlowStats, IterationCounts, ScenarioStats, StepStats, TracedStep,
};
use millrace_load::metrics::sparse_durations::SparseDurations;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use super::hooks::NativeVariable;
use super::outcome::{NativeDistribution, ms};

/// The figures of a run's flows.
#[napi(object, object_from_js = false)]
pub struct NativeFlowOutcome {
    /// The iterations of all scenarios.
    pub iterations: NativeScenarioOutcome,
    /// By scenario.
    pub scenarios: Vec<NativeScenarioOutcome>,
    /// By request step, in the order of the scenarios' steps.
    pub steps: Vec<NativeStepOutcome>,
    /// The steps that were done, if the plan asks for them.
    pub trace: Vec<NativeTracedStep>,
}

/// A step as it was done.
#[napi(object, object_from_js = false)]
pub struct NativeTracedStep {
    /// Index of the request step.
    pub step: u32,
    /// The request as it was sent; empty if it could not be built.
    pub request: Buffer,
    /// The response as it came; empty if there was none.
    pub response: Buffer,
    /// From when the step was due to the end of the response.
    pub duration_ms: f64,
    /// Values that were kept; without JSON: an optional one that was not found.
    pub saved: Vec<NativeVariable>,
    /// Of each check what was found instead; empty if it passed.
    pub checks: Vec<String>,
    /// Why the step failed.
    pub failure: Option<NativeStepFailure>,
    /// It is a redirection that was followed.
    pub followed: bool,
}

/// Numbers of iterations.
#[napi(object)]
pub struct NativeIterationCounts {
    /// Begun.
    pub started: f64,
    /// All steps done, none failed.
    pub completed: f64,
    /// With a failed step.
    pub failed: f64,
    /// Not ended when the run ended.
    pub in_progress: f64,
    /// Due and not begun.
    pub not_started: f64,
}

/// The iterations of one scenario.
#[napi(object)]
pub struct NativeScenarioOutcome {
    /// Numbers.
    pub counts: NativeIterationCounts,
    /// From when the iteration was due to its end.
    pub duration: NativeTimes,
    /// The same without pauses and the time of JavaScript.
    pub active: NativeTimes,
}

/// A distribution with its histograms, in HdrHistogram's V2 format, base64, nanoseconds.
#[napi(object)]
pub struct NativeTimes {
    /// Figures.
    pub ms: NativeDistribution,
    /// All samples.
    pub histogram: String,
    /// Of these the censored ones.
    pub censored: String,
    /// The exact sum of all samples in nanoseconds, as decimal digits.
    pub sum: String,
}

/// The figures of one request step.
#[napi(object)]
pub struct NativeStepOutcome {
    /// Reasons that occurred.
    pub failures: Vec<NativeStepFailure>,
    /// In the order of the plan.
    pub checks: Vec<NativeCheckOutcome>,
    /// In the order of the plan.
    pub saves: Vec<NativeCheckOutcome>,
}

/// Failures of a step for one reason.
#[napi(object)]
pub struct NativeStepFailure {
    /// `status`, `transport`, `check`, `save`, `variable`, `header`, `body` or `hook`.
    pub reason: String,
    /// How many.
    pub count: f64,
    /// The first one in words.
    pub example: String,
}

/// How often a check passed, or a value was found.
#[napi(object)]
pub struct NativeCheckOutcome {
    /// Passed, or found.
    pub passed: f64,
    /// Failed, or not found.
    pub failed: f64,
    /// What was found instead, the first time.
    pub example: Option<String>,
}

impl From<&FlowStats> for NativeFlowOutcome {
    fn from(flows: &FlowStats) -> Self {
        let FlowStats { scenarios, steps, trace } = flows;
        Self {
            iterations: (&flows.all_iterations()).into(),
            scenarios: scenarios.iter().map(NativeScenarioOutcome::from).collect(),
            steps: steps.iter().map(NativeStepOutcome::from).collect(),
            trace: trace.iter().map(NativeTracedStep::from).collect(),
        }
    }
}

impl From<&TracedStep> for NativeTracedStep {
    fn from(traced: &TracedStep) -> Self {
        let TracedStep { step, request, response, time, saved, checks, failure, is_followed } =
            traced;
        let saved = saved.iter().map(|(variable, json)| NativeVariable {
            variable: *variable as u32,
            json: json.clone(),
        });
        let failure = failure.as_ref().map(|(reason, text)| NativeStepFailure {
            reason: reason.name().into(),
            count: 1.0,
            example: text.clone(),
        });
        Self {
            step: *step,
            request: request.clone().into(),
            response: response.clone().into(),
            duration_ms: ms(*time),
            saved: saved.collect(),
            checks: checks.iter().map(|check| check.clone().unwrap_or_default()).collect(),
            failure,
            followed: *is_followed,
        }
    }
}

impl From<&IterationCounts> for NativeIterationCounts {
    fn from(counts: &IterationCounts) -> Self {
        let IterationCounts { started, completed, failed, in_progress, not_started } = *counts;
        Self {
            started: started as f64,
            completed: completed as f64,
            failed: failed as f64,
            in_progress: in_progress as f64,
            not_started: not_started as f64,
        }
    }
}

impl From<&ScenarioStats> for NativeScenarioOutcome {
    fn from(ScenarioStats { counts, duration, active }: &ScenarioStats) -> Self {
        Self { counts: counts.into(), duration: duration.into(), active: active.into() }
    }
}

impl From<&SparseDurations> for NativeTimes {
    fn from(durations: &SparseDurations) -> Self {
        let histogram = durations.to_histogram();
        Self {
            ms: (&histogram).into(),
            histogram: histogram.encode(),
            censored: histogram.encode_censored(),
            sum: histogram.sum_nanos().to_string(),
        }
    }
}

impl From<&StepStats> for NativeStepOutcome {
    fn from(StepStats { failures, checks, saves }: &StepStats) -> Self {
        Self {
            failures: failures.iter().map(NativeStepFailure::from).collect(),
            checks: checks.iter().map(NativeCheckOutcome::from).collect(),
            saves: saves.iter().map(NativeCheckOutcome::from).collect(),
        }
    }
}

impl From<&FailureStats> for NativeStepFailure {
    fn from(FailureStats { reason, count, example }: &FailureStats) -> Self {
        Self { reason: reason.name().into(), count: *count as f64, example: example.clone() }
    }
}

impl From<&CheckStats> for NativeCheckOutcome {
    fn from(CheckStats { passed, failed, example }: &CheckStats) -> Self {
        Self { passed: *passed as f64, failed: *failed as f64, example: example.clone() }
    }
}
