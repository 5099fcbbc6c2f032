//! The flows of a plan, ready to be executed.

use url::Url;

use super::program::Program;
use super::step::CompiledStep;
use super::value::Value;
use crate::RunError;
use crate::metrics::flow_stats::{FlowStats, ScenarioStats};
use crate::plan::flow::{Flows, Step};
use crate::plan::{Plan, Versions};
use crate::rendered::Rendered;
use crate::template::{Names, Template, TextPosition};

/// Most nested steps: what is deeper is a mistake.
const MAX_DEPTH: usize = 32;

/// Programs, steps and servers of a run's flows.
#[derive(Debug)]
pub(crate) struct CompiledFlows {
    pub(super) programs: Vec<Program>,
    pub(super) steps: Vec<CompiledStep>,
    /// What the request of each step needs.
    pub(super) needs: Vec<Needs>,
    /// The variables' values at the beginning of an iteration.
    pub(super) initial: Vec<Option<Value>>,
    pub(super) names: Vec<String>,
    /// By request of the mix: its server.
    pub(super) servers: Vec<Server>,
    pub(super) max_body: usize,
    pub(super) trace: bool,
}

/// The variables that a request needs, by index.
#[derive(Debug, Default)]
pub(super) struct Needs {
    pub(super) variables: Vec<u32>,
    /// Of these, those in the values of fields, which hold no line breaks.
    pub(super) in_fields: Vec<u32>,
}

/// The server of a request.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// Index into the plan's origins.
    pub(super) origin: usize,
    /// Its root, as requests name it.
    pub(super) url: Url,
}

impl CompiledFlows {
    /// Compiles the flows, and tells the requests how much of their responses is looked at.
    pub(crate) fn compile(
        flows: &Flows,
        plan: &Plan,
        names: Names<'_>,
        mix: &mut [Rendered],
    ) -> Result<Self, RunError> {
        check(flows, plan)?;
        let mut steps = Vec::new();
        let mut programs = Vec::new();
        for scenario in &flows.scenarios {
            let first = steps.len();
            programs.push(Program::compile(scenario, names, &mut steps)?);
            for step in &steps[first..] {
                mix[step.request as usize].capture = step.capture(scenario, flows);
            }
        }
        let needs = |step: &CompiledStep| {
            let fields = &plan.requests[step.request as usize].fields;
            let mut in_fields = Vec::new();
            for (_, value) in fields {
                let template = Template::parse(value.as_bytes(), names, TextPosition::Field)?;
                in_fields.extend(template.variables());
            }
            let variables = mix[step.request as usize].variables();
            Ok::<_, RunError>(Needs { variables, in_fields })
        };
        let needs = steps.iter().map(needs).collect::<Result<_, _>>()?;
        let mut initial = vec![None; flows.variables.len()];
        for (variable, json) in &flows.initial {
            initial[*variable] = Value::from_json(json);
        }
        let servers = (0..plan.requests.len()).map(|request| Server::of(plan, request));
        Ok(Self {
            programs,
            steps,
            needs,
            initial,
            names: flows.variables.clone(),
            servers: servers.collect::<Result<_, _>>()?,
            max_body: flows.max_body,
            trace: flows.trace,
        })
    }

    /// Returns figures without any sample.
    pub(super) fn stats(&self) -> FlowStats {
        FlowStats {
            scenarios: vec![ScenarioStats::default(); self.programs.len()],
            steps: self.steps.iter().map(CompiledStep::stats).collect(),
            trace: Vec::new(),
        }
    }

    /// Returns the index of a server by its URL; `None` if no request of the plan goes there.
    pub(super) fn find_server(&self, url: &Url) -> Option<usize> {
        self.servers.iter().position(|server| server.url.origin() == url.origin())
    }
}

impl Server {
    fn of(plan: &Plan, request: usize) -> Result<Self, RunError> {
        let request = &plan.requests[request];
        let tls = plan.origins[request.origin].server_name.is_some();
        let host = request.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let host = host.map_or("localhost", |(_, value)| value);
        let scheme = if tls { "https" } else { "http" };
        let url = Url::parse(&format!("{scheme}://{host}/"));
        let url = url.map_err(|_| RunError::Usage(format!("'{host}' is no host of a URL")))?;
        Ok(Self { origin: request.origin, url })
    }
}

/// Checks what the types cannot rule out.
fn check(flows: &Flows, plan: &Plan) -> Result<(), RunError> {
    let usage = |message: String| Err(RunError::Usage(message));
    let Flows { scenarios, variables, initial, users, .. } = flows;
    if scenarios.is_empty() || *users < plan.threads {
        return usage("flows need a scenario, and a user per thread".into());
    }
    if scenarios.iter().any(|it| !it.weight.is_finite() || it.weight < 0.0) {
        return usage("a weight that is no number of at least zero".into());
    }
    if initial.iter().any(|(variable, _)| *variable >= variables.len()) {
        return usage("a value of a variable that does not exist".into());
    }
    // With HTTP/1.1, users that share a connection take turns.
    let all_http1 = plan.origins.iter().all(|it| plan.http2.versions(it) == Versions::Http1);
    if plan.pipelining > 1 && all_http1 || plan.follow > 0 || plan.pinned {
        return usage("scenarios have one request at a time on a connection".into());
    }
    for scenario in scenarios {
        check_steps(&scenario.steps, flows, plan, 0)?;
    }
    Ok(())
}

fn check_steps(steps: &[Step], flows: &Flows, plan: &Plan, depth: usize) -> Result<(), RunError> {
    if depth > MAX_DEPTH {
        return Err(RunError::Usage(format!("steps are nested more than {MAX_DEPTH} times")));
    }
    for step in steps {
        match step {
            Step::Request(step) => {
                let saves = step.saves.iter().all(|save| save.variable < flows.variables.len());
                if step.request >= plan.requests.len() || !saves {
                    return Err(RunError::Usage("a step without its request or variable".into()));
                }
            }
            Step::Pause(least, most) if least > most => {
                return Err(RunError::Usage("a pause that ends before it begins".into()));
            }
            Step::Pause(..) => {}
            Step::Repeat(_, steps) | Step::When(_, steps) => {
                check_steps(steps, flows, plan, depth + 1)?;
            }
        }
    }
    Ok(())
}
