//! What steps do: loops, conditions, failures, and what a dry run keeps of them.

use super::*;

#[test]
fn loops_and_conditions_are_followed() {
    let peer = Peer::start(|exchange| {
        exchange.answer_all(|_| response("200 OK", "", r#"{"n": 3, "none": null}"#));
    });
    let condition = |left: &str, operator, right: &str| Condition {
        left: left.into(),
        operator,
        right: right.into(),
    };
    let when = |condition, request| Step::When(condition, vec![Step::Request(step(request))]);
    let first = RequestStep { saves: vec![save(0, json("/n")), save(1, json("/none"))], ..step(0) };
    let steps = vec![
        Step::Request(first),
        Step::Repeat(
            3,
            vec![Step::Request(step(1)), Step::Repeat(2, vec![Step::Request(step(2))])],
        ),
        Step::Repeat(0, vec![Step::Repeat(5, vec![Step::Request(step(3))])]),
        when(condition("{{token}}", Operator::Greater, "20"), 3),
        when(condition("{{token}}", Operator::Greater, "1.5"), 4),
        when(condition("{{id}}", Operator::Equal, "null"), 5),
        when(condition("{{first}}", Operator::NotEqual, ""), 3),
    ];
    let requests = ["/a", "/b", "/c", "/never", "/d", "/e"].map(get).to_vec();
    let (outcome, flows) = run_flows(counted(flows(peer.plan(), requests, steps, 1), 2));
    let (_, arrived) = peer.finish();
    let once = ["/a", "/b", "/c", "/c", "/b", "/c", "/c", "/b", "/c", "/c", "/d", "/e"];
    let twice: Vec<String> = once.iter().chain(&once).map(|it| format!("GET {it}")).collect();
    assert_eq!(arrived, twice);
    assert_eq!(flows.scenarios[0].counts.completed, 2);
    assert_eq!(outcome.total.counts.opened, 1);
}

/// Every kind of failure is counted at its step, and ends the iteration unless the step says otherwise.
#[test]
fn steps_fail_for_their_reasons() {
    let answer = |head: &str| -> Vec<u8> {
        let path = head.split(' ').nth(1).unwrap();
        match path {
            "/500" => response("500 Error", "", "broken"),
            "/text" => response("200 OK", "", "no json"),
            "/big" => response("200 OK", "", &"x".repeat(3000)),
            "/lines" => response("200 OK", "", r#"{"v": "a\r\nb"}"#),
            _ => response("200 OK", "X-Own: yes\r\n", r#"{"a": 1}"#),
        }
    };
    let value = |source, test| Check::Value(source, test);
    let saves = |source| RequestStep { saves: vec![save(0, source)], ..step(0) };
    let checks = |check| RequestStep { checks: vec![check], ..step(0) };
    let cases: Vec<(&str, RequestStep, FailureReason, &str)> = vec![
        ("/500", step(0), FailureReason::Status, "status 500"),
        ("/", checks(status(201)), FailureReason::Check, "status 200"),
        ("/", checks(value(json("/a"), Test::EqualsJson("2".into()))), FailureReason::Check, "'1'"),
        (
            "/",
            checks(value(Source::Header("x-own".into()), Test::Equals("no".into()))),
            FailureReason::Check,
            "'yes'",
        ),
        (
            "/",
            checks(value(Source::Body, Test::Contains("zzz".into()))),
            FailureReason::Check,
            "'{\"a\": 1}'",
        ),
        (
            "/",
            checks(value(Source::Body, Test::Matches("^x".into()))),
            FailureReason::Check,
            "'{\"a\": 1}'",
        ),
        ("/", checks(value(json("/a"), Test::Absent)), FailureReason::Check, "there is '1'"),
        ("/", checks(Check::Size(0, 3)), FailureReason::Check, "8 bytes"),
        ("/", checks(Check::Within(Duration::ZERO)), FailureReason::Check, "it took"),
        ("/", saves(json("/b/c")), FailureReason::Save, "token: nothing at '/b/c' in: {\"a\": 1}"),
        ("/text", saves(json("/b")), FailureReason::Save, "token: no JSON in: no json"),
        ("/", saves(Source::Header("none".into())), FailureReason::Save, "token: no header none"),
        (
            "/",
            saves(Source::Cookie("sid".into())),
            FailureReason::Save,
            "token: no cookie sid was set",
        ),
        (
            "/",
            saves(Source::Regex { pattern: "b(.)".into(), group: 1 }),
            FailureReason::Save,
            "token: nothing matches b(.) in: {\"a\": 1}",
        ),
        (
            "/big",
            saves(Source::Body),
            FailureReason::Save,
            "token: the body is longer than 2000 bytes",
        ),
        (
            "/big",
            checks(value(json("/a"), Test::Absent)),
            FailureReason::Check,
            "the body is longer than 2000 bytes",
        ),
        ("/text", checks(value(json("/a"), Test::Absent)), FailureReason::Check, "no JSON in"),
        ("/{{first}}", step(0), FailureReason::Variable, "the variable first has no value"),
    ];
    for (path, failing, reason, text) in cases {
        for continues in [false, true] {
            let peer = Peer::start(move |exchange| {
                while let Some((head, _)) = exchange.whole_request() {
                    exchange.send(&answer(&head));
                }
            });
            let first = RequestStep { continues, ..failing.clone() };
            let steps = vec![Step::Request(first), Step::Request(step(1))];
            let plan = flows(peer.plan(), vec![get(path), get("/next")], steps, 1);
            let (_, flows) = run_flows(counted(change(plan, |it| it.max_body = 2000), 3));
            let (_, arrived) = peer.finish();
            let case = format!("{path} {reason:?} {continues}: {:?}", flows.steps);
            let counts = flows.scenarios[0].counts;
            assert_eq!((counts.completed, counts.failed), (0, 3), "{case}");
            let failure = &flows.steps[0].failures[..];
            assert_eq!(failure.len(), 1, "{case}");
            assert_eq!((failure[0].reason, failure[0].count), (reason, 3), "{case}");
            assert!(failure[0].example.starts_with(text), "{case}");
            let next = arrived.iter().filter(|it| *it == "GET /next").count();
            assert_eq!(next, if continues { 3 } else { 0 }, "{case}");
        }
    }
}

#[test]
fn a_line_break_in_a_field_fails_its_step() {
    let peer = Peer::start(|exchange| {
        exchange.answer_all(|_| response("200 OK", "", r#"{"v": "a\r\nX-Evil: b"}"#));
    });
    let fields = vec![("Host".into(), "peer".into()), ("X-Token".into(), "{{token}}".into())];
    let first = RequestStep { saves: vec![save(0, json("/v"))], ..step(0) };
    let steps = vec![Step::Request(first), Step::Request(step(1))];
    let requests = vec![get("/a"), Request { fields, ..get("/b") }];
    let (_, flows) = run_flows(counted(flows(peer.plan(), requests, steps, 1), 2));
    let (_, arrived) = peer.finish();
    assert_eq!(arrived, ["GET /a", "GET /a"]);
    assert_eq!(flows.steps[1].failures[0].reason, FailureReason::Header);
}

/// A connection that ends, and a server that says nothing.
#[test]
fn lost_requests_fail_their_iterations() {
    let peer = Peer::start(|exchange| {
        let mut count = 0;
        while let Some((head, _)) = exchange.whole_request() {
            if head.starts_with("GET /silent") {
                continue;
            }
            count += 1;
            if count % 5 == 0 {
                return;
            }
            exchange.send(crate::peer::OK);
        }
    });
    let steps = vec![Step::Request(step(0)), Step::Request(step(1)), Step::Request(step(2))];
    let silent = Step::When(
        Condition { left: "{{seq}}".into(), operator: Operator::Equal, right: "7".into() },
        vec![Step::Request(step(3))],
    );
    let steps = [silent].into_iter().chain(steps).collect();
    let requests = ["/a", "/b", "/c", "/silent"].map(get).to_vec();
    let plan = counted(flows(peer.plan(), requests, steps, 4), 100);
    let (outcome, flows) = run_flows(Plan { timeout: Duration::from_millis(50), ..plan });
    let (_, arrived) = peer.finish();
    let counts = flows.scenarios[0].counts;
    assert_eq!(counts.started, 100);
    let lost: u64 = flows.steps.iter().flat_map(|it| &it.failures).map(|it| it.count).sum();
    assert_eq!(counts.failed, lost);
    assert!(lost > 20, "{lost}");
    assert_eq!(outcome.total.counts.timeouts, 1);
    assert_eq!(outcome.total.counts.sent, arrived.len() as u64);
}

#[test]
fn a_server_that_is_not_there_fails_iterations_and_does_not_hang() {
    let peer = Peer::prompt();
    let plan = flows(peer.plan(), vec![get("/")], vec![Step::Request(step(0))], 3);
    // A server whose port nobody listens at, beside one that answers.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = millrace_load::plan::Endpoint::Host("127.0.0.1".into(), gone.port());
    let mut plan = Plan { duration: Some(Duration::from_millis(300)), ..plan };
    plan.origins.push(millrace_load::plan::Origin { endpoint, server_name: None, http2: false });
    let other = Request { origin: 1, name: 1, ..get("/other") };
    plan.requests.push(other);
    plan.names = 2;
    let plan = change(plan, |flows| flows.scenarios[0].steps.push(Step::Request(step(1))));
    let (outcome, flows) = run_flows(plan);
    peer.finish();
    let counts = flows.scenarios[0].counts;
    assert!(counts.failed >= 3, "{counts:?}");
    assert_eq!(counts.completed, 0);
    assert_eq!(flows.steps[1].failures[0].reason, FailureReason::Transport);
    assert!(outcome.total.counts.connect_failed >= 3);
}

/// An iteration without a request takes its turn: it neither blocks the others nor the end.
#[test]
fn iterations_without_requests_take_turns() {
    let peer = Peer::prompt();
    let never = Condition { left: "1".into(), operator: Operator::Greater, right: "2".into() };
    let steps =
        vec![Step::When(never, vec![Step::Request(step(0))]), Step::Repeat(u32::MAX, Vec::new())];
    let plan = flows(peer.plan(), vec![get("/")], steps[..1].to_vec(), 3);
    let (_, flows) = run_flows(plan);
    assert!(flows.scenarios[0].counts.completed > 10);
    let plan = self::flows(peer.plan(), vec![get("/")], steps, 3);
    let (_, flows) = run_flows(plan);
    assert_eq!(flows.scenarios[0].counts.in_progress, 3);
    peer.finish();
}

/// A dry run keeps each request, response, value and failure.
#[test]
fn a_trace_has_everything_of_each_step() {
    let peer = Peer::start(|exchange| {
        exchange.answer_all(|request| match request {
            "GET /a" => response("302 Found", "Location: /b\r\n", ""),
            "GET /b" => response("200 OK", "", r#"{"a": [1]}"#),
            _ => response("500 Error", "", "broken"),
        });
    });
    let first = RequestStep {
        saves: vec![save(0, json("/a")), Save { optional: true, ..save(1, json("/none")) }],
        checks: vec![status(200), Check::Value(json("/a/0"), Test::EqualsJson("1".into()))],
        ..step(0)
    };
    let second = RequestStep { checks: vec![status(200)], ..step(1) };
    let steps = vec![Step::Request(first), Step::Request(second)];
    let plan = counted(flows(peer.plan(), vec![get("/a"), get("/c")], steps, 1), 1);
    let (_, flows) = run_flows(change(plan, |flows| {
        flows.trace = true;
        flows.scenarios[0].follow = 1;
    }));
    peer.finish();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let [hop, done, failed] = &flows.trace[..] else { panic!("{:?}", flows.trace) };
    assert!(hop.is_followed && !done.is_followed);
    assert!(text(&hop.request).starts_with("GET /a HTTP/1.1\r\n"));
    assert!(text(&done.request).starts_with("GET /b HTTP/1.1\r\n"));
    assert!(text(&done.response).ends_with(r#"{"a": [1]}"#));
    assert_eq!(done.saved, [(0, Some("[1]".to_owned())), (1, None)]);
    assert_eq!(done.checks, [None, None]);
    assert_eq!(failed.checks, [Some("status 500 in: broken".to_owned())]);
    assert_eq!(failed.failure.as_ref().unwrap().0, FailureReason::Check);
}
