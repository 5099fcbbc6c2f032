//! A client's session. What a server sends has to be right; what this sends need not.

use crate::error::AlertDescription;
use crate::message::{
    CERTIFICATE, ClientHello, DONE, FINISHED, HandshakeKind, ProtocolVersion, ServerHello, TICKET,
};
use crate::record::{Incoming, Kind, MOST, Seal};

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum State {
    AwaitsHello,
    /// The server's first flight goes on.
    AwaitsFlight,
    /// [`ClientSession::finish`] is due.
    Answered,
    /// The server has the last word.
    AwaitsFinished,
    Secured,
}

/// How a record is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakage {
    /// Its checksum is wrong.
    Checksum,
    /// There are no such records.
    Kind,
}

/// A client's session.
#[derive(Clone, Debug)]
pub struct ClientSession {
    hello: ClientHello,
    state: State,
    answer: Option<ServerHello>,
    incoming: Incoming,
    seal: Seal,
    has_ticket: bool,
    is_closed: bool,
    alert: Option<AlertDescription>,
}

impl ClientSession {
    /// Begins one: adds its first message to `records`.
    #[must_use]
    pub fn new(hello: ClientHello, records: &mut Vec<u8>) -> Self {
        let mut seal = Seal::default();
        seal.seal(Kind::Handshake, &hello.encode(), records);
        Self {
            hello,
            state: State::AwaitsHello,
            answer: None,
            incoming: Incoming::default(),
            seal,
            has_ticket: false,
            is_closed: false,
            alert: None,
        }
    }

    /// Takes what has come; adds what text there is in it.
    ///
    /// # Panics
    ///
    /// If it is not what a server may send.
    pub fn receive(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        self.incoming.add(bytes);
        while self.alert.is_none()
            && let Some((kind, carried)) =
                self.incoming.next().expect("the server's records are right")
        {
            assert!(!self.is_closed, "a record behind close_notify");
            match kind {
                Kind::Text if self.state == State::Secured => text.extend_from_slice(&carried),
                Kind::Alert if carried[0] == 0 => self.is_closed = true,
                Kind::Alert => self.alert = Some(AlertDescription(carried[0])),
                Kind::Handshake => self.take_message(&carried),
                Kind::Text => panic!("text of the server, {:?}", self.state),
            }
        }
    }

    fn take_message(&mut self, message: &[u8]) {
        self.state = match (self.state, message) {
            (State::AwaitsHello, message) => {
                self.answer = ServerHello::decode(message);
                assert!(self.answer.is_some(), "no answer: {message:?}");
                self.incoming.seal = Seal::new(self.hello.keys()[1]);
                State::AwaitsFlight
            }
            (State::AwaitsFlight, DONE | FINISHED) => State::Answered,
            (State::AwaitsFinished, FINISHED) => State::Secured,
            (State::Secured, TICKET) => {
                assert!(!self.has_ticket, "the ticket comes twice");
                self.has_ticket = true;
                State::Secured
            }
            (state, _) => panic!("message {message:?}, {state:?}"),
        };
    }

    /// The server's first flight has come.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.state >= State::Answered
    }

    /// [`Self::finish`] is due.
    #[must_use]
    pub fn is_to_finish(&self) -> bool {
        self.state == State::Answered
    }

    /// It is asked for a certificate.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.answer.is_some_and(|it| it.asks)
    }

    /// Shows this certificate, or none, if it is asked for one.
    pub fn show(&mut self, certificate: Option<u8>, records: &mut Vec<u8>) {
        self.begin_sealing();
        if self.is_asked() {
            let message = [&[CERTIFICATE], certificate.as_slice()].concat();
            self.seal.seal(Kind::Handshake, &message, records);
        }
    }

    /// Adds its last message.
    pub fn finish(&mut self, records: &mut Vec<u8>) {
        self.begin_sealing();
        self.seal.seal(Kind::Handshake, FINISHED, records);
        self.state = match self.answer {
            Some(answer) if answer.ends_with_client() => State::Secured,
            _ => State::AwaitsFinished,
        };
    }

    fn begin_sealing(&mut self) {
        if self.state == State::Answered && !self.seal.has_key() {
            self.seal = Seal::new(self.hello.keys()[0]);
        }
    }

    /// It may send text.
    #[must_use]
    pub fn may_send(&self) -> bool {
        self.state == State::Secured
    }

    /// Adds a record.
    pub fn send(&mut self, text: &[u8], records: &mut Vec<u8>) {
        assert!(self.may_send() && text.len() <= MOST);
        self.seal.seal(Kind::Text, text, records);
    }

    /// Adds a record that is broken.
    pub fn send_broken(&mut self, breakage: Breakage, records: &mut Vec<u8>) {
        self.begin_sealing();
        let at = records.len();
        self.seal.seal(Kind::Text, b"never heard", records);
        match breakage {
            Breakage::Checksum => records[at + 3] ^= 0x55,
            Breakage::Kind => records[at] = 99,
        }
    }

    /// Adds an alert: `0` announces the end.
    pub fn send_alert(&mut self, alert: u8, records: &mut Vec<u8>) {
        self.begin_sealing();
        self.seal.seal(Kind::Alert, &[alert], records);
    }

    /// The server has announced its end.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The server's alert. What follows it is not looked at.
    #[must_use]
    pub fn alert(&self) -> Option<AlertDescription> {
        self.alert
    }

    /// All that belongs to the handshake has come, of a server that gives tickets if `tickets` says so.
    #[must_use]
    pub fn is_settled(&self, tickets: bool) -> bool {
        let tls13 = self.version() == Some(ProtocolVersion::TLSv1_3);
        self.state == State::Secured && (self.has_ticket || !tls13 || !tickets)
    }

    /// What the server has chosen.
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.answer.map(|it| it.version)
    }

    /// See [`Self::version`].
    #[must_use]
    pub fn kind(&self) -> Option<HandshakeKind> {
        self.answer.map(|it| it.kind)
    }
}
