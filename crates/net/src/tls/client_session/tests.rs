//! Sessions with a server in memory, whose records arrive in any parts.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use proptest::prelude::*;
use rcgen::generate_simple_self_signed;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::version::{TLS12, TLS13};
use rustls::{AlertDescription, Error, ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::ClientSession;
use crate::tls::{ClientTlsConfig, TlsOptions, is_tls_error};

/// A client and a server, and what is on its way between them.
struct Pair {
    client: ClientSession,
    server: ServerConnection,
    /// From the client.
    outgoing: Vec<u8>,
    /// From the server.
    incoming: Vec<u8>,
    /// What the client has received.
    text: Vec<u8>,
    /// Lengths of the parts in which the server's bytes arrive, used in turn.
    parts: Vec<usize>,
    turn: usize,
    buffer: Vec<u8>,
}

impl Pair {
    /// A pair before its handshake. The server's records have at most `fragment` bytes.
    fn new(
        version: &'static SupportedProtocolVersion,
        fragment: Option<usize>,
        parts: &[usize],
    ) -> Self {
        let certified = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_protocol_versions(&[version])
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![certified.cert.der().clone()], key)
                .unwrap();
        config.max_fragment_size = fragment;
        config.ticketer = aws_lc_rs::Ticketer::new().unwrap();
        let options = TlsOptions { resume: true, ..TlsOptions::default() };
        let target = ClientTlsConfig::new(&options).unwrap().server("localhost").unwrap();
        let mut outgoing = Vec::new();
        let client = ClientSession::new(&target, &mut outgoing).unwrap();
        let mut server = ServerConnection::new(Arc::new(config)).unwrap();
        server.set_buffer_limit(None);
        let (incoming, text, buffer) = (Vec::new(), Vec::new(), Vec::new());
        Self { client, server, outgoing, incoming, text, parts: parts.to_vec(), turn: 0, buffer }
    }

    /// A pair after its handshake.
    fn connected(
        version: &'static SupportedProtocolVersion,
        fragment: Option<usize>,
        parts: &[usize],
    ) -> Self {
        let mut pair = Self::new(version, fragment, parts);
        while pair.client.is_handshaking() || pair.server.is_handshaking() {
            pair.deliver_to_server().unwrap();
            pair.deliver_to_client();
        }
        pair
    }

    /// Takes the client's bytes to the server, whose answers wait.
    fn deliver_to_server(&mut self) -> Result<(), Error> {
        let outgoing = std::mem::take(&mut self.outgoing);
        let mut bytes = &outgoing[..];
        let mut result = Ok(());
        while !bytes.is_empty() && result.is_ok() {
            self.server.read_tls(&mut bytes).unwrap();
            result = self.server.process_new_packets().map(drop);
        }
        self.collect();
        result
    }

    fn collect(&mut self) {
        while self.server.wants_write() {
            self.server.write_tls(&mut self.incoming).unwrap();
        }
    }

    /// Takes the server's bytes to the client, in parts.
    fn deliver_to_client(&mut self) {
        self.deliver_to_client_and(|_| {});
    }

    /// The same; something is done after each part.
    fn deliver_to_client_and(&mut self, mut after_part: impl FnMut(&mut Self)) {
        let incoming = std::mem::take(&mut self.incoming);
        let mut bytes = &incoming[..];
        while !bytes.is_empty() {
            let most = self.parts[self.turn % self.parts.len()];
            self.turn += 1;
            let (part, rest) = bytes.split_at(most.min(bytes.len()));
            bytes = rest;
            let begun = self.client.put_begun(&mut self.buffer, part.len());
            let received = &mut self.buffer[..begun + part.len()];
            received[begun..].copy_from_slice(part);
            let text = &mut self.text;
            self.client.receive(received, &mut self.outgoing, |bytes| {
                text.extend_from_slice(bytes);
            });
            after_part(self);
        }
    }

    fn server_writes(&mut self, text: &[u8]) {
        self.server.writer().write_all(text).unwrap();
        self.collect();
    }

    /// The client writes; returns what the server reads.
    fn client_writes(&mut self, text: &[u8]) -> Vec<u8> {
        let mut records = Vec::new();
        let end = self.client.seal(text, &mut records, 0).unwrap();
        self.outgoing.extend_from_slice(&records[..end]);
        self.deliver_to_server().unwrap();
        let mut read = Vec::new();
        // It blocks when it has given all.
        let _ = self.server.reader().read_to_end(&mut read);
        read
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

/// Handshake, text, a key update, text, and the end.
fn everything(
    version: &'static SupportedProtocolVersion,
    fragment: Option<usize>,
    parts: &[usize],
) {
    let mut pair = Pair::connected(version, fragment, parts);
    let text = pattern(40_000);
    pair.server_writes(&text[..25_000]);
    assert_eq!(pair.client_writes(b"one"), b"one");
    if version.version == TLS13.version {
        pair.server.refresh_traffic_keys().unwrap();
        pair.collect();
    }
    pair.server_writes(&text[25_000..]);
    pair.deliver_to_client();
    assert!(pair.text == text, "the text has changed");
    assert!(!pair.client.end().unwrap());
    // The answer to the key update goes before it.
    assert_eq!(pair.client_writes(b"two"), b"two");
    pair.server.send_close_notify();
    pair.collect();
    // What comes behind the end is ignored.
    pair.incoming.extend_from_slice(b"garbage");
    pair.deliver_to_client();
    assert!(pair.client.end().unwrap());
    assert_eq!(pair.text.len(), text.len());
    assert_eq!(pair.client_writes(b"three"), b"three");
}

#[test]
fn records_arrive_byte_by_byte_and_all_at_once() {
    for version in [&TLS13, &TLS12] {
        for fragment in [None, Some(32), Some(33), Some(1000)] {
            everything(version, fragment, &[1]);
            everything(version, fragment, &[usize::MAX]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn records_are_cut_anywhere(
        tls12 in any::<bool>(),
        fragment in prop_oneof![Just(None), (32usize..600).prop_map(Some)],
        parts in prop::collection::vec(prop_oneof![1usize..40, 1usize..20_000], 1..20),
    ) {
        everything(if tls12 { &TLS12 } else { &TLS13 }, fragment, &parts);
    }

    /// The beginning of a record, or of a session ticket in several of them, is kept meanwhile.
    #[test]
    fn the_client_writes_between_any_parts(
        tls12 in any::<bool>(),
        fragment in 32usize..600,
        parts in prop::collection::vec(prop_oneof![1usize..40, 1usize..2000], 1..20),
    ) {
        let version = if tls12 { &TLS12 } else { &TLS13 };
        let mut pair = Pair::connected(version, Some(fragment), &parts);
        let text = pattern(5000);
        pair.server_writes(&text);
        pair.deliver_to_client_and(|pair| assert_eq!(pair.client_writes(b"one"), b"one"));
        prop_assert!(pair.text == text, "the text has changed");
        prop_assert!(!pair.client.end().unwrap());
    }

    /// What is no TLS, in the place of the server's next record, is refused or waits, and is no text.
    #[test]
    fn any_bytes_are_refused_or_wait(
        handshake in any::<bool>(),
        header in prop_oneof![
            Just(Vec::new()),
            (20u8..25, 0u16..600).prop_map(|(kind, length)| [&[kind, 3, 3][..], &length.to_be_bytes()].concat()),
        ],
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        parts in prop::collection::vec(1usize..2000, 1..20),
    ) {
        let mut pair = if handshake {
            Pair::new(&TLS13, None, &parts)
        } else {
            let mut pair = Pair::connected(&TLS13, None, &parts);
            pair.deliver_to_client();
            pair
        };
        pair.incoming.extend_from_slice(&header);
        pair.incoming.extend_from_slice(&bytes);
        pair.deliver_to_client();
        prop_assert!(pair.text.is_empty());
        let waits = pair.client.end().is_ok();
        prop_assert_eq!(pair.client.seal(b"text", &mut Vec::new(), 0).is_ok(), waits && !handshake);
    }

    /// Bytes that were changed give an error or an end, and no other text.
    #[test]
    fn a_changed_byte_changes_no_text(
        tls12 in any::<bool>(),
        handshake in any::<bool>(),
        at in any::<prop::sample::Index>(),
        change in 1u8..,
        parts in prop::collection::vec(1usize..20_000, 1..20),
    ) {
        let version = if tls12 { &TLS12 } else { &TLS13 };
        let mut pair = if handshake {
            let mut pair = Pair::new(version, Some(200), &parts);
            pair.deliver_to_server().unwrap();
            pair
        } else {
            let mut pair = Pair::connected(version, Some(200), &parts);
            pair.server_writes(&pattern(5000));
            pair
        };
        let at = at.index(pair.incoming.len());
        pair.incoming[at] ^= change;
        pair.deliver_to_client();
        let text = pattern(5000);
        prop_assert!(pair.text == text[..pair.text.len()], "text that was not sent");
        if pair.client.end().is_err() {
            prop_assert!(pair.client.seal(b"more", &mut Vec::new(), 0).is_err());
        }
    }
}

#[test]
fn the_text_before_a_bad_record_is_passed_on_and_the_server_is_told() {
    for version in [&TLS13, &TLS12] {
        let mut pair = Pair::connected(version, None, &[usize::MAX]);
        pair.server_writes(b"good");
        let good = pair.incoming.len();
        pair.server_writes(b"bad");
        *pair.incoming.last_mut().unwrap() ^= 1;
        assert!(pair.incoming.len() > good);
        pair.server_writes(b"not looked at");
        pair.deliver_to_client();
        assert_eq!(pair.text, b"good");
        assert!(is_tls_error(&pair.client.end().unwrap_err()));
        assert_eq!(
            pair.deliver_to_server(),
            Err(Error::AlertReceived(AlertDescription::BadRecordMac)),
            "{version:?}",
        );
    }
}

#[test]
fn the_text_before_an_alert_is_passed_on() {
    for version in [&TLS13, &TLS12] {
        let mut pair = Pair::connected(version, None, &[usize::MAX]);
        pair.server_writes(b"text");
        // What no client sends: the server answers with an alert.
        pair.outgoing.extend_from_slice(&[23, 3, 3, 0, 32]);
        pair.outgoing.extend_from_slice(&[0; 32]);
        assert!(pair.deliver_to_server().is_err());
        pair.deliver_to_client();
        assert_eq!(pair.text, b"text");
        let error = pair.client.end().unwrap_err();
        assert!(is_tls_error(&error), "{error:?}");
        assert!(error.to_string().contains("BadRecordMac"), "{error}");
    }
}

#[test]
fn a_handshake_message_without_end_is_an_error() {
    // A certificate, of which more and more comes, a byte for each record.
    let mut pair = Pair::new(&TLS12, None, &[usize::MAX]);
    pair.deliver_to_server().unwrap();
    let hello = 5 + usize::from(u16::from_be_bytes([pair.incoming[3], pair.incoming[4]]));
    pair.incoming.truncate(hello);
    pair.incoming.extend_from_slice(&[22, 3, 3, 0, 4, 11, 0, 0xff, 0]);
    for _ in 0..60_000 {
        pair.incoming.extend_from_slice(&[22, 3, 3, 0, 1, 0]);
    }
    pair.deliver_to_client();
    assert!(pair.client.end().is_err());
}
