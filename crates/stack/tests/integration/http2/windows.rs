//! Windows: what is held back on both sides, and what lets it go on.

use super::client::Client;
use super::frames::*;
use super::world::{Told, World, assert_closed, content, lane_of, requests};

const STREAM_WINDOW: usize = 1024 * 1024;
const CONNECTION_WINDOW: usize = 4 * 1024 * 1024;

fn response(length: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    let bytes = (0..length).map(|at| (at % 251) as u8);
    head.into_bytes().into_iter().chain(bytes).collect()
}

fn is_content(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(at, byte)| usize::from(*byte) == at % 251)
}

/// Sums the increments of a stream's window.
fn increments(windows: &[(u32, u32)], stream: u32) -> usize {
    windows.iter().filter(|(of, _)| *of == stream).map(|(_, by)| *by as usize).sum()
}

/// Sends as much as the window of a stream allows.
fn fill(world: &mut World, client: &mut Client, stream: u32) {
    for _ in 0..STREAM_WINDOW / (16 * 1024) {
        client.send(&data(stream, 0, &[7; 16 * 1024]));
        world.settle();
    }
}

#[test]
fn an_upload_is_held_back_while_the_caller_pauses() {
    let (mut world, mut client, lane) = World::with_paused_upload();
    client.windows.clear();
    let part = data(1, 0, &[7; 16 * 1024]);
    for _ in 0..STREAM_WINDOW / (16 * 1024) {
        client.send(&part);
        assert_eq!(world.exchange(&mut client), []);
    }
    assert_eq!(increments(&client.windows, 1), 0, "the window is used up");
    world.reactor.pause(lane, false);
    let mut told = world.exchange(&mut client);
    while content(&told, lane).len() < STREAM_WINDOW {
        let more = world.exchange(&mut client);
        assert!(!more.is_empty(), "all of it is told");
        told.extend(more);
    }
    let opened = increments(&client.windows, 1);
    assert!((STREAM_WINDOW / 2..=STREAM_WINDOW).contains(&opened), "{opened}: all of it was read");
    // One byte more than the window is an error of the stream.
    world.reactor.pause(lane, true);
    for part in vec![7; opened].chunks(16 * 1024) {
        client.send(&data(1, 0, part));
        assert_eq!(world.exchange(&mut client), []);
    }
    client.send(&data(1, 0, b"x"));
    let told = world.exchange(&mut client);
    assert_eq!(client.answer(1).reset, Some(3), "FLOW_CONTROL_ERROR");
    assert_closed(&told, lane);
}

#[test]
fn uploads_of_many_streams_are_held_back_together() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    let streams: Vec<u32> = (1..).step_by(2).take(CONNECTION_WINDOW / STREAM_WINDOW + 1).collect();
    for &stream in &streams {
        client.post(stream, "/");
    }
    let told = world.exchange(&mut client);
    let lanes: Vec<usize> = requests(&told).into_keys().collect();
    assert_eq!(lanes.len(), streams.len());
    lanes.iter().for_each(|lane| world.reactor.pause(*lane, true));
    client.windows.clear();
    for &stream in &streams[1..] {
        fill(&mut world, &mut client, stream);
    }
    client.receive();
    assert_eq!((&client.goaways[..], &client.windows[..]), (&[][..], &[][..]));
    lanes.iter().for_each(|lane| world.reactor.pause(*lane, false));
    world.exchange(&mut client);
    assert!(increments(&client.windows, 0) >= CONNECTION_WINDOW / 2);
    // What nobody has read when its stream ends is released for the others.
    lanes.iter().for_each(|lane| world.reactor.pause(*lane, true));
    client.windows.clear();
    for &stream in &streams[1..] {
        fill(&mut world, &mut client, stream);
        client.send(&number(RST_STREAM, stream, 8));
    }
    world.exchange(&mut client);
    assert!(increments(&client.windows, 0) >= CONNECTION_WINDOW / 2);
}

