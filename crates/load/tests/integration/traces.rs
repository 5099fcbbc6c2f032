//! Trace contexts: which requests carry one, and which of them were the slowest.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millrace_load::ErrorKind;
use millrace_load::Outcome;
use millrace_load::metrics::slowest::{MAX_SLOWEST, RequestEnd};
use millrace_load::plan::flow::Step;
use millrace_load::plan::{Model, Plan};

use crate::flows::{flows, step};
use crate::peer::{OK, Peer, get, run};

/// The ids of a trace and of a span; `None` where a request has no context.
type Ids = Option<(u128, u64)>;

/// Runs a plan against a server that answers every request; gives what the requests said of their traces as well.
fn traced(change: impl FnOnce(Plan) -> Plan) -> (Outcome, Vec<Ids>) {
    let seen = Arc::<Mutex<Vec<Ids>>>::default();
    let all = Arc::clone(&seen);
    let peer = Peer::start(move |exchange| {
        while let Some((head, _)) = exchange.whole_request() {
            all.lock().unwrap().push(ids(&head));
            exchange.send(OK);
        }
    });
    let outcome = run(change(peer.plan()));
    peer.finish();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen)
}

fn ids(head: &str) -> Ids {
    let mut fields = head.lines().filter_map(|line| line.strip_prefix("traceparent: "));
    let value = fields.next()?;
    assert_eq!((fields.next(), value.len()), (None, 55), "{head}");
    let parts: Vec<_> = value.split('-').collect();
    let [version, trace, span, flags] = parts[..] else { panic!("{value}") };
    assert_eq!((version, flags), ("00", "01"));
    let ids = (u128::from_str_radix(trace, 16).unwrap(), u64::from_str_radix(span, 16).unwrap());
    assert!(ids.0 > 0 && ids.1 > 0);
    Some(ids)
}

fn slowest(outcome: &Outcome) -> Vec<u128> {
    assert!(outcome.slowest.is_sorted_by(|one, next| one.latency >= next.latency));
    outcome.slowest.iter().map(|slow| slow.trace_id).collect()
}

#[test]
fn every_request_has_a_trace_of_its_own_and_the_slowest_are_named() {
    let (outcome, seen) = traced(|plan| Plan {
        requests: vec![get("/a"), get("/b")],
        threads: 2,
        connections: 4,
        pipelining: 3,
        duration: None,
        max_requests: Some(300),
        traced: Some(1.0),
        ..plan
    });
    let all: HashSet<_> = seen.iter().map(|ids| ids.expect("each has one").0).collect();
    assert_eq!((seen.len(), all.len()), (300, 300));
    let slowest = slowest(&outcome);
    assert_eq!(slowest.iter().collect::<HashSet<_>>().len(), MAX_SLOWEST);
    assert!(slowest.iter().all(|id| all.contains(id)));
    assert!(outcome.slowest.iter().all(|slow| slow.end == RequestEnd::Status(200)));
    // The histogram has three digits.
    let (max, most) = (outcome.total.latency.max().unwrap(), outcome.slowest[0].latency);
    assert!(max.abs_diff(most) <= most / 500, "{max:?} and {most:?}");
}

#[test]
fn the_same_seed_gives_the_same_traces_on_any_number_of_threads() {
    let run = |threads, seed| {
        traced(|plan| Plan {
            model: Model::Open {
                rate: 2000.0,
                stages: Vec::new(),
                poisson: true,
                max_pending: 999,
            },
            threads,
            connections: 30,
            initial_connections: 3,
            duration: None,
            max_requests: Some(300),
            traced: Some(0.3),
            seed,
            ..plan
        })
    };
    let of = |seen: &[Ids]| seen.iter().copied().flatten().collect::<HashSet<_>>();
    let ((one, first), (_, second), (_, third)) = (run(1, 5), run(3, 5), run(3, 6));
    let (first, second, third) = (of(&first), of(&second), of(&third));
    assert_eq!(first, second);
    assert!(first.is_disjoint(&third));
    // Five standard deviations around 90.
    assert!((50..130).contains(&first.len()), "{}", first.len());
    let traces: HashSet<_> = first.iter().map(|ids| ids.0).collect();
    assert!(slowest(&one).iter().all(|id| traces.contains(id)));
}

#[test]
fn the_requests_of_an_iteration_share_a_trace_and_have_spans_of_their_own() {
    let (outcome, seen) = traced(|plan| {
        let steps = vec![Step::Request(step(0)), Step::Request(step(1))];
        let plan = flows(plan, vec![get("/a"), get("/b")], steps, 2);
        Plan { duration: None, max_requests: Some(40), traced: Some(1.0), ..plan }
    });
    let seen: Vec<_> = seen.into_iter().flatten().collect();
    let (traces, spans): (HashSet<_>, HashSet<_>) = seen.iter().copied().unzip();
    assert_eq!((seen.len(), traces.len(), spans.len()), (80, 40, 80));
    assert!(slowest(&outcome).iter().all(|id| traces.contains(id)));
}

#[test]
fn a_request_without_a_response_is_one_of_the_slowest() {
    let peer = Peer::hung();
    let outcome = run(Plan {
        connections: 3,
        initial_connections: 3,
        duration: Some(Duration::from_millis(150)),
        timeout: Duration::from_millis(100),
        traced: Some(1.0),
        ..peer.plan()
    });
    peer.finish();
    let ends: Vec<_> = outcome.slowest.iter().map(|slow| slow.end).collect();
    assert_eq!(ends.len() as u64, outcome.total.counts.sent);
    assert_eq!(ends[..3], [RequestEnd::Error(ErrorKind::Timeout); 3]);
    assert!(ends[3..].iter().all(|end| *end == RequestEnd::InFlight));
}

#[test]
fn without_a_share_no_request_has_a_context() {
    let (outcome, seen) = traced(|plan| Plan { max_requests: Some(20), ..plan });
    assert_eq!(seen, vec![None; 20]);
    assert!(outcome.slowest.is_empty());
}
