//! Redirections and cookies.

use super::*;

/// A redirection leads to another server of the plan, with its cookies and without the credentials of the first one.
#[test]
fn redirections_are_followed_to_other_servers() {
    let second = Peer::start(|exchange| {
        while let Some((head, body)) = exchange.whole_request() {
            let as_expected = head.starts_with("GET /there?x=1 ")
                && field(&head, "Authorization").is_none()
                && field(&head, "Cookie").is_none()
                && body.is_empty();
            let text = if as_expected { "there" } else { &head };
            exchange.send(&response("200 OK", "", text));
        }
    });
    let origin = second.plan().origins[0].clone();
    let millrace_load::plan::Endpoint::Host(_, port) = origin.endpoint else { panic!() };
    let location = format!("http://other.example:{port}/there?x=1#f");
    let first = Peer::start(move |exchange| {
        while let Some((head, _)) = exchange.whole_request() {
            let to = if head.starts_with("POST /start ") { "/hop" } else { &location[..] };
            let fields = format!("Set-Cookie: a=1; Path=/\r\nLocation: {to}\r\n");
            exchange.send(&response("302 Found", &fields, ""));
        }
    });
    let start = Request {
        method: "POST".into(),
        body: Some(b"x".to_vec()),
        fields: vec![
            ("Host".into(), "one.example".into()),
            ("Authorization".into(), "secret".into()),
        ],
        ..get("/start")
    };
    let other = Request {
        origin: 1,
        fields: vec![("Host".into(), format!("other.example:{port}"))],
        ..get("/unused")
    };
    let checks = vec![status(200), Check::Value(Source::Body, Test::Equals("there".into()))];
    let steps = vec![
        Step::Request(RequestStep { checks, ..step(0) }),
        Step::Repeat(0, vec![Step::Request(step(1))]),
    ];
    let mut plan = counted(flows(first.plan(), vec![start, other], steps, 2), 6);
    plan.origins.push(origin);
    let (outcome, flows) = run_flows(change(plan.clone(), |flows| flows.scenarios[0].follow = 3));
    assert_eq!(flows.scenarios[0].counts.completed, 6, "{:?}", flows.steps);
    assert_eq!(outcome.names[0].counts.sent, 18);
    assert_eq!(flows.steps[0].checks[0].passed, 6);
    // Bounded.
    let (_, flows) = run_flows(change(plan, |flows| flows.scenarios[0].follow = 1));
    assert_eq!(flows.steps[0].checks[0].failed, 6);
    let (_, requests) = first.finish();
    assert_eq!(requests.len(), 24);
    assert_eq!(second.finish().1.len(), 6);
}

/// A request that is the same each time has cookies all the same, and is followed.
#[test]
fn a_single_request_without_placeholders_has_cookies_and_is_followed() {
    let peer = Peer::start(|exchange| {
        while let Some((head, _)) = exchange.whole_request() {
            if head.starts_with("GET /start ") {
                let fields = "Set-Cookie: a=1\r\nLocation: /dir/next\r\n";
                exchange.send(&response("302 Found", fields, ""));
            } else {
                let has_cookie = field(&head, "Cookie") == Some("a=1");
                exchange.send(&response(if has_cookie { "200 OK" } else { "400 Bad" }, "", ""));
            }
        }
    });
    let steps = vec![Step::Request(RequestStep { checks: vec![status(200)], ..step(0) })];
    let plan = counted(flows(peer.plan(), vec![get("/start")], steps, 2), 6);
    let (_, flows) = run_flows(change(plan, |flows| flows.scenarios[0].follow = 1));
    let (_, requests) = peer.finish();
    assert_eq!(flows.scenarios[0].counts.completed, 6, "{:?}", flows.steps);
    assert_eq!(requests.len(), 12);
}
