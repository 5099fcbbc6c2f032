//! TLS for clients: configuration, tickets, and the stream that carries it.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
    WebPkiServerVerifier, verify_server_name,
};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind,
    NamedGroup, OtherError, RootCertStore, SignatureScheme,
};

use crate::stream::Socket;
use crate::{Progress, Read, suites};

/// How many tickets are kept: more than any run has connections at once in a handshake.
const MAX_TICKETS: usize = 16 * 1024;

/// What the caller says about trust and identity.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// Check the server's certificate chain and name. The handshake's signature is checked either way.
    pub verify: bool,
    /// Authorities to trust, PEM; the system's if `None`.
    pub authorities: Option<Vec<u8>>,
    /// The client's certificate chain and key, PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Resume sessions; otherwise each handshake is a full one.
    pub resume: bool,
}

/// Why no TLS configuration could be made.
#[derive(Debug)]
pub enum ConfigError {
    /// The authorities hold no certificate.
    Authorities,
    /// The system has no certificate authorities.
    SystemAuthorities,
    /// Certificate or key cannot be read, or do not fit each other.
    Identity(String),
    /// The name is neither a host name nor an address.
    Name(String),
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Authorities => f.write_str("the CA file holds no PEM certificate"),
            Self::SystemAuthorities => {
                f.write_str("this system has no certificate authorities: name some with --ca")
            }
            Self::Identity(why) => write!(f, "client certificate or key: {why}"),
            Self::Name(name) => write!(f, "{name:?} is not a server name"),
        }
    }
}

/// Everything that connections to one server share: configuration, tickets, the server's name.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Trust and identity, read once and shared by all threads.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    config: ClientConfig,
    resume: bool,
}

impl TlsSettings {
    /// Reads authorities and identity.
    pub fn new(options: &TlsOptions) -> Result<Self, ConfigError> {
        let provider = Arc::new(suites::provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| ConfigError::Identity(error.to_string()))?;
        let builder = if options.verify {
            let given = certificates(options.authorities.as_deref())?;
            let verifier = WebPkiServerVerifier::builder_with_provider(roots(&given)?, provider)
                .build()
                .map_err(|_| ConfigError::Authorities)?;
            let verifier = KnownCertificate { verifier, given: given.unwrap_or_default() };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        } else {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        };
        let mut config = match &options.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let identity =
                    |error: &dyn std::fmt::Display| ConfigError::Identity(error.to_string());
                let chain = CertificateDer::pem_slice_iter(chain)
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|error| identity(&error))?;
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| identity(&error))?;
                builder.with_client_auth_cert(chain, key).map_err(|error| identity(&error))?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config, resume: options.resume })
    }

    /// What the connections of one thread to one server share; its tickets are theirs alone.
    pub fn server(&self, name: &str) -> Result<Tls, ConfigError> {
        let mut config = self.config.clone();
        config.resumption = if self.resume {
            Resumption::store(Arc::new(Tickets::default()))
        } else {
            Resumption::disabled()
        };
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| ConfigError::Name(name.to_owned()))?;
        Ok(Tls { config: Arc::new(config), name })
    }
}

/// The certificates of a PEM text.
fn certificates(pem: Option<&[u8]>) -> Result<Option<Vec<CertificateDer<'static>>>, ConfigError> {
    let Some(pem) = pem else { return Ok(None) };
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem).flatten().collect();
    if certificates.is_empty() { Err(ConfigError::Authorities) } else { Ok(Some(certificates)) }
}

