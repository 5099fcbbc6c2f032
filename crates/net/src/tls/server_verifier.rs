//! What a client checks of a server's certificate.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{
    CertificateDer, ServerName, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};

use super::der::{find_subject_key, is_short_rsa};

/// Checks the server's certificate. The signature over the handshake is checked in any case, so that a handshake costs what
/// it costs any client.
#[derive(Debug)]
pub(super) struct ServerVerifier {
    pub(super) provider: Arc<CryptoProvider>,
    /// `None`: any chain and name are accepted.
    pub(super) trust: Option<Trust>,
}

/// Accepts chains to an authority, and the server's own certificate if it is one of the authorities that the user named: a
/// certificate made for a test is its own authority, which the verifier refuses.
#[derive(Debug)]
pub(super) struct Trust {
    pub(super) verifier: Arc<WebPkiServerVerifier>,
    /// The authorities that the user named.
    pub(super) given: Vec<CertificateDer<'static>>,
}

impl ServerVerifier {
    /// Verifies a signature with the key alone of a certificate that the TLS library refuses as a whole, such as one of X.509
    /// version 1; only where any chain is accepted. With an RSA key of fewer than 2048 bits, for which there is no algorithm, any signature is accepted.
    fn verify_bare(
        &self,
        error: rustls::Error,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let (None, Some(key)) = (&self.trust, find_subject_key(certificate)) else {
            return Err(error);
        };
        if is_short_rsa(key) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let key = SubjectPublicKeyInfoDer::from(key);
        let Ok(key) = webpki::RawPublicKeyEntity::try_from(&key) else { return Err(error) };
        let algorithms = self.provider.signature_verification_algorithms.mapping;
        let of_scheme = algorithms.iter().filter(|(scheme, _)| *scheme == signature.scheme);
        let mut of_scheme = of_scheme.flat_map(|(_, algorithms)| *algorithms);
        let fits = |algorithm: &&dyn SignatureVerificationAlgorithm| {
            key.verify_signature(*algorithm, message, signature.signature()).is_ok()
        };
        if of_scheme.any(fits) { Ok(HandshakeSignatureValid::assertion()) } else { Err(error) }
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(Trust { verifier, given }) = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified =
            verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(error) if is_authority(&error) && given.contains(end_entity) => {
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
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
            .or_else(|error| self.verify_bare(error, message, certificate, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
            .or_else(|error| self.verify_bare(error, message, certificate, signature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Whether the server's certificate is that of an authority, and no other fault has been found.
fn is_authority(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(error))) = error
    else {
        return false;
    };
    matches!(error.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}
