//! The users of one worker.

use std::sync::Arc;
use std::time::Duration;

use millrace_net::Nanos;

use super::CompiledFlows;
use super::cookies::{Cookies, add_cookies};
use super::hooks::{HookCall, HookResponse, HookResult};
use super::program::Op;
use super::response::Response;
use super::step::Failure;
use super::value::Value;
use crate::metrics::flow_stats::{FailureReason, FlowStats, TracedStep};
use crate::metrics::in_flight::Due;
use crate::redirect::{is_redirection, parse_request, redirect, render_request};
use crate::rendered::Rendered;
use crate::template::Values;
use crate::trace_context::TraceContexts;

/// Instructions that a user does in a row at most: a loop of steps without requests and pauses takes turns.
const MAX_OPS: usize = 10_000;

/// The users of one worker, by number, and the figures of what they do.
#[derive(Debug, Default)]
pub(crate) struct Users {
    /// `None` where requests are independent of each other.
    flows: Option<Arc<CompiledFlows>>,
    users: Vec<User>,
    /// Those without an iteration; the one that was used last is used next.
    free: Vec<u32>,
    pub(crate) stats: FlowStats,
}

/// A user, with the state of the present iteration.
#[derive(Debug, Default)]
pub(crate) struct User {
    is_active: bool,
    scenario: u32,
    /// The next instruction, and the turns that are left of each loop.
    next: usize,
    loops: Vec<u32>,
    /// The step whose request is under way.
    step: u32,
    /// Requests of the iteration so far, the present one included.
    position: u32,
    variables: Vec<Option<Value>>,
    cookies: Cookies,
    iteration: Numbered,
    /// When the iteration was due, and the step.
    pub(crate) due: Nanos,
    pub(crate) step_due: Nanos,
    /// Time of pauses and of JavaScript.
    idle: Duration,
    has_failed: bool,
    /// The request that was sent last, where redirections are followed.
    sent: Vec<u8>,
    followed: u32,
    /// Where that request went, if it followed a redirection: index into the servers.
    redirected: Option<usize>,
    /// Whether `sent` is the next request.
    is_redirecting: bool,
    /// When JavaScript was called, and what for; `None`: it is not being called.
    calling: Option<(Nanos, CallFor)>,
}

/// The number of an iteration in the run, and the random numbers that belong to it.
#[derive(Debug, Default)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) random: fastrand::Rng,
}

/// What JavaScript is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallFor {
    /// The request of the present step, which is built then.
    Request,
    /// Its response; `ends`: the step has failed, and the iteration ends then.
    Response { ends: bool },
}

/// What a user does next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Sends a request of the mix to a server of the plan, both by index.
    Request(u32, usize),
    Pause(Duration),
    /// JavaScript is called.
    Call(Box<HookCall>),
    /// The iteration has ended.
    End(Ended),
    /// Others have their turn first.
    Yield,
}

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Completed,
    Failed,
}

/// What a user does when JavaScript has returned: `None`: the next step.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) user: u32,
    pub(crate) next: Option<Next>,
}

/// A response that answers a user's request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    /// The response as HTTP/1.1 has it, as far as the step looks at it.
    pub(crate) bytes: &'a [u8],
    /// Whether bytes of it are missing.
    pub(crate) is_cut: bool,
    pub(crate) now: Nanos,
    /// Whether the request belongs to the measurement.
    pub(crate) is_measured: bool,
}

impl Users {
    pub(crate) fn new(flows: Option<Arc<CompiledFlows>>, count: usize) -> Self {
        let Some(flows) = flows else { return Self::default() };
        let count = count as u32;
        Self {
            users: (0..count).map(|_| User::default()).collect(),
            free: (0..count).rev().collect(),
            stats: flows.stats(),
            flows: Some(flows),
        }
    }

    /// Returns the number of users that are in an iteration.
    pub(crate) fn active(&self) -> usize {
        self.users.len() - self.free.len()
    }

    pub(crate) fn is_active(&self, user: u32) -> bool {
        self.users[user as usize].is_active
    }

    pub(crate) fn get(&self, user: u32) -> &User {
        &self.users[user as usize]
    }

