//! A session of HTTP/2 takes a bounded amount of memory, whatever its client sends: what `src/connection/session/h2.rs` says. A
//! program of its own, because an allocator is the whole program's.

#![cfg(unix)]

#[path = "../../http/tests/allocated/mod.rs"]
mod allocated;
#[path = "integration/http2/client.rs"]
#[expect(dead_code, reason = "what tests of streams use of it")]
mod client;
#[path = "integration/http2/floods.rs"]
#[expect(dead_code, reason = "what tests of attacks use of it")]
mod floods;
#[path = "../../http/tests/integration/http2/frames.rs"]
#[expect(dead_code, reason = "what tests of the protocol use of it")]
mod frames;
#[path = "integration/http2/world.rs"]
#[expect(dead_code, reason = "what tests of streams use of it")]
mod world;

use std::io::{ErrorKind, Read as _, Write as _};

use millrace_http::h2::PREFACE;

use floods::{FLOODS, Flood};
use frames::settings;
use world::{World, requests};

const KIB: isize = 1024;
/// Heads, frames that wait and tables of a session with 100 streams, and what a turn needs.
const BOUND: isize = 512 * KIB;
/// The window of the connection, in buffers that have grown to twice its size.
const UPLOADED: isize = 2 * 4096 * KIB;
/// Enough to fill that window, and to send more frames that carry nothing than are accepted.
const ROUNDS_OF_CONTENT: u32 = 270;
const ROUNDS: u32 = 60;
/// What the application writes for each of 100 streams.
const RESPONSE: usize = 64 * 1024;

/// The most memory that is taken while a client sends a flood and reads, or does not read, what is answered.
fn peak(flood: &Flood, rounds: u32, reads: bool) -> isize {
    let mut world = World::new();
    let response =
        [&b"HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n"[..], &[b'x'; RESPONSE]].concat();
    let rounds: Vec<Vec<u8>> = (0..rounds).map(flood.round).collect();
    let mut sink = vec![0; 64 * 1024];
    allocated::peak(|| {
        let (mut client, _) = world.socket();
        client.write_all(&[PREFACE, &settings(&[])].concat()).unwrap();
        for round in &rounds {
            let mut rest = &round[..round.len().min(20 * 1024)];
            // What does not fit is not sent: the next round may be an error, or none.
            for _ in 0..4 {
                match client.write(rest) {
                    Ok(sent) => rest = &rest[sent..],
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
                world.turn();
                for (lane, head) in requests(&std::mem::take(&mut world.told)) {
                    if head.contains(" /upload ") {
                        world.reactor.pause(lane, true);
                    } else if world.reactor.send(lane, &response, 1, true).is_ok() {
                        world.reactor.end(lane);
                    }
                }
                while reads && client.read(&mut sink).is_ok_and(|count| count > 0) {}
            }
        }
    })
}

#[test]
fn floods_take_a_bounded_amount_of_memory() {
    for flood in &FLOODS {
        for reads in [true, false] {
            let (rounds, bound) = match flood.name {
                "content that nobody reads" => (ROUNDS_OF_CONTENT, BOUND + UPLOADED),
                "responses that nobody takes" => (ROUNDS, BOUND + 2 * 100 * RESPONSE as isize),
                _ => (ROUNDS, BOUND),
            };
            let peak = peak(flood, rounds, reads);
            assert!(peak < bound, "{}: {} KiB", flood.name, peak / KIB);
        }
    }
}
