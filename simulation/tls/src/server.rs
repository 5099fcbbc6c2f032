//! A server's session.

use std::io::{self, Read};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::common::{ConnectionCommon, SideData, read_into};
use crate::error::{AlertDescription, Error};
use crate::message::{
    CERTIFICATE, ClientHello, DONE, FINISHED, HandshakeKind, ProtocolVersion, ServerHello, TICKET,
};
use crate::record::{Incoming, Kind, Seal};

/// What a server speaks and asks for.
#[derive(Clone, Debug, Default)]
pub struct ServerConfig {
    /// Versions that it speaks.
    pub tls12: bool,
    /// See `tls12`.
    pub tls13: bool,
    /// ALPN, the preferred one first.
    pub alpn_protocols: Vec<Vec<u8>>,
    /// Clients get tickets, and may use them.
    pub tickets: bool,
    /// Clients are asked for a certificate, and refused without.
    pub asks: bool,
    /// See `asks`.
    pub requires: bool,
}

/// Waits for a client's first message.
#[derive(Debug, Default)]
pub struct Acceptor(Incoming);

impl Acceptor {
    /// Takes records, at most 4 KiB of them.
    pub fn read_tls(&mut self, from: &mut dyn Read) -> io::Result<usize> {
        read_into(&mut self.0, from)
    }

    /// The client's first message, if it has come.
    pub fn accept(&mut self) -> Result<Option<Accepted>, Error> {
        let Some((kind, carried)) = self.0.next()? else { return Ok(None) };
        let hello = ClientHello::decode(&carried).filter(|_| kind == Kind::Handshake);
        let hello = hello.ok_or(Error::InappropriateMessage)?;
        Ok(Some(Accepted { hello, incoming: std::mem::take(&mut self.0) }))
    }
}

/// A client's first message, and what came behind it.
#[derive(Debug)]
pub struct Accepted {
    hello: ClientHello,
    incoming: Incoming,
}

impl Accepted {
    /// The client's first message.
    #[must_use]
    pub fn client_hello(&self) -> &ClientHello {
        &self.hello
    }

    /// Answers it.
    pub fn into_connection(self, config: Arc<ServerConfig>) -> Result<ServerConnection, Error> {
        let Self { hello, incoming } = self;
        let version = match (hello.tls13 && config.tls13, hello.tls12 && config.tls12) {
            (true, _) => ProtocolVersion::TLSv1_3,
            (false, true) => ProtocolVersion::TLSv1_2,
            (false, false) => return Err(Error::PeerIncompatible),
        };
        let mut protocols = config.alpn_protocols.iter();
        let protocol = protocols.find(|it| hello.protocols.contains(&it[0])).cloned();
        if protocol.is_none() && !config.alpn_protocols.is_empty() && !hello.protocols.is_empty() {
            return Err(Error::PeerIncompatible);
        }
        let kind = match hello.resumes && config.tickets {
            true => HandshakeKind::Resumed,
            false => HandshakeKind::Full,
        };
        let asks = config.asks && kind == HandshakeKind::Full;
        let answer = ServerHello { version, kind, asks };
        let side = ServerConnectionData { hello, answer, protocol, config, certificates: None };
        Ok(ServerConnection::new(ConnectionCommon::new(side, incoming)))
    }
}

/// What a server's session has beside.
#[derive(Debug)]
pub struct ServerConnectionData {
    hello: ClientHello,
    answer: ServerHello,
    protocol: Option<Vec<u8>>,
    config: Arc<ServerConfig>,
    certificates: Option<Vec<Vec<u8>>>,
}

impl SideData for ServerConnectionData {}

/// A server's session.
#[derive(Debug)]
pub struct ServerConnection(ConnectionCommon<ServerConnectionData>);

/// The suite of all sessions.
#[derive(Clone, Copy, Debug)]
pub struct Suite;

impl Suite {
    /// A number of IANA's registry that is for private use.
    pub const NUMBER: u16 = 0xff01;

