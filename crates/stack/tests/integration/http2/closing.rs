//! How streams and their connection end.

use std::time::Duration;

use millrace_stack::cache::{self, Mode};

use super::frames::*;
use super::world::{Told, World, assert_closed, http2, lane_of, requests};
use millrace_stack::Settings;
use millrace_stack::settings::Http2Settings;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const NO_ERROR: u32 = 0;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;

#[test]
fn a_reset_is_the_reset_of_its_connection() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    client.get(1, "/");
    client.post(3, "/upload");
    let told = world.exchange(&mut client);
    let (asked, uploading) = (lane_of(&told, "/"), lane_of(&told, "/upload"));
    world.reactor.send(asked, &OK[..OK.len() - 1], 0, false).unwrap();
    client.send(&[number(RST_STREAM, 1, CANCEL), number(RST_STREAM, 3, CANCEL)].concat());
    let told = world.exchange(&mut client);
    let closed = told.iter().filter(|(_, told)| matches!(told, Told::Closed(_)));
    assert_eq!(closed.map(|(lane, _)| *lane).collect::<Vec<_>>(), [asked, uploading]);
    // What the caller still has to say is nobody's.
    world.reactor.send(asked, b"k", 1, true).ok();
    client.get(5, "/next");
    let told = world.exchange(&mut client);
    world.answer(lane_of(&told, "/next"), OK);
    world.exchange(&mut client);
    assert!(client.answer(5).is_ended && !client.answer(1).is_ended);
}

#[test]
fn a_connection_that_is_closed_early_resets_its_stream() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    client.get(1, "/nothing");
    client.get(3, "/part");
    client.post(5, "/early");
    let told = world.exchange(&mut client);
    world.reactor.close(lane_of(&told, "/nothing"), false);
    let part = lane_of(&told, "/part");
    world.reactor.send(part, &OK[..OK.len() - 1], 0, false).unwrap();
    world.reactor.close(part, true);
    // A complete response is none the worse for a request that goes on.
    world.answer(lane_of(&told, "/early"), OK);
    assert_eq!(world.exchange(&mut client), []);
    assert_eq!(client.answer(1).reset, Some(CANCEL));
    assert_eq!((client.answer(3).reset, &client.answer(3).content[..]), (Some(CANCEL), &b"o"[..]));
    assert_eq!((client.answer(5).reset, client.answer(5).is_ended), (Some(NO_ERROR), true));
    // What comes late for them is nobody's.
    client.send(&[data(5, 0, b"late"), data(5, END_STREAM, b"")].concat());
    assert_eq!(world.exchange(&mut client), []);
    assert_eq!(client.goaways, []);
}

#[test]
fn a_response_that_ends_too_early_is_an_error_of_the_stream() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    world.answer_first(&mut client, &OK[..OK.len() - 1]);
    let answer = client.answer(1);
    assert!(!answer.is_ended && answer.reset.is_some(), "{answer:?}");
}

#[test]
fn a_server_that_shuts_down_lets_streams_finish() {
    let mut world = World::new();
    let (mut client, mut idle) = (world.client(&[]), world.client(&[]));
    client.get(1, "/");
    let told = world.exchange(&mut client);
    world.exchange(&mut idle);
    world.reactor.shut_down(world.server);
    let ended = world.exchange(&mut client);
    world.exchange(&mut idle);
    assert_eq!(
        (&client.goaways[..], &idle.goaways[..]),
        (&[(1, NO_ERROR)][..], &[(0, NO_ERROR)][..])
    );
    assert!(ended.contains(&(idle.connection, Told::Closed(0))), "{ended:?}");
    client.get(3, "/late");
    assert_eq!(requests(&world.exchange(&mut client)).len(), 0);
    assert_eq!(client.answer(3).reset, Some(REFUSED_STREAM));
    world.answer(lane_of(&told, "/"), OK);
    let told = world.exchange(&mut client);
    assert!(client.answer(1).is_ended);
    assert_eq!(told, [(client.connection, Told::Closed(0))]);
    assert_eq!(client.goaways.len(), 1);
}

