//! A client of HTTP/2 and a caller that do anything in any order, as the bytes of a program say. Whatever they do:
//!
//! - the reactor comes to rest, and each lane that was told of is told to be closed when the client has left
//! - nothing is told of a lane that nobody knows; what waits for the socket is bounded

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use millrace_http::h2::PREFACE;
use millrace_stack::Settings;
use millrace_stack::cache::{self, Mode};
use millrace_stack::settings::Http2Settings;

use super::frames::{frame, settings};
use super::world::{Told, World};

/// Responses, of which parts are sent.
const RESPONSE: &[u8] =
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n";
const REQUEST: &[u8] = &[0x82, 0x86, 0x84, 0x41, 1, b'a'];
const UPLOAD: &[u8] = &[0x83, 0x86, 0x84, 0x41, 1, b'a'];
/// Of a frame that is to be large, how often its payload is repeated.
const REPEATED: usize = 300;
const MAX_QUEUED: usize = 1024 * 1024;

struct Run {
    world: World,
    client: Option<UnixStream>,
    connection: usize,
    /// Lanes that the caller knows, and how much of a response was sent.
    lanes: BTreeMap<usize, usize>,
    next: u32,
}

/// Runs a program; panics where something does not hold.
pub(crate) fn run(program: &[u8]) {
    let Some((&[streams, requests, caches], mut rest)) = program.split_first_chunk::<3>() else {
        return;
    };
    let mode =
        if caches & 1 == 0 { Mode::Off } else { Mode::All(std::time::Duration::from_secs(60)) };
    let http2 = Http2Settings {
        max_concurrent_streams: u32::from(streams % 8),
        max_requests: (requests > 0).then_some(requests.into()),
        tells_pseudo_fields: false,
    };
    let cache = cache::Settings { mode, ..cache::Settings::default() };
    let settings_of_it =
        Settings { http2: Some(http2), cache, keep_alive: None, ..Settings::default() };
    let events = if caches & 2 == 0 { 12 } else { 64 };
    let mut world = World::with(settings_of_it, events);
    let (client, connection) = world.socket();
    let lanes = BTreeMap::from([(connection, 0)]);
    let mut run = Run { world, client: Some(client), connection, lanes, next: 1 };
    if caches & 4 == 0 {
        run.send(&[PREFACE, &settings(&[])].concat());
    }
    while let Some((&order, after)) = rest.split_first() {
        rest = run.obey(order, after);
    }
    run.finish();
}

