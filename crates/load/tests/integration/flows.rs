//! Flows against a real server: values arrive where they belong, and everything is accounted for.

mod hooks;
mod redirections;
mod steps;
mod users;
pub(crate) mod values;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millrace_load::metrics::flow_stats::{FailureReason, FlowStats, IterationCounts};
use millrace_load::plan::flow::{
    BodyFormat, Check, Condition, Flows, Operator, RequestStep, Save, Scenario, Source, Step, Test,
};
use millrace_load::plan::{ConnectionStage, Model, Plan, Request, Stage};
use millrace_load::{Outcome, StatusSet};

use crate::peer::{Exchange, Peer, get, run};

pub(super) const VARIABLES: [&str; 4] = ["token", "id", "first", "list"];

pub(super) fn save(variable: usize, source: Source) -> Save {
    Save { variable, source, optional: false }
}

pub(super) fn json(pointer: &str) -> Source {
    Source::Json(pointer.into())
}

pub(super) fn status(status: u16) -> Check {
    Check::Status([status].into_iter().collect::<StatusSet>())
}

/// A plan of one scenario; each request step has the request of its index.
pub(super) fn flows(plan: Plan, requests: Vec<Request>, steps: Vec<Step>, users: usize) -> Plan {
    let scenario = Scenario { name: "test".into(), weight: 1.0, cookies: true, follow: 0, steps };
    let flows = Flows {
        scenarios: vec![scenario],
        variables: VARIABLES.map(str::to_owned).to_vec(),
        initial: Vec::new(),
        users,
        own_connections: true,
        max_body: 1 << 20,
        trace: false,
    };
    let names = requests.len();
    let requests = (0..).zip(requests).map(|(name, request)| Request { name, ..request }).collect();
    Plan {
        requests,
        names,
        connections: users,
        initial_connections: users,
        flows: Some(flows),
        ..plan
    }
}

pub(super) fn step(request: usize) -> RequestStep {
    RequestStep { request, ..RequestStep::default() }
}

pub(crate) fn counted(plan: Plan, iterations: u64) -> Plan {
    Plan { duration: None, max_requests: Some(iterations), ..plan }
}

pub(crate) fn change(mut plan: Plan, change: impl FnOnce(&mut Flows)) -> Plan {
    change(plan.flows.as_mut().unwrap());
    plan
}

/// Runs it, and checks what holds for all flows.
pub(crate) fn run_flows(plan: Plan) -> (Outcome, FlowStats) {
    let mut outcome = run(plan);
    let flows = outcome.flows.take().unwrap();
    for scenario in &flows.scenarios {
        let IterationCounts { started, completed, failed, in_progress, .. } = scenario.counts;
        assert_eq!(started, completed + failed + in_progress);
        assert_eq!(scenario.duration.to_histogram().count(), started);
        assert_eq!(scenario.active.to_histogram().count(), started);
    }
    assert!(outcome.total.schedule_adds_up());
    (outcome, flows)
}

pub(super) fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

pub(super) fn response(status: &str, fields: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}
