//! Runs of the open model against a real server: arrivals are the schedule's, whatever the server does.

use std::time::Duration;

use millrace_load::Outcome;
use millrace_load::engine::numbers::Numbers;
use millrace_load::engine::schedule::{Arrivals, RateProfile};
use millrace_load::plan::{Model, Plan, Request, Segment, Stage, Table};

use crate::peer::{OK, Peer, errors, get, run};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(rate: f64) -> Model {
    Model::Open { rate, stages: Vec::new(), poisson: false, max_pending: 100_000 }
}

fn open(peer: &Peer, model: Model) -> Plan {
    Plan { model, connections: 50, initial_connections: 2, ..peer.plan() }
}

/// Checks that `due` arrivals came and what became of them: the number sent is returned. On a machine
/// that is busy with other things the last ones may still wait at the end.
#[track_caller]
fn sent_of(due: u64, outcome: &Outcome, requests: &[String]) -> u64 {
    let counts = &outcome.total.counts;
    assert_eq!((counts.offered, outcome.total.lateness.count()), (due, due));
    assert_eq!(counts.sent + counts.overflow + counts.queued_at_end, due);
    assert_eq!(counts.sent + outcome.warmup_requests, requests.len() as u64);
    counts.sent
}

#[test]
fn a_constant_rate_sends_rate_times_duration() {
    for (rate, threads) in [(500.0, 1), (1000.0, 3), (37.0, 2)] {
        let peer = Peer::prompt();
        let plan = Plan { threads, initial_connections: threads, ..open(&peer, at(rate)) };
        let outcome = run(plan);
        let (_, requests) = peer.finish();
        let due = (rate * 0.2).ceil() as u64;
        let sent = sent_of(due, &outcome, &requests);
        assert_eq!(outcome.total.counts.overflow, 0);
        assert!(sent > due / 4, "{sent} of {due} at {rate}/s on {threads} threads");
    }
}

/// As when the worker had no core for the rest of the run.
#[test]
fn what_was_due_before_the_end_and_comes_after_it_is_counted_and_not_sent() {
    let peer = Peer::prompt();
    let outcome = run(Plan { duration: Some(Duration::from_nanos(1)), ..open(&peer, at(1000.0)) });
    let (_, requests) = peer.finish();
    assert_eq!(sent_of(1, &outcome, &requests), 0);
    assert_eq!(outcome.total.counts.queued_at_end, 1);
}

#[test]
fn a_number_of_requests_ends_the_run() {
    let peer = Peer::prompt();
    let plan =
        Plan { duration: None, max_requests: Some(31), threads: 2, ..open(&peer, at(1000.0)) };
    let outcome = run(plan);
    let (_, requests) = peer.finish();
    assert_eq!(sent_of(31, &outcome, &requests), 31);
    assert_eq!(outcome.total.counts.ok, 31);
    assert!(outcome.duration >= millis(30), "{:?}", outcome.duration);
}

#[test]
fn random_arrivals_are_those_of_the_schedule() {
    let peer = Peer::prompt();
    let model = Model::Open { rate: 400.0, stages: Vec::new(), poisson: true, max_pending: 1000 };
    let outcome = run(Plan { threads: 2, seed: 5, ..open(&peer, model) });
    let profile = RateProfile::new(400.0, Duration::ZERO, &[]);
    let mut arrivals = Arrivals::new(profile, true, Numbers::new(Segment::default(), 0, 1), 5);
    let due = std::iter::from_fn(|| arrivals.take().filter(|it| it.after < millis(200)));
    let due = due.count() as u64;
    let (_, requests) = peer.finish();
    assert!(sent_of(due, &outcome, &requests) > due / 2);
}

#[test]
fn a_ramp_sends_its_area() {
    let peer = Peer::prompt();
    let stages = vec![Stage { duration: millis(200), rate: 1000.0 }];
    let model = Model::Open { rate: 0.0, stages, poisson: false, max_pending: 1000 };
    let outcome = run(open(&peer, model));
    let (_, requests) = peer.finish();
    assert!(sent_of(100, &outcome, &requests) > 50);
}

#[test]
fn the_warm_up_holds_the_rate_and_is_not_counted() {
    let peer = Peer::prompt();
    let outcome = run(Plan { warmup: millis(100), ..open(&peer, at(200.0)) });
    let (_, requests) = peer.finish();
    assert!(sent_of(40, &outcome, &requests) > 20);
    assert_eq!(outcome.warmup_requests, 20);
}

#[test]
fn what_exceeds_the_bound_is_counted_and_not_sent() {
    let peer = Peer::hung();
    let model = Model::Open { rate: 200.0, stages: Vec::new(), poisson: false, max_pending: 5 };
    let outcome = run(open(&peer, model));
    let (_, requests) = peer.finish();
    let sent = sent_of(40, &outcome, &requests);
    let counts = &outcome.total.counts;
    assert_eq!((sent + counts.queued_at_end, counts.overflow), (5, 35));
    assert_eq!((counts.in_flight_at_end, requests.len() as u64), (sent, sent));
    assert!(sent > 0);
}

