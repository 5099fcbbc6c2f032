//! A client, and its connection as the caller knows it.

use std::time::Duration;

use millrace_net::peer::Peer;
use millrace_net::{Nanos, network};

use crate::replies::Received;
use crate::script::{Message, Script};
use crate::tls::Tls;
use crate::told::{Event, Habits, Known, Reading, Reply, Told};

/// What the caller has done with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has not heard of it.
    Unknown,
    Open,
    /// Its side is to end when all is written.
    Ended,
    /// It was closed; `lingers`: the client may read to the end.
    Closed {
        at: Nanos,
        lingers: bool,
        whole: bool,
    },
    Released,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) peer: Peer,
    /// How it seals what it sends, if it does.
    pub(crate) tls: Option<Box<Tls>>,
    /// Room for what it has not received.
    room: usize,
    /// The server that its connection belongs to, as the caller was told.
    pub(crate) server: usize,
    pub(crate) script: Script,
    /// Bytes of the script that were sent; with TLS, in whole records.
    pub(crate) sent: usize,
    /// The client has ended its side, or closed its socket.
    pub(crate) ended: bool,
    pub(crate) gone: bool,
    /// It has seen the end, or a reset.
    pub(crate) over: bool,
    pub(crate) received: Received,
    pub(crate) told: Told,
    /// Number of the connection while the caller has it.
    pub(crate) id: Option<usize>,
    pub(crate) fate: Fate,
    pub(crate) paused: bool,
    /// What of the reply in front is still to be sent, in parts.
    pub(crate) parts: Option<Parts>,
    /// Nothing more is sent, as the last reply was.
    pub(crate) last_sent: bool,
    /// Bytes wait, as the caller was told.
    pub(crate) waits: bool,
    /// What is sent from now on may be lost: nobody knows how much the peer has.
    pub(crate) broken: bool,
    /// When it connected, and when the caller has heard of it.
    pub(crate) came: Nanos,
    pub(crate) known: Nanos,
    /// When the caller has completed a response last.
    pub(crate) rested: Nanos,
}

/// A reply that is being sent.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) bytes: Vec<u8>,
    pub(crate) at: usize,
    /// The connection ends behind it.
    pub(crate) last: bool,
    /// It may be stored, as this version, for so long.
    pub(crate) version: Option<(usize, Duration)>,
}

impl Client {
    /// `names_itself`: its requests say whose they are.
    pub(crate) fn new(
        peer: Peer,
        tls: Option<Tls>,
        room: usize,
        server: usize,
        names_itself: bool,
    ) -> Self {
        let client = names_itself.then(|| peer.number());
        Self {
            told: Told::new(tls.is_some()),
            peer,
            tls: tls.map(Box::new),
            room,
            server,
            script: Script { client, ..Script::default() },
            sent: 0,
            ended: false,
            gone: false,
            over: false,
            received: Received::default(),
            id: None,
            fate: Fate::Unknown,
            paused: false,
            parts: None,
            last_sent: false,
            waits: false,
            broken: false,
            came: network::now(),
            known: Nanos::NEVER,
            rested: network::now(),
        }
    }

    /// The caller is told something of it.
    pub(crate) fn take_event(&mut self, event: &Event<'_>, habits: Habits, now: Nanos) {
        let Self { script, sent, tls, came, .. } = self;
        let (sent, came, tls) = (*sent, *came, tls.as_deref());
        self.told.take(event, Known { script, sent, tls, came, habits, now });
    }

    /// What comes is sealed: gives the text in it. `None`: it is text.
    pub(crate) fn unseal(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let tls = self.tls.as_mut()?;
        let text = tls.receive(bytes);
        if tls.is_alerted() {
            assert!(tls.failure().is_some(), "an alert for nothing: {tls}");
            // What follows it is not looked at.
            self.broken = true;
        }
        Some(text)
    }

    /// It can be given away: nothing was answered, or there is nothing but text.
    pub(crate) fn is_releasable(&self) -> bool {
        self.tls.is_none() || matches!(self.told.reading, Reading::Hello { .. })
    }

    /// It belongs to somebody else now, who may bring it back.
    pub(crate) fn come_back(&mut self) {
        (self.id, self.fate) = (None, Fate::Unknown);
        (self.paused, self.last_sent, self.broken, self.waits) = (false, false, false, false);
        self.parts = None;
    }

