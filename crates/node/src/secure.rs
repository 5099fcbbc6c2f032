//! TLS of the server stack.

use millrace_stack::batch::verdict_number;
use millrace_stack::secure_context::{
    ClientCertificates, ContextOptions, Identity, SecureContext, TicketOptions,
};
use napi::bindgen_prelude::{Buffer, Uint8Array};
use napi::{Error, Result};
use napi_derive::napi;

use crate::stack::with;

/// Certificates, the server's own first, and its key. DER; the key is PKCS #8.
#[napi(object)]
pub struct NativeIdentity {
    /// The chain.
    pub chain: Vec<Uint8Array>,
    /// The private key.
    pub key: Uint8Array,
}

/// What is asked of clients.
#[napi(object)]
pub struct NativeClientCertificates {
    /// Refuse clients without one.
    pub required: bool,
    /// Self-signed authorities, DER.
    pub roots: Vec<Uint8Array>,
    /// Other certificates between a client's and a root.
    pub intermediates: Vec<Uint8Array>,
    /// Tell clients the roots' names.
    pub hint: bool,
}

/// What a secure context is made of.
#[napi(object)]
pub struct NativeContextOptions {
    /// One for each kind of key.
    pub identities: Vec<NativeIdentity>,
    /// Clients are asked for certificates.
    pub clients: Option<NativeClientCertificates>,
    /// ALPN.
    pub protocols: Vec<Uint8Array>,
    /// Versions that are spoken.
    pub tls12: bool,
    /// Versions that are spoken.
    pub tls13: bool,
    /// Suites by number, the preferred one first; empty: the default.
    pub suites: Vec<u16>,
    /// The client's preference counts.
    pub client_order: bool,
    /// Key exchange with ML-KEM is preferred.
    pub post_quantum: bool,
    /// 48 bytes; none: no tickets.
    pub ticket_keys: Option<Uint8Array>,
    /// Tickets of another context are not taken.
    pub ticket_context: String,
    /// Seconds.
    pub ticket_lifetime: u32,
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
            .map(|identity| Identity { chain: bytes(identity.chain), key: identity.key.to_vec() });
        let clients = options.clients.map(|clients| ClientCertificates {
            required: clients.required,
            roots: bytes(clients.roots),
            intermediates: bytes(clients.intermediates),
            hint: clients.hint,
        });
        let tickets = options.ticket_keys.and_then(|keys| {
            Some(TicketOptions {
                keys: keys.as_ref().try_into().ok()?,
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
            suites: options.suites,
            client_order: options.client_order,
            post_quantum: options.post_quantum,
            tickets,
        };
        SecureContext::new(options).map(Self).map_err(|error| Error::from_reason(error.to_string()))
    }
}

fn bytes(arrays: Vec<Uint8Array>) -> Vec<Vec<u8>> {
    arrays.iter().map(|array| array.to_vec()).collect()
}

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
        verdict_number(context.0.judge_shown(&reactor.certificates(connection as usize)))
    })
}

/// Keying material (RFC 5705).
#[napi]
pub fn stack_export(
    connection: u32,
    length: u32,
    label: String,
    context: Option<Uint8Array>,
) -> Result<Option<Buffer>> {
    let material = with(|reactor| {
        let tls = reactor.tls(connection as usize)?;
        tls.export(length as usize, label.as_bytes(), context.as_deref())
    })?;
    Ok(material.map(Buffer::from))
}
