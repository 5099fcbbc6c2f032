//! What the caller was told of one connection, against what its client has sent.

use std::time::Duration;

use millrace_net::Nanos;
use millrace_simulated_tls::server::Suite;
use millrace_stack::batch::{FallbackReason, Kind, failed, flag, verdict_number};

use crate::script::{Message, Script, Unusual};
use crate::sights::{Sight, see};
use crate::tls::{Failure, Tls};

/// An event of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    pub(crate) kind: i32,
    pub(crate) details: [i32; 6],
    pub(crate) memory: &'a [u8],
}

impl<'a> Event<'a> {
    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.kind == kind as i32
    }

    pub(crate) fn number(&self, at: usize) -> usize {
        usize::try_from(self.details[at]).expect("no detail is negative")
    }

    /// The bytes that the first two numbers name.
    pub(crate) fn part(&self) -> &'a [u8] {
        &self.memory[self.number(0)..][..self.number(1)]
    }
}

/// What comes next of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// TLS is being agreed on.
    Handshake,
    /// The caller chooses what a client's first message is answered with, or somebody else takes it over.
    Hello {
        is_unsure: bool,
    },
    /// TLS is agreed on, and requests wait for the caller's word.
    Secured,
    Heads,
    /// So many bytes of a body were told.
    Body(usize),
    /// Nothing, behind the last message.
    Closed,
    /// The host's parser has these bytes of the script, and the caller is asked.
    Asked {
        reason: FallbackReason,
        from: usize,
        to: usize,
    },
    /// Bytes as they come, once.
    Raw(usize),
    /// All bytes as they come.
    Through(usize),
    Ended,
}

/// The response to a message.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The caller was told of the message, at this time, or the reactor has answered it.
    pub(crate) told: Option<Nanos>,
    pub(crate) own: bool,
    /// The caller was told of a request, whose answer is counted.
    pub(crate) counts: bool,
    /// When its first byte was sent, and when its head was sent whole.
    pub(crate) begun: Nanos,
    pub(crate) asked: Nanos,
    /// What the caller has sent.
    pub(crate) bytes: Vec<u8>,
    pub(crate) complete: bool,
    /// Nobody has it, as the router said last; `gone`: any more.
    pub(crate) declined: Option<bool>,
}

/// What may happen without the caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    pub(crate) caches: bool,
    pub(crate) refuses: bool,
    pub(crate) max_pipelined: u32,
    /// How long a handshake may take.
    pub(crate) handshake: Duration,
    /// Handshakes are answered without the caller.
    pub(crate) shakes_beside: bool,
}

#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) reading: Reading,
    /// The message that comes next; with [`Reading::Body`] it is the one before.
    pub(crate) next: usize,
    pub(crate) replies: Vec<Reply>,
    pub(crate) in_flight: u32,
    /// An upgrade was declined.
    pub(crate) plain: bool,
    pub(crate) eof: bool,
    pub(crate) closed: bool,
    pub(crate) answered_last: bool,
    /// The caller has answered a client's first message, and its requests wait for its word then.
    pub(crate) chosen: bool,
    pub(crate) defers: bool,
    /// TLS is agreed on, if there is any; its session has failed; its handshake has taken too long.
    pub(crate) secured: bool,
    secured_at: Nanos,
    pub(crate) failed: bool,
    pub(crate) shakes_long: bool,
    /// How often the router has sent it away.
    pub(crate) leaves: u32,
    /// The caller has given the message up, in front of this reply.
    pub(crate) timed_out: Option<usize>,
}

/// What an event is judged by: what the client has to say, how much of it it has sent, what the server does, and when.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) script: &'a Script,
    pub(crate) sent: usize,
    pub(crate) tls: Option<&'a Tls>,
    pub(crate) came: Nanos,
    pub(crate) habits: Habits,
    pub(crate) now: Nanos,
}

impl Told {
    pub(crate) fn new(has_tls: bool) -> Self {
        Self {
            reading: if has_tls { Reading::Handshake } else { Reading::Heads },
            next: 0,
            replies: Vec::new(),
            in_flight: 0,
            plain: false,
            eof: false,
            closed: false,
            answered_last: false,
            chosen: false,
            defers: false,
            secured: !has_tls,
            secured_at: Nanos::NEVER,
            failed: false,
            shakes_long: false,
            leaves: 0,
            timed_out: None,
        }
    }

