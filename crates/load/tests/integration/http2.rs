//! HTTP/2 against a server of raw frames: each stream is a request, and ends once.

mod ending;
#[path = "../../../http/tests/integration/http2/frames.rs"]
#[expect(dead_code, reason = "what other tests use of it")]
mod frames;
mod grpc;
mod opening;
mod redirections;
mod server;
mod streams;
mod uploads;
mod users;

use std::time::Duration;

use millrace_load::plan::{Http2Plan, Plan};

use crate::peer::Peer;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A closed run over one connection of HTTP/2 for 200 ms, with so many streams at a time.
fn plan(peer: &Peer, streams: usize) -> Plan {
    let http2 = Http2Plan { cleartext: true, ..Http2Plan::default() };
    Plan { http2, pipelining: streams, ..peer.plan() }
}

fn counted(plan: Plan, count: u64) -> Plan {
    Plan { duration: None, max_requests: Some(count), ..plan }
}
