//! The load engine for JavaScript: plan, run, outcome.

mod outcome;
mod plan;
mod run;
