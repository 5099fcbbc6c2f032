//! The engine without Node.js, for profiling: `cargo run --release --example load -- HOST:PORT [CONNECTIONS] [SECONDS] [PIPELINING]`.
#![expect(clippy::print_stdout, reason = "an example's output")]

use std::time::Duration;

use millrace_load::plan::{Endpoint, Origin, Plan, Request};
use millrace_load::{Run, RunError};

fn main() -> Result<(), RunError> {
    let mut args = std::env::args().skip(1);
    let host = args.next().unwrap_or_else(|| "127.0.0.1:8080".into());
    let mut number = |default: usize| args.next().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (connections, seconds, pipelining) = (number(50), number(5), number(1));
    let (name, port) = host.rsplit_once(':').unwrap_or((&host, "80"));
    let origin = Origin {
        endpoint: Endpoint::Host(name.into(), port.parse().unwrap_or(80)),
        server_name: None,
        http2: false,
    };
    let request = Request {
        origin: 0,
        method: "GET".into(),
        target: "/".into(),
        fields: vec![("Host".into(), host.clone())],
        body: None,
        weight: 1.0,
        name: 0,
        body_format: millrace_load::plan::flow::BodyFormat::Text,
        expected: None,
    };
    let plan = Plan {
        connections,
        initial_connections: connections,
        pipelining,
        duration: Some(Duration::from_secs(seconds as u64)),
        ..Plan::closed(vec![origin], vec![request])
    };
    let outcome = Run::new(plan).run(&mut |_| ())?;
    let counts = &outcome.total.counts;
    let rate = counts.arrived() as f64 / outcome.duration.as_secs_f64();
    println!("{rate:.0} requests/s, {} ok, {} failed", counts.ok, counts.failures());
    println!(
        "p50 {:?}, p99 {:?}",
        outcome.total.latency.quantile(0.5),
        outcome.total.latency.quantile(0.99)
    );
    println!("busy {:.2}, residual {:?}", outcome.workers[0].busy, outcome.little_residual);
    Ok(())
}