#[test]
fn a_response_waits_for_the_window_of_its_stream() {
    let mut world = World::new();
    let mut client = world.client(&[(INITIAL_WINDOW_SIZE, 10)]);
    client.get(1, "/");
    let told = world.exchange(&mut client);
    let lane = lane_of(&told, "/");
    world.answer(lane, &response(100));
    assert_eq!(world.exchange(&mut client), []);
    assert_eq!(client.answer(1).content.len(), 10);
    assert_eq!(world.reactor.queued(lane), 90, "what waits is what a socket would not take");
    client.send(&number(WINDOW_UPDATE, 1, 5));
    world.exchange(&mut client);
    assert_eq!(client.answer(1).content.len(), 15);
    // Smaller than what was sent, then larger.
    client.send(&settings(&[(INITIAL_WINDOW_SIZE, 0)]));
    client.send(&number(WINDOW_UPDATE, 1, 10));
    world.exchange(&mut client);
    assert_eq!(client.answer(1).content.len(), 15, "the window is below zero");
    client.send(&settings(&[(INITIAL_WINDOW_SIZE, 20)]));
    world.exchange(&mut client);
    assert_eq!(client.answer(1).content.len(), 35);
    client.send(&number(WINDOW_UPDATE, 1, 1000));
    let told = world.exchange(&mut client);
    assert_eq!(told, [(lane, Told::Drained)]);
    assert!(client.answer(1).is_ended && is_content(&client.answer(1).content));
}

#[test]
fn responses_have_turns_in_the_window_of_the_connection() {
    let mut world = World::new();
    let mut client = world.client(&[(INITIAL_WINDOW_SIZE, 1 << 30)]);
    const EACH: usize = 300_000;
    for stream in [1, 3, 5, 7] {
        client.get(stream, "/");
    }
    let told = world.exchange(&mut client);
    world.answer_all(&told, &response(EACH));
    world.exchange(&mut client);
    assert_eq!(client.order.iter().map(|(_, length)| length).sum::<usize>(), 65_535);
    client.order.clear();
    while client.completed() < 4 {
        client.send(&number(WINDOW_UPDATE, 0, 4 * 16 * 1024));
        world.exchange(&mut client);
        // None is further behind than the share of a turn, and what the first one had before the others came.
        let rest =
            |stream: u32| EACH - client.answers.get(&stream).map_or(0, |it| it.content.len());
        let sent: Vec<usize> = [1, 3, 5, 7].map(|stream| EACH - rest(stream)).to_vec();
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(most - least <= 65_535 + 16 * 1024 || client.completed() > 0, "{sent:?}");
    }
    assert!([1, 3, 5, 7].iter().all(|stream| is_content(&client.answer(*stream).content)));
}

#[test]
fn a_stream_that_takes_nothing_does_not_hold_the_others() {
    let mut world = World::new();
    let mut client = world.client(&[(INITIAL_WINDOW_SIZE, 0)]);
    client.get(1, "/held");
    client.get(3, "/free");
    client.send(&number(WINDOW_UPDATE, 3, 1000));
    let told = world.exchange(&mut client);
    world.answer_all(&told, &response(1000));
    world.exchange(&mut client);
    assert!(client.answer(3).is_ended);
    assert_eq!(client.answer(1).content.len(), 0);
    // Nor does it when it is reset: the rest of the connection goes on.
    client.send(&number(RST_STREAM, 1, 8));
    let told = world.exchange(&mut client);
    assert!(matches!(told[..], [(_, Told::Closed(_))]), "{told:?}");
    client.send(&settings(&[(INITIAL_WINDOW_SIZE, 10_000)]));
    client.get(5, "/next");
    let told = world.exchange(&mut client);
    world.answer(lane_of(&told, "/next"), &response(1000));
    world.exchange(&mut client);
    assert!(client.answer(5).is_ended && client.answer(1).content.is_empty());
}

#[test]
fn a_socket_that_takes_nothing_bounds_what_is_queued() {
    const EACH: usize = 100_000;
    let mut world = World::new();
    let mut client = world.client(&[(INITIAL_WINDOW_SIZE, 1 << 30)]);
    client.send(&number(WINDOW_UPDATE, 0, 1 << 30));
    let streams: Vec<u32> = (1..).step_by(2).take(90).collect();
    for &stream in &streams {
        client.get(stream, "/");
    }
    let told = world.settle();
    world.answer_all(&told, &response(EACH));
    world.settle();
    let queued = world.reactor.queued(client.connection);
    assert!((1..=256 * 1024 + EACH + 64).contains(&queued), "{queued} bytes wait for the socket");
    world.exchange(&mut client);
    assert_eq!(client.completed(), streams.len());
    assert!(streams.iter().all(|stream| is_content(&client.answer(*stream).content)));
    assert_eq!(world.reactor.queued(client.connection), 0);
}