impl Run {
    fn obey<'a>(&mut self, order: u8, rest: &'a [u8]) -> &'a [u8] {
        let number = usize::from(rest.first().copied().unwrap_or(0));
        match order % 12 {
            0..3 => return self.send_frame(rest),
            3 => {
                let (piece, after) = rest.split_at(number.min(rest.len()));
                self.send(piece);
                return after;
            }
            4 => {
                let (block, flags) = if number & 1 == 0 { (REQUEST, 5) } else { (UPLOAD, 4) };
                self.send(&frame(1, flags, self.next, block));
                self.next += 2;
            }
            5..7 => self.turn(),
            7 => self.receive(),
            8 => {
                if let Some(lane) = self.some(number) {
                    self.answer(lane, number);
                }
            }
            9 => {
                if let Some(lane) = self.some(number) {
                    self.world.reactor.pause(lane, number & 1 == 0);
                }
            }
            10 => {
                if let Some(lane) = self.some(number) {
                    self.world.reactor.close(lane, number & 1 == 0);
                    self.lanes.remove(&lane);
                }
            }
            _ if number & 1 == 0 => self.world.reactor.shut_down(self.world.server),
            _ => {
                if let Some(client) = &self.client {
                    // The server may have closed it.
                    client.shutdown(Shutdown::Write).ok();
                }
            }
        }
        rest.get(1..).unwrap_or_default()
    }

    /// Kind, flags, stream and length are a byte each.
    fn send_frame<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let Some((&[kind, flags, stream, length], after)) = rest.split_first_chunk() else {
            return &[];
        };
        let (payload, after) = after.split_at(usize::from(length).min(after.len()));
        let payload = payload.repeat(if kind < 200 { 1 } else { REPEATED });
        self.send(&frame(kind % 16, flags, u32::from(stream % 32), &payload));
        after
    }

    fn send(&mut self, bytes: &[u8]) {
        if let Some(client) = &mut self.client {
            // It may be full or gone.
            assert!(client.write(bytes).unwrap_or(0) <= bytes.len());
        }
    }

    fn receive(&mut self) {
        let mut sink = [0; 16 * 1024];
        if let Some(client) = &mut self.client {
            assert!(client.read(&mut sink).unwrap_or(0) <= sink.len());
        }
    }

    fn some(&self, number: usize) -> Option<usize> {
        let at = number.checked_rem(self.lanes.len())?;
        self.lanes.keys().nth(at).copied()
    }

    fn answer(&mut self, lane: usize, number: usize) {
        let reactor = &mut self.world.reactor;
        if lane == self.connection {
            return;
        }
        let Some(sent) = self.lanes.get_mut(&lane) else { return };
        let rest = RESPONSE.get(*sent..).unwrap_or_default();
        let part = &rest[..rest.len().min(number)];
        *sent += part.len();
        let is_last = *sent == RESPONSE.len();
        // Its stream may be over.
        reactor.send(lane, part, is_last.into(), is_last && number & 1 == 0).ok();
        if is_last && number & 2 == 0 {
            reactor.end(lane);
            self.close_if_sent(lane);
        } else if is_last {
            reactor.forget_stream(lane);
            self.lanes.remove(&lane);
        }
    }

    /// A caller closes a stream when all of its response has left.
    fn close_if_sent(&mut self, lane: usize) {
        let is_sent = self.lanes.get(&lane).is_some_and(|sent| *sent == RESPONSE.len());
        if is_sent && self.world.reactor.queued(lane) == 0 {
            self.world.reactor.close(lane, false);
            self.lanes.remove(&lane);
        }
    }

    fn turn(&mut self) {
        self.world.turn();
        self.take();
    }

    fn take(&mut self) {
        let told = std::mem::take(&mut self.world.told);
        let drained: Vec<usize> =
            told.iter().filter(|(_, told)| *told == Told::Drained).map(|(lane, _)| *lane).collect();
        for (lane, told) in told {
            match told {
                Told::Open(session) => {
                    assert!(
                        session.is_none_or(|session| self.lanes.contains_key(&session)),
                        "no session"
                    );
                    assert!(self.lanes.insert(lane, 0).is_none(), "number {lane} is given twice");
                }
                Told::Closed(_) => drop(self.lanes.remove(&lane).expect("a lane that is known")),
                told => assert!(self.lanes.contains_key(&lane), "{told:?} of nobody: {lane}"),
            }
        }
        drained.into_iter().for_each(|lane| self.close_if_sent(lane));
        for &lane in self.lanes.keys() {
            assert!(self.world.reactor.queued(lane) <= MAX_QUEUED);
        }
    }

    fn finish(mut self) {
        self.client = None;
        for _ in 0..4 {
            self.world.told = self.world.settle();
            self.take();
            // One that has not begun to speak HTTP/2 is told of its client's end, and closed.
            for lane in self.lanes.keys().copied().collect::<Vec<_>>() {
                let reactor = &mut self.world.reactor;
                reactor.pause(lane, false);
                if !reactor.is_http2(lane) && reactor.socket(lane).is_some() {
                    reactor.close(lane, false);
                    self.lanes.remove(&lane);
                }
            }
        }
        assert!(self.lanes.is_empty(), "left: {:?}", self.lanes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::run;

    fn order() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            3 => (0..16u8, any::<u8>(), 0..12u8, prop::collection::vec(any::<u8>(), 0..12)).prop_map(
                |(kind, flags, stream, payload)| {
                    [&[0, kind, flags, stream, payload.len() as u8], &payload[..]].concat()
                }
            ),
            // Windows and ends that are right.
            2 => (prop::sample::select(vec![3u8, 8]), 0..6u8, any::<u8>())
                .prop_map(|(kind, stream, by)| vec![0, kind, 0, 2 * stream + 1, 4, 0, 0, 1, by]),
            1 => any::<u16>().prop_map(|size| {
                let [a, b] = size.to_be_bytes();
                vec![0, 4, 0, 0, 6, 0, 4, 0, 0, a, b]
            }),
            2 => (0..6u8, 0..40u8).prop_map(|(stream, length)| {
                [&[0, 0, 1, 2 * stream + 1, length][..], &vec![7; length.into()]].concat()
            }),
            6 => (4..=11u8, any::<u8>()).prop_map(|(order, number)| vec![order, number]),
            4 => Just(vec![5, 0]),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_happens(settings: [u8; 2], caches in 0..4u8, orders in prop::collection::vec(order(), 0..80)) {
            run(&[&settings[..], &[caches], &orders.concat()].concat());
        }
    }
}
