//! The load engine for JavaScript: plan, run, outcome.

mod by_name;
mod outcome;
mod plan;
mod run;
