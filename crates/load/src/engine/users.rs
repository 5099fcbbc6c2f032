//! Users of flows: their iterations begin and end, and their steps become requests.

use std::time::Duration;

use millrace_net::{Clock, Nanos};

use super::timers::SlotTimer;
use super::{Demand, Engine};
use crate::engine::numbers::{Purpose, random_for};
use crate::flow::ends::{HowEnded, StepEnd};
use crate::flow::step::Failure;
use crate::flow::users::{Answer, Ended, Next, Numbered, Returned};
use crate::metrics::flow_stats::{FailureReason, FlowStats, IterationCounts};
use crate::metrics::in_flight::{Due, Loss};

/// Pause of a user whose iteration takes no time, so that all others have their turns.
const TURN: Duration = Duration::from_millis(1);

impl Engine {
    /// An iteration is due by the schedule.
    pub(super) fn on_iteration_due(&mut self, due: Nanos, number: u64, scenario: u32, now: Nanos) {
        self.recorder.handled(due, now);
        match self.users.take_free() {
            Some(user) if self.may_start(user, now) => {
                self.start_iteration_of(user, scenario, number, due, now);
            }
            Some(_) => {}
            None => {
                if self.recorder.is_measured(due) {
                    self.users.count_not_started(scenario);
                    self.spend_iteration();
                }
            }
        }
        self.settle_users();
    }

    fn spend_iteration(&mut self) {
        if self.budget != u64::MAX {
            self.budget = self.budget.saturating_sub(1);
        }
    }

    /// Begins an iteration of a user that was taken, unless the run, its iterations or the user's use are over.
    pub(super) fn start_iteration(&mut self, user: u32, due: Nanos, now: Nanos) {
        if self.may_start(user, now) {
            let scenario = self.demand.draw(&mut self.random);
            let number = self.numbers.take();
            self.start_iteration_of(user, scenario, number, due, now);
        }
    }

    /// Whether a user that was taken begins an iteration; otherwise it is released.
    fn may_start(&mut self, user: u32, now: Nanos) -> bool {
        let in_use = self.has_schedule() || (user as usize) < self.users_in_use;
        if self.sending && now < self.end && self.budget > 0 && in_use {
            return true;
        }
        self.users.release(user);
        if !in_use {
            self.close_connections_of(user);
        }
        false
    }

    fn start_iteration_of(
        &mut self,
        user: u32,
        scenario: u32,
        number: u64,
        due: Nanos,
        now: Nanos,
    ) {
        let is_measured = self.recorder.is_measured(due);
        let random = random_for(self.shared.plan.seed, number, Purpose::Values);
        self.users.begin(user, scenario, Numbered { number, random }, due);
        if is_measured {
            self.spend_iteration();
            self.users.count_started(user);
        }
        let next = self.users.advance(user, due, is_measured);
        self.do_next(user, next, due, now);
    }

    fn has_schedule(&self) -> bool {
        self.demand.schedule().is_some()
    }

    /// The end of a user's pause has come, which was at `due`.
    pub(super) fn on_resume(&mut self, user: u32, due: Nanos, now: Nanos) {
        if !self.sending {
            return;
        }
        if !self.users.is_active(user) {
            return self.start_iteration(user, now, now);
        }
        self.recorder.handled(due, now);
        self.advance_user(user, due, now);
    }

    fn advance_user(&mut self, user: u32, due: Nanos, now: Nanos) {
        let is_measured = self.recorder.is_measured(due);
        let next = self.users.advance(user, due, is_measured);
        self.do_next(user, next, due, now);
    }

    fn do_next(&mut self, user: u32, next: Next, due: Nanos, now: Nanos) {
        match next {
            // Due after the end of the run: the iteration remains in progress.
            Next::Request(..) if due >= self.end => {}
            Next::Request(request, origin) => {
                self.recorder.due_in_flow(due);
                let pool = match self.has_own_connections {
                    true => user as usize * self.servers_per_slot + origin,
                    false => origin,
                };
                let number = self.users.get(user).number();
                self.pools[pool].wait(Due { intended: due, request, user, number });
                self.hand_out(pool, now);
            }
            Next::Pause(pause) => self.timers.push(due + pause, SlotTimer::Resume(user)),
            Next::Yield => self.timers.push(now + TURN, SlotTimer::Resume(user)),
            Next::Call(mut call) => {
                call.worker = self.worker as u32;
                self.calls.push(*call);
            }
            Next::End(ended) => self.end_iteration(user, ended, now),
        }
    }