    /// Takes an event.
    pub(crate) fn take(&mut self, event: &Event<'_>, known: Known<'_>) {
        assert!(!self.closed, "kind {} after the connection was closed", event.kind);
        if event.is(Kind::Drained) {
            return;
        }
        if event.is(Kind::Closed) {
            self.closed = true;
            return;
        }
        if event.is(Kind::Answered) {
            assert!(!self.answered_last, "the last answer is told twice: {self:?}");
            self.answered_last = true;
            if self.timed_out.is_none() && matches!(self.reading, Reading::Heads) {
                self.reading = Reading::Closed;
            }
            return;
        }
        if event.is(Kind::Idle) {
            assert_eq!(self.in_flight, 0, "idle with a request");
            return;
        }
        assert!(!self.eof, "kind {} after the end", event.kind);
        assert!(!self.failed, "kind {} of a session that has failed", event.kind);
        if event.is(Kind::Hello) {
            self.hello(event, known);
        } else if event.is(Kind::Secure) {
            self.secure(event, known);
        } else if event.is(Kind::Failed) {
            self.fail(event, known);
        } else if event.is(Kind::Request) {
            self.request(event, known);
        } else if event.is(Kind::Body) {
            self.begin_declined_body(known);
            self.body(event.part(), known);
        } else if event.is(Kind::End) {
            self.begin_declined_body(known);
            self.end(event.part(), known);
        } else if event.is(Kind::Fallback) {
            if event.details[2] == FallbackReason::Body as i32 {
                self.begin_declined_body(known);
            }
            self.unsure(event, known);
        } else if event.is(Kind::Raw) {
            self.raw(event.part(), known);
        } else if event.is(Kind::Eof) {
            self.end_of_stream(event.details[0] == 1, known);
        } else {
            panic!("kind {} of a connection", event.kind);
        }
    }

    /// A client has begun with TLS, or with something else.
    fn hello(&mut self, event: &Event<'_>, known: Known<'_>) {
        let tls = known.tls.expect("it has TLS");
        assert!(matches!(self.reading, Reading::Handshake), "a hello, {:?}", self.reading);
        assert!(!self.chosen && tls.has_said_hello(), "a hello again, or before it was sent");
        let is_unsure = event.details[2] == 1;
        if is_unsure {
            let is_refused = known.habits.shakes_beside && !tls.fits();
            assert!(tls.is_garbage() || is_refused, "it is TLS: {tls}");
        } else {
            assert!(!tls.is_garbage(), "it is not TLS");
            assert_eq!(event.part(), tls.name().as_bytes(), "whom it asks for");
        }
        self.reading = Reading::Hello { is_unsure };
    }

    /// TLS is agreed on.
    fn secure(&mut self, event: &Event<'_>, known: Known<'_>) {
        let tls = known.tls.expect("it has TLS");
        assert!(matches!(self.reading, Reading::Handshake), "secured, {:?}", self.reading);
        assert!(self.chosen || known.habits.shakes_beside, "nobody has answered it");
        assert!(tls.has_finished(), "it is not done: {tls}");
        let (flags, verdict) = tls.agreed();
        assert_eq!(event.part(), tls.name().as_bytes(), "whom it asks for");
        let expected = [Suite::NUMBER.into(), flags, verdict_number(verdict)];
        assert_eq!(event.details[2..5], expected, "what is agreed on: {tls}");
        if !self.chosen {
            see(Sight::SecuredBeside);
        }
        (self.secured, self.secured_at) = (true, known.now);
        self.reading = if self.defers { Reading::Secured } else { Reading::Heads };
    }

    /// TLS has failed, or its handshake has taken too long.
    fn fail(&mut self, event: &Event<'_>, known: Known<'_>) {
        let tls = known.tls.expect("it has TLS");
        let [how, alert, start, length, in_handshake, _] = event.details;
        let text = &event.memory[start as usize..][..length as usize];
        assert_eq!(in_handshake == 1, !self.secured, "in its handshake: {tls}");
        if how == failed::TIMEOUT {
            assert!(!self.secured && !self.shakes_long, "its handshake is not what takes long");
            let since = known.now.since(known.came);
            assert!(since >= known.habits.handshake, "a handshake takes too long after {since:?}");
            see(Sight::HandshakeTooLong);
            self.shakes_long = true;
            return;
        }
        let text = std::str::from_utf8(text).expect("a text");
        let expected = tls.failure().map(|Failure { how, alert, text, in_handshake }| {
            (how, alert, text, i32::from(in_handshake))
        });
        assert_eq!(Some((how, alert, text, in_handshake)), expected, "it fails: {tls}");
        see(if self.secured { Sight::SessionFails } else { Sight::HandshakeFails });
        (self.failed, self.reading) = (true, Reading::Ended);
    }

