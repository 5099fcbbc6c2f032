//! Who decides when a request is due.

use std::time::Duration;

use millrace_net::Nanos;

use super::slot::Slot;
use crate::engine::connection_pool::ConnectionPool;
use crate::engine::numbers::{Numbers, Purpose, random_for};
use crate::engine::request_mix::RequestMix;
use crate::engine::schedule::{Arrival, Arrivals, RateProfile};
use crate::plan::flow::Flows;
use crate::plan::{Model, Plan, Request};

/// Who decides when a request is due.
#[derive(Debug)]
pub(super) enum Demand {
    /// The responses: each is followed by the next request of its connection.
    Closed {
        think_time: Duration,
        /// One of all requests, or one for each server if connections keep to a server.
        mixes: Vec<RequestMix>,
    },
    /// The schedule.
    Open { mix: RequestMix, schedule: Schedule, max_pending: u64 },
    /// The steps of users, whose iterations follow each other, or a schedule if there is one.
    Users { scenarios: RequestMix, schedule: Option<Schedule> },
}

/// The arrivals of a worker.
#[derive(Debug)]
pub(super) struct Schedule {
    arrivals: Arrivals,
    start: Nanos,
    upcoming: Option<Arrival>,
    /// When the next arrival is due.
    pub(super) next: Nanos,
}

impl Schedule {
    fn new(profile: RateProfile, poisson: bool, plan: &Plan, worker: usize) -> Self {
        let numbers = Numbers::new(plan.segment, worker as u64, plan.threads as u64);
        let arrivals = Arrivals::new(profile, poisson, numbers, plan.seed);
        Self { arrivals, start: Nanos::NEVER, upcoming: None, next: Nanos::NEVER }
    }

    /// Begins at this time.
    pub(super) fn begin(&mut self, start: Nanos) {
        self.start = start;
        self.update();
    }

    /// Takes the next arrival: when it is due, and its number.
    pub(super) fn take(&mut self) -> Option<(Nanos, u64)> {
        let taken = self.upcoming.map(|Arrival { number, .. }| (self.next, number));
        self.update();
        taken
    }

    fn update(&mut self) {
        self.upcoming = self.arrivals.take();
        self.next = self.upcoming.map_or(Nanos::NEVER, |arrival| self.start + arrival.after);
    }
}

impl Demand {
    pub(super) fn new(plan: &Plan, worker: usize) -> Self {
        let mix = |origin: Option<usize>| {
            let all = (0..).zip(&plan.requests);
            let wanted = |request: &Request| origin.is_none_or(|it| it == request.origin);
            let wanted = all.filter(|(_, request)| wanted(request));
            let weights: Vec<_> = wanted.map(|(index, it)| (index, it.weight)).collect();
            RequestMix::new(&weights, plan.weighted, worker)
        };
        match (&plan.model, &plan.flows) {
            (Model::Closed { .. }, Some(flows)) => {
                Self::Users { scenarios: scenario_mix(flows, worker), schedule: None }
            }
            (Model::Closed { think_time }, None) => Self::Closed {
                think_time: *think_time,
                mixes: match plan.pinned {
                    true => (0..plan.origins.len()).map(|origin| mix(Some(origin))).collect(),
                    false => vec![mix(None)],
                },
            },
            (Model::Open { rate, stages, poisson, max_pending }, flows) => {
                let profile = RateProfile::new(*rate, plan.warmup, stages);
                let schedule = Schedule::new(profile, *poisson, plan, worker);
                let max_pending = plan.share(*max_pending, worker).max(1);
                match flows {
                    Some(flows) => Self::Users {
                        scenarios: scenario_mix(flows, worker),
                        schedule: Some(schedule),
                    },
                    None => Self::Open { mix: mix(None), schedule, max_pending },
                }
            }
        }
    }

    /// The schedule, if there is one.
    pub(super) fn schedule(&self) -> Option<&Schedule> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { schedule, .. } => Some(schedule),
            Self::Users { schedule, .. } => schedule.as_ref(),
        }
    }

    /// As [`Self::schedule`].
    pub(super) fn schedule_mut(&mut self) -> Option<&mut Schedule> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { schedule, .. } => Some(schedule),
            Self::Users { schedule, .. } => schedule.as_mut(),
        }
    }

    /// The request, or the scenario, of the mix that arrival `number` of a schedule is.
    pub(super) fn draw_for(&self, number: u64, seed: u64) -> u32 {
        let mix = match self {
            Self::Closed { mixes, .. } => &mixes[0],
            Self::Open { mix, .. } => mix,
            Self::Users { scenarios, .. } => scenarios,
        };
        mix.at(number, || random_for(seed, number, Purpose::Mix))
    }

    /// Draws the next request of the mix.
    pub(super) fn draw(&mut self, random: &mut fastrand::Rng) -> u32 {
        match self {
            Self::Closed { mixes, .. } => mixes[0].next(random),
            Self::Open { mix, .. } => mix.next(random),
            Self::Users { scenarios, .. } => scenarios.next(random),
        }
    }

    /// Divides the next `count` requests among the requests of the mix. Users do not say which requests theirs would be.
    pub(super) fn apportion(&mut self, count: u64, random: &mut fastrand::Rng) -> Vec<(u32, u64)> {
        match self {
            Self::Closed { mixes, .. } => mixes[0].apportion(count, random),
            Self::Open { mix, .. } => mix.apportion(count, random),
            Self::Users { .. } => Vec::new(),
        }
    }
}

/// The order of scenarios: by weight, or in turn where all have the same.
fn scenario_mix(flows: &Flows, worker: usize) -> RequestMix {
    let weights: Vec<_> =
        (0..).zip(&flows.scenarios).map(|(index, it)| (index, it.weight)).collect();
    let weighted = weights.iter().any(|(_, weight)| *weight != weights[0].1);
    RequestMix::new(&weights, weighted, worker)
}

/// Creates the pools of connections, where requests do not belong to a connection from the beginning: one for each server,
/// or for each slot where users have connections of their own. The first `initial` slots are opened by the set-up.
pub(super) fn pools(plan: &Plan, slots: &mut [Slot], initial: usize) -> Vec<ConnectionPool> {
    let own = plan.flows.as_ref().is_some_and(|flows| flows.own_connections);
    if plan.flows.is_none() && matches!(plan.model, Model::Closed { .. }) {
        return Vec::new();
    }
    let count = if own { slots.len() } else { plan.origins.len() };
    let mut closed = vec![Vec::new(); count];
    for (index, slot) in slots.iter_mut().enumerate() {
        slot.pool = if own { index } else { slot.origin };
        if index >= initial {
            closed[slot.pool].push(index as u32);
        }
    }
    let first = |pool: usize| if own { pool as u32 } else { 0 };
    closed.into_iter().enumerate().map(|(pool, it)| ConnectionPool::new(it, first(pool))).collect()
}
