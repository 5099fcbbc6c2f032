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
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SignatureVerificationAlgorithm, UnixTime,
};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct,
    HandshakeKind, InvalidMessage, NamedGroup, OtherError, PeerIncompatible, RootCertStore,
    SignatureScheme,
};

use super::cipher_suites;
use crate::socket::Socket;
use crate::{Progress, Read};

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
pub struct TlsTarget {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Trust and identity, read once and shared by all threads.
#[derive(Clone, Debug)]
pub struct ClientTlsConfig {
    config: ClientConfig,
    resume: bool,
}

impl ClientTlsConfig {
    /// Reads authorities and identity.
    pub fn new(options: &TlsOptions) -> Result<Self, ConfigError> {
        let provider = Arc::new(cipher_suites::provider());
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
    pub fn server(&self, name: &str) -> Result<TlsTarget, ConfigError> {
        let mut config = self.config.clone();
        config.resumption = if self.resume {
            Resumption::store(Arc::new(SessionStore::default()))
        } else {
            Resumption::disabled()
        };
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| ConfigError::Name(name.to_owned()))?;
        Ok(TlsTarget { config: Arc::new(config), name })
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

impl AnyCertificate {
    /// Checks a signature by nothing but the key of a certificate that is otherwise refused as a whole, such as one of X.509
    /// version 1. An RSA key below the 2048 bits that signatures are checked with is taken at its word.
    fn verify_bare(
        &self,
        error: rustls::Error,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let Some(key) = subject_key(certificate) else { return Err(error) };
        if is_short_rsa(key) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let key = SubjectPublicKeyInfoDer::from(key);
        let Ok(key) = webpki::RawPublicKeyEntity::try_from(&key) else { return Err(error) };
        let algorithms = self.0.signature_verification_algorithms.mapping;
        let of_scheme = algorithms.iter().filter(|(scheme, _)| *scheme == signature.scheme);
        let mut of_scheme = of_scheme.flat_map(|(_, algorithms)| *algorithms);
        let fits = |algorithm: &&dyn SignatureVerificationAlgorithm| {
            key.verify_signature(*algorithm, message, signature.signature()).is_ok()
        };
        if of_scheme.any(fits) { Ok(HandshakeSignatureValid::assertion()) } else { Err(error) }
    }
}

/// The SubjectPublicKeyInfo of a certificate of any version (RFC 5280, section 4.1).
fn subject_key<'a>(certificate: &'a CertificateDer<'_>) -> Option<&'a [u8]> {
    let (outer, _) = der::value(certificate, der::SEQUENCE)?;
    let (mut rest, _) = der::value(outer, der::SEQUENCE)?;
    if rest.first() == Some(&der::VERSION) {
        rest = der::skip(rest)?;
    }
    // Serial number, signature, issuer, validity, subject.
    for _ in 0..5 {
        rest = der::skip(rest)?;
    }
    let after = der::skip(rest)?;
    Some(&rest[..rest.len() - after.len()])
}

/// The key is one of RSA whose modulus has fewer than 2048 bits.
fn is_short_rsa(key: &[u8]) -> bool {
    /// rsaEncryption, 1.2.840.113549.1.1.1.
    const RSA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
    let modulus = || {
        let (inner, _) = der::value(key, der::SEQUENCE)?;
        let (algorithm, rest) = der::value(inner, der::SEQUENCE)?;
        let (bits, _) = der::value(rest, der::BIT_STRING).filter(|_| algorithm.starts_with(RSA))?;
        let (numbers, _) = der::value(bits.strip_prefix(&[0])?, der::SEQUENCE)?;
        let (modulus, _) = der::value(numbers, der::INTEGER)?;
        Some(modulus.strip_prefix(&[0]).unwrap_or(modulus).len())
    };
    modulus().is_some_and(|bytes| bytes < 2048 / 8)
}

/// As much of DER as finds its way through a certificate.
mod der {
    pub(super) const INTEGER: u8 = 2;
    pub(super) const BIT_STRING: u8 = 3;
    pub(super) const SEQUENCE: u8 = 0x30;
    /// The explicit tag 0, which a certificate of version 1 does not have.
    pub(super) const VERSION: u8 = 0xa0;

    /// What an element of this type holds, and what follows it.
    pub(super) fn value(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
        if bytes.first() == Some(&tag) { split(bytes) } else { None }
    }

    /// What follows the first element.
    pub(super) fn skip(bytes: &[u8]) -> Option<&[u8]> {
        split(bytes).map(|(_, after)| after)
    }

    fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        let [_, first, rest @ ..] = bytes else { return None };
        let (length, rest) = match *first {
            short @ 0..=0x7f => (usize::from(short), rest),
            long @ 0x81..=0x83 => {
                let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
            }
            _ => return None,
        };
        rest.split_at_checked(length)
    }
}

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
            .or_else(|error| self.verify_bare(error, message, certificate, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
            .or_else(|error| self.verify_bare(error, message, certificate, signature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The sessions of one thread with one server. A TLS 1.3 ticket is used once (RFC 8446, appendix C.4),
/// so as many are kept as connections may want at the same time. The lock is never contended.
#[derive(Debug, Default)]
struct SessionStore {
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    tls13: VecDeque<Tls13ClientSessionValue>,
    tls12: Option<Tls12ClientSessionValue>,
    group: Option<NamedGroup>,
}

impl SessionStore {
    fn with<R>(&self, f: impl FnOnce(&mut Sessions) -> R) -> R {
        f(&mut self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ClientSessionStore for SessionStore {
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
pub struct ClientTlsStream {
    socket: Socket,
    session: ClientConnection,
    connected: bool,
    /// Decrypted bytes that wait to be read.
    pending: usize,
    /// The socket had no more at the last look.
    drained: bool,
}

impl ClientTlsStream {
    pub(crate) fn new(socket: Socket, tls: &TlsTarget) -> io::Result<Self> {
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
            // An alert, or a key update; if it cannot go out now it goes with the next bytes. Where nothing can go out any
            // more, what the peer said before is still to be read: why it refuses a body, for one.
            let _ = self.flush();
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

/// An error of a handshake in words for a reader; `None` where the TLS layer's own words do.
#[must_use]
pub fn describe(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match error {
        rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            "the server does not speak HTTP/1.1 over TLS, only another protocol such as HTTP/2 (ALPN)".to_owned()
        }
        rustls::Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) => "the server does not speak TLS: use http://".to_owned(),
        rustls::Error::AlertReceived(AlertDescription::ProtocolVersion)
        | rustls::Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered) => {
            "the server speaks none of TLS 1.2 and TLS 1.3".to_owned()
        }
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server asks for a client certificate: --cert and --key".to_owned()
        }
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) => {
            match inner.downcast_ref()? {
                webpki::Error::UnsupportedCertVersion => {
                    "the certificate is of X.509 version 1, which cannot be verified".to_owned()
                }
                webpki::Error::CaUsedAsEndEntity => {
                    "the server's certificate is one of an authority".to_owned()
                }
                other => format!("the certificate cannot be verified: {other:?}"),
            }
        }
        _ => return None,
    })
}

/// The error is the TLS layer's, not the socket's.
#[must_use]
pub fn is_tls_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}
