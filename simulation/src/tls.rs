//! A client's side of TLS: what it does wrong, what has to come of that, and what the network has of it.

use std::fmt;

use fastrand::Rng;
use millrace_net::peer::Peer;
use millrace_net::tls::secure_context::{CertificateVerdict, VALID_CERTIFICATE};
use millrace_simulated_tls::client::{Breakage, ClientSession};
use millrace_simulated_tls::message::ClientHello;
use millrace_simulated_tls::record;
use millrace_simulated_tls::server::ServerConfig;
use millrace_stack::batch::{failed, secure};

/// What is no TLS.
const GARBAGE: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// The first message has at least so many bytes, and with what finishes a handshake so many.
const SHORTEST_HANDSHAKE: usize = 24;
/// An alert of a client that does not trust the server (RFC 8446, section 6).
const UNKNOWN_CA: u8 = 48;

/// Something that fails a session.
#[derive(Clone, Copy, Debug)]
enum Misdeed {
    Broken(Breakage),
    Alert(u8),
}

/// What a client does wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Its first bytes are no TLS.
    Garbage,
    /// It stops behind so many bytes, within the handshake.
    Silence(usize),
    /// It does this in place of its last message.
    Handshake(Misdeed),
    /// It does this behind so many records of text.
    Text(usize, Misdeed),
}

/// What ends behind some byte that a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Hello,
    Certificate,
    Finished,
    /// Text, up to here.
    Text(usize),
    /// What fails the session.
    Fault,
    /// That nothing more comes.
    Close,
}

/// What a client and the server agree on.
#[derive(Clone, Copy, Debug)]
struct Agreement {
    /// As [`millrace_stack::batch::Kind::Secure`] has them.
    flags: i32,
    verdict: CertificateVerdict,
    /// The client has to show a certificate, and has none.
    is_refused: bool,
}

/// A failure, as [`millrace_stack::batch::Kind::Failed`] tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) how: i32,
    pub(crate) alert: i32,
    pub(crate) text: &'static str,
    pub(crate) in_handshake: bool,
}

/// A client's side of TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    chance: Rng,
    session: ClientSession,
    hello: ClientHello,
    certificate: Option<u8>,
    fault: Option<Fault>,
    agreement: Option<Agreement>,
    gives_tickets: bool,
    /// All that it has to send so far, and how much of that the network has.
    bytes: Vec<u8>,
    taken: usize,
    /// What ends where in that; so many of these the network has, and among them these, which are no text.
    marks: Vec<(usize, Said)>,
    passed: usize,
    said: Vec<Said>,
    /// Records of text, and bytes in them.
    records: usize,
    text: usize,
    /// It has said its last.
    is_over: bool,
}

impl Tls {
    pub(crate) fn new(mut chance: Rng, config: &ServerConfig) -> Self {
        let hello = draw_hello(&mut chance);
        let certificate = *chance.choice(&[None, Some(VALID_CERTIFICATE), Some(7)]).unwrap();
        let fault = draw_fault(&mut chance);
        let mut bytes = Vec::new();
        let session = ClientSession::new(hello.clone(), &mut bytes);
        if let Some(Fault::Garbage) = fault {
            bytes = GARBAGE.to_vec();
        }
        let is_garbage = matches!(fault, Some(Fault::Garbage));
        let hello_ends = if is_garbage { record::HEADER } else { bytes.len() };
        Self {
            chance,
            session,
            agreement: agree(&hello, certificate, config),
            gives_tickets: config.tickets,
            hello,
            certificate,
            fault,
            bytes,
            taken: 0,
            marks: vec![(hello_ends, Said::Hello)],
            passed: 0,
            said: Vec::new(),
            records: 0,
            text: 0,
            is_over: is_garbage,
        }
    }

    /// The name that it asks for.
    pub(crate) fn name(&self) -> &str {
        self.hello.name.as_deref().unwrap_or_default()
    }

    /// It does not begin with TLS.
    pub(crate) fn is_garbage(&self) -> bool {
        matches!(self.fault, Some(Fault::Garbage))
    }

    /// The server can answer its first message.
    pub(crate) fn fits(&self) -> bool {
        self.agreement.is_some() && !self.is_garbage()
    }

    /// What the caller is told of a handshake that is done: flags and verdict.
    pub(crate) fn agreed(&self) -> (i32, CertificateVerdict) {
        let agreement = self.agreement.expect("they agree");
        (agreement.flags, agreement.verdict)
    }

