//! TLS between a reactor and a client.

use std::io::Read;
use std::sync::Arc;

use millrace_net::tls::secure_context::{ContextOptions, Identity, SecureContext, TicketOptions};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// The name that clients ask for.
const NAME: &str = "a";

/// A server's context, and what makes clients trust it.
pub(crate) fn configure(tickets: Option<TicketOptions>) -> (SecureContext, Arc<ClientConfig>) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.into()]).unwrap();
    let identity = Identity { chain: vec![cert.der().to_vec()], key: signing_key.serialize_der() };
    let context = SecureContext::new(ContextOptions {
        identities: vec![identity],
        clients: None,
        protocols: Vec::new(),
        tls12: true,
        tls13: true,
        suites: Vec::new(),
        client_order: false,
        post_quantum: false,
        tickets,
    });
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (context.unwrap(), Arc::new(config))
}

/// A client that begins a session.
pub(crate) fn begin(config: &Arc<ClientConfig>) -> ClientConnection {
    ClientConnection::new(Arc::clone(config), NAME.try_into().unwrap()).unwrap()
}

/// A server's context, and a client that trusts it.
pub(crate) fn both_sides() -> (SecureContext, ClientConnection) {
    let (context, config) = configure(None);
    (context, begin(&config))
}

/// Takes all that has arrived; gives what of it is text.
pub(crate) fn receive(client: &mut ClientConnection, mut socket: impl Read) -> Vec<u8> {
    let mut text = Vec::new();
    while client.read_tls(&mut socket).is_ok_and(|count| count > 0) {
        client.process_new_packets().unwrap();
        // Ends with an error: there is no end of the stream.
        client.reader().read_to_end(&mut text).ok();
    }
    text
}
