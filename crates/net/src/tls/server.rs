//! TLS for servers: the handshake and the stream over an accepted socket.

use std::io::{self, IoSlice, Read as _, Write as _};

use rustls::server::{Accepted, Acceptor};
use rustls::{Error, HandshakeKind, ProtocolVersion, ServerConnection};

use super::secure_context::{CertificateVerdict, SecureContext};
use super::socket_io::TlsSocket;
use super::tickets;
use crate::Read;
use crate::socket::Socket;

/// Maximum bytes of ciphertext of one read. Its plaintext, with that of an earlier incomplete record, fits into
/// [`PLAINTEXT`] bytes.
pub const CIPHERTEXT: usize = 40 * 1024;
/// Room that [`ServerTlsStream::read`] needs for plaintext.
pub const PLAINTEXT: usize = 64 * 1024;
/// Maximum bytes of a ClientHello.
const MAX_HELLO: usize = 64 * 1024;

/// The state of a handshake.
#[derive(Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The ClientHello has arrived: [`ServerTlsStream::choose`] continues.
    Hello,
    /// The client did not send a ClientHello that rustls accepts. Nothing has been answered.
    Unsure,
    /// The handshake is complete; bytes may have arrived already.
    Done,
    /// The client is gone.
    Ended,
}

/// Why a handshake or a session failed. The caller has OpenSSL's texts for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The client has sent this alert.
    Alert(u8),
    /// The client has not presented a required certificate.
    NoCertificate,
    /// A record was not sealed with the session's keys.
    Decrypt,
    /// Anything else.
    Other(String),
}

/// The parameters of a session.
#[derive(Debug)]
pub struct Agreed<'a> {
    /// Server name that the client asked for.
    pub name: Option<&'a str>,
    /// Index into the context's protocols.
    pub protocol: Option<usize>,
    /// An earlier session was resumed.
    pub resumed: bool,
    /// TLS 1.3, not 1.2.
    pub tls13: bool,
    /// The suite's number in IANA's registry.
    pub suite: u16,
    /// The verdict on the client's certificate.
    pub verdict: CertificateVerdict,
}

enum SessionState {
    Hello(Box<Acceptor>),
    Named(Box<Accepted>),
    Session(Box<ServerConnection>, SecureContext),
    /// rustls cannot serve this handshake; fall back to OpenSSL.
    Refused,
}

/// The server's side of TLS over a socket.
pub struct ServerTlsStream {
    socket: TlsSocket,
    state: SessionState,
    /// The bytes that the client sent before a context was chosen, for a fallback.
    hello: Vec<u8>,
    /// Bytes that were read from the socket before.
    given: Vec<u8>,
    /// Bytes of plaintext that the session has accepted and the socket has not.
    unsent: usize,
    /// Whether the client has sent close_notify.
    peer_closed: bool,
    failure: Option<Failure>,
    /// What the socket has failed with while it was read: the system tells it once.
    write_error: Option<io::Error>,
}

impl std::fmt::Debug for ServerTlsStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTls").field("socket", &self.socket.socket).finish_non_exhaustive()
    }
}

impl ServerTlsStream {
    /// Creates a stream that begins with the client's first byte.
    #[must_use]
    pub fn new(socket: Socket) -> Self {
        Self::begun(socket, Vec::new())
    }

    /// Creates a stream that begins with bytes that were read before.
    #[must_use]
    pub fn begun(socket: Socket, given: Vec<u8>) -> Self {
        Self {
            socket: TlsSocket::new(socket),
            state: SessionState::Hello(Box::default()),
            hello: Vec::new(),
            given,
            unsent: 0,
            peer_closed: false,
            failure: None,
            write_error: None,
        }
    }