    /// Takes a user that is free; `None` if there is none.
    pub(crate) fn take_free(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Takes this user; `false` if it is not free.
    pub(crate) fn take(&mut self, user: u32) -> bool {
        let found = self.free.iter().rposition(|free| *free == user);
        found.map(|at| self.free.remove(at)).is_some()
    }

    pub(crate) fn count(&self) -> usize {
        self.users.len()
    }

    /// Lets a user go whose iteration has ended.
    pub(crate) fn release(&mut self, user: u32) {
        self.free.push(user);
    }

    /// Begins an iteration of a user that was taken.
    pub(crate) fn begin(&mut self, user: u32, scenario: u32, iteration: Numbered, due: Nanos) {
        let Some(flows) = &self.flows else { return };
        let user = &mut self.users[user as usize];
        user.is_active = true;
        (user.scenario, user.next, user.iteration) = (scenario, 0, iteration);
        user.position = 0;
        (user.due, user.step_due, user.idle) = (due, due, Duration::ZERO);
        user.loops.clear();
        user.variables.clone_from(&flows.initial);
        user.cookies.clear();
        user.has_failed = false;
        user.is_redirecting = false;
        user.calling = None;
    }

    /// Continues an iteration whose next step is due at `due`.
    pub(crate) fn advance(&mut self, user: u32, due: Nanos, is_measured: bool) -> Next {
        let Some(flows) = self.flows.clone() else { return Next::End(Ended::Failed) };
        self.users[user as usize].step_due = due;
        for _ in 0..MAX_OPS {
            let this = &mut self.users[user as usize];
            let program = &flows.programs[this.scenario as usize];
            let Some(op) = program.ops.get(this.next) else {
                return self.end(user);
            };
            this.next += 1;
            match op {
                Op::Request(step) => {
                    this.step = *step;
                    if let Some(hook) = flows.steps[*step as usize].before {
                        this.calling = Some((due, CallFor::Request));
                        return Next::Call(Box::new(self.call(user, hook, None)));
                    }
                    match self.request(user, is_measured) {
                        Some(next) => return next,
                        None => continue,
                    }
                }
                Op::Pause(least, most) => {
                    let nanos =
                        this.iteration.random.u64(least.as_nanos() as u64..=most.as_nanos() as u64);
                    let pause = Duration::from_nanos(nanos);
                    this.idle += pause;
                    return Next::Pause(pause);
                }
                Op::Enter(0, target) => this.next = *target,
                Op::Enter(count, _) => this.loops.push(*count),
                Op::Loop(start) => match this.loops.last_mut() {
                    Some(left) if *left > 1 => {
                        *left -= 1;
                        this.next = *start;
                    }
                    _ => drop(this.loops.pop()),
                },
                Op::Unless(comparison, target) => {
                    if !comparison.holds(&mut this.iteration.values(&this.variables)) {
                        this.next = *target;
                    }
                }
            }
        }
        Next::Yield
    }

    /// Continues with the request of the present step, whose JavaScript has been called. `None`: it failed, and the iteration
    /// goes on.
    pub(crate) fn request(&mut self, user: u32, is_measured: bool) -> Option<Next> {
        let flows = self.flows.as_ref()?;
        let this = &mut self.users[user as usize];
        (this.followed, this.redirected) = (0, None);
        this.position += 1;
        let needs = &flows.needs[this.step as usize];
        let value = |index: &u32| this.variables[*index as usize].as_ref();
        let name = |index: u32| &flows.names[index as usize];
        let failure = if let Some(unset) = needs.variables.iter().find(|it| value(it).is_none()) {
            let text = format!("the variable {} has no value", name(*unset));
            Some(Failure { reason: FailureReason::Variable, text })
        } else {
            let breaks = |index: &&u32| value(index).is_some_and(has_line_break);
            needs.in_fields.iter().find(breaks).map(|index| Failure {
                reason: FailureReason::Header,
                text: format!("{} has a line break or another control character", name(*index)),
            })
        };
        match failure {
            None => {
                let request = flows.steps[this.step as usize].request;
                Some(Next::Request(request, flows.servers[request as usize].origin))
            }
            Some(failure) => self.fail(user, failure, is_measured),
        }
    }

    /// Renders the request that is due.
    pub(crate) fn render(
        &mut self,
        due: &Due,
        request: &Rendered,
        traces: Option<TraceContexts>,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        let Some(flows) = &self.flows else { return };
        let this = &mut self.users[due.user as usize];
        let program = &flows.programs[this.scenario as usize];
        let start = out.len();
        if this.is_redirecting {
            out.extend_from_slice(&this.sent);
        } else {
            let trace = traces.and_then(|it| it.get(this.iteration.number, this.position));
            let mut values = this.iteration.values(&this.variables).with_trace(trace);
            request.render(&mut values, scratch, out);
            if program.follow > 0 || program.cookies {
                this.sent.clear();
                this.sent.extend_from_slice(&out[start..]);
            }
        }
        if program.cookies {
            let server = &flows.servers[this.redirected.unwrap_or(due.request as usize)];
            let field = request_target(&out[start..])
                .and_then(|target| this.cookies.field(&server.url, target));
            if let Some(field) = field {
                add_cookies(out, start, &field);
            }
        }
        if flows.trace {
            let request = out[start..].to_vec();
            self.stats.trace.push(TracedStep { step: this.step, request, ..TracedStep::default() });
        }
    }

    /// The response to a user's request has come: checks it, keeps its values, and follows it if it is a redirection. `None`:
    /// the iteration goes on with the next step.
    pub(crate) fn answered(
        &mut self,
        user: u32,
        to_head: bool,
        answer: Answer<'_>,
    ) -> Option<Next> {
        let flows = self.flows.clone()?;
        let this = &mut self.users[user as usize];
        let step = &flows.steps[this.step as usize];
        let program = &flows.programs[this.scenario as usize];
        let Answer { status, bytes, is_cut, now, is_measured } = answer;
        let mut response = (!bytes.is_empty())
            .then(|| Response::parse(bytes, is_cut, to_head, flows.max_body))
            .flatten();
        if let Some(response) = &mut response {
            // A call of gRPC has another one than its head.
            response.status = status;
        }
        if let Some(trace) = self.stats.trace.last_mut() {
            trace.response = bytes.to_vec();
            trace.time = now.since(this.step_due);
        }
        if let Some(response) = &response {
            let server = this.redirected.unwrap_or(step.request as usize);
            if program.cookies {
                let target = request_target(&this.sent).unwrap_or("/");
                this.cookies.keep(response, &flows.servers[server].url, target);
            }
            if is_redirection(status)
                && this.followed < program.follow
                && let Some(next) = this.follow(status, response, server, &flows)
            {
                if let Some(trace) = self.stats.trace.last_mut() {
                    trace.is_followed = true;
                }
                return Some(next);
            }
        }
        this.is_redirecting = false;
        let time = now.since(this.step_due);
        let mut values = this.iteration.values(&this.variables);
        let stats = is_measured.then(|| &mut self.stats.steps[this.step as usize]);
        let trace = self.stats.trace.last_mut();
        let judged = step.judge(status, response.as_ref(), time, &mut values, stats, trace);
        let ended = match judged {
            Ok(kept) => {
                for (variable, value) in kept {
                    if let Some(trace) = self.stats.trace.last_mut() {
                        trace.saved.push((variable, value.as_ref().map(Value::to_json)));
                    }
                    this.variables[variable] = value;
                }
                None
            }
            Err(failure) => self.fail(user, failure, is_measured),
        };
        let Some(hook) = step.after else { return ended };
        let response = response.map(|response| response.for_hook(time));
        let this = &mut self.users[user as usize];
        this.is_active = true;
        this.calling = Some((now, CallFor::Response { ends: ended.is_some() }));
        Some(Next::Call(Box::new(self.call(user, hook, response))))
    }

    /// The call of JavaScript for this user; the worker's number is added by the engine.
    fn call(&self, user: u32, hook: u32, response: Option<HookResponse>) -> HookCall {
        let this = &self.users[user as usize];
        let values = (0..).zip(&this.variables);
        let variables =
            values.filter_map(|(index, value)| Some((index, value.as_ref()?.to_json()))).collect();
        HookCall { worker: 0, user, hook, sequence: this.iteration.number, variables, response }
    }

    /// JavaScript has returned. `None`: the iteration goes on with the next step, or nobody waits for the result.
    pub(crate) fn returned(
        &mut self,
        result: HookResult,
        now: Nanos,
        is_measured: impl Fn(Nanos) -> bool,
    ) -> Option<Returned> {
        let HookResult { user, variables, error, .. } = result;
        let this = self.users.get_mut(user as usize)?;
        let (since, called_for) = this.calling.take()?;
        this.idle += now.since(since);
        for (variable, json) in variables {
            if let Some(variable) = this.variables.get_mut(variable as usize) {
                *variable = json.and_then(|json| Value::from_json(&json));
            }
        }
        let measured = is_measured(this.step_due);
        let next = match (error, called_for) {
            (Some(text), _) => {
                let failed =
                    self.fail(user, Failure { reason: FailureReason::Hook, text }, measured);
                match called_for {
                    CallFor::Response { ends: true } => Some(self.end(user)),
                    _ => failed,
                }
            }
            (None, CallFor::Response { ends: true }) => Some(self.end(user)),
            (None, CallFor::Response { ends: false }) => None,
            (None, CallFor::Request) => {
                let this = &mut self.users[user as usize];
                this.step_due = now;
                self.request(user, is_measured(now))
            }
        };
        Some(Returned { user, next })
    }

    /// Counts the failure of the present step. `None`: the iteration goes on.
    pub(crate) fn fail(&mut self, user: u32, failure: Failure, is_measured: bool) -> Option<Next> {
        let flows = self.flows.as_ref()?;
        let this = &mut self.users[user as usize];
        this.has_failed = true;
        this.is_redirecting = false;
        if flows.trace {
            // A request that could not be built has no entry of its own.
            if !self
                .stats
                .trace
                .last()
                .is_some_and(|it| it.step == this.step && it.failure.is_none())
            {
                let step = this.step;
                self.stats.trace.push(TracedStep { step, ..TracedStep::default() });
            }
            if let Some(trace) = self.stats.trace.last_mut() {
                trace.failure = Some((failure.reason, failure.text.clone()));
            }
        }
        if is_measured {
            let Failure { reason, text } = failure;
            self.stats.steps[this.step as usize].fail(reason, || text);
        }
        match flows.steps[this.step as usize].continues {
            true => None,
            false => Some(self.end(user)),
        }
    }

    fn end(&mut self, user: u32) -> Next {
        let this = &mut self.users[user as usize];
        this.is_active = false;
        Next::End(if this.has_failed { Ended::Failed } else { Ended::Completed })
    }

    /// Counts the beginning of an iteration of the measurement.
    pub(crate) fn count_started(&mut self, user: u32) {
        let scenario = self.users[user as usize].scenario;
        self.stats.scenarios[scenario as usize].counts.started += 1;
    }

    /// Counts an iteration of the measurement that could not begin.
    pub(crate) fn count_not_started(&mut self, scenario: u32) {
        self.stats.scenarios[scenario as usize].counts.not_started += 1;
    }

    /// Counts the end of an iteration of the measurement.
    pub(crate) fn count_ended(&mut self, user: u32, ended: Ended, now: Nanos) {
        let this = &self.users[user as usize];
        let stats = &mut self.stats.scenarios[this.scenario as usize];
        let duration = now.since(this.due);
        let active = duration.saturating_sub(this.idle);
        match ended {
            Ended::Completed => {
                stats.counts.completed += 1;
                stats.duration.record(duration);
                stats.active.record(active);
            }
            Ended::Failed => {
                stats.counts.failed += 1;
                stats.duration.record_censored(duration);
                stats.active.record_censored(active);
            }
        }
    }

    /// Counts the iterations that are in progress when the run ends, if they belong to the measurement.
    pub(crate) fn finish(&mut self, now: Nanos, is_measured: impl Fn(Nanos) -> bool) {
        for user in self.users.iter().filter(|user| user.is_active && is_measured(user.due)) {
            let stats = &mut self.stats.scenarios[user.scenario as usize];
            stats.counts.in_progress += 1;
            let duration = now.since(user.due);
            stats.duration.record_censored(duration);
            stats.active.record_censored(duration.saturating_sub(user.idle));
        }
    }
}

impl Numbered {
    /// What the text of the iteration's requests is filled from.
    fn values<'a>(&'a mut self, variables: &'a [Option<Value>]) -> Values<'a> {
        Values { sequence: self.number, random: &mut self.random, variables, trace: None }
    }
}

impl User {
    /// The number of the iteration.
    pub(crate) fn number(&self) -> u64 {
        self.iteration.number
    }