    /// Adds messages to what it is about to send.
    pub(crate) fn write(&mut self, add: impl FnOnce(&mut Script)) {
        add(&mut self.script);
        let missing = self.script.messages.len() - self.told.replies.len();
        let reply = Reply {
            told: None,
            own: false,
            counts: false,
            begun: Nanos::NEVER,
            asked: Nanos::NEVER,
            bytes: Vec::new(),
            complete: false,
            declined: None,
        };
        self.told.replies.extend(std::iter::repeat_n(reply, missing));
    }

    /// Sends up to so many bytes; gives whether any were taken.
    pub(crate) fn send(&mut self, most: usize) -> bool {
        if self.ended || self.gone {
            return false;
        }
        let before = self.sent;
        let count = match &mut self.tls {
            Some(tls) => {
                let count = tls.send(&mut self.peer, &self.script.bytes, most);
                self.sent = tls.text_within(0);
                count
            }
            None => {
                let end = self.script.bytes.len().min(before + most);
                let count = self.peer.send(&self.script.bytes[before..end]);
                self.sent += count;
                count
            }
        };
        let now = network::now();
        for (message, reply) in self.script.messages.iter().zip(&mut self.told.replies) {
            if (before..self.sent).contains(&message.head.start) {
                reply.begun = now;
            }
            if message.head.end > before && message.head.end <= self.sent {
                reply.asked = now;
            }
        }
        count > 0
    }

    /// Bytes of the script that the server has read. `unread`: bytes that the network still has.
    pub(crate) fn read_within(&self, unread: usize) -> usize {
        self.tls.as_ref().map_or_else(|| self.sent - unread, |tls| tls.text_within(unread))
    }

    /// Its text has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended || self.gone || self.tls.as_ref().is_some_and(|tls| tls.has_closed())
    }

    /// TLS is not agreed on yet, and nothing can be sent.
    pub(crate) fn is_shaking(&self) -> bool {
        self.tls.is_some() && !self.told.secured
    }

    /// So much room that its system has always taken what was sent.
    pub(crate) fn is_roomy(&self) -> bool {
        const SEALING: usize = 50_000;
        self.room > self.received.total + SEALING
    }

    /// What matters of it, for messages.
    pub(crate) fn summary(&self) -> String {
        let Self { sent, ended, gone, over, fate, paused, last_sent, broken, told, tls, .. } = self;
        let Told { reading, next, in_flight, eof, closed, answered_last, timed_out, .. } = told;
        let sealed = tls.as_ref().map_or_else(String::new, |tls| format!(", {tls}"));
        format!(
            "sent {sent} of {}, ended {ended}, gone {gone}, over {over}, {fate:?}, paused {paused}, last sent \
             {last_sent}, broken {broken}, {reading:?}, next {next} of {}, front {:?}, in flight {in_flight}, \
             eof {eof}, closed {closed}, answered {answered_last}, timed out {timed_out:?}{sealed}",
            self.script.bytes.len(),
            told.replies.len(),
            told.front(),
        )
    }

    /// The message that the reactor receives, or an earlier one: what it has answered itself is not known.
    fn arriving(&self) -> usize {
        match self.told.reading {
            Reading::Heads | Reading::Closed => self.told.next,
            _ => self.told.next.saturating_sub(1),
        }
    }

    /// When its request began to arrive, or earlier; [`Nanos::NEVER`]: it has not begun.
    pub(crate) fn arrives_since(&self) -> Nanos {
        self.told.replies.get(self.arriving()).map_or(Nanos::NEVER, |reply| reply.begun)
    }

    /// Since when the limits of its request count, or earlier: of the first one, since it came.
    pub(crate) fn limits_count_since(&self) -> Nanos {
        if self.arriving() == 0 { self.came } else { self.arrives_since() }
    }

    /// It no longer sends or reads.
    pub(crate) fn is_silent(&self) -> bool {
        self.gone || self.over
    }

    /// The caller may send on it.
    pub(crate) fn is_answerable(&self) -> bool {
        let open = matches!(self.fate, Fate::Open);
        let is_secure = !self.is_shaking() && !self.told.failed;
        open && is_secure && self.id.is_some() && !self.told.closed && !self.last_sent
    }

    /// The message that it is in the middle of sending, or the next one.
    pub(crate) fn sending(&self) -> Option<&Message> {
        self.script.messages.iter().find(|message| message.end > self.sent)
    }
}
