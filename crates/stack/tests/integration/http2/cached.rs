//! The output cache answers streams, and so does the thread beside a busy caller.

use std::time::{Duration, Instant};

use millrace_stack::cache::{self, Mode};
use millrace_stack::{ReactorHandle, Settings, StandbyThread};

use super::client::Client;
use super::frames::*;
use super::world::{Told, World, http2, lane_of, requests};

const MINUTE: Duration = Duration::from_secs(60);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn caching() -> Settings {
    let cache = cache::Settings { mode: Mode::All(MINUTE), ..cache::Settings::default() };
    Settings { cache, ..http2() }
}

#[test]
fn a_hit_is_told_nobody() {
    let mut world = World::with(caching(), 64);
    let mut client = world.client(&[]);
    world.answer_first(&mut client, OK);
    for stream in [3, 5, 7] {
        client.get(stream, "/");
    }
    assert_eq!(world.exchange(&mut client), []);
    let mut other = world.client(&[]);
    other.get(1, "/");
    assert_eq!(world.exchange(&mut other), [], "nor of the connection");
    for answer in [client.answer(3), client.answer(7), other.answer(1)] {
        assert_eq!((answer.statuses(), &answer.content[..]), (vec!["200"], &b"ok"[..]));
        assert!(answer.is_ended && answer.reset.is_none());
        assert_eq!((answer.field("age"), answer.field("connection")), (Some("0"), None));
    }
}

#[test]
fn streams_that_wait_for_a_response_get_it() {
    let mut world = World::with(caching(), 64);
    let mut client = world.client(&[]);
    for stream in [1, 3, 5] {
        client.get(stream, "/");
    }
    let told = world.exchange(&mut client);
    assert_eq!(requests(&told).len(), 1);
    // One of them does not wait any longer.
    client.send(&number(RST_STREAM, 3, 8));
    assert_eq!(world.exchange(&mut client), []);
    world.answer(lane_of(&told, "/"), OK);
    assert_eq!(world.exchange(&mut client), []);
    assert_eq!([1, 5].map(|stream| client.answer(stream).is_ended), [true; 2]);
    assert!(!client.answers.contains_key(&3));
}

#[test]
fn a_large_hit_waits_for_windows_without_the_caller() {
    const LENGTH: usize = 200_000;
    let mut world = World::with(caching(), 64);
    let mut client = world.client(&[(INITIAL_WINDOW_SIZE, 1 << 30)]);
    client.send(&number(WINDOW_UPDATE, 0, LENGTH as u32));
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
    world.answer_first(&mut client, &[head.as_bytes(), &[b'x'; LENGTH]].concat());
    assert!(client.answer(1).is_ended);
    for stream in [3, 5] {
        client.get(stream, "/");
    }
    assert_eq!(world.exchange(&mut client), []);
    assert!(client.completed() == 1 && client.answer(3).content.len() > 60_000);
    for _ in 0..50 {
        client.send(&number(WINDOW_UPDATE, 0, 10_000));
        assert_eq!(world.exchange(&mut client), []);
    }
    for stream in [3, 5] {
        let answer = client.answer(stream);
        assert!(answer.is_ended && answer.content == [b'x'; LENGTH], "{}", answer.content.len());
    }
    // A stream that is reset meanwhile is nobody's.
    client.get(7, "/");
    client.get(9, "/");
    world.exchange(&mut client);
    client.send(&number(RST_STREAM, 7, 8));
    client.send(&number(WINDOW_UPDATE, 0, LENGTH as u32));
    assert_eq!(world.exchange(&mut client), []);
    assert!(client.answer(9).is_ended);
}

/// The time that a busy caller's clients wait is real.
fn receive_until(client: &mut Client, mut is_done: impl FnMut(&Client) -> bool) {
    #[expect(clippy::disallowed_methods, reason = "how long tests wait is a matter of real time")]
    let begin = Instant::now();
    while !is_done(client) {
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", client.answers);
        client.receive();
        std::thread::yield_now();
    }
}

#[test]
fn streams_are_served_while_the_caller_is_busy() {
    let mut world = World::with(caching(), 64);
    let mut client = world.client(&[]);
    world.answer_first(&mut client, OK);
    let shared = ReactorHandle::new(world.reactor);
    let standby = StandbyThread::start(&shared).unwrap();
    for stream in [3, 5] {
        client.get(stream, "/");
    }
    // Nobody is there to be told of this one.
    client.get(7, "/other");
    client.get(9, "/");
    receive_until(&mut client, |client| client.completed() == 4);
    assert!(!client.answers.contains_key(&7));
    drop(standby);
    let told = turns(&shared);
    let heads: Vec<_> = told.iter().filter(|told| matches!(told, Told::Request(_))).collect();
    assert!(
        matches!(&heads[..], [Told::Request(head)] if head.starts_with("GET /other ")),
        "{told:?}"
    );
}

/// What is told until nothing happens any more.
fn turns(shared: &ReactorHandle) -> Vec<Told> {
    use millrace_stack::Reactor;
    use millrace_stack::batch::{Batch, EVENT_LENGTH};
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 512 * 1024]);
    let mut told = Vec::new();
    for _ in 0..10 {
        let mut batch = Batch::new(&mut events, &mut bytes);
        shared.turn(&mut batch).unwrap();
        let count = batch.count();
        told.extend(
            events.chunks(EVENT_LENGTH).take(count).map(|event| super::world::read(event, &bytes)),
        );
        shared.with(Reactor::wake_again);
    }
    told
}
