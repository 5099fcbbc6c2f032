//! Users of flows whose requests are streams.

use std::sync::Arc;

use millrace_load::plan::{Model, Plan};

use super::frames::*;
use super::plan;
use super::server::*;
use crate::flows::values::{Shop, shop_plan};
use crate::flows::{change, counted, run_flows};

/// A request's head as HTTP/1.1 has it.
fn to_text(request: &Request) -> String {
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    let name = |name: &str| name.split('-').map(capital).collect::<Vec<_>>().join("-");
    let fields = request.fields.iter().filter(|(name, _)| !name.starts_with(':'));
    let lines: String = fields.map(|(key, value)| format!("{}: {value}\r\n", name(key))).collect();
    format!("{} {} HTTP/1.1\r\n{lines}", request.field(":method").unwrap(), request.path())
}

/// The frames of a response of HTTP/1.1, its content in pieces of these sizes.
fn to_frames(stream: u32, response: &[u8], size: usize) -> Vec<u8> {
    let text = std::str::from_utf8(response).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let fields = lines.map(|line| line.split_once(": ").unwrap());
    let fields: Vec<_> =
        fields.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let mut all = vec![(":status", status)];
    all.extend(fields.iter().map(|(name, value)| (&name[..], &value[..])));
    let content = body.as_bytes().chunks(size).flat_map(|bytes| data(stream, 0, bytes));
    let content: Vec<u8> = content.collect();
    [headers(stream, 0, &all), content, data(stream, END_STREAM, b"")].concat()
}

/// Own and shared connections, closed and open, answers in any order: a saved value arrives where it is used.
#[test]
fn values_stay_with_their_users() {
    for (own, open, size) in [(true, false, 1000), (false, false, 1), (false, true, 7)] {
        let shop = Arc::<Shop>::default();
        let desk = Arc::clone(&shop);
        let peer = start(&[(MAX_CONCURRENT_STREAMS, 6)], move |server| {
            let mut waiting: Vec<Request> = Vec::new();
            let mut random = 7_usize;
            while let Some(request) = server.request() {
                waiting.push(request);
                // Those that have arrived are answered in any order when nothing more is there.
                if server.has_more() {
                    continue;
                }
                while !waiting.is_empty() {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let request = waiting.swap_remove((random >> 33) % waiting.len());
                    let body = String::from_utf8(request.body.clone()).unwrap();
                    let answer = desk.answer(&to_text(&request), &body);
                    server.send(&to_frames(request.stream, &answer, size));
                }
            }
        });
        let base = Plan { pipelining: 1, ..plan(&peer, 1) };
        let mut plan = counted(shop_plan(base, 20), 150);
        plan = change(plan, |flows| flows.own_connections = own);
        plan.threads = 2;
        if open {
            let (stages, poisson, max_pending) = (Vec::new(), true, 1000);
            plan.model = Model::Open { rate: 500.0, stages, poisson, max_pending };
        }
        if !own {
            (plan.connections, plan.initial_connections, plan.pipelining) = (3, 2, 8);
        }
        let (outcome, flows) = run_flows(plan);
        let (connections, requests) = peer.finish();
        assert_eq!(*shop.mistakes.lock().unwrap(), [""; 0], "own {own}, open {open}");
        assert!(own || connections <= 3, "{connections}");
        let counts = flows.scenarios[0].counts;
        let done = 150 - counts.not_started;
        assert!(done > 50, "{counts:?}");
        assert_eq!((counts.started, counts.completed), (done, done), "{:?}", flows.steps);
        assert_eq!(requests.len() as u64, 3 * done);
        assert_eq!(outcome.total.counts.ok, 3 * done);
        let orders = shop.orders.lock().unwrap();
        assert_eq!(orders.len() as u64, done);
        assert!(orders.values().all(|count| *count == 1));
        assert_eq!(flows.steps[2].checks[1].passed, done);
    }
}
