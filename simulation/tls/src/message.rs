//! The messages of a handshake. Their first byte is the number that RFC 8446, appendix B.3, gives them.

/// A version that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtocolVersion {
    /// The client has to wait for the server's last message.
    TLSv1_2,
    /// The client's last message and its first text are one flight.
    TLSv1_3,
}

/// How a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeKind {
    /// With all messages.
    Full,
    /// From a ticket of an earlier one.
    Resumed,
}

/// The server's last message in version 1.2 before the client's.
pub(crate) const DONE: &[u8] = &[14];
/// The last message of a side.
pub(crate) const FINISHED: &[u8] = &[20];
/// What resumes a session.
pub(crate) const TICKET: &[u8] = b"\x04a ticket";
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
/// A client's certificates: each is one byte.
pub(crate) const CERTIFICATE: u8 = 11;

/// A client's first message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    /// What keys are made of.
    pub random: u32,
    /// Versions that it speaks.
    pub tls12: bool,
    /// See `tls12`.
    pub tls13: bool,
    /// It has a ticket.
    pub resumes: bool,
    /// The server that it asks for.
    pub name: Option<String>,
    /// ALPN: each is one byte.
    pub protocols: Vec<u8>,
}

impl ClientHello {
    /// The same as [`Self::name`].
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![CLIENT_HELLO];
        bytes.extend_from_slice(&self.random.to_be_bytes());
        bytes.extend([self.tls12, self.tls13, self.resumes].map(u8::from));
        bytes.push(self.protocols.len() as u8);
        bytes.extend_from_slice(&self.protocols);
        bytes.extend_from_slice(self.name.as_deref().unwrap_or_default().as_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[kind, a, b, c, d, tls12, tls13, resumes, count], rest) =
            bytes.split_first_chunk()?;
        let (protocols, name) = rest.split_at_checked(usize::from(count))?;
        let name = String::from_utf8(name.to_vec()).ok()?;
        (kind == CLIENT_HELLO).then(|| Self {
            random: u32::from_be_bytes([a, b, c, d]),
            tls12: tls12 == 1,
            tls13: tls13 == 1,
            resumes: resumes == 1,
            name: (!name.is_empty()).then_some(name),
            protocols: protocols.to_vec(),
        })
    }

    /// Keys of the client's records and of the server's.
    pub(crate) fn keys(&self) -> [u32; 2] {
        let key = |salt: u32| (self.random ^ salt).wrapping_mul(0x9e37_79b1) | 1;
        [key(0x1234), key(0x5678)]
    }
}

/// A server's first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerHello {
    pub(crate) version: ProtocolVersion,
    pub(crate) kind: HandshakeKind,
    /// The client is to show a certificate.
    pub(crate) asks: bool,
}

impl ServerHello {
    pub(crate) fn encode(self) -> Vec<u8> {
        let flags = [
            self.version == ProtocolVersion::TLSv1_3,
            self.kind == HandshakeKind::Resumed,
            self.asks,
        ];
        [&[SERVER_HELLO], &flags.map(u8::from)[..]].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let &[SERVER_HELLO, tls13, resumed, asks] = bytes else { return None };
        let version = if tls13 == 1 { ProtocolVersion::TLSv1_3 } else { ProtocolVersion::TLSv1_2 };
        let kind = if resumed == 1 { HandshakeKind::Resumed } else { HandshakeKind::Full };
        Some(Self { version, kind, asks: asks == 1 })
    }

    /// The client's last message and its text are one flight.
    pub(crate) fn ends_with_client(self) -> bool {
        self.version == ProtocolVersion::TLSv1_3 || self.kind == HandshakeKind::Resumed
    }
}
