use std::error::Error;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustls::HandshakeKind;
use rustls::crypto::aws_lc_rs::{self, Ticketer, cipher_suite, kx_group};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, ServerConnection};
use rustls::version::TLS13;

use crate::answers::{Answers, Unfinished};
use crate::counts::Counts;

/// TLS 1.3 with session tickets, for the certificate and key in these PEM files, and the protocol of
/// this name (ALPN).
///
/// One cipher suite and one key exchange group, so that every client does the same work.
pub fn config(cert: &str, key: &str, protocol: &[u8]) -> Result<Arc<ServerConfig>, Box<dyn Error>> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = vec![cipher_suite::TLS13_AES_128_GCM_SHA256];
    provider.kx_groups = vec![kx_group::X25519];
    let chain = CertificateDer::pem_file_iter(cert)?.collect::<Result<Vec<_>, _>>()?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    config.ticketer = Ticketer::new()?;
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(Arc::new(config))
}

/// The TLS side of a connection.
pub struct Session {
    connection: ServerConnection,
    /// Where the handshake is counted once it is done.
    uncounted: Option<&'static Counts>,
}

impl Session {
    pub fn new(config: Arc<ServerConfig>, counts: &'static Counts) -> Result<Self, rustls::Error> {
        let mut connection = ServerConnection::new(config)?;
        connection.set_buffer_limit(None);
        Ok(Self { connection, uncounted: Some(counts) })
    }

    /// What to send in answer to the ciphertext `input`, and whether the connection ends with it.
    pub fn answer(
        &mut self,
        unfinished: &mut Unfinished,
        mut input: &[u8],
        answers: &mut Answers,
    ) -> io::Result<(Vec<u8>, bool)> {
        let mut plain = [0; 1 << 14];
        let mut close = false;
        while !input.is_empty() && !close {
            self.connection.read_tls(&mut input)?;
            self.connection.process_new_packets().map_err(io::Error::other)?;
            // `WouldBlock` ends the plaintext for now; 0 is the client's close_notify.
            while let Ok(count) = self.connection.reader().read(&mut plain) {
                if count == 0 || close {
                    close = true;
                    break;
                }
                let (responses, last) = answers.to(unfinished, &plain[..count]);
                self.connection.writer().write_all(responses)?;
                close = last;
            }
        }
        if close {
            self.connection.send_close_notify();
        }
        self.count_handshake();
        let mut output = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut output)?;
        }
        Ok((output, close))
    }

    fn count_handshake(&mut self) {
        if !self.connection.is_handshaking()
            && let Some(counts) = self.uncounted.take()
        {
            let count = match self.connection.handshake_kind() {
                Some(HandshakeKind::Resumed) => &counts.tls_resumed,
                _ => &counts.tls_full,
            };
            count.fetch_add(1, Relaxed);
        }
    }
}
