//! What the caller answers, and in how many pieces.

use std::time::Duration;

use millrace_net::{Nanos, network};

use crate::client::{Client, Fate, Parts};
use crate::replies::Version;
use crate::script::filling;
use crate::world::World;

/// The first line, for messages.
fn head_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned();
    format!("{} bytes: {text}", bytes.len())
}

impl World {
    /// Answers a request of somebody, or a part of it.
    pub(crate) fn answer_some(&mut self) {
        let has_work = |client: &Client| {
            client.fate == Fate::Ended || client.is_answerable() && client.told.front().is_some()
        };
        let Some(at) = self.some_client(has_work) else { return };
        if self.clients[at].fate == Fate::Ended {
            self.close_if_written(at);
        } else {
            self.answer(at);
        }
    }

    /// Sends the next part of the reply that is due, and maybe of those behind it.
    pub(crate) fn answer(&mut self, at: usize) {
        let (mut bytes, mut done, mut last) = (Vec::new(), 0, false);
        let client = &self.clients[at];
        let Some(id) = client.id else { return };
        let timed_out = self.reactor.is_timed_out(id);
        while let Some(front) = self.clients[at].told.front() {
            let is_complete = self.take_part(at, front, &mut bytes, &mut last);
            done += u32::from(is_complete && self.clients[at].told.replies[front].counts);
            if !is_complete || last || self.chance.bool() {
                break;
            }
        }
        let client = &mut self.clients[at];
        client.told.in_flight -= done;
        client.last_sent |= last;
        if timed_out {
            assert!(client.told.timed_out.is_some(), "given up unseen");
        }
        let splits = !last && self.chance.u8(..3) == 0;
        let separately = done > 0 && self.chance.u8(..8) == 0;
        let told = if separately { 0 } else { done };
        trace!("    client {at}, number {id}: {done} done, last {last}, {:?}", head_of(&bytes));
        let sent = if splits {
            let (first, second) = bytes.split_at(self.chance.usize(..=bytes.len()));
            self.reactor.send_two(id, first, second, told)
        } else {
            self.reactor.send(id, &bytes, told, last)
        };
        match sent {
            Ok(queued) => {
                let most = client.received.missing(&client.told) + crate::rest::MOST_OWN;
                assert!(queued <= most, "more waits than was sent");
                client.waits = queued > 0;
            }
            Err(_) => {
                client.broken = true;
                return self.close(at, true);
            }
        }
        if separately {
            self.reactor.finish(id, done);
        }
        let client = &mut self.clients[at];
        client.rested = network::now();
        if last && self.chance.u8(..4) > 0 {
            self.end(at);
        }
    }

    /// Adds what comes next of a reply; gives whether that is all of it.
    fn take_part(&mut self, at: usize, front: usize, bytes: &mut Vec<u8>, last: &mut bool) -> bool {
        if self.clients[at].parts.is_none() {
            self.clients[at].parts = Some(self.begin_reply(at, front));
        }
        let client = &mut self.clients[at];
        let Some(parts) = &mut client.parts else { return false };
        let rest = parts.bytes.len() - parts.at;
        let count = match self.chance.u8(..4) {
            0 => self.chance.usize(..=rest),
            _ => rest,
        };
        let part = &parts.bytes[parts.at..parts.at + count];
        bytes.extend_from_slice(part);
        let reply = &mut client.told.replies[front];
        if client.told.timed_out.is_none() {
            reply.bytes.extend_from_slice(part);
        }
        parts.at += count;
        let is_complete = parts.at == parts.bytes.len();
        if is_complete {
            *last = parts.last;
            reply.complete = true;
            if let Some((version, fresh)) = parts.version {
                // It leaves in this step.
                self.versions[version].fresh_until =
                    network::now() + fresh + Duration::from_micros(10);
            }
            client.parts = None;
            self.on_replied(at, front);
        }
        is_complete
    }

    /// A response to an unsafe method outdates what is stored.
    fn on_replied(&mut self, at: usize, front: usize) {
        let client = &self.clients[at];
        let message = &client.script.messages[front];
        let sees = client.told.replies[front].counts && client.told.timed_out.is_none();
        if message.method != "DELETE" || !sees {
            return;
        }
        // It leaves in this step.
        let now = network::now() + Duration::from_micros(1);
        for version in &mut self.versions {
            if Some(version.resource) == message.resource && version.outdated > now {
                version.outdated = now;
            }
        }
    }

    fn begin_reply(&mut self, at: usize, front: usize) -> Parts {
        let Self { chance, plan, clients, versions, .. } = self;
        let client = &clients[at];
        let message = &client.script.messages[front];
        let last = !message.keep_alive || chance.u8(..24) == 0;
        let mut text = String::new();
        if message.expects && chance.bool() {
            text.push_str("HTTP/1.1 100 Continue\r\n\r\n");
        }
        if message.method == "DELETE" {
            text.push_str("HTTP/1.1 204 No Content\r\n\r\n");
            return Parts { bytes: text.into_bytes(), at: 0, last, version: None };
        }
        let length = chance.usize(..=plan.answer);
        let mut body = Vec::new();
        let mut fresh = None;
        text.push_str("HTTP/1.1 200 OK\r\n");
        if let Some(resource) = message.resource {
            body = format!("resource {resource} version {} ", versions.len()).into_bytes();
            if chance.u8(..8) > 0 {
                let seconds = *chance.choice(&[0, 1, 10, 1000, 1000]).unwrap();
                text.push_str(&format!("Cache-Control: max-age={seconds}\r\n"));
                fresh = (seconds > 0).then_some(Duration::from_secs(seconds));
            }
        }
        body.extend(filling(front, length));
        if last {
            text.push_str("Connection: close\r\n");
        }
        let chunked = chance.u8(..4) == 0 && !message.is_head();
        match chunked {
            true => text.push_str("Transfer-Encoding: chunked\r\n\r\n"),
            false => text.push_str(&format!("Content-Length: {}\r\n\r\n", body.len())),
        }
        let mut bytes = text.into_bytes();
        match (message.is_head(), chunked) {
            (true, _) => {}
            (false, false) => bytes.extend_from_slice(&body),
            (false, true) => {
                for part in body.chunks(1 + chance.usize(..5000)) {
                    bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                    bytes.extend_from_slice(part);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes.extend_from_slice(b"0\r\n\r\n");
            }
        }
        let mut version = None;
        if let (Some(resource), Some(fresh), false) = (message.resource, fresh, message.is_head()) {
            version = Some((versions.len(), fresh));
            let (fresh_until, outdated) = (Nanos::NEVER, Nanos::NEVER);
            versions.push(Version { resource, body, fresh_until, outdated });
        }
        Parts { bytes, at: 0, last, version }
    }
}
