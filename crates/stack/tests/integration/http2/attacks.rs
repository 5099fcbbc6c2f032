//! Clients that mean harm, and one beside them that is served all the same.

use std::time::Duration;

use super::client::Client;
use super::floods::{ENHANCE_YOUR_CALM, FLOODS, Flood};
use super::frames::*;
use super::world::{Told, World, requests};

const ROUNDS: u32 = 300;
/// What an attacker sends in a round at most.
const PART: usize = 32 * 1024;
/// Turns within which a request of the good client is answered.
const TURNS: usize = 4;
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A caller that answers requests at once with a large response, and reads no uploads; the good client's are answered with a small
/// one.
struct Caller {
    large: Vec<u8>,
    /// Requests of the attacker that it has had.
    asked: usize,
}

impl Caller {
    fn take(&mut self, world: &mut World) {
        let told = std::mem::take(&mut world.told);
        for (lane, head) in requests(&told) {
            if head.contains(" /good ") {
                world.answer(lane, OK);
            } else if head.contains(" /upload ") {
                self.asked += 1;
                world.reactor.pause(lane, true);
            } else {
                self.asked += 1;
                // It may have been reset since.
                if world.reactor.send(lane, &self.large, 1, true).is_ok() {
                    world.reactor.end(lane);
                }
            }
        }
    }
}

/// What came of an attack.
struct Outcome {
    served: usize,
    asked: usize,
    goaway: Option<u32>,
}

/// A good client asks once in each round, and an attacker, if there is one, sends what it has.
fn attack(flood: Option<&Flood>) -> Outcome {
    let mut world = World::new();
    let large =
        [&b"HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n"[..], &[b'x'; 65_536]].concat();
    let mut caller = Caller { large, asked: 0 };
    let (mut good, mut attacker) = (world.client(&[]), world.client(&[]));
    let mut unsent: Vec<u8> = Vec::new();
    let (mut served, mut rounds) = (0, 0);
    for round in 0..ROUNDS {
        if let Some(flood) = flood.filter(|_| unsent.is_empty() && attacker.goaways.is_empty()) {
            unsent = (flood.round)(rounds);
            rounds += 1;
        }
        let some = &unsent[..unsent.len().min(PART)];
        let sent = attacker.send_some(some).unwrap_or(unsent.len());
        unsent.drain(..sent);
        good.get(1 + 2 * round, "/good");
        for _ in 0..TURNS {
            world.turn();
            caller.take(&mut world);
        }
        good.receive();
        served += usize::from(good.answers.remove(&(1 + 2 * round)).is_some_and(|it| it.is_ended));
        // It reads what is not for long, and so holds nothing up.
        attacker.receive();
        attacker.answers.clear();
    }
    assert!(good.goaways.is_empty());
    Outcome { served, asked: caller.asked, goaway: attacker.goaways.first().map(|(_, code)| *code) }
}

#[test]
fn a_good_client_beside_an_attacker_is_served_as_without_one() {
    let alone = attack(None).served;
    assert_eq!(alone, ROUNDS as usize);
    for flood in &FLOODS {
        let Outcome { served, asked, goaway } = attack(Some(flood));
        assert!(served * 100 >= alone * 95, "{}: {served} of {alone} served", flood.name);
        assert_eq!(goaway, flood.ends, "{}", flood.name);
        // Streams that may be open, and those that may be reset.
        assert!(asked <= 100 + 1001, "{}: {asked} requests were told", flood.name);
    }
}

#[test]
fn resets_are_forgiven_with_time_and_frames_that_carry_nothing_too() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    let cancelled = |stream| {
        [
            headers(stream, END_STREAM, &super::client::request("GET", "/")),
            number(RST_STREAM, stream, 8),
        ]
        .concat()
    };
    for stream in (1..).step_by(2).take(1000) {
        client.send(&cancelled(stream));
        world.exchange(&mut client);
    }
    assert_eq!(client.goaways, [], "as many as may be at once");
    for stream in (2001..).step_by(2).take(100) {
        client.send_some(&cancelled(stream));
        world.exchange(&mut client);
    }
    assert_eq!(client.goaways.first().map(|(_, code)| *code), Some(ENHANCE_YOUR_CALM));
    assert!(client.is_over);
}

/// What has a head that never comes is late, and what has a body that never comes.
#[test]
fn what_never_comes_is_late() {
    let mut world = World::new();
    let (mut silent, quiet) = world.socket();
    let (mut slow, dribbling) = world.socket();
    let mut partial = world.client(&[]);
    let mut uploading = world.client(&[]);
    let mut idle = world.client(&[]);
    let head = headers(1, 0, &super::client::request("POST", "/"));
    partial.send(&head[..head.len() - 1]);
    uploading.send(&head);
    std::io::Write::write_all(&mut slow, &millrace_http::h2::PREFACE[..10]).unwrap();
    let told = world.exchange(&mut uploading);
    let upload = *requests(&told).keys().next().unwrap();
    for client in [&mut partial, &mut idle] {
        world.exchange(client);
    }
    std::io::Write::write_all(&mut slow, &millrace_http::h2::PREFACE[10..]).unwrap();
    world.settle();
    let limits = (Some(Duration::ZERO), Some(Duration::MAX));
    let mut late = world.reactor.late(world.server, limits.0, limits.1);
    late.sort_unstable();
    let mut expected = vec![quiet, dribbling, partial.connection];
    expected.sort_unstable();
    assert_eq!(
        late, expected,
        "heads; not that of {} or {}",
        uploading.connection, idle.connection
    );
    let late = world.reactor.late(world.server, None, Some(Duration::ZERO));
    assert!(late.contains(&upload) && !late.contains(&idle.connection), "{late:?}");
    // As the caller does with them.
    for lane in expected.into_iter().chain([upload]) {
        world.reactor.close(lane, false);
    }
    world.exchange(&mut uploading);
    assert_eq!(uploading.answer(1).reset, Some(8));
    assert!(matches!(std::io::Read::read(&mut silent, &mut [0; 100]), Ok(0)));
    idle.get(1, "/");
    assert!(world.exchange(&mut idle).iter().any(|(_, told)| matches!(told, Told::Request(_))));
}

/// Settings that are never acknowledged hold nothing up.
#[test]
fn settings_need_not_be_acknowledged() {
    let mut world = World::new();
    let (stream, connection) = world.socket();
    let mut client = Client::unacknowledging(stream, connection);
    client.get(1, "/");
    let told = world.exchange(&mut client);
    world.answer_all(&told, OK);
    world.exchange(&mut client);
    assert!(client.answer(1).is_ended);
}
