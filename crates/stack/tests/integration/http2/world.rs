//! A reactor with one server that speaks HTTP/2, and its caller, who is told of each stream as of a connection.

use std::collections::HashMap;
use std::os::unix::net::UnixStream;

use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::settings::Http2Settings;
use millrace_stack::{Reactor, Settings};

use super::client::Client;

/// Turns in which the reactor comes to rest.
const MAX_TURNS: usize = 20_000;

/// What the caller is told of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// The lane of its session; `None`: it is no stream.
    Open(Option<usize>),
    /// The text of a request's head.
    Request(String),
    Body(Vec<u8>),
    /// The lines of the trailers.
    End(String),
    /// The client has ended its side, behind the request.
    Eof,
    Closed(i32),
    Drained,
    Idle,
    Other(i32),
}

pub(crate) struct World {
    pub(crate) reactor: Reactor,
    pub(crate) server: usize,
    events: Vec<i32>,
    bytes: Vec<u8>,
    /// Lanes that are closed when all has left.
    leaving: Vec<usize>,
    /// What was told of each lane, in order.
    pub(crate) told: Vec<(usize, Told)>,
}

pub(crate) fn http2() -> Settings {
    let http2 = Http2Settings {
        max_concurrent_streams: 100,
        max_requests: None,
        tells_pseudo_fields: false,
    };
    Settings { http2: Some(http2), ..Settings::default() }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(http2(), 64)
    }

    /// A batch has room for so many events.
    pub(crate) fn with(settings: Settings, events: usize) -> Self {
        let mut reactor = Reactor::new().unwrap();
        let server = reactor.add_server(settings);
        Self {
            reactor,
            server,
            events: vec![0; EVENT_LENGTH * events],
            bytes: vec![0; 512 * 1024],
            leaving: Vec::new(),
            told: Vec::new(),
        }
    }

    /// A socket whose other end the server has, and its connection.
    pub(crate) fn socket(&mut self) -> (UnixStream, usize) {
        let (stream, other) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        other.set_nonblocking(true).unwrap();
        let connection = self.reactor.adopt(self.server, other.into()).unwrap();
        (stream, connection)
    }

    /// A client that has said these settings, and has acknowledged the server's.
    pub(crate) fn client(&mut self, settings: &[(u16, u32)]) -> Client {
        let (stream, connection) = self.socket();
        Client::begin(stream, connection, settings)
    }

    /// A client that has begun an upload, whose lane the caller has paused.
    pub(crate) fn with_paused_upload() -> (Self, Client, usize) {
        let mut world = Self::new();
        let mut client = world.client(&[]);
        client.post(1, "/");
        let told = world.exchange(&mut client);
        let lane = lane_of(&told, "/");
        world.reactor.pause(lane, true);
        (world, client, lane)
    }

    /// Answers the request of a client for `/`.
    pub(crate) fn answer_first(&mut self, client: &mut Client, response: &[u8]) {
        client.get(1, "/");
        let told = self.exchange(client);
        self.answer(lane_of(&told, "/"), response);
        self.exchange(client);
    }

    /// One turn; gives whether anything has happened.
    pub(crate) fn turn(&mut self) -> bool {
        let mut batch = Batch::new(&mut self.events, &mut self.bytes);
        let more = self.reactor.turn(&mut batch).unwrap();
        let count = batch.count();
        for event in self.events.chunks(EVENT_LENGTH).take(count) {
            let told = read(event, &self.bytes);
            self.told.push((usize::try_from(event[1]).unwrap(), told));
        }
        let from = self.told.len() - count;
        for at in from..self.told.len() {
            let (lane, told) = &self.told[at];
            if *told == Told::Drained && self.leaving.contains(lane) {
                let lane = *lane;
                self.leaving.retain(|it| *it != lane);
                self.reactor.close(lane, false);
            }
        }
        self.reactor.wake_again();
        more || count > 0
    }

    /// Turns until nothing happens any more; gives what was told since the last call.
    pub(crate) fn settle(&mut self) -> Vec<(usize, Told)> {
        let mut quiet = 0;
        for _ in 0..MAX_TURNS {
            quiet = if self.turn() { 0 } else { quiet + 1 };
            if quiet == 3 {
                return std::mem::take(&mut self.told);
            }
        }
        panic!("the reactor does not come to rest");
    }

    /// Settles, and lets a client take what has come for it, again and again.
    pub(crate) fn exchange(&mut self, client: &mut Client) -> Vec<(usize, Told)> {
        let mut told = self.settle();
        while client.receive() {
            told.extend(self.settle());
        }
        told
    }

    /// Sends the last of a response, and closes its stream when that has left, as JavaScript does.
    pub(crate) fn answer(&mut self, lane: usize, response: &[u8]) {
        let queued = self.reactor.send(lane, response, 1, true).unwrap();
        self.reactor.end(lane);
        match queued {
            0 => self.reactor.close(lane, false),
            _ => self.leaving.push(lane),
        }
    }

    /// Answers all requests of what was told.
    pub(crate) fn answer_all(&mut self, told: &[(usize, Told)], response: &[u8]) {
        for lane in requests(told).into_keys() {
            self.answer(lane, response);
        }
    }
}

/// The heads of requests that were told, by lane.
pub(crate) fn requests(told: &[(usize, Told)]) -> HashMap<usize, String> {
    let heads = told.iter().filter_map(|(lane, told)| match told {
        Told::Request(head) => Some((*lane, head.clone())),
        _ => None,
    });
    heads.collect()
}

/// The lane of the request with this target.
#[track_caller]
pub(crate) fn lane_of(told: &[(usize, Told)], target: &str) -> usize {
    let line = format!(" {target} HTTP/1.1\r\n");
    let found = requests(told).into_iter().find(|(_, head)| head.contains(&line));
    found.unwrap_or_else(|| panic!("no request for {target}: {told:?}")).0
}

/// The lane is told to be over.
#[track_caller]
pub(crate) fn assert_closed(told: &[(usize, Told)], lane: usize) {
    let is_closed = told.iter().any(|(of, told)| *of == lane && matches!(told, Told::Closed(_)));
    assert!(is_closed, "{lane}: {told:?}");
}

/// The content that was told of a lane.
pub(crate) fn content(told: &[(usize, Told)], lane: usize) -> Vec<u8> {
    let parts = told.iter().filter_map(|(of, told)| match told {
        Told::Body(part) if *of == lane => Some(&part[..]),
        _ => None,
    });
    parts.collect::<Vec<_>>().concat()
}

pub(crate) fn read(event: &[i32], bytes: &[u8]) -> Told {
    let number = |at: usize| usize::try_from(event[at]).unwrap();
    let part = || bytes[number(2)..][..number(3)].to_vec();
    let text = || String::from_utf8(part()).unwrap();
    let is = |kind: Kind| event[0] == kind as i32;
    if is(Kind::Open) {
        Told::Open(number(3).checked_sub(1))
    } else if is(Kind::Request) {
        Told::Request(text())
    } else if is(Kind::Body) {
        Told::Body(part())
    } else if is(Kind::End) {
        Told::End(text())
    } else if is(Kind::Eof) {
        assert_eq!(event[2], 0, "not within a request");
        Told::Eof
    } else if is(Kind::Closed) {
        Told::Closed(event[2])
    } else if is(Kind::Drained) {
        Told::Drained
    } else if is(Kind::Idle) {
        Told::Idle
    } else {
        Told::Other(event[0])
    }
}
