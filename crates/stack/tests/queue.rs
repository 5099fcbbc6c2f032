//! The end of a handshake and the first response.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::tls::secure_context::{ContextOptions, Identity, SecureContext};
use millrace_stack::{Reactor, Settings};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A server's context, and a client that trusts it.
fn both_sides() -> (SecureContext, ClientConnection) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["a".to_owned()]).unwrap();
    let identity = Identity { chain: vec![cert.der().to_vec()], key: signing_key.serialize_der() };
    let context = SecureContext::new(ContextOptions {
        identities: vec![identity],
        clients: None,
        protocols: Vec::new(),
        tls12: true,
        tls13: true,
        suites: Vec::new(),
        client_order: false,
        post_quantum: false,
        tickets: None,
    });
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), "a".try_into().unwrap()).unwrap();
    (context.unwrap(), client)
}

/// The kinds of what has happened.
fn turn(reactor: &mut Reactor) -> Vec<i32> {
    let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
    let mut batch = Batch::new(&mut events, &mut bytes);
    reactor.turn(&mut batch).unwrap();
    let count = batch.count();
    events.chunks(EVENT_LENGTH).take(count).map(|event| event[0]).collect()
}

/// Takes all that has arrived; gives how much of it is text.
fn receive(client: &mut ClientConnection, mut socket: &UnixStream) -> usize {
    let mut text = Vec::new();
    while client.read_tls(&mut socket).is_ok_and(|count| count > 0) {
        client.process_new_packets().unwrap();
        // Ends with an error: there is no end of the stream.
        client.reader().read_to_end(&mut text).ok();
    }
    text.len()
}

#[test]
fn that_a_queue_has_left_is_told_also_when_the_handshake_has_just_ended() {
    let (context, mut client) = both_sides();
    let (socket, other) = UnixStream::pair().unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut reactor = Reactor::new().unwrap();
    let tls = Some(Duration::from_secs(10));
    let server = reactor.add_server(Settings { tls, ..Settings::default() });
    let id = reactor.adopt(server, other.into()).unwrap();

    client.write_tls(&mut &socket).unwrap();
    assert_eq!(turn(&mut reactor), [Kind::Hello as i32]);
    assert!(reactor.choose(id, &context, false));
    turn(&mut reactor);
    receive(&mut client, &socket);
    client.writer().write_all(REQUEST).unwrap();
    while client.wants_write() {
        client.write_tls(&mut &socket).unwrap();
    }
    assert_eq!(turn(&mut reactor), [Kind::Secure as i32, Kind::Request as i32]);

    let part = [0; 16 * 1024];
    let mut sent = 0;
    while reactor.send(id, &part, 0, false).unwrap() == 0 {
        sent += part.len();
    }
    sent += part.len();
    let mut received = receive(&mut client, &socket);
    // What is left has room now.
    reactor.wake_again();
    let mut told = Vec::new();
    while received < sent {
        received += receive(&mut client, &socket);
        told.extend(turn(&mut reactor));
    }
    assert_eq!(told, [Kind::Drained as i32]);
}
