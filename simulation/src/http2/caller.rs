//! The caller, who is told of each stream as of a connection.

use std::collections::BTreeMap;

use fastrand::Rng;
use millrace_stack::Reactor;
use millrace_stack::batch::{EVENT_LENGTH, Kind};

use super::client::Client;
use super::{content, length_of};

/// A lane that the caller knows.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) client: usize,
    /// Of a session: its stream's number is 0.
    pub(super) stream: u32,
    target: String,
    body_received: usize,
    /// The request is complete.
    is_complete: bool,
    is_paused: bool,
    /// The response, and how much of it was sent.
    response: Vec<u8>,
    sent: usize,
    /// All of it was sent, and the lane is closed when that has left.
    is_leaving: bool,
}

impl Lane {
    fn is_answerable(&self) -> bool {
        self.stream > 0 && !self.target.is_empty() && !self.is_leaving
    }
}

#[derive(Default)]
pub(super) struct Caller {
    pub(super) lanes: BTreeMap<usize, Lane>,
    /// Requests that were told.
    pub(super) asked: usize,
    /// Lanes that it has closed while it takes a batch, which may name them.
    closed: Vec<usize>,
}

impl Caller {
    /// Takes an event.
    pub(super) fn take(
        &mut self,
        event: &[i32; EVENT_LENGTH],
        memory: &[u8],
        reactor: &mut Reactor,
        clients: &[Client],
    ) {
        let [kind, id, details @ ..] = *event;
        let id = usize::try_from(id).unwrap();
        trace!("    told {kind} of {id}: {details:?}");
        if self.closed.contains(&id) && !self.lanes.contains_key(&id) {
            return;
        }
        let number = |at: usize| usize::try_from(details[at]).unwrap();
        let is = |of: Kind| kind == of as i32;
        if is(Kind::Open) {
            let client = match number(1) {
                0 => usize::from(reactor.addresses(id).1.expect("an address").port()) - 1024,
                session => self.lanes[&(session - 1)].client,
            };
            let lane = Lane { client, ..Lane::default() };
            assert!(self.lanes.insert(id, lane).is_none(), "number {id} is given twice");
            return;
        }
        let lane = self.lanes.get_mut(&id).unwrap_or_else(|| panic!("{kind} of nobody: {id}"));
        let part = || &memory[number(0)..][..number(1)];
        if is(Kind::Request) {
            self.asked += 1;
            lane.on_request(std::str::from_utf8(part()).unwrap());
            let stream = &clients[lane.client].streams[&lane.stream];
            assert_eq!(stream.target, lane.target, "another request");
            lane.is_complete = details[2] & millrace_stack::batch::flag::BODY == 0;
        } else if is(Kind::Body) {
            assert!(!lane.is_paused, "content while it is paused");
            let expected = content(&lane.target, lane.body_received, number(1));
            assert!(part() == expected, "other content of {}", lane.target);
            lane.body_received += number(1);
        } else if is(Kind::End) {
            assert_eq!(lane.body_received, length_of(&lane.target), "content is missing");
            lane.is_complete = true;
        } else if is(Kind::Closed) {
            let client = &clients[lane.client];
            // Its client hears of GOAWAY before its end.
            let is_left = client.is_silent() || lane.stream == 0;
            let is_cancelled = client.streams.get(&lane.stream).is_some_and(|it| it.is_cancelled);
            assert!(is_left || is_cancelled, "closed for nothing: {lane:?}");
            self.lanes.remove(&id);
        } else if is(Kind::Drained) {
            // More may have been sent since.
            if lane.is_leaving && reactor.queued(id) == 0 {
                reactor.close(id, false);
                self.lanes.remove(&id);
                self.closed.push(id);
            }
        } else {
            assert!(is(Kind::Eof), "an event of kind {kind}");
            // A client that has left before it has said what it speaks.
            if lane.stream == 0 && !reactor.is_http2(id) {
                reactor.close(id, false);
                self.lanes.remove(&id);
            }
        }
    }

    /// A batch comes.
    pub(super) fn begin_batch(&mut self) {
        self.closed.clear();
    }

