//! What a server shows and accepts.

use std::sync::Arc;

use rustls::server::ServerConfig;

/// A certificate that leads to one of the server's roots. Any other does not.
pub const VALID_CERTIFICATE: u8 = 1;

/// What a server speaks and asks for.
#[derive(Clone, Debug)]
pub struct SecureContext {
    pub(crate) config: Arc<ServerConfig>,
}

/// The verdict on a client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in crates/net")]
pub enum CertificateVerdict {
    NotAsked,
    Missing,
    Valid,
    Untrusted,
}

impl SecureContext {
    /// Creates one.
    #[must_use]
    pub fn new(config: ServerConfig) -> Self {
        Self { config: Arc::new(config) }
    }

    /// Judges what a client has shown.
    pub(crate) fn evaluate(&self, shown: Option<&[Vec<u8>]>) -> CertificateVerdict {
        match shown {
            _ if !self.config.asks => CertificateVerdict::NotAsked,
            None | Some([]) => CertificateVerdict::Missing,
            Some([first, ..]) if first == &[VALID_CERTIFICATE] => CertificateVerdict::Valid,
            Some(_) => CertificateVerdict::Untrusted,
        }
    }
}
