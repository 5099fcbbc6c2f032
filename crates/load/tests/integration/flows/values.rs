//! Saved values arrive where they are used, and never at another user.

use super::*;

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

/// A shop: a login gives each caller values of its own, and all that follows must have them.
#[derive(Default)]
pub(crate) struct Shop {
    logins: AtomicU64,
    pub(crate) orders: Mutex<HashMap<u64, u64>>,
    pub(crate) mistakes: Mutex<Vec<String>>,
}

impl Shop {
    /// Answers a request as HTTP/1.1 has it.
    pub(crate) fn answer(&self, head: &str, body: &str) -> Vec<u8> {
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

pub(crate) fn shop_plan(plan: Plan, users: usize) -> Plan {
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
        let shop = std::sync::Arc::<Shop>::default();
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
