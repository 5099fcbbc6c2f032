//! What a TLS server shows and accepts: certificates, versions, clients' certificates, tickets.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier,
};
use rustls::sign::CertifiedKey;
use rustls::{
    CipherSuite, DigitallySignedStruct, DistinguishedName, NamedGroup, RootCertStore, ServerConfig,
    SignatureScheme, SupportedProtocolVersion, version,
};

use super::cipher_suites;
use super::der::find_subject_key;
use super::tickets::TicketCipher;

/// Certificates, DER, each followed by those that lead to its authority; and the key of the first, PKCS #8.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The chain.
    pub chain: Vec<Vec<u8>>,
    /// The private key.
    pub key: Vec<u8>,
}

/// What is asked of clients.
#[derive(Clone, Debug, Default)]
pub struct ClientCertificates {
    /// A client without one is refused. What it shows is judged after the handshake.
    pub required: bool,
    /// Authorities, DER; only those that signed themselves.
    pub roots: Vec<Vec<u8>>,
    /// Other certificates that may stand between a client's and a root.
    pub intermediates: Vec<Vec<u8>>,
    /// Tell the client the roots' names.
    pub hint: bool,
}

/// Keys of tickets, see [`crate::tls::tickets`].
#[derive(Clone, Debug)]
pub struct TicketOptions {
    /// The keys.
    pub keys: [u8; crate::tls::tickets::KEY_BYTES],
    /// Tickets of another context are not taken.
    pub context: Vec<u8>,
    /// In seconds.
    pub lifetime: u32,
}

/// What a context is made of.
#[derive(Clone, Debug)]
pub struct ContextOptions {
    /// One for each kind of key; the first that fits the client is shown.
    pub identities: Vec<Identity>,
    /// `None`: clients are not asked.
    pub clients: Option<ClientCertificates>,
    /// ALPN, the preferred one first; none: not negotiated.
    pub protocols: Vec<Vec<u8>>,
    /// Versions that are spoken.
    pub tls12: bool,
    /// Versions that are spoken.
    pub tls13: bool,
    /// Suites by their numbers in IANA's registry, the preferred one first; those that rustls has not are left out.
    /// Empty: the default.
    pub suites: Vec<u16>,
    /// The client's preference among suites counts.
    pub client_order: bool,
    /// Key exchange with ML-KEM is preferred.
    pub post_quantum: bool,
    /// `None`: no tickets.
    pub tickets: Option<TicketOptions>,
}

/// What a server shows and accepts, ready for use and cheap to share.
#[derive(Clone, Debug)]
pub struct SecureContext {
    pub(crate) config: Arc<ServerConfig>,
    clients: Option<Arc<Clients>>,
}

/// What can be said of a client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateVerdict {
    /// The client was not asked.
    NotAsked,
    /// It has shown none.
    Missing,
    /// Its chain leads to one of the roots.
    Valid,
    /// It does not, or that cannot be told here.
    Untrusted,
}

impl SecureContext {
    /// Reads certificates and keys; the error says what cannot be used.
    pub fn new(options: ContextOptions) -> Result<Self, rustls::Error> {
        let provider = Arc::new(provider(&options.suites, options.post_quantum));
        let mut versions: Vec<&'static SupportedProtocolVersion> = Vec::new();
        if options.tls13 {
            versions.push(&version::TLS13);
        }
        if options.tls12 {
            versions.push(&version::TLS12);
        }
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)?;
        let clients = match options.clients {
            Some(asked) => Some(Arc::new(Clients::new(asked, Arc::clone(&provider))?)),
            None => None,
        };
        let builder = match &clients {
            Some(clients) => builder
                .with_client_cert_verifier(Arc::clone(clients) as Arc<dyn ClientCertVerifier>),
            None => builder.with_no_client_auth(),
        };
        let keys = options
            .identities
            .into_iter()
            .map(|identity| certified(identity, &provider))
            .collect::<Result<Vec<_>, _>>()?;
        let mut config = builder.with_cert_resolver(Arc::new(Identities(keys)));
        config.ignore_client_order = !options.client_order;
        config.alpn_protocols = options.protocols;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if let Some(tickets) = options.tickets {
            config.ticketer =
                Arc::new(TicketCipher::new(&tickets.keys, &tickets.context, tickets.lifetime));
        } else {
            config.send_tls13_tickets = 0;
        }
        Ok(Self { config: Arc::new(config), clients })
    }

    /// Judges certificates that a client has shown to somebody who has asked for them; DER, its own first.
    #[must_use]
    pub fn evaluate_presented(&self, certificates: &[Vec<u8>]) -> CertificateVerdict {
        let shown: Vec<_> =
            certificates.iter().map(|der| CertificateDer::from(der.clone())).collect();
        self.evaluate(Some(&shown))
    }

    /// Judges what a client has shown.
    pub(crate) fn evaluate(&self, shown: Option<&[CertificateDer<'static>]>) -> CertificateVerdict {
        let Some(clients) = &self.clients else { return CertificateVerdict::NotAsked };
        match shown.and_then(|chain| chain.split_first()) {
            None => CertificateVerdict::Missing,
            Some((certificate, chain)) if clients.leads_to_root(certificate, chain) => {
                CertificateVerdict::Valid
            }
            Some(_) => CertificateVerdict::Untrusted,
        }
    }
}