#[test]
fn a_connection_that_speaks_after_its_server_was_shut_down_ends_behind_its_first_streams() {
    let mut world = World::new();
    let (mut silent, mut asking) = (world.client(&[]), world.client(&[]));
    asking.get(1, "/");
    world.reactor.shut_down(world.server);
    let told = world.exchange(&mut asking);
    world.exchange(&mut silent);
    assert_eq!(
        (&asking.goaways[..], &silent.goaways[..]),
        (&[(1, NO_ERROR)][..], &[(0, NO_ERROR)][..])
    );
    assert!(told.contains(&(silent.connection, Told::Closed(0))), "{told:?}");
    world.answer(lane_of(&told, "/"), OK);
    assert_eq!(world.exchange(&mut asking), [(asking.connection, Told::Closed(0))]);
    assert!(asking.answer(1).is_ended);
}

#[test]
fn a_connection_ends_behind_its_last_request() {
    let asked = Http2Settings {
        max_concurrent_streams: 100,
        max_requests: Some(2),
        tells_pseudo_fields: false,
    };
    let mut world = World::with(Settings { http2: Some(asked), ..http2() }, 64);
    let mut client = world.client(&[]);
    for stream in [1, 3, 5] {
        client.get(stream, "/");
    }
    let told = world.exchange(&mut client);
    assert_eq!(requests(&told).len(), 2);
    assert_eq!(
        (&client.goaways[..], client.answer(5).reset),
        (&[(3, NO_ERROR)][..], Some(REFUSED_STREAM))
    );
    world.answer_all(&told, OK);
    let told = world.exchange(&mut client);
    assert_eq!((client.completed(), told), (2, vec![(client.connection, Told::Closed(0))]));
}

#[test]
fn a_peer_that_is_gone_takes_its_streams_along() {
    let mut world = World::new();
    let mut client = world.client(&[(INITIAL_WINDOW_SIZE, 1)]);
    client.get(1, "/held");
    client.get(3, "/open");
    let told = world.exchange(&mut client);
    let lanes = [lane_of(&told, "/held"), lane_of(&told, "/open")];
    world.reactor.send(lanes[0], OK, 1, true).unwrap();
    let connection = client.connection;
    drop(client);
    let told = world.settle();
    for lane in [lanes[0], lanes[1], connection] {
        let closed =
            told.iter().filter(|(of, told)| *of == lane && matches!(told, Told::Closed(_)));
        assert_eq!(closed.count(), 1, "{lane}: {told:?}");
    }
    assert_eq!(world.settle(), []);
}

#[test]
fn a_session_that_is_closed_takes_its_streams_along() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    client.get(1, "/");
    let told = world.exchange(&mut client);
    let lane = lane_of(&told, "/");
    world.reactor.close(client.connection, false);
    let told = world.exchange(&mut client);
    assert_eq!(told, [(lane, Told::Closed(0))]);
    assert_eq!((&client.goaways[..], client.is_over), (&[(1, NO_ERROR)][..], true));
}

#[test]
fn a_client_that_still_sends_hears_all_of_a_connection_that_ends() {
    let asked = Http2Settings {
        max_concurrent_streams: 100,
        max_requests: Some(1),
        tells_pseudo_fields: false,
    };
    let mut world = World::with(Settings { http2: Some(asked), ..http2() }, 64);
    let mut client = world.client(&[]);
    client.get(1, "/");
    let told = world.exchange(&mut client);
    world.answer(lane_of(&told, "/"), OK);
    client.send(&frame(PING, 0, 0, &[0; 8]).repeat(10));
    world.settle();
    client.send(&frame(PING, 0, 0, &[0; 8]));
    world.exchange(&mut client);
    assert!(client.is_over && !client.is_reset && client.answer(1).is_ended);
    assert_eq!(client.goaways.len(), 1);
}