/// The given authorities, or the system's.
fn roots(given: &Option<Vec<CertificateDer<'static>>>) -> Result<Arc<RootCertStore>, ConfigError> {
    let mut roots = RootCertStore::empty();
    match given {
        Some(given) => drop(roots.add_parsable_certificates(given.iter().cloned())),
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    match (roots.is_empty(), given) {
        (false, _) => Ok(Arc::new(roots)),
        (true, Some(_)) => Err(ConfigError::Authorities),
        (true, None) => Err(ConfigError::SystemAuthorities),
    }
}

/// Checks chain and name by the book, and takes the server's own certificate if that very one was given
/// as an authority: a certificate made for a test is its own authority, which the book does not foresee.
#[derive(Debug)]
struct KnownCertificate {
    verifier: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for KnownCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.verifier.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            Err(error) if is_authority(&error) && self.given.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// The server's certificate is one of an authority, and has no other fault that was seen.
fn is_authority(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(error))) = error
    else {
        return false;
    };
    matches!(error.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// Takes any chain and name; the signature over the handshake is still checked, so that a handshake
/// costs what it costs any client.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The sessions of one thread with one server. A TLS 1.3 ticket is used once (RFC 8446, appendix C.4),
/// so as many are kept as connections may want at the same time. The lock is never contended.
#[derive(Debug, Default)]
struct Tickets {
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    tls13: VecDeque<Tls13ClientSessionValue>,
    tls12: Option<Tls12ClientSessionValue>,
    group: Option<NamedGroup>,
}

impl Tickets {
    fn with<R>(&self, f: impl FnOnce(&mut Sessions) -> R) -> R {
        f(&mut self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.with(|sessions| sessions.group = Some(group));
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.with(|sessions| sessions.group)
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.with(|sessions| sessions.tls12 = Some(value));
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.with(|sessions| sessions.tls12.clone())
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.with(|sessions| sessions.tls12 = None);
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.with(|sessions| {
            if sessions.tls13.len() == MAX_TICKETS {
                sessions.tls13.pop_front();
            }
            sessions.tls13.push_back(value);
        });
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.with(|sessions| sessions.tls13.pop_front())
    }
}

/// A client's TLS over a socket.
#[derive(Debug)]
pub struct TlsStream {
    socket: Socket,
    session: ClientConnection,
    connected: bool,
    /// Decrypted bytes that wait to be read.
    pending: usize,
    /// The socket had no more at the last look.
    drained: bool,
}

impl TlsStream {
    pub(crate) fn new(socket: Socket, tls: &Tls) -> io::Result<Self> {
        let session =
            ClientConnection::new(Arc::clone(&tls.config), tls.name.clone()).map_err(tls_error)?;
        Ok(Self { socket, session, connected: false, pending: 0, drained: false })
    }

    pub(crate) fn establish(&mut self) -> io::Result<Progress> {
        if !self.connected {
            if self.socket.establish()? == Progress::Connecting {
                return Ok(Progress::Connecting);
            }
            self.connected = true;
        }
        loop {
            // The client's last message stays until something is sent after it: both in one segment.
            if !self.session.is_handshaking() {
                // What the socket gave to the handshake says nothing about what has come since.
                self.drained = false;
                let resumed = self.session.handshake_kind() == Some(HandshakeKind::Resumed);
                return Ok(Progress::Ready { resumed: Some(resumed) });
            }
            if !self.flush()? {
                return Ok(Progress::Handshaking);
            }
            match self.fill() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Progress::Handshaking);
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
                Ok(count) => {
                    self.pending = self.pending.saturating_sub(count);
                    let drained = self.drained && self.pending == 0;
                    self.drained &= !drained;
                    return Ok(Read { count, drained });
                }
            }
            // No text: only the socket itself can say that there is no more, or that it has ended.
            self.fill()?;
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.session.writer().write(bytes)?;
        // The session has taken the bytes, and some may be out: an error is told by the next call.
        let _ = self.flush();
        Ok(count)
    }

    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Plain(&mut self.socket, &mut false)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Takes in what the socket has and decrypts it. An end of the stream is left to the reader, which
    /// knows whether the peer announced it.
    fn fill(&mut self) -> io::Result<()> {
        let count = self.session.read_tls(&mut Plain(&mut self.socket, &mut self.drained))?;
        if count == 0 && self.session.is_handshaking() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let handshaking = self.session.is_handshaking();
        let result = self.session.process_new_packets();
        if self.session.wants_write() && (result.is_err() || !handshaking) {
            // An alert, or a key update; if it cannot go out now it goes with the next bytes.
            self.flush()?;
        }
        self.pending = result.map_err(tls_error)?.plaintext_bytes_to_read();
        Ok(())
    }
}

/// The socket as `std::io` traits, noting whether a read emptied it.
struct Plain<'a>(&'a mut Socket, &'a mut bool);

impl io::Read for Plain<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Read { count, drained } = self.0.read(buffer)?;
        *self.1 = drained;
        Ok(count)
    }
}

impl io::Write for Plain<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tls_error(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The error is the TLS layer's, not the socket's.
#[must_use]
pub fn is_tls_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}
