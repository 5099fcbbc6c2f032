//! The engine of one worker: handles events, timers and arrivals, opens connections, sends requests and receives responses
//! as the load model demands. The loop that calls it is in `worker.rs`.

mod arrivals;
mod connection_pool;
mod connection_ramp;
mod demand;
mod events;
mod in_turn;
mod keep_alive;
pub mod numbers;
mod opening;
mod ramping;
mod request_mix;
pub mod schedule;
mod sending;
mod slot;
pub(crate) mod start_barrier;
pub(crate) mod target_server;
mod timers;
mod users;

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use millrace_net::tls::{ClientTlsConfig, TlsOptions};
use millrace_net::{Clock, Monotonic, Nanos, TimerQueue};
use mio::Registry;

use self::connection_pool::ConnectionPool;
use self::connection_ramp::ConnectionRamp;
use self::numbers::{Numbers, Purpose, random_for};
use self::target_server::{Resolved, TargetServer};
use crate::RunError;
use crate::connection::ReadBuffers;
use crate::flow::CompiledFlows;
use crate::flow::ends::StepEnds;
use crate::flow::hooks::{HookCall, HookCaller, HookResult};
use crate::flow::users::Users;
use crate::metrics::in_flight::{InFlight, Loss};
use crate::metrics::recorder::Recorder;
use crate::plan::{Plan, Versions};
use crate::rendered::{RenderOptions, Rendered};
use crate::session::{self, SharedMemory};
use crate::template::Names;
use crate::trace_context::TraceContexts;

use demand::Demand;
use slot::{Slot, slots};
use timers::SlotTimer;

/// Number of connections that set-up opens before it waits: a listen queue holds some hundreds, and the system retries
/// others only after a second.
const SET_UP_BATCH: usize = 32;
const SET_UP_PAUSE: Duration = Duration::from_millis(1);

/// Number of slots that send their first requests before the loop reads responses: otherwise the first responses would
/// wait until the last requests are sent.
const START_BATCH: usize = 128;

/// Time after which a run without a duration is given up, if all connects fail and no connection is open.
const PATIENCE: Duration = Duration::from_secs(10);

/// The state that all workers of a run share.
#[derive(Debug)]
pub(crate) struct RunContext {
    pub(crate) plan: Arc<Plan>,
    mix: Vec<Rendered>,
    /// `None`: requests have no trace contexts.
    traces: Option<TraceContexts>,
    resolved: Vec<Resolved>,
    /// By what connections offer.
    tls: Vec<(Versions, ClientTlsConfig)>,
    flows: Option<Arc<CompiledFlows>>,
    /// Takes the calls of JavaScript.
    hooks: Option<Hooks>,
}

/// Whoever takes the calls of JavaScript.
pub(crate) struct Hooks(pub(crate) Arc<dyn HookCaller>);

impl std::fmt::Debug for Hooks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Hooks")
    }
}

impl RunContext {
    /// Checks the plan, renders its requests, reads certificates and resolves names.
    pub(crate) fn new(plan: Arc<Plan>, hooks: Option<Hooks>) -> Result<Self, RunError> {
        plan.check()?;
        let variables = plan.flows.as_ref().map_or(&[][..], |flows| &flows.variables);
        let names = Names { tables: &plan.tables, variables };
        let placeholders = plan.placeholders.then_some(names);
        let traces = TraceContexts::of_plan(&plan);
        let options = RenderOptions {
            close: plan.close,
            names: placeholders,
            copies: plan.pipelining,
            traced: traces.is_some(),
        };
        let render = |request| Rendered::new(request, options);
        let mut mix = plan.requests.iter().map(render).collect::<Result<Vec<_>, _>>()?;
        let compile = |flows| CompiledFlows::compile(flows, &plan, names, &mut mix).map(Arc::new);
        let flows = plan.flows.as_ref().map(compile).transpose()?;
        let tls = tls_configs(&plan)?;
        let resolved = plan.origins.iter().map(Resolved::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { plan, mix, traces, resolved, tls, flows, hooks })
    }
}

/// Reads certificates, for each offer of protocols that some server with TLS needs.
fn tls_configs(plan: &Plan) -> Result<Vec<(Versions, ClientTlsConfig)>, RunError> {
    let mut configs: Vec<(Versions, ClientTlsConfig)> = Vec::new();
    for origin in plan.origins.iter().filter(|origin| origin.server_name.is_some()) {
        let versions = plan.http2.versions(origin);
        if configs.iter().any(|(offered, _)| *offered == versions) {
            continue;
        }
        let protocols = session::alpn_protocols(versions);
        let options = TlsOptions { protocols, ..plan.tls.clone() };
        let config = ClientTlsConfig::new(&options);
        configs.push((versions, config.map_err(|error| RunError::Usage(error.to_string()))?));
    }
    Ok(configs)
}