    /// Follows a redirection to a server of the plan; `server`: where the last request went.
    fn follow(
        &mut self,
        status: u16,
        response: &Response,
        server: usize,
        flows: &CompiledFlows,
    ) -> Option<Next> {
        let location = response.values("location").next()?.into_owned();
        let request = parse_request(&self.sent)?;
        let base = flows.servers[server].url.join(&request.target).ok()?;
        let mut url = base.join(&location).ok()?;
        url.set_fragment(None);
        let index = flows.find_server(&url)?;
        let there = &flows.servers[index];
        let leaves = url.origin() != base.origin();
        let host = match there.url.port() {
            Some(port) => format!("{}:{port}", there.url.host_str()?),
            None => there.url.host_str()?.to_owned(),
        };
        let target = url[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
        let mut next = redirect(status, request, target);
        if leaves {
            // As the fetch standard has it: credentials are for the server that they were given for.
            next.fields.retain(|(name, _)| {
                !["host", "authorization", "cookie"].iter().any(|it| name.eq_ignore_ascii_case(it))
            });
            next.fields.insert(0, ("Host", &host));
        }
        self.sent = render_request(&next);
        self.redirected = Some(index);
        self.followed += 1;
        self.is_redirecting = true;
        Some(Next::Request(flows.steps[self.step as usize].request, there.origin))
    }
}

/// The request-target of a request as HTTP/1.1 sends it.
fn request_target(request: &[u8]) -> Option<&str> {
    let mut words = request.split(|byte| matches!(byte, b' ' | b'\r'));
    words.next()?;
    std::str::from_utf8(words.next()?).ok()
}

/// Whether a value cannot stand in a field (RFC 9110, section 5.5).
fn has_line_break(value: &Value) -> bool {
    !millrace_http::h1::is_value(value.as_text().as_bytes())
}
