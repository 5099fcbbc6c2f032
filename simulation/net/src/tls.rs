//! TLS has tests with real sockets; nothing here speaks it. The types have no values.

/// Does nothing: no random bytes are needed.
pub fn seed_random() {}

/// Where servers keep their certificates.
pub mod secure_context {
    /// What every server is without.
    #[derive(Clone, Debug)]
    pub enum SecureContext {}

    /// The verdict on a client's certificate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "as in crates/net")]
    pub enum CertificateVerdict {
        NotAsked,
        Missing,
        Valid,
        Untrusted,
    }
}

/// The server's side of TLS.
pub mod server {
    use std::io;

    use super::secure_context::{CertificateVerdict, SecureContext};
    use crate::Read;
    use crate::socket::Socket;

    /// As in `crates/net`.
    pub const CIPHERTEXT: usize = 40 * 1024;
    /// As in `crates/net`.
    pub const PLAINTEXT: usize = 64 * 1024;

    /// The state of a handshake.
    #[derive(Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "as in crates/net")]
    pub enum Handshake {
        Hello,
        Unsure,
        Done,
        Ended,
    }

    /// Why a session failed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "as in crates/net")]
    pub enum Failure {
        Alert(u8),
        NoCertificate,
        Decrypt,
        Other(String),
    }

    /// The parameters of a session.
    #[derive(Debug)]
    #[expect(missing_docs, reason = "as in crates/net")]
    pub struct Agreed<'a> {
        pub name: Option<&'a str>,
        pub protocol: Option<usize>,
        pub resumed: bool,
        pub tls13: bool,
        pub suite: u16,
        pub verdict: CertificateVerdict,
    }

    #[derive(Debug)]
    enum Never {}

    /// A stream that is never made.
    #[derive(Debug)]
    pub struct ServerTlsStream(Never);

    #[expect(missing_docs, reason = "as in crates/net")]
    impl ServerTlsStream {
        #[must_use]
        pub fn begun(_: Socket, _: Vec<u8>) -> Self {
            unreachable!("no server of the simulation has TLS")
        }

        #[must_use]
        pub fn socket(&self) -> &Socket {
            match self.0 {}
        }

        #[must_use]
        pub fn into_parts(self) -> (Socket, Vec<u8>) {
            match self.0 {}
        }

        pub fn take_failure(&mut self) -> Option<Failure> {
            match self.0 {}
        }

        #[must_use]
        pub fn waits(&self) -> bool {
            match self.0 {}
        }

        #[must_use]
        pub fn hello_name(&self) -> Option<String> {
            match self.0 {}
        }

        pub fn drive_handshake(&mut self) -> io::Result<Handshake> {
            match self.0 {}
        }

        pub fn choose(&mut self, _: &SecureContext) -> bool {
            match self.0 {}
        }

        #[must_use]
        pub fn protocol(&self) -> Option<&[u8]> {
            match self.0 {}
        }

        #[must_use]
        pub fn agreed(&self) -> Option<Agreed<'_>> {
            match self.0 {}
        }

        #[must_use]
        pub fn asked(&self) -> (Option<&str>, bool) {
            match self.0 {}
        }

        #[must_use]
        pub fn certificates(&self) -> Vec<Vec<u8>> {
            match self.0 {}
        }

        pub fn read(&mut self, _: &mut [u8]) -> io::Result<Read> {
            match self.0 {}
        }

        pub fn write_two(&mut self, _: &[u8], _: &[u8]) -> io::Result<usize> {
            match self.0 {}
        }

        pub fn write_last(&mut self, _: &[u8]) -> io::Result<usize> {
            match self.0 {}
        }

        pub fn flush(&mut self) -> io::Result<bool> {
            match self.0 {}
        }

        #[must_use]
        pub fn unsent(&self) -> usize {
            match self.0 {}
        }

        #[must_use]
        pub fn traffic(&self) -> u64 {
            match self.0 {}
        }

        pub fn close_notify(&mut self) {
            match self.0 {}
        }
    }
}