/// The connections of one worker and the rules by which they are used.
#[derive(Debug)]
pub(crate) struct Engine {
    shared: Arc<RunContext>,
    registry: Registry,
    clock: Monotonic,
    slots: Vec<Slot>,
    servers: Vec<TargetServer>,
    demand: Demand,
    /// Connections that requests share; empty where each request belongs to a connection from the beginning.
    pools: Vec<ConnectionPool>,
    /// The users of flows.
    users: Users,
    /// How many of them are in use where no schedule says when iterations begin.
    users_in_use: usize,
    /// Whether each user has connections of its own.
    has_own_connections: bool,
    /// Users whose next iterations begin.
    beginning: Vec<u32>,
    /// Memory for the ends of users' requests.
    step_ends: StepEnds,
    /// Calls of JavaScript that are to be made.
    calls: Vec<HookCall>,
    /// Results of such calls.
    pub(crate) results: Option<Receiver<HookResult>>,
    timers: TimerQueue<SlotTimer>,
    pub(crate) recorder: Recorder,
    random: fastrand::Rng,
    /// Of requests and iterations that no schedule has made due.
    numbers: Numbers,
    /// Measured requests that may still become due.
    budget: u64,
    worker: usize,
    /// How many connections are in use over time; `None`: all throughout.
    ramp: Option<ConnectionRamp>,
    /// How many of this worker's slots are in use: the first ones.
    in_use: usize,
    /// Places for connections of a closed run that have not sent their first request.
    unstarted: Range<usize>,
    /// Slots side by side that one place for a connection consists of: one to each server.
    servers_per_slot: usize,
    /// Slots on which requests have become due by the end of others on other slots.
    elsewhere: Vec<u32>,
    /// Whether the run is between start and end.
    sending: bool,
    /// When sending begins and ends.
    start: Nanos,
    end: Nanos,
    /// Slots that are to be opened before the start, and those under way.
    set_up: Vec<u32>,
    setting_up: usize,
    /// When the set-up continues.
    next_batch: Nanos,
    /// The first and the last attempt to connect that failed since a connection was open.
    unreachable: Option<(Nanos, Nanos)>,
    /// Whether the peer has closed its side, according to the present event.
    peer_closed: bool,
    /// Whether `hand_out` is running.
    handing_out: bool,
    buffers: ReadBuffers,
    memory: SharedMemory,
}

