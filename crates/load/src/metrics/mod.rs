//! Counts and times: recorded by each worker in windows of 100 ms, and merged by the collector.

mod bounds;
pub mod by_name;
pub(crate) mod collector;
pub mod counts;
pub mod duration_histogram;
mod estimate;
pub mod flow_stats;
pub(crate) mod in_flight;
pub mod kept;
pub(crate) mod recorder;
pub mod slowest;
pub mod sparse_durations;
pub mod statuses;
pub mod stored;
pub mod unended;
pub(crate) mod window_series;
pub mod window_stats;