#[test]
fn what_finds_no_connection_waits() {
    let peer = Peer::hung();
    let plan = Plan { connections: 3, initial_connections: 1, ..open(&peer, at(200.0)) };
    let outcome = run(plan);
    let (connections, requests) = peer.finish();
    assert_eq!(sent_of(40, &outcome, &requests), 3);
    assert_eq!((connections, outcome.total.counts.queued_at_end), (3, 37));
    let latency = &outcome.total.latency;
    assert_eq!((latency.count(), latency.censored()), (40, 40), "those that wait have an age too");
    assert!(latency.max().unwrap() >= millis(199));
}

/// One connection, and a server that stops for 200 ms once: those that become due meanwhile are late by
/// what is left of the stop when they become due. To the server they took no time.
#[test]
fn a_stop_of_the_server_is_in_the_latency_of_all_that_were_due() {
    let peer = Peer::start(|exchange| {
        let mut count = 0;
        exchange.answer_all(|_| {
            count += 1;
            if count == 10 {
                // The server stands still: what was due meanwhile has waited.
                std::thread::sleep(millis(200));
            }
            OK.to_vec()
        });
    });
    let duration = Some(millis(500));
    let plan = Plan { connections: 1, initial_connections: 1, duration, ..open(&peer, at(100.0)) };
    let outcome = run(plan);
    peer.finish();
    let (latency, service_time) = (&outcome.total.latency, &outcome.total.service_time);
    assert_eq!(latency.count(), 50);
    assert!(service_time.max().unwrap() >= millis(200));
    // Of the 50, 10 are due in the first half of the stop, and so wait for 100 ms at the least.
    assert!(latency.quantile(0.85).unwrap() >= millis(100), "{:?}", latency.quantile(0.85));
    assert!(service_time.quantile(0.85).unwrap() < millis(100));
    // 10 + ... + 200 ms.
    assert!(latency.total() >= millis(2000), "{:?}", latency.total());
    assert!(service_time.total() < millis(1000), "{:?}", service_time.total());
}

#[test]
fn a_connection_that_the_server_closes_is_replaced() {
    let peer = Peer::start(|exchange| {
        exchange.request();
        exchange.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    });
    let outcome = run(open(&peer, at(300.0)));
    let (_, requests) = peer.finish();
    let sent = sent_of(60, &outcome, &requests);
    let counts = &outcome.total.counts;
    assert_eq!(counts.ok + counts.in_flight_at_end, sent);
    assert_eq!(errors(&outcome), []);
}

#[test]
fn responses_lost_by_the_server_are_lost_once() {
    let peer = Peer::start(|exchange| {
        let mut count = 0;
        while exchange.request().is_some() {
            count += 1;
            if count % 4 == 0 {
                return;
            }
            exchange.send(OK);
        }
    });
    let outcome = run(open(&peer, at(500.0)));
    let (_, requests) = peer.finish();
    let counts = &outcome.total.counts;
    sent_of(100, &outcome, &requests);
    assert!(counts.transport_errors > 0);
    assert_eq!(errors(&outcome), [("closed-early", counts.transport_errors)]);
}

/// What the requests of a run have in them does not depend on who sends them.
#[test]
fn shares_send_the_requests_of_the_whole() {
    let text = "/{{seq}}/{{csv:users.csv:user}}/{{random:1-1000000}}/{{uuid}}";
    let sent = |segment: Segment, threads: usize| {
        let peer = Peer::prompt();
        let model = Model::Open { poisson: true, rate: 600.0, stages: vec![], max_pending: 1000 };
        let requests = ["/a", "/b"].iter().zip([1.0, 3.0]).map(|(path, weight)| {
            let target = format!("{path}{text}");
            Request { weight, ..get(&target) }
        });
        let users = ["ann", "bob", "eve"].map(|user| vec![user.to_owned()]);
        let outcome = run(Plan {
            requests: requests.collect(),
            weighted: true,
            placeholders: true,
            tables: vec![Table {
                name: "users.csv".into(),
                columns: vec!["user".into()],
                rows: users.into(),
            }],
            duration: None,
            max_requests: Some(120 / segment.count),
            threads,
            seed: 11,
            segment,
            ..open(&peer, model)
        });
        assert_eq!(outcome.total.counts.sent, 120 / segment.count);
        let (_, mut requests) = peer.finish();
        requests.sort();
        requests
    };
    let whole = sent(Segment::default(), 2);
    let mut shares: Vec<_> = [(0, 1), (1, 2), (2, 3)]
        .into_iter()
        .flat_map(|(index, threads)| sent(Segment { index, count: 3 }, threads))
        .collect();
    shares.sort();
    assert_eq!(shares, whole);
}
