//! Requests become text, and text becomes responses.

use super::client::request;
use super::frames::*;
use super::world::{Told, World, content, lane_of, requests};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

#[test]
fn a_request_is_told_behind_its_session_and_its_response_is_frames() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    let fields = [
        &request("GET", "/a?b")[..],
        &[("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("host", "a")],
    ];
    client.send(&headers(1, END_STREAM, &fields.concat()));
    let told = world.exchange(&mut client);
    let text = "GET /a?b HTTP/1.1\r\nhost: a\r\nx: y\r\ncookie: a=1; b=2\r\n\r\n";
    let lane = lane_of(&told, "/a?b");
    let expected =
        [(lane, Told::Open(Some(client.connection))), (lane, Told::Request(text.into()))];
    assert_eq!(told, expected);
    assert!(world.reactor.is_http2(client.connection));
    world.answer(lane, OK);
    assert_eq!(world.exchange(&mut client), []);
    let answer = client.answer(1);
    let fields = [(":status", "200"), ("content-length", "2")].map(|(a, b)| (a.into(), b.into()));
    assert_eq!((&answer.heads[..], &answer.content[..]), (&[fields.to_vec()][..], &b"ok"[..]));
    assert!(answer.is_ended && answer.reset.is_none());
    // The connection stays for the next one.
    client.get(3, "/next");
    let told = world.exchange(&mut client);
    world.answer(lane_of(&told, "/next"), OK);
    world.exchange(&mut client);
    assert_eq!(client.completed(), 2);
}

#[test]
fn content_is_told_as_it_comes_and_trailers_behind_it() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    client.post(1, "/");
    let mut told = world.exchange(&mut client);
    let lane = lane_of(&told, "/");
    for part in ["one", "two"] {
        client.send(&data(1, 0, part.as_bytes()));
        let more = world.exchange(&mut client);
        assert_eq!(content(&more, lane), part.as_bytes());
        told.extend(more);
    }
    client.send(&headers(1, END_STREAM, &[("x-sum", "6")]));
    assert_eq!(world.exchange(&mut client), [(lane, Told::End("x-sum: 6\r\n".into()))]);
    // The same with a length and without trailers.
    let length = [&request("POST", "/length")[..], &[("content-length", "5")]].concat();
    client.send(&[headers(3, 0, &length), data(3, END_STREAM, b"hello")].concat());
    let told = world.exchange(&mut client);
    let lane = lane_of(&told, "/length");
    assert!(requests(&told)[&lane].contains("content-length: 5\r\n"));
    assert_eq!(content(&told, lane), b"hello");
    assert_eq!(told.last(), Some(&(lane, Told::End(String::new()))));
}

#[test]
fn responses_without_content_end_with_their_heads() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    client.send(&headers(1, END_STREAM, &request("HEAD", "/head")));
    client.get(3, "/204");
    client.get(5, "/304");
    client.get(7, "/empty");
    let told = world.exchange(&mut client);
    let answer = |status: &str| format!("HTTP/1.1 {status}\r\n\r\n").into_bytes();
    world.answer(lane_of(&told, "/head"), OK[..OK.len() - 2].as_ref());
    world.answer(lane_of(&told, "/204"), &answer("204 No Content"));
    world.answer(lane_of(&told, "/304"), &answer("304 Not Modified"));
    world.answer(lane_of(&told, "/empty"), b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    world.exchange(&mut client);
    for (stream, status) in [(1, "200"), (3, "204"), (5, "304"), (7, "200")] {
        let answer = client.answer(stream);
        assert_eq!((answer.statuses(), answer.content.len()), (vec![status], 0), "{stream}");
        assert!(answer.is_ended && answer.reset.is_none(), "{stream}: {answer:?}");
    }
    assert_eq!(client.answer(1).field("content-length"), Some("2"));
    assert_eq!(client.order, [], "no frame of content");
}

#[test]
fn interim_responses_and_trailers_are_heads_of_their_own() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    client.get(1, "/");
    let told = world.exchange(&mut client);
    let lane = lane_of(&told, "/");
    world.reactor.send(lane, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 0, false).unwrap();
    world.exchange(&mut client);
    assert_eq!(client.answer(1).statuses(), ["103"]);
    let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    world.reactor.send(lane, chunks, 0, false).unwrap();
    world.exchange(&mut client);
    assert_eq!(
        (client.answer(1).statuses(), client.answer(1).is_ended),
        (vec!["103", "200"], false)
    );
    world.answer(lane, b"0\r\nX-Sum: 3\r\n\r\n");
    world.exchange(&mut client);
    let answer = client.answer(1);
    assert_eq!((answer.field("link"), answer.field("x-sum")), (Some("</a>"), Some("3")));
    assert_eq!((answer.field("transfer-encoding"), answer.heads.len()), (None, 3));
    assert!(answer.is_ended && answer.content == b"abc");
}

#[test]
fn many_streams_of_one_read_are_told_in_order_though_a_batch_is_small() {
    for events in [12, 16, 64] {
        let mut world = World::with(super::world::http2(), events);
        let mut client = world.client(&[]);
        let targets: Vec<String> = (0..90).map(|at| format!("/{at}")).collect();
        let all = targets.iter().zip((1..).step_by(2)).map(|(target, stream)| {
            let head = headers(stream, 0, &request("POST", target));
            [head, data(stream, END_STREAM, target.as_bytes())].concat()
        });
        client.send(&all.collect::<Vec<_>>().concat());
        let told = world.exchange(&mut client);
        let heads = told.iter().filter_map(|(_, told)| match told {
            Told::Request(head) => head.split(' ').nth(1),
            _ => None,
        });
        assert!(heads.eq(&targets), "{events}");
        for target in &targets {
            let lane = lane_of(&told, target);
            assert_eq!(content(&told, lane), target.as_bytes());
            let ends = told.iter().filter(|it| **it == (lane, Told::End(String::new())));
            assert_eq!(ends.count(), 1, "{target}");
        }
        world.answer_all(&told, OK);
        world.exchange(&mut client);
        assert_eq!(client.completed(), targets.len());
    }
}
