//! Flows against a real server: values arrive where they belong, and everything is accounted for.

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

const VARIABLES: [&str; 4] = ["token", "id", "first", "list"];

fn save(variable: usize, source: Source) -> Save {
    Save { variable, source, optional: false }
}

fn json(pointer: &str) -> Source {
    Source::Json(pointer.into())
}

fn status(status: u16) -> Check {
    Check::Status([status].into_iter().collect::<StatusSet>())
}

/// A plan of one scenario; each request step has the request of its index.
fn flows(plan: Plan, requests: Vec<Request>, steps: Vec<Step>, users: usize) -> Plan {
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

fn step(request: usize) -> RequestStep {
    RequestStep { request, ..RequestStep::default() }
}

fn counted(plan: Plan, iterations: u64) -> Plan {
    Plan { duration: None, max_requests: Some(iterations), ..plan }
}

fn change(mut plan: Plan, change: impl FnOnce(&mut Flows)) -> Plan {
    change(plan.flows.as_mut().unwrap());
    plan
}

/// Runs it, and checks what holds for all flows.
fn run_flows(plan: Plan) -> (Outcome, FlowStats) {
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

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// Sends a response in pieces of these lengths, in turn, each in a segment of its own.
fn send_in_pieces(exchange: &mut Exchange, response: &[u8], lengths: &[usize]) {
    exchange.stream.set_nodelay(true).unwrap();
    let mut rest = response;
    for length in lengths.iter().cycle() {
        let (piece, after) = rest.split_at((*length).min(rest.len()));
        exchange.send(piece);
        rest = after;
        if rest.is_empty() {
            return;
        }
    }
}

fn response(status: &str, fields: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// A shop: a login gives each caller values of its own, and all that follows must have them.
struct Shop {
    logins: AtomicU64,
    orders: Mutex<HashMap<u64, u64>>,
    mistakes: Mutex<Vec<String>>,
}

impl Shop {
    fn answer(&self, head: &str, body: &str) -> Vec<u8> {
        if head.starts_with("POST /login ") {
            let user = self.logins.fetch_add(1, Ordering::SeqCst);
            let body =
                format!(r#"{{"token": "t{user} ü&\"", "user": {{"id": {user}}}, "n": [1]}}"#);
            return response("200 OK", &format!("Set-Cookie: sid=s{user}; Path=/\r\n"), &body);
        }
        let id = head.split("id=").nth(1).and_then(|rest| rest.split([' ', '&']).next()).unwrap();
        let token = format!("t{id} ü&\"");
        let expected =
            [("Authorization", format!("Bearer {token}")), ("Cookie", format!("own=1; sid=s{id}"))];
        for (name, value) in expected {
            if field(head, name) != Some(&value) {
                self.mistake(head);
            }
        }
        if head.starts_with("GET /items") {
            if !head.contains(&format!("token=t{id}%20%C3%BC%26%22 ")) {
                self.mistake(head);
            }
            return response("200 OK", "", &format!(r#"{{"items": [{{"id": "i{id}"}}]}}"#));
        }
        let text =
            format!(r#"{{"item":"i{id}","user":{id},"note":"of t{id} ü&\" {id}","list":[1]}}"#);
        if body != text {
            self.mistake(body);
        }
        *self.orders.lock().unwrap().entry(id.parse().unwrap()).or_default() += 1;
        response("201 Created", "", r#"{"state": "paid"}"#)
    }

    fn mistake(&self, what: &str) {
        self.mistakes.lock().unwrap().push(what.to_owned());
    }
}

fn shop_plan(plan: Plan, users: usize) -> Plan {
    let with = |request: Request| {
        let mut fields = request.fields.clone();
        fields.push(("Authorization".into(), "Bearer {{token}}".into()));
        fields.push(("Cookie".into(), "own=1".into()));
        Request { fields, ..request }
    };
    let login = Request { method: "POST".into(), body: Some(b"".to_vec()), ..get("/login") };
    let list = with(get("/items?id={{id}}&token={{token}}"));
    let body =
        r#"{"item":"{{first}}","user":"{{id}}","note":"of {{token}} {{id}}","list":"{{list}}"}"#;
    let buy = with(Request {
        method: "POST".into(),
        body: Some(body.into()),
        body_format: BodyFormat::Json,
        ..get("/orders?id={{id}}")
    });
    let steps = vec![
        Step::Request(RequestStep {
            saves: vec![save(0, json("/token")), save(1, json("/user/id")), save(3, json("/n"))],
            checks: vec![status(200)],
            ..step(0)
        }),
        Step::Request(RequestStep { saves: vec![save(2, json("/items/0/id"))], ..step(1) }),
        Step::Request(RequestStep {
            checks: vec![
                status(201),
                Check::Value(json("/state"), Test::EqualsJson("\"paid\"".into())),
            ],
            ..step(2)
        }),
    ];
    flows(plan, vec![login, list, buy], steps, users)
}

/// Own and shared connections, closed and open, responses whole and in pieces: a saved value arrives where it is used.
#[test]
fn values_stay_with_their_users() {
    for (own, open, lengths) in [
        (true, false, &[usize::MAX][..]),
        (false, false, &[usize::MAX][..]),
        (true, true, &[1][..]),
        (false, true, &[30, 1, 7][..]),
        (true, false, &[1][..]),
    ] {
        let shop = std::sync::Arc::new(Shop {
            logins: AtomicU64::new(0),
            orders: Mutex::default(),
            mistakes: Mutex::default(),
        });
        let server = std::sync::Arc::clone(&shop);
        let lengths = lengths.to_vec();
        let peer = Peer::start(move |exchange| {
            while let Some((head, body)) = exchange.whole_request() {
                send_in_pieces(exchange, &server.answer(&head, &body), &lengths);
            }
        });
        let plan = counted(shop_plan(peer.plan(), 20), 150);
        let mut plan = change(plan, |flows| flows.own_connections = own);
        plan.threads = 2;
        if open {
            let (stages, poisson, max_pending) = (Vec::new(), true, 1000);
            plan.model = Model::Open { rate: 500.0, stages, poisson, max_pending };
        }
        if !own {
            (plan.connections, plan.initial_connections) = (5, 2);
        }
        let (outcome, flows) = run_flows(plan);
        let (_, requests) = peer.finish();
        assert_eq!(*shop.mistakes.lock().unwrap(), [""; 0], "own {own}, open {open}");
        let counts = flows.scenarios[0].counts;
        let not_started = counts.not_started;
        assert!(open || not_started == 0);
        let done = 150 - not_started;
        assert_eq!((counts.started, counts.completed), (done, done), "{:?}", flows.steps);
        assert_eq!(requests.len() as u64, 3 * done);
        assert_eq!(outcome.total.counts.ok, 3 * done);
        assert!(outcome.names.iter().all(|name| name.counts.sent == done));
        let orders = shop.orders.lock().unwrap();
        assert_eq!(orders.len() as u64, done);
        assert!(orders.values().all(|count| *count == 1));
        assert_eq!(flows.steps[2].checks[1].passed, done);
        assert_eq!(flows.steps[0].saves[2].passed, done);
    }
}

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
    plan.origins.push(millrace_load::plan::Origin { endpoint, server_name: None });
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

/// Iterations start on schedule; those for which no user is free are counted and not started.
#[test]
fn iterations_of_the_open_model_start_on_schedule() {
    let peer = Peer::start(|exchange| {
        while exchange.request().is_some() {
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
