//! The reactor on a simulated clock, poll and network, driven by a seed.
//!
//! ```text
//!   seed ──> Plan: settings, habits, how often each act is
//!        ──> World::step, thousands of times: a client, the caller, the thread beside it, or time does something
//!              check: what was told and what arrives is what was sent; at rest there is nothing that could go on
//!        ──> World::finish: all is said and taken, everybody leaves, nothing is left
//! ```
//!
//! - [`plan`]: what a run is like; [`script`]: what clients send; [`tls`]: how they seal it
//! - [`world`], [`caller`], [`answers`]: who does what
//! - [`sights`]: what runs reach
//! - [`router`], [`routing`]: a port that is shared
//! - [`told`], [`replies`]: what has to be told and received; [`rest`], [`finish`]: what has to hold at rest and at the end
//! - [`http2`]: a world of its own, for one of four seeds

#![forbid(unsafe_code)]

/// Prints what happens, if `MILLRACE_TRACE` is set.
macro_rules! trace {
    ($($what:tt)*) => {
        if crate::traces() {
            eprintln!($($what)*);
        }
    };
}

mod answers;
mod caller;
mod client;
mod finish;
mod http2;
mod plan;
mod replies;
mod rest;
mod router;
mod routing;
mod script;
mod sights;
mod tls;
mod told;
mod world;

use std::env;
use std::sync::OnceLock;

use fastrand::Rng;

pub use sights::Sight;

fn traces() -> bool {
    static TRACES: OnceLock<bool> = OnceLock::new();
    *TRACES.get_or_init(|| env::var_os("MILLRACE_TRACE").is_some())
}

/// Runs a seed; panics where something does not hold. Gives the number of steps.
pub fn run(seed: u64) -> u64 {
    if seed.is_multiple_of(4) {
        return http2::run(seed);
    }
    let mut world = world::World::new(seed);
    let steps = *Rng::with_seed(seed ^ 1).choice(&[30, 300, 3_000]).unwrap();
    for _ in 0..steps {
        world.step();
    }
    world.finish();
    steps
}
