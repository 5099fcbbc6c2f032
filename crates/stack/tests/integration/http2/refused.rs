//! Requests that become no connection, or one that the caller does not hear of.

use std::any::Any;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use millrace_net::Nanos;
use millrace_stack::Settings;
use millrace_stack::router::{Detached, Route, RoutedRequest, Router, RouterContext};
use millrace_stack::settings::{HeadLimits, Http2Settings};

use super::client::{Client, request};
use super::frames::*;
use super::world::{World, http2, lane_of, requests};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const PROTOCOL_ERROR: u32 = 1;
const REFUSED_STREAM: u32 = 7;

#[test]
fn streams_above_the_number_are_refused_until_one_ends() {
    let asked =
        Http2Settings { max_concurrent_streams: 2, max_requests: None, tells_pseudo_fields: false };
    let mut world = World::with(Settings { http2: Some(asked), ..http2() }, 64);
    let mut client = world.client(&[]);
    for stream in [1, 3, 5, 7] {
        client.get(stream, "/");
    }
    let told = world.exchange(&mut client);
    assert_eq!(requests(&told).len(), 2);
    assert_eq!([5, 7].map(|stream| client.answer(stream).reset), [Some(REFUSED_STREAM); 2]);
    world.answer_all(&told, OK);
    client.get(9, "/more");
    let told = world.exchange(&mut client);
    world.answer(lane_of(&told, "/more"), OK);
    world.exchange(&mut client);
    assert!([1, 3, 9].iter().all(|stream| client.answer(*stream).is_ended));
}

#[test]
fn tunnels_and_heads_that_are_too_large_are_answered_here() {
    let head = HeadLimits { bytes: 2000, fields: 10 };
    let mut world = World::with(Settings { head, ..http2() }, 64);
    let mut client = world.client(&[]);
    let long = "x".repeat(4000);
    client.send(&headers(1, 0, &[(":method", "CONNECT"), (":authority", "a:1")]));
    client.send(&headers(3, END_STREAM, &[&request("GET", "/")[..], &[("x", &long)]].concat()));
    client.send(&headers(5, 0, &[&request("POST", "/")[..], &[("x", &long)]].concat()));
    assert_eq!(world.exchange(&mut client), []);
    for (stream, status) in [(1, "405"), (3, "431"), (5, "431")] {
        let answer = client.answer(stream);
        assert!(answer.statuses() == [status] && answer.is_ended, "{stream}: {answer:?}");
    }
    assert_eq!((client.answer(3).reset, client.answer(5).reset), (None, Some(0)));
    client.get(7, "/");
    assert_eq!(requests(&world.exchange(&mut client)).len(), 1);
}

#[test]
fn requests_that_have_no_text_are_reset() {
    let mut world = World::new();
    let mut client = world.client(&[]);
    let with =
        |fields: &[(&'static str, &'static str)]| [&request("GET", "/")[..], fields].concat();
    client.send(&headers(1, END_STREAM, &with(&[("host", "b")])));
    let extended = [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http")];
    let extended = [&extended[..], &[(":path", "/"), (":authority", "a")]].concat();
    client.send(&headers(3, 0, &extended));
    client.send(&headers(5, 0, &[(":method", "POST"), (":scheme", "http"), (":path", "/")]));
    let told = world.exchange(&mut client);
    assert_eq!([1, 3].map(|stream| client.answer(stream).reset), [Some(PROTOCOL_ERROR); 2]);
    assert_eq!(requests(&told).len(), 1);
    let large = "y".repeat(30 * 1024);
    // More than a trailer section may have, in two frames.
    let block = block(&[("x", &large)]);
    let (first, rest) = block.split_at(16_000);
    let trailers =
        [frame(HEADERS, END_STREAM, 5, first), frame(CONTINUATION, END_HEADERS, 5, rest)];
    client.send(&trailers.concat());
    world.exchange(&mut client);
    assert_eq!(client.answer(5).reset, Some(PROTOCOL_ERROR));
}

/// Says that all but one target is another process's.
#[derive(Debug)]
struct Elsewhere;

impl Router for Elsewhere {
    fn address_of(&self, _: usize) -> Option<usize> {
        Some(0)
    }

    fn route(&mut self, request: &RoutedRequest<'_>) -> Route {
        match request.target {
            b"/here" => Route::Here,
            b"/none" => Route::Nobody { gone: false },
            _ => Route::Elsewhere(1),
        }
    }

    fn route_session(&mut self, _: usize, _: usize, _: &str, _: Nanos) -> Route {
        Route::Here
    }

    fn give(&mut self, _: usize, _: usize, it: Detached, _: &mut RouterContext<'_>) {
        panic!("a stream cannot be given away: {:?}", &it as &dyn Any);
    }
}

#[test]
fn a_stream_of_another_process_is_misdirected() {
    let mut world = World::new();
    world.reactor.set_router(Box::new(Elsewhere));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    listener.set_nonblocking(true).unwrap();
    socket.set_nonblocking(true).unwrap();
    world.reactor.listen(world.server, listener.into()).unwrap();
    let mut client = Client::begin(OwnedFd::from(socket).into(), usize::MAX, &[]);
    while !client.receive() {
        world.turn();
    }
    client.get(1, "/there");
    client.get(3, "/here");
    client.get(5, "/none");
    client.send(&[headers(7, 0, &request("POST", "/there")), data(7, END_STREAM, b"x")].concat());
    let mut told = Vec::new();
    // What TCP has taken may take its time.
    wait_for(|| {
        told.extend(world.exchange(&mut client));
        client.completed() == 3 && requests(&told).len() == 1
    });
    world.answer(lane_of(&told, "/here"), OK);
    wait_for(|| {
        world.exchange(&mut client);
        client.completed() == 4
    });
    for (stream, status) in [(1, "421"), (3, "200"), (7, "421")] {
        assert_eq!(client.answer(stream).statuses(), [status], "{stream}");
        assert!(client.answer(stream).is_ended);
    }
    assert_eq!(client.answer(5).statuses(), ["404"]);
}

fn wait_for(mut is_done: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if is_done() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("it does not come");
}
