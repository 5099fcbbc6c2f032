//! TLS against a server of `rustls` on a thread.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use millrace_net::tls::{ClientTlsConfig, ConfigError, TlsOptions, TlsTarget, is_tls_error};
use millrace_net::{Address, Read, Transport as _};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CertifiedKey, DnType, GeneralSubtree,
    IsCa, KeyPair, NameConstraints, generate_simple_self_signed,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::client::Client;

type Certificate = CertifiedKey<KeyPair>;

fn certificate(name: &str) -> Certificate {
    generate_simple_self_signed([name.to_owned()]).unwrap()
}

/// As `openssl req -x509` makes them: an authority of its own.
fn own_authority(name: &str) -> Certificate {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let signing_key = KeyPair::generate().unwrap();
    CertifiedKey { cert: params.self_signed(&signing_key).unwrap(), signing_key }
}

fn pem(certificate: &Certificate) -> Vec<u8> {
    certificate.cert.pem().into_bytes()
}

fn key(certificate: &Certificate) -> PrivateKeyDer<'static> {
    PrivateKeyDer::try_from(certificate.signing_key.serialize_der()).unwrap()
}

fn server_config(
    certificate: &Certificate,
    version: &'static rustls::SupportedProtocolVersion,
    clients: Option<&Certificate>,
) -> Arc<ServerConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[version])
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let mut roots = RootCertStore::empty();
            roots.add(client.cert.der().clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let chain = vec![certificate.cert.der().clone()];
    let mut config = builder.with_single_cert(chain, key(certificate)).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Takes connections one after the other, until one begins with a plain `q`.
struct Server {
    address: Address,
    thread: JoinHandle<()>,
}

impl Server {
    fn start(mut serve: impl FnMut(TcpStream) -> io::Result<()> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Inet(listener.local_addr().unwrap());
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                // What was written has arrived when the write returns.
                stream.set_nodelay(true).unwrap();
                let mut first = [0];
                if stream.peek(&mut first).is_ok_and(|count| count == 1) && first == *b"q" {
                    return;
                }
                // What went wrong is seen by the client.
                let _ = serve(stream);
            }
        });
        Self { address, thread }
    }

    /// Sends back what it reads up to a `.`, closes as TLS has it.
    fn echo(config: Arc<ServerConfig>) -> Self {
        Self::start(move |socket| {
            let mut stream =
                StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
            let mut bytes = Vec::new();
            let mut buffer = [0; 4096];
            while bytes.last() != Some(&b'.') {
                let count = stream.read(&mut buffer)?;
                bytes.extend_from_slice(&buffer[..count]);
            }
            stream.write_all(&bytes)?;
            stream.conn.send_close_notify();
            stream.flush()
        })
    }

    fn stop(self) {
        let Address::Inet(address) = self.address else { unreachable!() };
        TcpStream::connect(address).unwrap().write_all(b"q").unwrap();
        self.thread.join().unwrap();
    }
}

fn trusting(certificate: &Certificate) -> TlsOptions {
    TlsOptions { verify: true, authorities: Some(pem(certificate)), ..TlsOptions::default() }
}

fn tls(options: &TlsOptions) -> TlsTarget {
    ClientTlsConfig::new(options).unwrap().server("localhost").unwrap()
}

/// Whether the handshake was resumed.
fn exchange(server: &Server, tls: &TlsTarget) -> io::Result<bool> {
    let (mut client, resumed) = Client::connect(&server.address, Some(tls))?;
    client.write_all(b"hello.")?;
    assert_eq!(client.read_to_end()?, b"hello.");
    Ok(resumed.expect("there is TLS"))
}

#[test]
fn the_first_handshake_is_full_and_the_next_ones_are_resumed() {
    for version in [&TLS13, &TLS12] {
        let certificate = certificate("localhost");
        let server = Server::echo(server_config(&certificate, version, None));
        let resuming = tls(&TlsOptions { resume: true, ..trusting(&certificate) });
        let found: Vec<bool> = (0..3).map(|_| exchange(&server, &resuming).unwrap()).collect();
        assert_eq!(found, [false, true, true], "{version:?}");
        server.stop();
    }
}

#[test]
fn each_handshake_is_full_where_that_is_asked_for() {
    let certificate = certificate("localhost");
    let server = Server::echo(server_config(&certificate, &TLS13, None));
    let full = tls(&trusting(&certificate));
    assert!(!exchange(&server, &full).unwrap());
    assert!(!exchange(&server, &full).unwrap());
    server.stop();
}

