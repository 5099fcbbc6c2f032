//! Calls of JavaScript before requests and with responses.

use super::*;

/// Answers calls as JavaScript would, on another thread.
struct Caller(std::sync::mpsc::Sender<Vec<millrace_load::HookCall>>);

impl millrace_load::HookCaller for Caller {
    fn call(&self, calls: Vec<millrace_load::HookCall>) {
        self.0.send(calls).unwrap();
    }
}

/// What hooks set is known to later steps, what they refuse fails the step, and their time is in no latency.
#[test]
fn hooks_are_called_before_requests_and_with_responses() {
    let peer = Peer::start(|exchange| {
        exchange.answer_all(|request| {
            let path = request.split(' ').nth(1).unwrap();
            response("200 OK", "X-A: b\r\n", &format!("{{\"path\": \"{path}\"}}"))
        });
    });
    let steps = vec![
        Step::Request(RequestStep { before: Some(0), after: Some(1), ..step(0) }),
        Step::Request(step(1)),
    ];
    let requests = vec![get("/a/{{token}}"), get("/b/{{id}}")];
    let mut plan = counted(flows(peer.plan(), requests, steps, 4), 40);
    plan.threads = 2;
    let mut run = millrace_load::Run::new(plan);
    let (sender, calls) = std::sync::mpsc::channel();
    let results = run.call_hooks(std::sync::Arc::new(Caller(sender)));
    let javascript = std::thread::spawn(move || {
        let mut count = [0, 0];
        for call in calls.iter().flatten() {
            // Its time is what must be in no latency.
            std::thread::sleep(Duration::from_millis(5));
            count[call.hook as usize] += 1;
            let number = call.sequence;
            let (variables, error) = match call.response {
                None => (vec![(0, Some(format!("\"t{number}\"")))], None),
                Some(response) => {
                    assert_eq!(response.status, 200);
                    assert!(response.fields.contains(&("X-A".into(), "b".into())));
                    let body = String::from_utf8(response.body.unwrap()).unwrap();
                    assert_eq!(body, format!("{{\"path\": \"/a/t{number}\"}}"));
                    assert_eq!(call.variables, [(0, format!("\"t{number}\""))]);
                    let error = (number % 10 == 9).then(|| "refused".to_owned());
                    (vec![(0, None), (1, Some(number.to_string()))], error)
                }
            };
            let (worker, user) = (call.worker, call.user);
            results.send(vec![millrace_load::HookResult { worker, user, variables, error }]);
        }
        count
    });
    let outcome = run.run(&mut |_| ()).unwrap();
    assert_eq!(javascript.join().unwrap(), [40, 40]);
    let (_, mut arrived) = peer.finish();
    let flows = outcome.flows.unwrap();
    let counts = flows.scenarios[0].counts;
    assert_eq!((counts.completed, counts.failed), (36, 4), "{:?}", flows.steps);
    assert_eq!(flows.steps[0].failures[0].reason, FailureReason::Hook);
    assert_eq!(flows.steps[0].failures[0].example, "refused");
    arrived.sort();
    let mut expected: Vec<String> = (0..40).map(|it| format!("GET /a/t{it}")).collect();
    expected.extend((0..40).filter(|it| it % 10 != 9).map(|it| format!("GET /b/{it}")));
    expected.sort();
    assert_eq!(arrived, expected);
    // Hundreds of milliseconds of hooks, and none in the latencies or in the active time.
    let longest = outcome.total.latency.max().unwrap();
    assert!(longest < Duration::from_millis(20 * 5), "{longest:?}");
    let scenario = &flows.scenarios[0];
    let (total, active) = (scenario.duration.to_histogram(), scenario.active.to_histogram());
    assert!(total.min().unwrap() >= Duration::from_millis(10));
    assert!(active.min().unwrap() < Duration::from_millis(5), "{:?}", active.min());
}

/// A result leads to the next call at once: nothing waits for the end of a window.
#[test]
fn calls_that_follow_each_other_wait_for_nothing() {
    let peer = Peer::prompt();
    let hooked = |request| RequestStep { before: Some(0), after: Some(1), ..step(request) };
    let steps = vec![Step::Request(hooked(0)), Step::Request(hooked(1))];
    let plan = flows(peer.plan(), vec![get("/a"), get("/b")], steps, 1);
    let mut run = millrace_load::Run::new(Plan { duration: Some(Duration::from_secs(1)), ..plan });
    let (sender, calls) = std::sync::mpsc::channel();
    let results = run.call_hooks(std::sync::Arc::new(Caller(sender)));
    let javascript = std::thread::spawn(move || {
        for millrace_load::HookCall { worker, user, .. } in calls.iter().flatten() {
            let (variables, error) = (Vec::new(), None);
            results.send(vec![millrace_load::HookResult { worker, user, variables, error }]);
        }
    });
    let outcome = run.run(&mut |_| ()).unwrap();
    javascript.join().unwrap();
    peer.finish();
    // A window is 100 ms long; two of them for each iteration would leave five.
    let completed = outcome.flows.unwrap().scenarios[0].counts.completed;
    assert!(completed > 20, "{completed}");
}