#[test]
fn a_paused_stream_hears_of_the_end_of_its_session() {
    let (mut world, mut client, lane) = World::with_paused_upload();
    client.send(&data(1, 0, b"unread"));
    world.settle();
    let connection = client.connection;
    drop(client);
    let told = world.settle();
    for of in [lane, connection] {
        assert_closed(&told, of);
    }
}

#[test]
fn no_stream_is_told_of_behind_the_end_of_its_session() {
    let cache =
        cache::Settings { mode: Mode::All(Duration::from_secs(60)), ..cache::Settings::default() };
    let mut world = World::with(Settings { cache, ..http2() }, 64);
    let mut client = world.client(&[]);
    // The second one waits for the response to the first one, which will not come.
    client.get(1, "/");
    client.get(3, "/");
    assert_eq!(requests(&world.exchange(&mut client)).len(), 1);
    drop(client);
    let told = world.settle();
    let ends = |told: &Told| matches!(told, Told::Eof | Told::Closed(_));
    assert!(told.iter().all(|(_, told)| ends(told)), "{told:?}");
}

#[test]
fn a_client_that_ends_its_side_hears_what_it_has_asked_for() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    client.get(1, "/at-once");
    client.get(3, "/later");
    client.end();
    let mut told = world.exchange(&mut client);
    let lanes = [lane_of(&told, "/at-once"), lane_of(&told, "/later")];
    for lane in lanes {
        assert!(told.contains(&(lane, Told::Eof)), "{told:?}");
        assert_eq!((&client.goaways[..], client.is_over), (&[(3, NO_ERROR)][..], false));
        world.answer(lane, OK);
        told.extend(world.exchange(&mut client));
    }
    assert_eq!(told.last(), Some(&(client.connection, Told::Closed(0))));
    assert!(client.completed() == 2 && client.is_over && !client.is_reset);
    world.reactor.close(client.connection, false);
    assert_eq!(world.settle(), []);
}

#[test]
fn a_client_that_ends_its_side_within_a_request_has_reset_it() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    client.post(1, "/part");
    client.get(3, "/whole");
    let told = world.exchange(&mut client);
    let (part, whole) = (lane_of(&told, "/part"), lane_of(&told, "/whole"));
    client.end();
    let told = world.exchange(&mut client);
    assert_eq!(told, [(part, Told::Closed(0)), (whole, Told::Eof)]);
    assert_eq!(client.answer(1).reset, Some(CANCEL));
    world.answer(whole, OK);
    assert_eq!(world.exchange(&mut client), [(client.connection, Told::Closed(0))]);
    assert!(client.answer(3).is_ended);
}

#[test]
fn nothing_opens_the_windows_of_a_client_that_has_ended_its_side() {
    let mut world = World::new();
    let mut client = world.client(&[(INITIAL_WINDOW_SIZE, 1)]);
    for (stream, target) in [(1, "/waits"), (3, "/asks")] {
        client.get(stream, target);
    }
    let told = world.exchange(&mut client);
    let lanes = [lane_of(&told, "/waits"), lane_of(&told, "/asks")];
    world.reactor.send(lanes[0], OK, 1, true).unwrap();
    client.end();
    assert_closed(&world.exchange(&mut client), lanes[0]);
    world.reactor.send(lanes[1], OK, 1, true).unwrap();
    let told = world.exchange(&mut client);
    for lane in [lanes[1], client.connection] {
        assert_closed(&told, lane);
    }
    assert_eq!([1, 3].map(|stream| client.answer(stream).reset), [Some(CANCEL); 2]);
}

#[test]
fn a_client_that_ends_its_side_and_is_gone_later_takes_its_streams_along() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    client.get(1, "/");
    client.get(3, "/other");
    client.end();
    let told = world.exchange(&mut client);
    let lanes = [lane_of(&told, "/"), lane_of(&told, "/other"), client.connection];
    drop(client);
    world.settle();
    // That is found by whoever writes, as with HTTP/1.1.
    world.reactor.send(lanes[0], &OK[..OK.len() - 1], 0, false).unwrap();
    let told = world.settle();
    for lane in lanes {
        assert_closed(&told, lane);
    }
}