    /// It asks for an upgrade, and has become an ordinary request.
    pub(crate) fn is_declined_upgrade(&self, message: &Message) -> bool {
        self.plain && message.unusual.is_some_and(|it| it.reason == FallbackReason::Upgrade)
    }

    /// Messages up to this one were not told: the reactor has answered them.
    fn skip_to(&mut self, message: usize, Known { script, habits, .. }: Known<'_>) {
        for at in self.next..message {
            let it = &script.messages[at];
            let simple = it.is_simple() || self.is_declined_upgrade(it);
            let declined = self.replies[at].declined.is_some() && !it.has_body;
            let may =
                declined || simple && (habits.refuses || habits.caches && it.resource.is_some());
            assert!(may, "message {at} was not told");
            assert!(it.keep_alive, "more behind the last message {at}");
            self.replies[at].own = true;
        }
        self.next = message;
    }

    fn request(&mut self, event: &Event<'_>, known: Known<'_>) {
        let Known { script, sent, habits, now, .. } = known;
        assert!(matches!(self.reading, Reading::Heads), "a request, {:?}", self.reading);
        let head = event.part();
        let number = find_number(head).expect("each head has a number");
        assert!(number >= self.next, "message {number} again, or late");
        if self.secured_at == now {
            see(Sight::RequestWithHandshake);
        }
        self.skip_to(number, known);
        let message = &script.messages[number];
        assert_eq!(head, &script.bytes[message.head.clone()], "the head of message {number}");
        assert!(sent >= message.head.end, "more than was sent");
        let target = &head[event.number(3)..event.number(4)];
        assert!(head.starts_with(&[message.method.as_bytes(), b" ", target, b" "].concat()));
        let flags = event.details[2];
        let expected = [
            (flag::KEEP_ALIVE, message.keep_alive),
            (flag::BODY, message.has_body),
            (flag::EXPECT, message.expects),
            (flag::HOST, true),
        ];
        for (bit, is) in expected {
            assert_eq!(flags & bit != 0, is, "flag {bit} of message {number}");
        }
        match message.unusual {
            Some(unusual) if unusual.reason == FallbackReason::Upgrade => {
                assert!(self.plain, "an upgrade as a request");
            }
            Some(unusual) => assert_eq!(unusual.reason, FallbackReason::Body),
            None => {}
        }
        self.plain = false;
        assert!(!self.replies[number].own && self.replies[number].told.is_none());
        self.replies[number].told = Some(now);
        self.replies[number].counts = true;
        self.in_flight += 1;
        assert!(self.in_flight <= habits.max_pipelined, "more requests than may be");
        self.next = number + 1;
        self.reading = match message.has_body {
            true => Reading::Body(0),
            false => behind(message),
        };
    }

