//! TLS for clients: configuration and tickets.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
    WebPkiServerVerifier,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, InvalidMessage, NamedGroup, OtherError,
    PeerIncompatible, RootCertStore,
};

use super::cipher_suites;
use super::client_session::ClientSession;
use super::client_stream::Scratch;
use super::server_verifier::{ServerVerifier, Trust};

/// How many tickets are kept: more than any run has connections at once in a handshake.
const MAX_TICKETS: usize = 16 * 1024;

/// What the caller says about trust and identity.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// Check the server's certificate chain and name. The handshake's signature is checked either way.
    pub verify: bool,
    /// Authorities to trust, PEM; the system's if `None`.
    pub authorities: Option<Vec<u8>>,
    /// More of them, PEM, if the system's are trusted.
    pub more_authorities: Option<Vec<u8>>,
    /// The client's certificate chain and key, PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Resume sessions; otherwise each handshake is a full one.
    pub resume: bool,
    /// Protocols to offer, in order of preference (ALPN, RFC 7301); none: not negotiated.
    pub protocols: Vec<Vec<u8>>,
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

/// Everything that the connections of a thread to one server share: configuration, tickets, the server's name, and memory.
#[derive(Clone, Debug)]
pub struct TlsTarget {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
    /// The lock is never contended: they belong to one thread.
    pub(super) scratch: Arc<Mutex<Scratch>>,
}

impl TlsTarget {
    /// Does what the first handshake of a thread would wait for: seeds its random numbers, for one.
    pub fn warm_up(&self) {
        // A session that nobody uses; should it fail, the first connection tells.
        drop(ClientSession::new(self, &mut Vec::new()));
    }
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
        let verifier = if options.verify {
            let (roots, given) = roots(options)?;
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
                    .build()
                    .map_err(|_| ConfigError::Authorities)?;
            let trust = Trust { verifier, given };
            ServerVerifier { provider: Arc::clone(&provider), trust: Some(trust) }
        } else {
            ServerVerifier { provider: Arc::clone(&provider), trust: None }
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
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
        config.alpn_protocols.clone_from(&options.protocols);
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
        Ok(TlsTarget { config: Arc::new(config), name, scratch: Arc::default() })
    }
}

/// The certificates of a PEM text.
fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).flatten().collect()
}

/// The authorities to trust, and those among them that the caller gave.
fn roots(
    options: &TlsOptions,
) -> Result<(Arc<RootCertStore>, Vec<CertificateDer<'static>>), ConfigError> {
    let mut roots = RootCertStore::empty();
    let given = options.authorities.as_ref().or(options.more_authorities.as_ref());
    let given = given.map(|pem| certificates(pem)).unwrap_or_default();
    roots.add_parsable_certificates(given.iter().cloned());
    if options.authorities.is_none() {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    match (roots.is_empty(), &options.authorities) {
        (false, _) => Ok((Arc::new(roots), given)),
        (true, Some(_)) => Err(ConfigError::Authorities),
        (true, None) => Err(ConfigError::SystemAuthorities),
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

pub(super) fn tls_error(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Whether a server refused all protocols that were offered (ALPN, RFC 7301, section 3.2).
#[must_use]
pub fn is_protocol_refused(error: &io::Error) -> bool {
    let error = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    let alert = AlertDescription::NoApplicationProtocol;
    error.is_some_and(|error| *error == rustls::Error::AlertReceived(alert))
}

/// An error of a handshake in words for a reader; `None` where the TLS layer's own words do.
#[must_use]
pub fn describe(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match error {
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
