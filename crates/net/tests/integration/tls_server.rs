//! The server's side of TLS: what is read and written when, with a client of `rustls`.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use millrace_net::socket::Socket;
use millrace_net::tls::secure_context::{ContextOptions, Identity, SecureContext};
use millrace_net::tls::server::{CIPHERTEXT, Handshake, PLAINTEXT, ServerTlsStream};
use rcgen::generate_simple_self_signed;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

struct Client {
    socket: TcpStream,
    session: ClientConnection,
}

impl Client {
    /// The records that its session has for the server.
    fn records(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        while self.session.wants_write() {
            self.session.write_tls(&mut records).unwrap();
        }
        records
    }

    /// Records with this text, behind what else its session has.
    fn seal(&mut self, text: &[u8]) -> Vec<u8> {
        self.session.writer().write_all(text).unwrap();
        self.records()
    }

    fn send(&mut self, text: &[u8]) {
        let records = self.seal(text);
        // What was written to a loopback socket has arrived when the write returns.
        self.socket.write_all(&records).unwrap();
    }

    /// Receives so much text.
    fn receive(&mut self, length: usize) -> Vec<u8> {
        let mut text = vec![0; length];
        let mut at = 0;
        while at < length {
            match self.session.reader().read(&mut text[at..]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.session.read_tls(&mut self.socket).unwrap();
                    self.session.process_new_packets().unwrap();
                }
                read => at += read.unwrap(),
            }
        }
        text
    }
}

/// A client, and the server's stream: its handshake is done, but for what the client has not sent.
fn answered() -> (Client, ServerTlsStream) {
    let certificate = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(
        rustls::crypto::aws_lc_rs::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_root_certificates(roots)
    .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let identity = Identity {
        chain: vec![certificate.cert.der().to_vec()],
        key: certificate.signing_key.serialize_der(),
    };
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
    })
    .unwrap();

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    socket.set_nodelay(true).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    accepted.set_nonblocking(true).unwrap();
    let (accepted, _) = Socket::from_fd(OwnedFd::from(accepted)).unwrap();
    let (mut client, mut server) = (Client { socket, session }, ServerTlsStream::new(accepted));
    client.send(b"");
    assert_eq!(server.drive_handshake().unwrap(), Handshake::Hello);
    assert!(server.choose(&context));
    while client.session.is_handshaking() {
        client.session.read_tls(&mut client.socket).unwrap();
        client.session.process_new_packets().unwrap();
    }
    (client, server)
}

fn read(server: &mut ServerTlsStream) -> std::io::Result<(Vec<u8>, bool)> {
    let mut buffer = vec![0; PLAINTEXT + CIPHERTEXT];
    let read = server.read(&mut buffer)?;
    Ok((buffer[..read.count].to_vec(), read.drained))
}

#[test]
fn what_came_behind_the_text_of_a_handshake_is_not_taken_for_read() {
    let (mut client, mut server) = answered();
    client.send(b"with the handshake");
    assert_eq!(server.drive_handshake().unwrap(), Handshake::Done);
    client.send(b"later");
    assert_eq!(read(&mut server).unwrap(), (b"with the handshake".to_vec(), false));
    assert_eq!(read(&mut server).unwrap().0, b"later");
}

#[test]
fn an_end_behind_a_part_of_a_record_is_found_at_once() {
    let (mut client, mut server) = answered();
    client.send(b"");
    assert_eq!(server.drive_handshake().unwrap(), Handshake::Done);
    let record = client.seal(b"cut");
    client.socket.write_all(&record[..record.len() / 2]).unwrap();
    client.socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read(&mut server).unwrap().0, b"");
}

#[test]
fn text_is_taken_until_the_socket_is_full() {
    // More than the session takes at once, and less than the socket does.
    const LENGTH: usize = 100_000;
    let (mut client, mut server) = answered();
    client.send(b"");
    assert_eq!(server.drive_handshake().unwrap(), Handshake::Done);
    assert_eq!(server.write_two(&[b'a'; LENGTH], b"b").unwrap(), LENGTH + 1);
    assert_eq!(server.unsent(), 0);
    assert!(client.receive(LENGTH + 1) == [&[b'a'; LENGTH][..], b"b"].concat());
}

#[test]
fn what_waits_for_the_socket_is_sent_by_whoever_hears_of_it() {
    let (mut client, mut server) = answered();
    client.send(b"");
    assert_eq!(server.drive_handshake().unwrap(), Handshake::Done);
    let text = vec![b'a'; 1 << 20];
    let mut taken = 0;
    while server.unsent() == 0 {
        taken += server.write_two(&text, b"").unwrap();
    }
    // There is room again, which nobody has heard of, and the client has something to say.
    client.receive(taken - server.unsent());
    client.send(b"hello");
    assert_eq!(read(&mut server).unwrap().0, b"hello");
    assert!(server.unsent() > 0, "it was sent, and nobody knows");
    assert!(server.flush().unwrap());
    assert_eq!(server.unsent(), 0);
}