/// The suites that rustls has, in the order of Node.js's `tls.DEFAULT_CIPHERS`.
const SUITES: [CipherSuite; 9] = [
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];

fn provider(wanted: &[u16], post_quantum: bool) -> CryptoProvider {
    let mut provider = cipher_suites::provider();
    let all = std::mem::take(&mut provider.cipher_suites);
    let known = |number: CipherSuite| all.iter().find(|suite| suite.suite() == number).copied();
    provider.cipher_suites = if wanted.is_empty() {
        SUITES.into_iter().filter_map(known).collect()
    } else {
        wanted.iter().filter_map(|&number| known(number.into())).collect()
    };
    if post_quantum {
        provider.kx_groups.sort_by_key(|group| group.name() != NamedGroup::X25519MLKEM768);
    }
    provider
}

fn certified(
    identity: Identity,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, rustls::Error> {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.key));
    let key = provider.key_provider.load_private_key(key)?;
    let chain = identity.chain.into_iter().map(CertificateDer::from).collect();
    Ok(Arc::new(CertifiedKey::new(chain, key)))
}

/// The first identity whose key can sign as the client asks.
#[derive(Debug)]
struct Identities(Vec<Arc<CertifiedKey>>);

impl ResolvesServerCert for Identities {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let offered = hello.signature_schemes();
        self.0.iter().find(|identity| identity.key.choose_scheme(offered).is_some()).cloned()
    }
}

/// As OpenSSL under Node.js does it, the handshake takes any certificate whose key the client has; what it is
/// worth is judged afterwards.
#[derive(Debug)]
struct Clients {
    required: bool,
    hints: Vec<DistinguishedName>,
    /// `None` without roots: nothing is valid then.
    verifier: Option<Arc<dyn ClientCertVerifier>>,
    intermediates: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Clients {
    fn new(
        asked: ClientCertificates,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(asked.roots.into_iter().map(CertificateDer::from));
        let hints = if asked.hint { roots.subjects() } else { Vec::new() };
        let verifier = if roots.is_empty() {
            None
        } else {
            let builder =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            Some(builder.build().map_err(|error| rustls::Error::General(error.to_string()))?)
        };
        let intermediates = asked.intermediates.into_iter().map(CertificateDer::from).collect();
        Ok(Self { required: asked.required, hints, verifier, intermediates, provider })
    }

    fn leads_to_root(
        &self,
        certificate: &CertificateDer<'static>,
        chain: &[CertificateDer<'static>],
    ) -> bool {
        let Some(verifier) = &self.verifier else { return false };
        let chain = [chain, &self.intermediates].concat();
        verifier.verify_client_cert(certificate, &chain, UnixTime::now()).is_ok()
    }
}

impl ClientCertVerifier for Clients {
    fn client_auth_mandatory(&self) -> bool {
        self.required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match verify_tls13_signature(message, certificate, signature, algorithms) {
            // X.509 version 1, which OpenSSL takes.
            Err(rustls::Error::InvalidCertificate(_)) => {
                let key =
                    SubjectPublicKeyInfoDer::from(find_subject_key(certificate).unwrap_or(&[]));
                verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
            }
            result => result,
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