    fn current<'a>(&self, script: &'a Script) -> &'a Message {
        &script.messages[self.next - 1]
    }

    /// The body of a request that the reactor has declined is told without that.
    fn begin_declined_body(&mut self, known: Known<'_>) {
        let Reading::Heads = self.reading else { return };
        let declined = |at: &usize| {
            self.replies[*at].declined.is_some() && known.script.messages[*at].has_body
        };
        if let Some(at) = (self.next..self.replies.len()).find(declined) {
            self.skip_to(at, known);
            self.replies[at].own = true;
            (self.next, self.reading) = (at + 1, Reading::Body(0));
        }
    }

    fn body(&mut self, bytes: &[u8], Known { script, sent, .. }: Known<'_>) {
        let Reading::Body(told) = self.reading else { panic!("a body, {:?}", self.reading) };
        let message = self.current(script);
        assert!(!bytes.is_empty(), "an empty part of a body");
        let end = told + bytes.len();
        assert!(end <= message.body_within(sent), "more of a body than was sent");
        assert_eq!(bytes, &message.body[told..end], "bytes of a body");
        self.reading = Reading::Body(end);
    }

    fn end(&mut self, trailers: &[u8], Known { script, sent, .. }: Known<'_>) {
        let Reading::Body(told) = self.reading else { panic!("an end, {:?}", self.reading) };
        let message = self.current(script);
        assert!(sent >= message.end && message.unusual.is_none(), "an end before the end");
        assert_eq!(told, message.body.len(), "a part of a body is missing");
        let trailers = trailers.strip_suffix(b"\r\n").unwrap_or(trailers);
        let expected = message.trailers.strip_suffix(b"\r\n").unwrap_or(&message.trailers);
        assert_eq!(trailers.trim_ascii_end(), expected.trim_ascii_end(), "trailers");
        self.reading = behind(message);
    }

    fn unsure(&mut self, event: &Event<'_>, known: Known<'_>) {
        let Known { script, sent, now, .. } = known;
        let reason = event.details[2];
        let found = match self.reading {
            Reading::Heads => {
                let unusual = |at: &usize| {
                    let unusual = script.messages[*at].unusual;
                    unusual.is_some_and(|it| script.bytes[it.at..].starts_with(event.part()))
                };
                let at = (self.next..script.messages.len()).find(unusual);
                let at = at.expect("an unusual message");
                self.skip_to(at, known);
                assert!(self.replies[at].told.is_none(), "told before");
                self.replies[at].told = Some(now);
                self.next = at + 1;
                script.messages[at].unusual
            }
            Reading::Body(told) => {
                let message = self.current(script);
                assert_eq!(told, message.body.len(), "a part of a body is missing");
                message.unusual
            }
            Reading::Closed => {
                // Which message was the last one is not known where the reactor has answered it.
                let begins = |at: &usize| script.bytes[*at..].starts_with(event.part());
                let next = script.messages[self.next..].iter().map(|it| it.head.start);
                // Or the body of a request that was declined.
                let bodies = script.messages.iter().map(|it| it.head.end);
                let at = next.chain(bodies).find(begins).expect("bytes behind the last message");
                Some(Unusual { at, reason: FallbackReason::Closed })
            }
            reading => panic!("unsure, {reading:?}"),
        };
        let unusual = found.expect("an unusual message");
        assert_eq!(unusual.reason as i32, reason, "why it is unsure");
        let (from, part) = (unusual.at, event.part());
        assert!(!part.is_empty() && from + part.len() <= sent, "more than was sent");
        assert_eq!(part, &script.bytes[from..][..part.len()], "bytes for another parser");
        assert!(event.number(4) <= event.number(0) + part.len(), "what was read last");
        self.reading = Reading::Asked { reason: unusual.reason, from, to: from + part.len() };
    }

    fn raw(&mut self, part: &[u8], Known { script, sent, .. }: Known<'_>) {
        let (Reading::Raw(at) | Reading::Through(at)) = self.reading else {
            panic!("raw bytes, {:?}", self.reading)
        };
        let to = at + part.len();
        assert!(!part.is_empty() && to <= sent, "more than was sent");
        assert_eq!(part, &script.bytes[at..to], "raw bytes");
        self.reading = match self.reading {
            Reading::Raw(_) => Reading::Asked { reason: FallbackReason::Body, from: at, to },
            _ => Reading::Through(to),
        };
    }

    fn end_of_stream(&mut self, within: bool, known: Known<'_>) {
        let Known { script, sent, .. } = known;
        let expected = match self.reading {
            Reading::Heads => {
                let rest = &script.messages[self.next..];
                let whole = rest.iter().take_while(|it| it.end <= sent).count();
                self.skip_to(self.next + whole, known);
                script.messages.get(self.next).is_some_and(|it| sent > it.head.start)
            }
            Reading::Body(told) => {
                assert_eq!(
                    told,
                    self.current(script).body_within(sent),
                    "an end before the body's"
                );
                true
            }
            Reading::Through(at) => {
                assert_eq!(at, sent, "an end before the last bytes");
                false
            }
            Reading::Closed | Reading::Raw(_) | Reading::Handshake => false,
            reading => panic!("the end of the stream, {reading:?}"),
        };
        assert_eq!(within, expected, "whether it ends within a message");
        if known.tls.is_some_and(|tls| tls.has_closed()) {
            see(Sight::AnnouncedEnd);
        }
        self.eof = true;
        self.reading = Reading::Ended;
    }

    /// The message that the caller answers next.
    pub(crate) fn front(&self) -> Option<usize> {
        (0..self.replies.len()).find(|&at| {
            let reply = &self.replies[at];
            reply.told.is_some() && !reply.complete
        })
    }
}

fn behind(message: &Message) -> Reading {
    if message.keep_alive { Reading::Heads } else { Reading::Closed }
}

fn find_number(head: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(head).ok()?;
    text.lines().find_map(|line| line.strip_prefix("N: "))?.parse().ok()
}