#[test]
fn the_protocol_is_the_first_of_the_servers_that_is_offered() {
    for version in [&TLS13, &TLS12] {
        let certificate = certificate("localhost");
        let server = Server::echo(server_config(&certificate, version, None));
        for (offered, chosen) in [
            (&["http/1.1"][..], Some(0)),
            (&["http/1.1", "h2"], Some(1)),
            (&["unknown", "http/1.1"], Some(1)),
            (&[], None),
        ] {
            let protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
            let offering = tls(&TlsOptions { resume: true, protocols, ..trusting(&certificate) });
            // The second handshake is resumed: it negotiates, too.
            for resumed in [false, true] {
                let (mut client, found, protocol) =
                    Client::negotiate(&server.address, Some(&offering)).unwrap();
                assert_eq!((found, protocol), (Some(resumed), chosen), "{offered:?}, {version:?}");
                client.write_all(b"hello.").unwrap();
                assert_eq!(client.read_to_end().unwrap(), b"hello.");
            }
        }
        server.stop();
    }
}

#[test]
fn tickets_are_not_shared_between_threads() {
    let certificate = certificate("localhost");
    let server = Server::echo(server_config(&certificate, &TLS13, None));
    let options = TlsOptions { resume: true, ..trusting(&certificate) };
    let settings = ClientTlsConfig::new(&options).unwrap();
    let (one, other) =
        (settings.server("localhost").unwrap(), settings.server("localhost").unwrap());
    assert!(!exchange(&server, &one).unwrap());
    assert!(!exchange(&server, &other).unwrap());
    assert!(exchange(&server, &one).unwrap());
    server.stop();
}

#[test]
fn an_unknown_authority_is_an_error_of_tls() {
    let (certificate, another) = (certificate("localhost"), certificate("localhost"));
    let server = Server::echo(server_config(&certificate, &TLS13, None));
    let error = exchange(&server, &tls(&trusting(&another))).unwrap_err();
    assert!(is_tls_error(&error), "{error:?}");
    server.stop();
}

#[test]
fn a_certificate_for_another_name_is_an_error_of_tls() {
    let certificate = certificate("another.example");
    let server = Server::echo(server_config(&certificate, &TLS13, None));
    let error = exchange(&server, &tls(&trusting(&certificate))).unwrap_err();
    assert!(is_tls_error(&error), "{error:?}");
    server.stop();
}

#[test]
fn a_certificate_that_is_its_own_authority_is_trusted_when_it_was_given() {
    let (certificate, another) = (own_authority("localhost"), own_authority("localhost"));
    let server = Server::echo(server_config(&certificate, &TLS13, None));
    assert!(!exchange(&server, &tls(&trusting(&certificate))).unwrap());
    let error = exchange(&server, &tls(&trusting(&another))).unwrap_err();
    assert!(is_tls_error(&error), "{error:?}");
    server.stop();

    let elsewhere = own_authority("another.example");
    let server = Server::echo(server_config(&elsewhere, &TLS13, None));
    let error = exchange(&server, &tls(&trusting(&elsewhere))).unwrap_err();
    assert!(is_tls_error(&error), "{error:?}");
    server.stop();
}

#[test]
fn a_certificate_with_another_fault_is_not_trusted_because_it_was_given() {
    let mut params = CertificateParams::new([]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let elsewhere = vec![GeneralSubtree::DnsName("another.example".into())];
    params.name_constraints =
        Some(NameConstraints { permitted_subtrees: elsewhere, excluded_subtrees: Vec::new() });
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signing_key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let cert = params.signed_by(&signing_key, &authority).unwrap();
    let certificate = CertifiedKey { cert, signing_key };

    let server = Server::echo(server_config(&certificate, &TLS13, None));
    let authorities = [authority.pem().into_bytes(), pem(&certificate)].concat();
    let options = TlsOptions { authorities: Some(authorities), ..trusting(&certificate) };
    let error = exchange(&server, &tls(&options)).unwrap_err();
    assert!(is_tls_error(&error), "{error:?}");
    server.stop();
}

#[test]
fn any_certificate_will_do_without_verification() {
    let certificate = certificate("another.example");
    let server = Server::echo(server_config(&certificate, &TLS13, None));
    assert!(!exchange(&server, &tls(&TlsOptions::default())).unwrap());
    server.stop();
}

#[test]
fn a_client_shows_its_certificate() {
    let (certificate, own) = (certificate("localhost"), certificate("client"));
    let server = Server::echo(server_config(&certificate, &TLS13, Some(&own)));
    let identity = Some((pem(&own), own.signing_key.serialize_pem().into_bytes()));
    let known = tls(&TlsOptions { identity, ..trusting(&certificate) });
    assert!(!exchange(&server, &known).unwrap());
    let error = exchange(&server, &tls(&trusting(&certificate))).unwrap_err();
    assert!(is_tls_error(&error), "{error:?}");
    server.stop();
}

/// The handshake has emptied the socket; the event of what came later has been taken before the first
/// read.
#[test]
fn what_comes_after_the_handshake_is_read_at_its_event() {
    let certificate = certificate("localhost");
    let config = server_config(&certificate, &TLS13, None);
    let (sender, written) = mpsc::channel();
    let server = Server::start(move |socket| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
        stream.read_exact(&mut [0; 6])?;
        stream.write_all(b"answer")?;
        sender.send(()).unwrap();
        stream.read_exact(&mut [0; 1])
    });
    let (mut client, _) =
        Client::connect(&server.address, Some(&tls(&trusting(&certificate)))).unwrap();
    client.write_all(b"hello.").unwrap();
    written.recv().unwrap();
    let mut buffer = [0; 100];
    let mut waited = false;
    let read = client.drive(|stream, _| {
        if std::mem::replace(&mut waited, true) {
            stream.read(&mut buffer)
        } else {
            Err(ErrorKind::WouldBlock.into())
        }
    });
    assert_eq!(read.unwrap().count, 6);
    client.write_all(b".").unwrap();
    server.stop();
}