    fn some(&self, chance: &mut Rng, holds: impl Fn(&Lane) -> bool) -> Option<usize> {
        let found = self.lanes.iter().filter(|(_, lane)| holds(lane)).map(|(id, _)| *id);
        chance.choice(found.collect::<Vec<_>>())
    }

    /// Sends a part of some response, at most so much; gives whether there was any.
    pub(super) fn answer(
        &mut self,
        chance: &mut Rng,
        most: usize,
        reactor: &mut Reactor,
        clients: &mut [Client],
    ) -> bool {
        let is_early = chance.u8(..10) == 0;
        let may =
            |lane: &Lane| lane.is_answerable() && (lane.is_complete || is_early || lane.sent > 0);
        let Some(id) = self.some(chance, may) else { return false };
        let Some(lane) = self.lanes.get_mut(&id) else { return false };
        let end = lane.response.len().min(lane.sent + most);
        let part = &lane.response[lane.sent..end];
        let is_last = end == lane.response.len();
        lane.sent = end;
        if !is_last {
            // Its client may be gone.
            reactor.send(id, part, 0, false).ok();
            return true;
        }
        if !lane.is_complete
            && let Some(stream) = clients[lane.client].streams.get_mut(&lane.stream)
        {
            stream.was_closed = true;
        }
        if lane.is_complete && chance.bool() {
            reactor.send(id, part, 1, false).ok();
            reactor.forget_stream(id);
            self.lanes.remove(&id);
            return true;
        }
        let queued = reactor.send(id, part, 1, true).unwrap_or(0);
        reactor.end(id);
        match queued {
            0 => {
                reactor.close(id, false);
                self.lanes.remove(&id);
            }
            _ => lane.is_leaving = true,
        }
        true
    }

    pub(super) fn pause(&mut self, chance: &mut Rng, reactor: &mut Reactor) {
        if let Some(id) = self.some(chance, |lane| lane.stream > 0)
            && let Some(lane) = self.lanes.get_mut(&id)
        {
            lane.is_paused = !lane.is_paused;
            reactor.pause(id, lane.is_paused);
        }
    }

    pub(super) fn resume_all(&mut self, reactor: &mut Reactor) {
        for (id, lane) in self.lanes.iter_mut().filter(|(_, lane)| lane.is_paused) {
            lane.is_paused = false;
            reactor.pause(*id, false);
        }
    }

    /// Closes a stream whose response is not complete.
    pub(super) fn close(
        &mut self,
        chance: &mut Rng,
        reactor: &mut Reactor,
        clients: &mut [Client],
    ) {
        let Some(id) = self.some(chance, |lane| lane.stream > 0) else { return };
        let Some(lane) = self.lanes.remove(&id) else { return };
        if let Some(stream) = clients[lane.client].streams.get_mut(&lane.stream) {
            stream.was_closed = true;
        }
        reactor.close(id, chance.bool());
    }
}

impl Lane {
    fn on_request(&mut self, head: &str) {
        let mut words = head.split(' ');
        let method = words.next().unwrap();
        self.target = words.next().unwrap().to_owned();
        let of = head.lines().find_map(|line| line.strip_prefix("x-of: ")).unwrap();
        let (client, stream) = of.split_once('.').unwrap();
        assert_eq!(client.parse(), Ok(self.client), "another client's");
        self.stream = stream.parse().unwrap();
        let length = length_of(&self.target);
        let body = if method == "HEAD" { Vec::new() } else { content(&self.target, 0, length) };
        let head = match length % 3 {
            0 if method != "HEAD" => "Transfer-Encoding: chunked\r\n\r\n".to_owned(),
            _ => format!("Content-Length: {length}\r\n\r\n"),
        };
        self.response = [b"HTTP/1.1 200 OK\r\n", head.as_bytes()].concat();
        match head.starts_with('T') {
            false => self.response.extend(body),
            true => {
                for part in body.chunks(1000) {
                    self.response.extend(format!("{:x}\r\n", part.len()).into_bytes());
                    self.response.extend([part, b"\r\n"].concat());
                }
                self.response.extend(b"0\r\n\r\n");
            }
        }
    }
}
