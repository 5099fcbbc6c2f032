//! What clients receive, against what the caller has sent and what may come from the cache.

use millrace_net::Nanos;

use crate::script::Script;
use crate::sights::{Sight, see};
use crate::told::{Habits, Reading, Told};

/// A response that may be stored.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) resource: u8,
    pub(crate) body: Vec<u8>,
    /// Until when it is fresh.
    pub(crate) fresh_until: Nanos,
    /// When a request with an unsafe method was answered.
    pub(crate) outdated: Nanos,
}

/// What is sent for a response that was given up.
pub(crate) const LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";

/// How far a client has read its replies.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// The reply that comes next, and how much of it has come.
    pub(crate) reply: usize,
    at: usize,
    /// Bytes of an answer of the reactor's own.
    own: Vec<u8>,
    pub(crate) total: usize,
    /// The connection is to end: nothing more comes.
    last: Option<&'static str>,
}

impl Received {
    /// Nothing comes behind what has come.
    pub(crate) fn is_last(&self) -> bool {
        self.last.is_some()
    }

    /// Whether all that was sent for the replies has come.
    pub(crate) fn is_whole(&self, told: &Told) -> bool {
        let rest = told.replies.get(self.reply);
        self.own.is_empty() && rest.is_none_or(|reply| self.at == reply.bytes.len())
    }

    /// Bytes of the replies that have not come.
    pub(crate) fn missing(&self, told: &Told) -> usize {
        let rest = told.replies.iter().skip(self.reply).map(|reply| reply.bytes.len());
        rest.sum::<usize>() - self.at
    }

    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        script: &Script,
        told: &mut Told,
        versions: &[Version],
        habits: Habits,
    ) {
        self.total += bytes.len();
        let mut rest = bytes;
        loop {
            self.pass_complete(told);
            if rest.is_empty() {
                return;
            }
            assert!(self.last.is_none(), "bytes behind {:?}", self.last);
            let Some(reply) = told.replies.get(self.reply) else {
                panic!("bytes of no reply: {:?}", String::from_utf8_lossy(rest));
            };
            let own = told.timed_out == Some(self.reply) && self.at == reply.bytes.len();
            if reply.told.is_some() && !own {
                let expected = &reply.bytes[self.at..];
                let count = expected.len().min(rest.len());
                assert!(count > 0, "more than was sent: {:?}", String::from_utf8_lossy(rest));
                assert!(expected[..count] == rest[..count], "not what was sent for {}", self.reply);
                self.at += count;
                rest = &rest[count..];
                continue;
            }
            rest = self.take_own(rest, script, told, versions, habits);
        }
    }

    fn pass_complete(&mut self, told: &Told) {
        while let Some(reply) = told.replies.get(self.reply)
            && reply.complete
            && reply.told.is_some()
            && self.at == reply.bytes.len()
            && told.timed_out != Some(self.reply)
        {
            (self.reply, self.at) = (self.reply + 1, 0);
        }
    }

    /// Takes bytes that the caller has not sent.
    fn take_own<'a>(
        &mut self,
        bytes: &'a [u8],
        script: &Script,
        told: &mut Told,
        versions: &[Version],
        habits: Habits,
    ) -> &'a [u8] {
        let before = self.own.len();
        self.own.extend_from_slice(bytes);
        if told.timed_out == Some(self.reply) {
            let count = self.own.len().min(LATE.len());
            assert_eq!(self.own[..count], LATE[..count], "the answer to a late response");
            if count == LATE.len() {
                see(Sight::LateAnswer);
                self.last = Some("a late response");
                self.own.clear();
                return &bytes[count - before..];
            }
            return &[];
        }
        let message = &script.messages[self.reply];
        let Some((status, body_start, length)) = parse(&self.own) else { return &[] };
        let end = body_start + if message.is_head() { 0 } else { length };
        if self.own.len() < end {
            return &[];
        }
        let declined = told.replies[self.reply].declined;
        assert!(
            declined.is_some() || message.is_simple() || told.is_declined_upgrade(message),
            "an answer to message {} that was not told: {:?}",
            self.reply,
            String::from_utf8_lossy(&self.own[..body_start])
        );
        let text = String::from_utf8_lossy(&self.own[body_start..end]);
        let is_decline = match declined {
            Some(false) => status == 404 && (message.is_head() || text.starts_with("No process")),
            Some(true) => {
                status == 503 && (length > 0 && (message.is_head() || text.contains("is gone")))
            }
            None => false,
        };
        match status {
            _ if is_decline => {
                see(if status == 404 { Sight::NobodyHasIt } else { Sight::NobodyHasItAnyMore });
                if message.expects && message.has_body {
                    self.last = Some("an answer to what waits for one");
                }
            }
            200 => {
                see(Sight::Hit);
                self.check_hit(&self.own[body_start..end], length, message.resource, told, versions)
            }
            503 => {
                see(Sight::Refusal);
                assert!(habits.refuses, "refused for nothing");
                self.last = Some("a refusal");
            }
            status => panic!("{status} of nobody"),
        }
        assert!(status != 200 || habits.caches, "a hit without a cache");
        if !message.keep_alive {
            self.last = Some("the last answer");
        }
        told.replies[self.reply].own = true;
        if matches!(told.reading, Reading::Heads) && told.next <= self.reply {
            told.reading = match self.last.is_some() {
                true => Reading::Closed,
                // The body is told without the request.
                false if is_decline && message.has_body => Reading::Body(0),
                false => Reading::Heads,
            };
        }
        told.next = told.next.max(self.reply + 1);
        self.own.clear();
        (self.reply, self.at) = (self.reply + 1, 0);
        &bytes[end - before..]
    }

    fn check_hit(
        &self,
        body: &[u8],
        length: usize,
        resource: Option<u8>,
        told: &Told,
        versions: &[Version],
    ) {
        let resource = resource.expect("a hit is of a resource that may be cached");
        let asked = told.replies[self.reply].asked;
        let may = |version: &&Version| {
            version.resource == resource
                && version.body.len() == length
                && (body.is_empty() || version.body == body)
        };
        let found = versions.iter().filter(may).max_by_key(|it| it.fresh_until.min(it.outdated));
        let found = found.expect("a hit is what somebody has answered");
        assert!(asked < found.fresh_until, "a stale hit: asked at {asked:?}, {found:?}");
        assert!(asked < found.outdated, "an outdated hit: asked at {asked:?}, {found:?}");
    }
}

/// Status, where the body begins, and its length.
fn parse(bytes: &[u8]) -> Option<(u16, usize, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let status = head.get(9..12).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no response: {head}"));
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length = length.map_or(0, |length| length.parse().expect("a length"));
    Some((status, end, length))
}