    /// Its number.
    #[must_use]
    pub fn suite(self) -> CipherSuite {
        CipherSuite(Self::NUMBER)
    }
}

/// A suite's number.
#[derive(Clone, Copy, Debug)]
pub struct CipherSuite(u16);

impl From<CipherSuite> for u16 {
    fn from(suite: CipherSuite) -> Self {
        suite.0
    }
}

impl ServerConnection {
    fn new(mut common: ConnectionCommon<ServerConnectionData>) -> Self {
        let answer = common.side.answer;
        common.send(Kind::Handshake, &answer.encode());
        let [of_client, of_server] = common.side.hello.keys();
        (common.incoming.seal, common.seal) = (Seal::new(of_client), Seal::new(of_server));
        common.send(Kind::Handshake, if answer.ends_with_client() { FINISHED } else { DONE });
        Self(common)
    }

    /// Takes what has come.
    pub fn process_new_packets(&mut self) -> Result<(), Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let result = self.process();
        if let Err(error) = &result {
            self.failure = Some(error.clone());
            error.alert().into_iter().for_each(|alert| self.send_alert(alert));
        }
        result
    }

    fn process(&mut self) -> Result<(), Error> {
        while !self.peer_has_closed
            && let Some((kind, carried)) = self.incoming.next()?
        {
            match kind {
                Kind::Text if !self.is_handshaking => self.text.extend(carried),
                Kind::Handshake if self.is_handshaking => self.take_message(&carried)?,
                Kind::Alert => match AlertDescription(carried[0]) {
                    AlertDescription::CLOSE_NOTIFY => self.peer_has_closed = true,
                    alert => return Err(Error::AlertReceived(alert)),
                },
                Kind::Text | Kind::Handshake => return Err(Error::InappropriateMessage),
            }
        }
        Ok(())
    }

    fn take_message(&mut self, message: &[u8]) -> Result<(), Error> {
        let answer = self.side.answer;
        let is_shown = self.side.certificates.is_some();
        match message {
            [CERTIFICATE, shown @ ..] if answer.asks && !is_shown => {
                if shown.is_empty() && self.side.config.requires {
                    return Err(Error::NoCertificatesPresented);
                }
                self.side.certificates = Some(shown.iter().map(|byte| vec![*byte]).collect());
            }
            FINISHED if is_shown || !answer.asks => {
                self.is_handshaking = false;
                if !answer.ends_with_client() {
                    self.send(Kind::Handshake, FINISHED);
                } else if answer.version == ProtocolVersion::TLSv1_3 && self.side.config.tickets {
                    self.send(Kind::Handshake, TICKET);
                }
            }
            _ => return Err(Error::InappropriateMessage),
        }
        Ok(())
    }

    /// How it began.
    #[must_use]
    pub fn handshake_kind(&self) -> Option<HandshakeKind> {
        Some(self.side.answer.kind)
    }

    /// Its version.
    #[must_use]
    pub fn protocol_version(&self) -> Option<ProtocolVersion> {
        Some(self.side.answer.version)
    }

    /// Its suite.
    #[must_use]
    pub fn negotiated_cipher_suite(&self) -> Option<Suite> {
        Some(Suite)
    }

    /// The protocol that both speak.
    #[must_use]
    pub fn alpn_protocol(&self) -> Option<&[u8]> {
        self.side.protocol.as_deref()
    }

    /// The server that the client asked for.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.side.hello.server_name()
    }

    /// What the client has shown.
    #[must_use]
    pub fn peer_certificates(&self) -> Option<&[Vec<u8>]> {
        self.side.certificates.as_deref()
    }

    /// Nothing is derived from these keys.
    pub fn export_keying_material<T>(&self, _: T, _: &[u8], _: Option<&[u8]>) -> Result<T, Error> {
        Err(Error::PeerIncompatible)
    }
}

impl Deref for ServerConnection {
    type Target = ConnectionCommon<ServerConnectionData>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for ServerConnection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
