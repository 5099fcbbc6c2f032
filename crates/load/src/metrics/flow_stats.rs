//! Figures of flows: iterations by scenario, and the steps' failures, checks and saves.

use std::ops::AddAssign;
use std::time::Duration;

use crate::metrics::sparse_durations::SparseDurations;

/// The figures of a run's flows.
#[derive(Clone, Debug, Default)]
pub struct FlowStats {
    /// By scenario.
    pub scenarios: Vec<ScenarioStats>,
    /// By request step, in the order of the scenarios' steps.
    pub steps: Vec<StepStats>,
    /// The steps that were done, in order, if the plan asks for them.
    pub trace: Vec<TracedStep>,
}

/// A step as it was done.
#[derive(Clone, Debug, Default)]
pub struct TracedStep {
    /// Index of the request step.
    pub step: u32,
    /// The request as it was sent.
    pub request: Vec<u8>,
    /// The response as it came; empty if there was none.
    pub response: Vec<u8>,
    /// From when the step was due to the end of the response.
    pub time: Duration,
    /// Values that were kept: the variable by index, and its JSON text; `None`: it has no value.
    pub saved: Vec<(usize, Option<String>)>,
    /// Of each check what was found instead, if it failed.
    pub checks: Vec<Option<String>>,
    /// Why the step failed.
    pub failure: Option<(FailureReason, String)>,
    /// It is a redirection that was followed.
    pub is_followed: bool,
}

/// The iterations of one scenario. An iteration belongs to the measurement if it was due in it.
#[derive(Clone, Debug, Default)]
pub struct ScenarioStats {
    /// Numbers.
    pub counts: IterationCounts,
    /// From when the iteration was due to its end. Failed ones and those in progress at the end are censored samples.
    pub duration: SparseDurations,
    /// The same without pauses and the time of JavaScript.
    pub active: SparseDurations,
}

/// Numbers of iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IterationCounts {
    /// Begun.
    pub started: u64,
    /// All steps done, none failed.
    pub completed: u64,
    /// Ended with a failed step, or continued after one.
    pub failed: u64,
    /// Begun and not ended when the run ended.
    pub in_progress: u64,
    /// Due and not begun: no user was free.
    pub not_started: u64,
}

/// The figures of one request step.
#[derive(Clone, Debug, Default)]
pub struct StepStats {
    /// By reason, those that occurred, in the order of [`FailureReason::ALL`].
    pub failures: Vec<FailureStats>,
    /// In the order of the step's checks.
    pub checks: Vec<CheckStats>,
    /// In the order of the step's saves: `passed` if a value was found.
    pub saves: Vec<CheckStats>,
}

/// Failures of a step for one reason.
#[derive(Clone, Debug)]
pub struct FailureStats {
    /// The reason.
    pub reason: FailureReason,
    /// How many.
    pub count: u64,
    /// The first one in words.
    pub example: String,
}

/// Why a step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureReason {
    /// A status that says so, where no check is about the status.
    Status,
    /// No connection, or no complete response.
    Transport,
    /// A check failed.
    Check,
    /// A value to be saved was not found.
    Save,
    /// A variable of the request has no value.
    Variable,
    /// The value of a header field has a line break.
    Header,
    /// The body is longer than what is kept, or cannot be decoded.
    Body,
    /// JavaScript threw.
    Hook,
}

impl FailureReason {
    /// Its name in the result.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Transport => "transport",
            Self::Check => "check",
            Self::Save => "save",
            Self::Variable => "variable",
            Self::Header => "header",
            Self::Body => "body",
            Self::Hook => "hook",
        }
    }
}

/// How often a check passed, or a value was found.
#[derive(Clone, Debug, Default)]
pub struct CheckStats {
    /// Passed.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// What was found instead, the first time.
    pub example: Option<String>,
}

impl FlowStats {
    /// Returns the iterations of all scenarios together.
    #[must_use]
    pub fn all_iterations(&self) -> ScenarioStats {
        let mut sum = ScenarioStats::default();
        self.scenarios.iter().for_each(|scenario| sum += scenario);
        sum
    }
}

impl StepStats {
    /// Counts a failure; `example` is asked for once for each reason.
    pub(crate) fn fail(&mut self, reason: FailureReason, example: impl FnOnce() -> String) {
        match self.failures.binary_search_by_key(&reason, |it| it.reason) {
            Ok(at) => self.failures[at].count += 1,
            Err(at) => {
                self.failures.insert(at, FailureStats { reason, count: 1, example: example() });
            }
        }
    }
}

impl CheckStats {
    /// Counts a check; `example` is asked for if it is the first that failed.
    pub(crate) fn count(&mut self, passed: bool, example: impl FnOnce() -> String) {
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
            self.example.get_or_insert_with(example);
        }
    }
}

impl AddAssign<&Self> for IterationCounts {
    fn add_assign(&mut self, other: &Self) {
        let Self { started, completed, failed, in_progress, not_started } = other;
        self.started += started;
        self.completed += completed;
        self.failed += failed;
        self.in_progress += in_progress;
        self.not_started += not_started;
    }
}

impl AddAssign<&Self> for ScenarioStats {
    fn add_assign(&mut self, other: &Self) {
        let Self { counts, duration, active } = other;
        self.counts += counts;
        self.duration += duration;
        self.active += active;
    }
}

impl AddAssign<&Self> for CheckStats {
    fn add_assign(&mut self, other: &Self) {
        let Self { passed, failed, example } = other;
        self.passed += passed;
        self.failed += failed;
        if self.example.is_none() {
            self.example.clone_from(example);
        }
    }
}

impl AddAssign<&Self> for StepStats {
    fn add_assign(&mut self, other: &Self) {
        let Self { failures, checks, saves } = other;
        for FailureStats { reason, count, example } in failures {
            match self.failures.binary_search_by_key(reason, |it| it.reason) {
                Ok(at) => self.failures[at].count += count,
                Err(at) => {
                    let (reason, count, example) = (*reason, *count, example.clone());
                    self.failures.insert(at, FailureStats { reason, count, example });
                }
            }
        }
        add_each(&mut self.checks, checks);
        add_each(&mut self.saves, saves);
    }
}

impl AddAssign<&Self> for FlowStats {
    fn add_assign(&mut self, other: &Self) {
        add_each(&mut self.scenarios, &other.scenarios);
        self.trace.extend_from_slice(&other.trace);
        add_each(&mut self.steps, &other.steps);
    }
}

fn add_each<T: for<'a> AddAssign<&'a T>>(sums: &mut [T], others: &[T]) {
    for (sum, other) in sums.iter_mut().zip(others) {
        *sum += other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_iterations_are_those_of_each_scenario() {
        let scenario = |completed: u64, failed: u64| {
            let started = completed + failed;
            let counts = IterationCounts { started, completed, failed, ..Default::default() };
            let mut stats = ScenarioStats { counts, ..Default::default() };
            (1..=completed).for_each(|ms| stats.duration.record(Duration::from_millis(ms)));
            (1..=failed).for_each(|ms| stats.duration.record_censored(Duration::from_millis(ms)));
            stats
        };
        let flows =
            FlowStats { scenarios: vec![scenario(3, 1), scenario(50, 0)], ..Default::default() };
        let all = flows.all_iterations();
        assert_eq!((all.counts.started, all.counts.completed, all.counts.failed), (54, 53, 1));
        let durations = all.duration.to_histogram();
        assert_eq!((durations.count(), durations.censored()), (54, 1));
        assert_eq!(durations.min(), Some(Duration::from_millis(1)));
    }
}