    /// How its session fails, if the network has what fails it.
    pub(crate) fn failure(&self) -> Option<Failure> {
        if self.has_said(Said::Certificate) && self.agreement.is_some_and(|it| it.is_refused) {
            let how = failed::NO_CERTIFICATE;
            return Some(Failure { how, alert: 0, text: "", in_handshake: true });
        }
        let (misdeed, in_handshake) = match self.fault? {
            Fault::Handshake(misdeed) => (misdeed, true),
            Fault::Text(_, misdeed) => (misdeed, false),
            Fault::Garbage | Fault::Silence(_) => return None,
        };
        let (how, alert, text) = match misdeed {
            Misdeed::Broken(Breakage::Checksum) => (failed::DECRYPT, 0, ""),
            Misdeed::Broken(Breakage::Kind) => (failed::OTHER, 0, "InappropriateMessage"),
            Misdeed::Alert(alert) => (failed::ALERT, alert.into(), ""),
        };
        self.has_said(Said::Fault).then_some(Failure { how, alert, text, in_handshake })
    }

    /// The network has its first message.
    pub(crate) fn has_said_hello(&self) -> bool {
        self.has_said(Said::Hello)
    }

    /// The network has all of its part of the handshake.
    pub(crate) fn has_finished(&self) -> bool {
        self.has_said(Said::Finished)
    }

    /// The network has what announces its end.
    pub(crate) fn has_closed(&self) -> bool {
        self.has_said(Said::Close)
    }

    /// It has nothing to say, whatever its script has.
    pub(crate) fn says_no_more(&self) -> bool {
        let is_silent = matches!(self.fault, Some(Fault::Silence(_)));
        self.is_over || is_silent || !self.session.may_send()
    }

    fn has_said(&self, what: Said) -> bool {
        self.said.contains(&what)
    }

    /// Bytes of text in whole records that the network has, but for its last `unread` bytes.
    pub(crate) fn text_within(&self, unread: usize) -> usize {
        let read = self.taken - unread;
        let whole = self.marks.partition_point(|(end, _)| *end <= read);
        let text = self.marks[..whole].iter().rev().find_map(|(_, said)| match said {
            Said::Text(end) => Some(*end),
            _ => None,
        });
        text.unwrap_or_default()
    }

    /// What the server has read of it before anything was answered.
    pub(crate) fn begun(&self, unread: usize) -> &[u8] {
        &self.bytes[..self.taken - unread]
    }

    fn mark(&mut self, said: Said) {
        self.marks.push((self.bytes.len(), said));
    }

    fn misbehave(&mut self, misdeed: Misdeed) {
        let before = self.bytes.len();
        match misdeed {
            Misdeed::Broken(breakage) => self.session.send_broken(breakage, &mut self.bytes),
            Misdeed::Alert(alert) => self.session.send_alert(alert, &mut self.bytes),
        }
        // Of what is no record, the first bytes say so.
        let is_unknown = matches!(misdeed, Misdeed::Broken(Breakage::Kind));
        let end = if is_unknown { before + record::HEADER } else { self.bytes.len() };
        self.marks.push((end, Said::Fault));
        self.is_over = true;
    }

    /// Sends up to so many bytes: of the handshake, and of records with the script's text. Gives how many the network has taken.
    pub(crate) fn send(&mut self, peer: &mut Peer, script: &[u8], most: usize) -> usize {
        while self.bytes.len() - self.taken < most && !self.says_no_more() {
            if let Some(Fault::Text(records, misdeed)) = self.fault
                && self.records == records
            {
                self.misbehave(misdeed);
                break;
            }
            let rest = &script[self.text..];
            if rest.is_empty() {
                break;
            }
            let length = match self.chance.u8(..4) {
                0 => 1 + self.chance.usize(..rest.len().min(50)),
                _ => rest.len().min(record::MOST),
            };
            self.session.send(&rest[..length], &mut self.bytes);
            (self.records, self.text) = (self.records + 1, self.text + length);
            self.mark(Said::Text(self.text));
        }
        let mut end = self.bytes.len().min(self.taken + most);
        if let Some(Fault::Silence(behind)) = self.fault {
            end = end.min(behind);
        }
        let count = peer.send(&self.bytes[self.taken..end]);
        self.taken += count;
        while let Some((end, said)) = self.marks.get(self.passed)
            && *end <= self.taken
        {
            self.passed += 1;
            self.said.extend(Some(*said).filter(|said| !matches!(said, Said::Text(_))));
        }
        count
    }