    /// Takes results of calls of JavaScript, and passes on the calls that are to be made. To be called once a turn.
    pub(crate) fn exchange_calls(&mut self) {
        while let Some(result) = self.results.as_ref().and_then(|results| results.try_recv().ok()) {
            if !self.sending {
                continue;
            }
            let now = self.clock.now();
            let recorder = &self.recorder;
            let returned = self.users.returned(result, now, |due| recorder.is_measured(due));
            match returned {
                Some(Returned { user, next: Some(next) }) => self.do_next(user, next, now, now),
                Some(Returned { user, next: None }) => self.advance_user(user, now, now),
                None => {}
            }
            self.settle_users();
        }
        // Last: a result may lead to the next call, for which nothing else would wake this thread.
        if !self.calls.is_empty()
            && let Some(caller) = &self.shared.hooks
        {
            caller.0.call(std::mem::take(&mut self.calls));
        }
    }

    fn end_iteration(&mut self, user: u32, ended: Ended, now: Nanos) {
        let due = self.users.get(user).due;
        if self.recorder.is_measured(due) {
            self.users.count_ended(user, ended, now);
        }
        if self.has_schedule() {
            self.users.release(user);
        } else if now == due {
            self.timers.push(now + TURN, SlotTimer::Resume(user));
        } else {
            self.beginning.push(user);
        }
    }

    /// Continues the flows whose requests have ended. To be called when an event has been handled.
    pub(super) fn settle_users(&mut self) {
        loop {
            if !self.recorder.ends.is_empty() {
                let mut ends = std::mem::take(&mut self.step_ends);
                self.recorder.ends.swap(&mut ends);
                for end in ends.ends() {
                    let bytes = match &end.how {
                        HowEnded::Answered { bytes, .. } => ends.bytes(bytes.clone()),
                        _ => &[],
                    };
                    self.end_step(end, bytes);
                }
                ends.clear();
                self.step_ends = ends;
            } else if let Some(user) = self.beginning.pop() {
                let now = self.clock.now();
                self.start_iteration(user, now, now);
            } else {
                return;
            }
        }
    }

    fn end_step(&mut self, end: &StepEnd, bytes: &[u8]) {
        let StepEnd { user, request, is_measured, ref how } = *end;
        if !self.sending {
            return;
        }
        let transport =
            |text: &str| Failure { reason: FailureReason::Transport, text: text.to_owned() };
        let next = match how {
            HowEnded::Answered { at, status, is_cut, .. } => {
                let (status, is_cut, now) = (*status, *is_cut, *at);
                let answer = Answer { status, bytes, is_cut, now, is_measured };
                let to_head = self.shared.mix[request as usize].head;
                self.users.answered(user, to_head, answer)
            }
            HowEnded::Lost(Loss::InFlightAtEnd) => return,
            HowEnded::Lost(Loss::Timeout) => {
                self.users.fail(user, transport("no response in time"), is_measured)
            }
            HowEnded::Lost(Loss::Transport(kind)) => {
                self.users.fail(user, transport(kind.name()), is_measured)
            }
            HowEnded::Unconnected => self.users.fail(user, transport("no connection"), is_measured),
        };
        let now = self.clock.now();
        match next {
            Some(next) => self.do_next(user, next, now, now),
            None => self.advance_user(user, now, now),
        }
    }

    /// Closes the connections of a user that is not in use any more.
    fn close_connections_of(&mut self, user: u32) {
        if !self.has_own_connections {
            return;
        }
        let first = user as usize * self.servers_per_slot;
        for index in first..first + self.servers_per_slot {
            let slot = &mut self.slots[index];
            if slot.connection.is_open() && slot.connection.accepted() == 0 {
                drop(slot.connection.close());
                self.pools[index].add_closed(index as u32);
            }
        }
    }

    /// Brings the number of users in use up to date: others begin, or end with their iterations.
    pub(super) fn set_users_in_use(&mut self, count: usize, now: Nanos) {
        let before = std::mem::replace(&mut self.users_in_use, count);
        for user in before as u32..count as u32 {
            if self.users.take(user) {
                self.start_iteration(user, now, now);
            }
        }
        for user in count as u32..before as u32 {
            if !self.users.is_active(user) {
                self.close_connections_of(user);
            }
        }
        self.settle_users();
    }

    /// Returns the numbers of iterations so far.
    pub(crate) fn iterations(&self) -> IterationCounts {
        let mut sum = IterationCounts::default();
        self.users.stats.scenarios.iter().for_each(|scenario| sum += &scenario.counts);
        sum
    }

    /// Returns the figures of the flows at the end of the run.
    pub(crate) fn take_flows(&mut self) -> FlowStats {
        std::mem::take(&mut self.users.stats)
    }

    /// Whether the demand is that of users.
    pub(super) fn has_users(&self) -> bool {
        matches!(self.demand, Demand::Users { .. })
    }
}
