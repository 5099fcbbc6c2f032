//! The memory of a session over a socket that takes little at a time.

use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rcgen::generate_simple_self_signed;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};

use super::{ClientTlsStream, MAX_WRITE};
use crate::Progress;
use crate::socket::Socket;
use crate::tls::{ClientTlsConfig, TlsOptions};

fn server() -> ServerConnection {
    let certified = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}

/// A client after its handshake, and the other end of its socket.
fn connected() -> (ClientTlsStream, UnixStream) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let target = ClientTlsConfig::new(&TlsOptions::default()).unwrap().server("localhost").unwrap();
    let mut client = ClientTlsStream::new(Socket::from_known(ours.into(), true), &target);
    let mut server = server();
    while !matches!(client.establish().unwrap(), Progress::Ready { .. }) {
        // It blocks where the client has sent nothing new.
        let _ = server.read_tls(&mut theirs);
        server.process_new_packets().unwrap();
        while server.wants_write() {
            server.write_tls(&mut theirs).unwrap();
        }
    }
    (client, theirs)
}

/// Writes until the socket and the client take no more.
fn write_all(client: &mut ClientTlsStream) {
    loop {
        match client.write(&[b'x'; 1000]) {
            Ok(count) => assert_eq!(count, 1000),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn records_that_were_sent_are_not_kept_while_others_wait() {
    let (mut client, mut server) = connected();
    let mut part = [0; 16 * 1024];
    for _ in 0..100 {
        write_all(&mut client);
        server.read_exact(&mut part).unwrap();
    }
    assert!(client.unsent.len() <= 4 * MAX_WRITE, "{} bytes are kept", client.unsent.len());
}
