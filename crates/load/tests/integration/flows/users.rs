//! When iterations begin, and how many users there are.

use super::*;

/// Iterations start on schedule; those for which no user is free are counted and not started.
#[test]
fn iterations_of_the_open_model_start_on_schedule() {
    let peer = Peer::start(|exchange| {
        while exchange.request().is_some() {
            // The time of a response, which bounds how many iterations two users can do.
            std::thread::sleep(Duration::from_millis(20));
            exchange.send(crate::peer::OK);
        }
    });
    let steps = vec![
        Step::Request(step(0)),
        Step::Pause(Duration::from_millis(10), Duration::from_millis(10)),
        Step::Request(step(0)),
    ];
    let plan = flows(peer.plan(), vec![get("/")], steps, 2);
    let plan = Plan {
        model: Model::Open {
            rate: 100.0,
            stages: Vec::<Stage>::new(),
            poisson: false,
            max_pending: 1000,
        },
        duration: Some(Duration::from_secs(1)),
        ..plan
    };
    let (_, flows) = run_flows(plan);
    peer.finish();
    let counts = flows.scenarios[0].counts;
    assert_eq!(counts.started + counts.not_started, 100);
    // Each takes 50 ms, and two may be in progress: 40 at most.
    assert!((10..=41).contains(&counts.started), "{counts:?}");
    let (total, active) =
        (flows.scenarios[0].duration.to_histogram(), flows.scenarios[0].active.to_histogram());
    assert!(total.min().unwrap() >= Duration::from_millis(50));
    let pauses = total.min().unwrap() - active.min().unwrap();
    assert!(pauses.abs_diff(Duration::from_millis(10)) < Duration::from_millis(2), "{pauses:?}");
}

/// The number of users changes; the others end with their iterations.
#[test]
fn users_come_and_go_in_stages() {
    let peer = Peer::prompt();
    let steps = vec![
        Step::Request(step(0)),
        Step::Pause(Duration::from_millis(5), Duration::from_millis(10)),
        Step::Request(step(0)),
    ];
    let plan = flows(peer.plan(), vec![get("/")], steps, 8);
    let stage =
        |ms, connections| ConnectionStage { duration: Duration::from_millis(ms), connections };
    let plan = Plan {
        initial_connections: 1,
        connection_stages: vec![stage(150, 8), stage(0, 2), stage(150, 2)],
        duration: Some(Duration::from_millis(400)),
        threads: 2,
        ..plan
    };
    let (outcome, flows) = run_flows(plan);
    let (connections, requests) = peer.finish();
    assert_eq!(requests.len() as u64, outcome.total.counts.sent);
    assert!((7..=8).contains(&connections), "{connections}");
    let counts = flows.scenarios[0].counts;
    assert!(counts.completed > 20, "{counts:?}");
    assert!(counts.in_progress <= 2, "{counts:?}");
}
