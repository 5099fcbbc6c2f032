//! TLS of the server stack.

use millrace_stack::batch::verdict_number;
use millrace_stack::tls::secure_context::{
    ClientCertificates, ContextOptions, Identity, SecureContext, TicketOptions,
};
use napi::bindgen_prelude::Buffer;
use napi::{Error, Result};
use napi_derive::napi;

use crate::ffi::node_api::List;
use crate::ffi::shared_memory::Bytes;
use crate::stack::with;

/// Certificates, the server's own first, and its key. DER; the key is PKCS #8.
#[napi(object, object_to_js = false)]
pub struct NativeIdentity {
    /// The chain.
    #[napi(ts_type = "Array<Uint8Array>")]
    pub chain: List<Bytes>,
    /// The private key.
    #[napi(ts_type = "Uint8Array")]
    pub key: Bytes,
}

/// What is asked of clients.
#[napi(object, object_to_js = false)]
pub struct NativeClientCertificates {
    /// Refuse clients without one.
    pub required: bool,
    /// Self-signed authorities, DER.
    #[napi(ts_type = "Array<Uint8Array>")]
    pub roots: List<Bytes>,
    /// Other certificates between a client's and a root.
    #[napi(ts_type = "Array<Uint8Array>")]
    pub intermediates: List<Bytes>,
    /// Tell clients the roots' names.
    pub hint: bool,
}

/// What a secure context is made of.
#[napi(object, object_to_js = false)]
pub struct NativeContextOptions {
    /// One for each kind of key.
    #[napi(ts_type = "Array<NativeIdentity>")]
    pub identities: List<NativeIdentity>,
    /// Clients are asked for certificates.
    pub clients: Option<NativeClientCertificates>,
    /// ALPN.
    #[napi(ts_type = "Array<Uint8Array>")]
    pub protocols: List<Bytes>,
    /// Versions that are spoken.
    pub tls12: bool,
    /// Versions that are spoken.
    pub tls13: bool,
    /// Suites by number, the preferred one first; empty: the default.
    #[napi(ts_type = "Array<number>")]
    pub suites: List<u16>,
    /// The client's preference counts.
    pub client_order: bool,
    /// Key exchange with ML-KEM is preferred.
    pub post_quantum: bool,
    /// 48 bytes; none: no tickets.
    #[napi(ts_type = "Uint8Array")]
    pub ticket_keys: Option<Bytes>,
    /// Tickets of another context are not taken.
    pub ticket_context: String,
    /// Seconds.
    pub ticket_lifetime: u32,
}

/// Prepares for handshakes, in the background.
#[napi]
pub fn stack_seed_random() {
    millrace_stack::seed_random();
}

/// A secure context, ready for use.
#[napi]
pub struct NativeSecureContext(SecureContext);

#[napi]
impl NativeSecureContext {
    /// The error says what cannot be used.
    #[napi(constructor)]
    pub fn new(options: NativeContextOptions) -> Result<Self> {
        let identities = options
            .identities
            .into_iter()
            .map(|identity| Identity { chain: bytes(identity.chain), key: identity.key.0 });
        let clients = options.clients.map(|clients| ClientCertificates {
            required: clients.required,
            roots: bytes(clients.roots),
            intermediates: bytes(clients.intermediates),
            hint: clients.hint,
        });
        let tickets = options.ticket_keys.and_then(|keys| {
            Some(TicketOptions {
                keys: keys.0.as_slice().try_into().ok()?,
                context: options.ticket_context.into_bytes(),
                lifetime: options.ticket_lifetime,
            })
        });
        let options = ContextOptions {
            identities: identities.collect(),
            clients,
            protocols: bytes(options.protocols),
            tls12: options.tls12,
            tls13: options.tls13,
            suites: options.suites.0,
            client_order: options.client_order,
            post_quantum: options.post_quantum,
            tickets,
        };
        SecureContext::new(options).map(Self).map_err(|error| Error::from_reason(error.to_string()))
    }
}

fn bytes(arrays: List<Bytes>) -> Vec<Vec<u8>> {
    arrays.into_iter().map(|array| array.0).collect()
}

/// Bytes of keying material at once: TLS 1.3 has no more than 16 KiB of them.
const MAX_MATERIAL: u32 = 1024 * 1024;

/// Answers a client's first message. `false`: nothing was answered. `told_alone`: requests come after
/// `stackStartRequests` only.
#[napi]
pub fn stack_choose(
    connection: u32,
    context: &NativeSecureContext,
    told_alone: bool,
) -> Result<bool> {
    with(|reactor| reactor.choose(connection as usize, &context.0, told_alone))
}

/// What handshakes with a server are answered with while JavaScript is busy; missing: they wait.
#[napi]
pub fn stack_set_context(server: u32, context: Option<&NativeSecureContext>) -> Result<()> {
    let context = context.map(|context| context.0.clone());
    with(|reactor| reactor.set_context(server as usize, context))
}

/// Receives requests, after an end of the handshake that was told alone.
#[napi]
pub fn stack_start_requests(connection: u32) -> Result<()> {
    with(|reactor| reactor.start(connection as usize))
}

/// Hands on the rest of the connection's text as it comes, with what is kept of it.
#[napi]
pub fn stack_raw(connection: u32) -> Result<()> {
    with(|reactor| reactor.through(connection as usize))
}

/// The certificates that a client has shown, its own first. DER.
#[napi]
pub fn stack_certificates(connection: u32) -> Result<Vec<Buffer>> {
    let certificates = with(|reactor| reactor.certificates(connection as usize))?;
    Ok(certificates.into_iter().map(Buffer::from).collect())
}

/// What a context has to say of a client's certificate, by the numbers of handshakes, where another process has asked for it.
#[napi]
pub fn stack_judge(connection: u32, context: &NativeSecureContext) -> Result<i32> {
    with(|reactor| {
        verdict_number(context.0.evaluate_presented(&reactor.certificates(connection as usize)))
    })
}

/// Keying material (RFC 5705).
#[napi]
pub fn stack_export(
    connection: u32,
    length: u32,
    label: String,
    #[napi(ts_arg_type = "Uint8Array | undefined | null")] context: Option<Bytes>,
) -> Result<Option<Buffer>> {
    let material = with(|reactor| {
        let tls = reactor.tls(connection as usize).filter(|_| length <= MAX_MATERIAL)?;
        let context = context.as_ref().map(|context| context.0.as_slice());
        tls.export(length as usize, label.as_bytes(), context)
    })?;
    Ok(material.map(Buffer::from))
}