#[test]
fn what_was_decrypted_is_read_without_another_event() {
    let certificate = certificate("localhost");
    let config = server_config(&certificate, &TLS13, None);
    let server = Server::start(move |socket| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
        stream.read_exact(&mut [0; 6])?;
        stream.write_all(&[b'x'; 3000])?;
        stream.read_exact(&mut [0; 1])
    });
    let (mut client, _) =
        Client::connect(&server.address, Some(&tls(&trusting(&certificate)))).unwrap();
    client.write_all(b"hello.").unwrap();
    let (mut buffer, mut total) = ([0; 1000], 0);
    let read = client.drive(|stream, _| {
        loop {
            let Read { count, drained } = stream.read(&mut buffer)?;
            total += count;
            match (total, drained) {
                (3000, _) => return Ok(()),
                (_, true) => return Err(ErrorKind::WouldBlock.into()),
                (_, false) => {}
            }
        }
    });
    read.unwrap();
    client.write_all(b".").unwrap();
    server.stop();
}

#[test]
fn more_than_any_buffer_holds_goes_both_ways() {
    let certificate = certificate("localhost");
    let server = Server::echo(server_config(&certificate, &TLS13, None));
    let (mut client, _) =
        Client::connect(&server.address, Some(&tls(&trusting(&certificate)))).unwrap();
    let mut much: Vec<u8> = (0..4_000_000u32).map(|n| (n % 7) as u8).collect();
    much.push(b'.');
    client.write_all(&much).unwrap();
    assert!(client.read_to_end().unwrap() == much, "the bytes have changed");
    server.stop();
}

/// All of the client's hello, so that a close after it is no reset.
fn read_hello(socket: &mut TcpStream) -> io::Result<()> {
    let mut header = [0; 5];
    socket.read_exact(&mut header)?;
    let mut hello = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
    socket.read_exact(&mut hello)
}

#[test]
fn a_peer_that_does_not_speak_tls_is_an_error_of_tls() {
    let server = Server::start(|mut socket| {
        read_hello(&mut socket)?;
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    });
    let error = exchange(&server, &tls(&TlsOptions::default())).unwrap_err();
    assert!(is_tls_error(&error), "{error:?}");
    server.stop();
}