    /// Takes what has come; gives the text in it.
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        self.session.receive(bytes, &mut text);
        if self.session.is_to_finish() && !self.is_over {
            if let Some(Fault::Handshake(misdeed)) = self.fault {
                self.misbehave(misdeed);
                return text;
            }
            self.session.show(self.certificate, &mut self.bytes);
            self.mark(Said::Certificate);
            self.session.finish(&mut self.bytes);
            self.mark(Said::Finished);
        }
        text
    }

    /// Announces its end; `false`: it cannot.
    pub(crate) fn close(&mut self) -> bool {
        if self.says_no_more() {
            return false;
        }
        self.session.send_alert(0, &mut self.bytes);
        self.mark(Said::Close);
        self.is_over = true;
        true
    }

    /// The server has sent an alert, which is none that ends it as it should.
    pub(crate) fn is_alerted(&self) -> bool {
        self.session.alert().is_some()
    }

    /// The server has announced its end.
    pub(crate) fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    /// Whether the network has all of the handshake that the server has to send by now.
    pub(crate) fn is_answered(&self, peer: &Peer, is_secured: bool) -> bool {
        let is_answered = |session: &ClientSession| match is_secured {
            true => session.is_settled(self.gives_tickets),
            false => session.is_answered(),
        };
        if is_answered(&self.session) || self.is_alerted() {
            return true;
        }
        let mut later = self.session.clone();
        later.receive(&peer.peek(), &mut Vec::new());
        is_answered(&later) || later.alert().is_some()
    }
}

impl fmt::Display for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hello, fault, agreement, taken, said, session, is_over, .. } = self;
        let (rest, is_closed) = (self.bytes.len() - taken, session.is_closed());
        write!(
            f,
            "{hello:?}, {fault:?}, {agreement:?}, sealed {taken} and {rest} more, said {said:?}, over \
             {is_over}, alert {:?}, closed {is_closed}",
            session.alert()
        )
    }
}

fn draw_hello(chance: &mut Rng) -> ClientHello {
    let name = *chance.choice(&[None, Some("a"), Some("b")]).unwrap();
    let (tls12, tls13) = match chance.u8(..8) {
        0 => (true, false),
        1 => (false, true),
        _ => (true, true),
    };
    ClientHello {
        random: chance.u32(..),
        tls12,
        tls13,
        resumes: chance.u8(..4) == 0,
        name: name.map(str::to_owned),
        protocols: chance.choice(&[&b""[..], b"h", b"h", b"xh", b"xh", b"x"]).unwrap().to_vec(),
    }
}

fn draw_fault(chance: &mut Rng) -> Option<Fault> {
    let misdeed = *chance
        .choice(&[
            Misdeed::Broken(Breakage::Checksum),
            Misdeed::Broken(Breakage::Kind),
            Misdeed::Alert(UNKNOWN_CA),
        ])
        .unwrap();
    match chance.u8(..16) {
        0 => Some(Fault::Garbage),
        1 => Some(Fault::Silence(chance.usize(..SHORTEST_HANDSHAKE))),
        2 => Some(Fault::Handshake(misdeed)),
        3..6 => Some(Fault::Text(*chance.choice(&[0, 1, 1, 2, 5]).unwrap(), misdeed)),
        _ => None,
    }
}

fn agree(hello: &ClientHello, certificate: Option<u8>, config: &ServerConfig) -> Option<Agreement> {
    let tls13 = hello.tls13 && config.tls13;
    if !(tls13 || hello.tls12 && config.tls12) {
        return None;
    }
    let mut protocols = config.alpn_protocols.iter();
    let protocol = protocols.position(|it| hello.protocols.contains(&it[0]));
    if protocol.is_none() && !config.alpn_protocols.is_empty() && !hello.protocols.is_empty() {
        return None;
    }
    let is_resumed = hello.resumes && config.tickets;
    let flag = |is: bool, flag: i32| if is { flag } else { 0 };
    // A handful of protocols.
    let protocol = protocol.map_or(0, |at| (at as i32 + 1) << secure::PROTOCOL_SHIFT);
    let shown = certificate.filter(|_| config.asks && !is_resumed);
    Some(Agreement {
        flags: flag(is_resumed, secure::RESUMED) | flag(tls13, secure::TLS13) | protocol,
        verdict: match shown {
            _ if !config.asks => CertificateVerdict::NotAsked,
            None => CertificateVerdict::Missing,
            Some(VALID_CERTIFICATE) => CertificateVerdict::Valid,
            Some(_) => CertificateVerdict::Untrusted,
        },
        is_refused: config.requires && !is_resumed && shown.is_none(),
    })
}
