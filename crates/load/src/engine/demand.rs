//! Who decides when a request is due.

use std::time::Duration;

use millrace_net::Nanos;

use super::slot::Slot;
use crate::engine::connection_pool::ConnectionPool;
use crate::engine::request_mix::RequestMix;
use crate::engine::schedule::{Arrivals, RateProfile};
use crate::plan::{Model, Plan, Request};

/// Who decides when a request is due.
#[derive(Debug)]
pub(super) enum Demand {
    Closed {
        think_time: Duration,
        /// One of all requests, or one for each server if connections keep to a server.
        mixes: Vec<RequestMix>,
    },
    Open {
        pools: Vec<ConnectionPool>,
        mix: RequestMix,
        arrivals: Arrivals,
        start: Nanos,
        next: Nanos,
        max_pending: u64,
    },
}

impl Demand {
    /// Divides the next `count` requests among the requests of the mix.
    pub(super) fn apportion(&mut self, count: u64, random: &mut fastrand::Rng) -> Vec<(u32, u64)> {
        match self {
            Self::Closed { mixes, .. } => mixes[0].apportion(count, random),
            Self::Open { mix, .. } => mix.apportion(count, random),
        }
    }

    /// `closed` are the slots from index `first` on, which are opened as needed.
    pub(super) fn new(plan: &Plan, closed: &[Slot], first: u32, worker: usize) -> Self {
        let weights = |origin: Option<usize>| -> Vec<(u32, f64)> {
            let all = (0..).zip(&plan.requests);
            let wanted = |request: &Request| origin.is_none_or(|o| o == request.origin);
            all.filter(|(_, r)| wanted(r)).map(|(index, r)| (index, r.weight)).collect()
        };
        match &plan.model {
            Model::Closed { think_time } => {
                let mix = |origin| RequestMix::new(&weights(origin), plan.weighted, worker);
                let mixes = match plan.pinned {
                    true => (0..plan.origins.len()).map(|origin| mix(Some(origin))).collect(),
                    false => vec![mix(None)],
                };
                Self::Closed { think_time: *think_time, mixes }
            }
            Model::Open { rate, stages, poisson, max_pending } => {
                let profile = RateProfile::new(*rate, plan.warmup, stages);
                let (index, count) = (worker as u64, plan.threads as u64);
                let pool = |origin: usize| {
                    let slots = (first..).zip(closed).filter(|(_, slot)| slot.origin == origin);
                    ConnectionPool::new(slots.map(|(index, _)| index).collect())
                };
                Self::Open {
                    pools: (0..plan.origins.len()).map(pool).collect(),
                    mix: RequestMix::new(&weights(None), plan.weighted, worker),
                    arrivals: Arrivals::new(profile, *poisson, index, count, plan.seed),
                    start: Nanos::NEVER,
                    next: Nanos::NEVER,
                    max_pending: plan.share(*max_pending, worker).max(1),
                }
            }
        }
    }
}