#[test]
fn a_close_in_the_handshake_is_an_early_end_and_no_error_of_tls() {
    let server = Server::start(|mut socket| read_hello(&mut socket));
    let error = exchange(&server, &tls(&TlsOptions::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert!(!is_tls_error(&error), "{error:?}");
    server.stop();
}

#[test]
fn a_close_that_was_not_announced_is_told_from_one_that_was() {
    let certificate = certificate("localhost");
    let config = server_config(&certificate, &TLS13, None);
    let server = Server::start(move |socket| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
        stream.read_exact(&mut [0; 6])?;
        stream.write_all(b"cut")
    });
    let (mut client, _) =
        Client::connect(&server.address, Some(&tls(&trusting(&certificate)))).unwrap();
    client.write_all(b"hello.").unwrap();
    assert_eq!(client.read_to_end().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    server.stop();
}

#[test]
fn settings_that_cannot_be_used_say_why() {
    let error = |options: TlsOptions| ClientTlsConfig::new(&options).err().unwrap();
    let nonsense = || Some(b"nonsense".to_vec());
    let no_authority =
        error(TlsOptions { verify: true, authorities: nonsense(), ..TlsOptions::default() });
    assert!(matches!(no_authority, ConfigError::Authorities));
    let (one, other) = (certificate("a"), certificate("b"));
    let mismatch = Some((pem(&one), other.signing_key.serialize_pem().into_bytes()));
    let mismatch = error(TlsOptions { identity: mismatch, ..TlsOptions::default() });
    assert!(matches!(mismatch, ConfigError::Identity(_)), "{mismatch}");
    let no_key =
        error(TlsOptions { identity: nonsense().zip(nonsense()), ..TlsOptions::default() });
    assert!(matches!(no_key, ConfigError::Identity(_)), "{no_key}");
    let name =
        ClientTlsConfig::new(&TlsOptions::default()).unwrap().server("no name").err().unwrap();
    assert_eq!(name.to_string(), "\"no name\" is not a server name");
}

/// The records that a server's session has for its client.
fn take_records(session: &mut ServerConnection) -> Vec<u8> {
    let mut records = Vec::new();
    while session.wants_write() {
        session.write_tls(&mut records).unwrap();
    }
    records
}

#[test]
fn what_came_before_a_bad_record_is_read_before_its_error() {
    let certificate = certificate("localhost");
    let config = server_config(&certificate, &TLS13, None);
    let server = Server::start(move |socket| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
        stream.read_exact(&mut [0; 6])?;
        stream.conn.writer().write_all(b"answer")?;
        let mut records = take_records(&mut stream.conn);
        records.extend_from_slice(&[23, 3, 3, 0, 20]);
        records.extend_from_slice(&[0; 20]);
        stream.sock.write_all(&records)?;
        // The client says why it ends the session.
        let error = stream.read_exact(&mut [0; 1]).unwrap_err();
        assert!(error.to_string().contains("BadRecordMac"), "{error}");
        Ok(())
    });
    let (mut client, _) =
        Client::connect(&server.address, Some(&tls(&trusting(&certificate)))).unwrap();
    client.write_all(b"hello.").unwrap();
    let mut buffer = [0; 100];
    let read = client.drive(|stream, _| stream.read(&mut buffer)).unwrap();
    assert_eq!((read.count, read.drained), (6, false), "the error waits");
    assert_eq!(buffer[..6], *b"answer");
    let error = client.drive(|stream, _| stream.read(&mut buffer)).unwrap_err();
    assert!(is_tls_error(&error), "{error:?}");
    server.stop();
}

#[test]
fn discarded_bytes_are_counted_and_those_behind_them_are_read() {
    const LENGTH: usize = 300_000;
    const DISCARDED: usize = 200_001;
    let text: Vec<u8> = (0..LENGTH).map(|index| (index % 251) as u8).collect();
    for version in [&TLS13, &TLS12] {
        let certificate = certificate("localhost");
        let config = server_config(&certificate, version, None);
        let sent = text.clone();
        let server = Server::start(move |socket| {
            let session = ServerConnection::new(config.clone()).unwrap();
            let mut stream = StreamOwned::new(session, socket);
            stream.read_exact(&mut [0; 6])?;
            stream.write_all(&sent)?;
            stream.conn.send_close_notify();
            stream.flush()
        });
        let (mut client, _) =
            Client::connect(&server.address, Some(&tls(&trusting(&certificate)))).unwrap();
        client.write_all(b"hello.").unwrap();
        let (mut scratch, mut left) = (vec![0; LENGTH], DISCARDED);
        client
            .drive(|stream, _| {
                while left > 0 {
                    left -= stream.discard(&mut scratch[..left])?.count;
                }
                Ok(())
            })
            .unwrap();
        assert!(client.read_to_end().unwrap() == text[DISCARDED..], "the rest is another one");
        server.stop();
    }
}

/// The error of a client whose hello is answered by this alert.
fn answered_by(alert: [u8; 2]) -> io::Error {
    let server = Server::start(move |mut socket| {
        read_hello(&mut socket)?;
        socket.write_all(&[21, 3, 3, 0, 2, alert[0], alert[1]])
    });
    let error = exchange(&server, &tls(&TlsOptions::default())).unwrap_err();
    server.stop();
    error
}

#[test]
fn a_close_that_is_announced_in_the_handshake_is_an_early_end() {
    assert_eq!(answered_by([1, 0]).kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn an_alert_in_the_handshake_is_an_error_of_tls() {
    let error = answered_by([2, 40]);
    assert!(is_tls_error(&error), "{error:?}");
}