    /// Returns the socket.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        &self.socket.socket
    }

    /// Returns the socket, and the bytes that were read from it before the handshake.
    #[must_use]
    pub fn into_parts(self) -> (Socket, Vec<u8>) {
        (self.socket.socket, self.hello)
    }

    /// Returns why the last call failed, if TLS was the reason.
    pub fn take_failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// Returns what sending has failed with in a handshake or while text was read. It is to be told behind the text.
    pub fn take_write_error(&mut self) -> Option<io::Error> {
        self.write_error.take()
    }

    /// Whether the handshake waits for the socket to become readable.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.socket.drained && self.failure.is_none()
    }

    /// Server name that the client asks for, when [`Handshake::Hello`] was told.
    #[must_use]
    pub fn hello_name(&self) -> Option<String> {
        match &self.state {
            SessionState::Named(accepted) => {
                accepted.client_hello().server_name().map(str::to_owned)
            }
            _ => None,
        }
    }

    /// Continues the handshake as far as the socket allows (`WouldBlock`).
    pub fn drive_handshake(&mut self) -> io::Result<Handshake> {
        loop {
            // What came before a broken record, or a broken socket, may have completed it.
            if self.is_handshaking() {
                if self.failure.is_some() {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                if let Some(error) = self.write_error.take() {
                    return Err(error);
                }
            }
            match &mut self.state {
                SessionState::Hello(_) => {
                    if let Some(told) = self.read_hello()? {
                        return Ok(told);
                    }
                }
                SessionState::Named(_) => return Ok(Handshake::Hello),
                SessionState::Refused => return Ok(Handshake::Unsure),
                SessionState::Session(session, _) => {
                    if !session.is_handshaking() {
                        return Ok(Handshake::Done);
                    }
                    if session.read_tls(&mut self.socket)? == 0 {
                        return Ok(Handshake::Ended);
                    }
                    if let Err(error) = self.process()
                        && self.is_handshaking()
                    {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn is_handshaking(&self) -> bool {
        match &self.state {
            SessionState::Session(session, _) => session.is_handshaking(),
            SessionState::Hello(_) | SessionState::Named(_) | SessionState::Refused => true,
        }
    }

    fn read_hello(&mut self) -> io::Result<Option<Handshake>> {
        let SessionState::Hello(acceptor) = &mut self.state else { return Ok(None) };
        let mut bytes = [0; 4096];
        let given = std::mem::take(&mut self.given);
        let mut rest = if given.is_empty() {
            let count = self.socket.read(&mut bytes)?;
            if count == 0 {
                return Ok(Some(Handshake::Ended));
            }
            &bytes[..count]
        } else {
            &given
        };
        self.hello.extend_from_slice(rest);
        let mut fits = self.hello.len() <= MAX_HELLO;
        while fits && !rest.is_empty() {
            fits = matches!(acceptor.read_tls(&mut rest), Ok(1..));
        }
        let (state, told) = match if fits { acceptor.accept().ok() } else { None } {
            Some(None) => return Ok(None),
            Some(Some(accepted)) => (SessionState::Named(Box::new(accepted)), Handshake::Hello),
            None => (SessionState::Refused, Handshake::Unsure),
        };
        self.state = state;
        Ok(Some(told))
    }

    /// Answers the client with a context. `false`: rustls and the client have no parameters in common; nothing was
    /// answered, and another implementation can take over with the bytes that were read.
    pub fn choose(&mut self, context: &SecureContext) -> bool {
        match std::mem::replace(&mut self.state, SessionState::Refused) {
            SessionState::Named(accepted) => {
                let Ok(session) = accepted.into_connection(context.config.clone()) else {
                    return false;
                };
                self.state = SessionState::Session(Box::new(session), context.clone());
                self.hello = Vec::new();
                // What fails here is told when the handshake goes on.
                self.process().ok();
                true
            }
            state => {
                self.state = state;
                false
            }
        }
    }

    /// Takes what the session has read. The end of a handshake is left in the session, to leave with the
    /// first response; what the client waits for is sent, unless text waits before it: whoever sends that on hears when all has
    /// left.
    fn process(&mut self) -> io::Result<()> {
        let SessionState::Session(session, _) = &mut self.state else { return Ok(()) };
        let shaking = session.is_handshaking();
        // Clients that use a ticket once get another; the first time, as many as OpenSSL gives.
        let resumed = session.handshake_kind() == Some(HandshakeKind::Resumed);
        tickets::allow(if resumed { 1 } else { 2 });
        let result = session.process_new_packets();
        let done = shaking && !session.is_handshaking();
        let in_one_flight = done && session.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        if session.wants_write() && !in_one_flight && self.unsent == 0 {
            match self.flush() {
                Err(error) if result.is_ok() => self.write_error = Some(error),
                _ => {}
            }
        }
        result.map(drop).map_err(|error| {
            self.failure = Some(Failure::from(&error));
            io::Error::new(io::ErrorKind::InvalidData, error)
        })
    }

    /// Returns the negotiated protocol (RFC 7301).
    #[must_use]
    pub fn protocol(&self) -> Option<&[u8]> {
        let SessionState::Session(session, _) = &self.state else { return None };
        session.alpn_protocol()
    }

    /// Returns the parameters of the session.
    #[must_use]
    pub fn agreed(&self) -> Option<Agreed<'_>> {
        let SessionState::Session(session, context) = &self.state else { return None };
        let protocols = &context.config.alpn_protocols;
        let chosen = session.alpn_protocol();
        Some(Agreed {
            name: session.server_name(),
            protocol: protocols.iter().position(|protocol| Some(&protocol[..]) == chosen),
            resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
            tls13: session.protocol_version() == Some(ProtocolVersion::TLSv1_3),
            suite: session.negotiated_cipher_suite().map_or(0, |suite| suite.suite().into()),
            verdict: context.evaluate(session.peer_certificates()),
        })
    }

    /// The name of the server that the client has asked for, and whether it has shown a certificate.
    #[must_use]
    pub fn asked(&self) -> (Option<&str>, bool) {
        let SessionState::Session(session, _) = &self.state else { return (None, false) };
        (session.server_name(), session.peer_certificates().is_some_and(|shown| !shown.is_empty()))
    }

    /// The client's certificates, its own first.
    #[must_use]
    pub fn certificates(&self) -> Vec<Vec<u8>> {
        let SessionState::Session(session, _) = &self.state else { return Vec::new() };
        let shown = session.peer_certificates().unwrap_or_default();
        shown.iter().map(|certificate| certificate.to_vec()).collect()
    }

    /// Exports keying material (RFC 5705).
    #[must_use]
    pub fn export(&self, length: usize, label: &[u8], context: Option<&[u8]>) -> Option<Vec<u8>> {
        let SessionState::Session(session, _) = &self.state else { return None };
        session.export_keying_material(vec![0; length], label, context).ok()
    }

    /// Reads text into the first [`PLAINTEXT`] bytes of the buffer, and uses [`CIPHERTEXT`] behind them. The text before a broken
    /// record or an alert comes first, then the error.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        let (text, sealed) = buffer.split_at_mut(PLAINTEXT);
        let mut count = self.take(text)?;
        if count > 0 || self.peer_closed {
            // What was found when the socket was read last, in the handshake, may not hold any more.
            return Ok(Read { count, drained: false });
        }
        if self.failure.is_some() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        loop {
            let read = self.socket.read_records(&mut sealed[..CIPHERTEXT])?;
            if read.count == 0 {
                return Ok(read);
            }
            let mut rest = &sealed[..read.count];
            while !rest.is_empty() && !self.peer_closed {
                let SessionState::Session(session, _) = &mut self.state else {
                    return Ok(Read { count: 0, drained: true });
                };
                if session.read_tls(&mut rest)? == 0 {
                    break;
                }
                let processed = self.process();
                count += self.take(&mut text[count..])?;
                if let Err(error) = processed {
                    return if count > 0 { Ok(Read { count, drained: false }) } else { Err(error) };
                }
            }
            if count > 0 || self.peer_closed {
                return Ok(Read { count, drained: read.drained && !self.peer_closed });
            }
            // An end may follow what is no text, and would be told by no event of its own: the system says when to wait.
        }
    }

    /// Text that has been decrypted.
    fn take(&mut self, text: &mut [u8]) -> io::Result<usize> {
        let SessionState::Session(session, _) = &mut self.state else { return Ok(0) };
        let mut count = 0;
        while count < text.len() {
            match session.reader().read(&mut text[count..]) {
                Ok(0) => {
                    self.peer_closed = true;
                    break;
                }
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// Takes as much of both as the socket has room for, and what the session holds beyond that.
    pub fn write_two(&mut self, first: &[u8], second: &[u8]) -> io::Result<usize> {
        self.write(&mut [IoSlice::new(first), IoSlice::new(second)], false)
    }

    /// The same for what is the last before [`Self::close_notify`], with which it leaves.
    pub fn write_last(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(&mut [IoSlice::new(bytes)], true)
    }

    fn write(&mut self, mut parts: &mut [IoSlice<'_>], last: bool) -> io::Result<usize> {
        if self.unsent > 0 && !self.flush()? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut taken = 0;
        // The session takes a part at a time: only a socket that is full says when there is room again.
        loop {
            let SessionState::Session(session, _) = &mut self.state else {
                return Err(io::ErrorKind::NotConnected.into());
            };
            let count = session.writer().write_vectored(parts)?;
            self.unsent += count;
            taken += count;
            IoSlice::advance_slices(&mut parts, count);
            if !self.send(last)? || parts.is_empty() || count == 0 {
                return Ok(taken);
            }
        }
    }

    /// Sends what the session has; `true` if nothing is left.
    pub fn flush(&mut self) -> io::Result<bool> {
        self.send(false)
    }

    fn send(&mut self, last: bool) -> io::Result<bool> {
        let SessionState::Session(session, _) = &mut self.state else { return Ok(true) };
        let sent = match last {
            true => self.socket.flush_last(session)?,
            false => self.socket.flush(session)?,
        };
        if sent {
            self.unsent = 0;
        }
        Ok(sent)
    }

    /// Bytes of plaintext that the session has accepted and the socket has not.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.unsent
    }

    /// Bytes of records that the socket has given and taken, those of the handshake included.
    #[must_use]
    pub fn traffic(&self) -> u64 {
        self.socket.traffic
    }

    /// Announces the end of our side (RFC 8446, section 6.1).
    /// Our side ends either way; an error is the socket's, which the system tells once.
    pub fn close_notify(&mut self) -> io::Result<()> {
        let SessionState::Session(session, _) = &mut self.state else { return Ok(()) };
        session.send_close_notify();
        let mut last = Vec::new();
        // What a vector takes cannot fail.
        while session.wants_write() && session.write_tls(&mut last).is_ok() {}
        match self.socket.socket.write_last(&last) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        match error {
            Error::AlertReceived(alert) => Self::Alert(u8::from(*alert)),
            Error::NoCertificatesPresented => Self::NoCertificate,
            Error::DecryptError => Self::Decrypt,
            error => Self::Other(error.to_string()),
        }
    }
}
