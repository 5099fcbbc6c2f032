use std::time::Duration;

use super::*;

/// A plan to be changed at will.
pub(crate) fn plan() -> Plan {
    let request = Request {
        origin: 0,
        method: "GET".into(),
        target: "/".into(),
        fields: Vec::new(),
        body: None,
        weight: 1.0,
        name: 0,
        body_format: BodyFormat::Text,
        expected: None,
    };
    let endpoint = Endpoint::Host("127.0.0.1".into(), 80);
    Plan {
        threads: 2,
        connections: 3,
        initial_connections: 3,
        duration: Some(Duration::from_secs(1)),
        timeout: Duration::from_secs(1),
        connect_timeout: Duration::from_secs(1),
        ..Plan::closed(vec![Origin { endpoint, server_name: None, http2: false }], vec![request])
    }
}

fn refused(change: impl FnOnce(&mut Plan)) -> String {
    let mut plan = plan();
    change(&mut plan);
    match plan.check() {
        Err(RunError::Usage(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn shares_add_up_and_differ_by_one_at_most_the_first_threads_first() {
    for threads in 1..9 {
        for total in (0..40).chain([1_000_003, u64::MAX]) {
            let plan = Plan { threads, ..plan() };
            let shares: Vec<u64> = (0..threads).map(|index| plan.share(total, index)).collect();
            assert_eq!(shares.iter().sum::<u64>(), total, "{total} over {threads}");
            assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
            assert!(shares[0] - shares[threads - 1] <= 1, "{shares:?}");
        }
    }
}

#[test]
fn a_plan_that_can_be_carried_out_is_accepted() {
    assert!(plan().check().is_ok());
    assert!(Plan { threads: 3, ..plan() }.check().is_ok());
    assert!(Plan { duration: None, max_requests: Some(1), ..plan() }.check().is_ok());
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_refused() {
    for change in [
        |plan: &mut Plan| plan.connections = usize::MAX,
        |plan: &mut Plan| (plan.threads, plan.connections) = (1 << 11, 1 << 11),
        |plan: &mut Plan| plan.pipelining = usize::MAX,
    ] {
        assert!(refused(change).contains("at most"));
    }
    for share in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(refused(|plan| plan.requests[0].weight = share).contains("weight"));
        let stages = vec![Stage { duration: Duration::ZERO, rate: share }];
        let model = Model::Open { rate: 1.0, stages, poisson: false, max_pending: 1 };
        assert!(refused(|plan| plan.model = model).contains("rate"));
    }
    let no_request = refused(|plan| plan.requests.clear());
    let no_origin = refused(|plan| plan.origins.clear());
    assert_eq!(no_request, no_origin);
    assert!(no_request.starts_with("a run needs a request"));
    for message in [
        refused(|plan| plan.threads = 0),
        refused(|plan| plan.threads = 4),
        refused(|plan| plan.pipelining = 0),
    ] {
        assert!(message.contains("must be at least 1"), "{message}");
    }
    let close = refused(|plan| (plan.close, plan.pipelining) = (true, 2));
    assert_eq!(close, "pipelining needs connections that are kept");
    let probed = refused(|plan| (plan.close, plan.early_ack_probe) = (true, true));
    assert_eq!(probed, "empty lines between requests need connections that are kept");
    let endless = refused(|plan| plan.duration = None);
    assert_eq!(endless, "a run needs a duration or a number of requests");
    let servers =
        refused(|plan| (plan.origins, plan.pinned) = (vec![plan.origins[0].clone(); 2], true));
    assert_eq!(servers, "3 connections are too few: 2 servers on 2 threads need at least 4");
}
