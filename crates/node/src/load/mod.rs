//! The load engine for JavaScript: plan, run, outcome.

mod by_name;
mod durations;
mod flow_outcome;
mod flows;
mod hooks;
mod outcome;
mod plan;
mod run;