impl Engine {
    pub(crate) fn new(
        shared: Arc<RunContext>,
        worker: usize,
        registry: Registry,
        clock: Monotonic,
    ) -> Result<Self, RunError> {
        let plan = &shared.plan;
        let share = |total: usize| plan.share(total as u64, worker) as usize;
        let servers = shared
            .resolved
            .iter()
            .zip(&plan.origins)
            .map(|(resolved, origin)| {
                let versions = plan.http2.versions(origin);
                let tls = shared.tls.iter().find(|(offered, _)| *offered == versions);
                TargetServer::new(resolved, tls.map(|(_, it)| it), &plan.local_addresses)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut slots = slots(plan, share(plan.connections));
        let servers_per_slot = plan.servers_per_slot();
        let numbers = Numbers::new(plan.segment, worker as u64, plan.threads as u64);
        let initial = share(plan.initial_connections) * servers_per_slot;
        let set_up = (0..slots.len() as u32).take(initial).rev().collect();
        let pools = demand::pools(plan, &mut slots, initial);
        let users = plan.flows.as_ref().map_or(0, |flows| share(flows.users));
        let has_own_connections = plan.flows.as_ref().is_some_and(|flows| flows.own_connections);
        let stages = &plan.connection_stages;
        let ramp = || ConnectionRamp::new(plan.initial_connections, plan.warmup, stages);
        let (ramp, in_use) = ((!stages.is_empty()).then(ramp), slots.len());
        let budget = plan.max_requests.map_or(u64::MAX, |total| plan.share(total, worker));
        Ok(Self {
            registry,
            clock,
            slots,
            servers,
            demand: Demand::new(plan, worker),
            pools,
            users: Users::new(shared.flows.clone(), users),
            users_in_use: users,
            has_own_connections,
            beginning: Vec::new(),
            step_ends: StepEnds::default(),
            calls: Vec::new(),
            results: None,
            timers: TimerQueue::default(),
            recorder: Recorder::new(Nanos::NEVER).for_plan(plan),
            random: random_for(plan.seed, numbers.next(), Purpose::Turns),
            numbers,
            budget,
            worker,
            ramp,
            in_use,
            unstarted: 0..0,
            servers_per_slot,
            elsewhere: Vec::new(),
            sending: false,
            start: Nanos::NEVER,
            end: Nanos::NEVER,
            set_up,
            setting_up: 0,
            next_batch: Nanos::default(),
            unreachable: None,
            peer_closed: false,
            handing_out: false,
            buffers: ReadBuffers::default(),
            memory: SharedMemory::default(),
            shared,
        })
    }

    pub(crate) fn servers(&self) -> &[TargetServer] {
        &self.servers
    }

    /// Opens the next connections of the set-up; `true` when all have been opened or have failed.
    pub(crate) fn set_up(&mut self, now: Nanos) -> bool {
        if now >= self.next_batch {
            self.next_batch = now + SET_UP_PAUSE;
            for _ in 0..SET_UP_BATCH {
                let Some(index) = self.set_up.pop() else { break };
                self.setting_up += 1;
                let slot = &mut self.slots[index as usize];
                slot.setting_up = true;
                let pool = slot.pool;
                if let Some(pool) = self.pools.get_mut(pool) {
                    pool.set_up();
                }
                self.open(index as usize);
            }
        }
        self.setting_up == 0 && self.set_up.is_empty()
    }

    /// Makes ready what the first connection would wait for otherwise; to be called on the thread that opens connections.
    pub(crate) fn warm_up(&self) {
        self.servers.iter().for_each(TargetServer::warm_up);
    }

    /// Returns the number of connections that set-up opened; a server may have closed them since.
    pub(crate) fn opened_in_set_up(&self) -> u64 {
        self.recorder.opened_so_far()
    }

    /// Plans the load from `start`, which may be still to come, to `end`.
    pub(crate) fn start(&mut self, start: Nanos, end: Nanos) {
        self.sending = true;
        (self.start, self.end) = (start, end);
        self.unreachable = None;
        if let Some(schedule) = self.demand.schedule_mut() {
            schedule.begin(start);
        } else {
            self.begin_ramp();
            self.unstarted = match self.has_users() {
                true => 0..self.users_in_use,
                false => 0..self.in_use / self.servers_per_slot,
            };
        }
    }

    /// Whether requests wait for whichever connection is free.
    fn is_pooled(&self) -> bool {
        !self.pools.is_empty()
    }

    /// Whether there are slots whose first requests have not been sent.
    fn is_starting(&self) -> bool {
        !self.unstarted.is_empty()
    }

    /// Sends the first requests of the next slots of a closed run.
    pub(crate) fn continue_starting(&mut self) {
        for _ in 0..START_BATCH {
            if self.unstarted.is_empty() {
                return;
            }
            // Nothing was scheduled: a first request is due when its turn has come.
            let now = self.clock.now();
            if now < self.start {
                return;
            }
            let place = self.unstarted.start;
            self.unstarted.start += 1;
            if self.has_users() {
                if self.users.take(place as u32) {
                    self.start_iteration(place as u32, now, now);
                    self.settle_users();
                }
                continue;
            }
            let index = place * self.servers_per_slot;
            self.add_due(index, self.shared.plan.pipelining, now);
            self.pump_or_open(index, now);
            self.pump_elsewhere(now);
        }
    }

    /// Whether all requests of the budget have ended, or the rest is given up.
    pub(crate) fn is_over(&self) -> bool {
        self.is_exhausted() || self.is_given_up()
    }

    fn is_exhausted(&self) -> bool {
        // Without an end in time the schedule itself may end, at a rate of zero.
        let schedule = self.demand.schedule();
        let nothing_comes = self.end == Nanos::NEVER
            && schedule.is_some_and(|schedule| schedule.next == Nanos::NEVER);
        if self.budget != 0 && !nothing_comes || self.recorder.under_way() > 0 {
            return false;
        }
        match self.has_users() {
            true => self.users.active() == 0,
            false => self.pools.iter().all(|pool| pool.waiting() == 0),
        }
    }

    /// Whether the server is unreachable and no duration ends the run.
    fn is_given_up(&self) -> bool {
        self.end == Nanos::NEVER
            && self.unreachable.is_some_and(|(first, last)| last.since(first) >= PATIENCE)
            && !self.slots.iter().any(|slot| slot.connection.is_open())
    }

    /// Ends the run: records requests that have not ended at their age.
    pub(crate) fn finish(&mut self, now: Nanos) {
        self.sending = false;
        let given_up = self.is_given_up();
        for slot in &mut self.slots {
            let at_end = |_: usize, _: &InFlight| (Loss::InFlightAtEnd, String::new());
            slot.connection.lose_all(now, &mut self.recorder, at_end);
            slot.connection.requeue_buffered(&mut self.recorder);
        }
        if self.is_pooled() {
            // What was given to a connection and did not go out before the end has waited as well.
            let given = self.slots.iter_mut().flat_map(|slot| slot.connection.due.drain(..));
            let waiting =
                self.pools.iter_mut().flat_map(|pool| std::iter::from_fn(|| pool.take_waiting()));
            for due in given.chain(waiting) {
                if given_up {
                    self.recorder.unconnected(&due);
                } else {
                    self.recorder.queued_at_end(&due, now);
                }
            }
        }
        let recorder = &self.recorder;
        self.users.finish(now, |due| recorder.is_measured(due));
        if given_up {
            let offered = matches!(self.demand, Demand::Open { .. });
            for (request, rest) in self.demand.apportion(self.budget, &mut self.random) {
                self.recorder.gave_up(request, rest, offered);
            }
        }
    }
}

#[cfg(test)]
mod tests;
