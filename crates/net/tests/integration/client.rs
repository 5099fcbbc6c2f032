//! A stream driven to its ends by a poller, as a worker does it.

use std::io;
use std::time::Duration;

use millrace_net::tls::TlsTarget;
use millrace_net::{Address, Clock, Monotonic, Poller, Progress, Stream, Transport, Wake};
use millrace_net::{Nanos, Read};
use mio::Token;

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct Client {
    poller: Poller,
    clock: Monotonic,
    /// The peer will send no more, and no event will tell that again.
    peer_closed: bool,
    pub(crate) stream: Stream,
}

impl Client {
    /// Connected and, with TLS, through the handshake. Gives whether that was a resumed one.
    pub(crate) fn connect(
        address: &Address,
        tls: Option<&TlsTarget>,
    ) -> io::Result<(Self, Option<bool>)> {
        Self::negotiate(address, tls).map(|(client, resumed, _)| (client, resumed))
    }

    /// Does the same, and also gives the index of the negotiated protocol.
    pub(crate) fn negotiate(
        address: &Address,
        tls: Option<&TlsTarget>,
    ) -> io::Result<(Self, Option<bool>, Option<usize>)> {
        let poller = Poller::new(8)?;
        let stream = Stream::connect(address, None, tls, poller.registry(), Token(7))?;
        let mut client = Self { poller, clock: Monotonic::new(), peer_closed: false, stream };
        let mut has_connected = false;
        let (resumed, protocol) = client.drive(|stream, _| {
            let mut progress = stream.establish()?;
            if progress == Progress::Handshaking && !has_connected {
                has_connected = true;
                progress = stream.establish()?;
            }
            match progress {
                Progress::Ready { resumed, protocol } => Ok((resumed, protocol)),
                _ => Err(io::ErrorKind::WouldBlock.into()),
            }
        })?;
        Ok((client, resumed, protocol))
    }

    /// Repeats `step` on each event until it no longer says `WouldBlock`. It is told whether the peer
    /// has closed its side.
    pub(crate) fn drive<R>(
        &mut self,
        mut step: impl FnMut(&mut Stream, bool) -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            match step(&mut self.stream, self.peer_closed) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            let before = self.clock.now();
            let wake = Wake { precise: Nanos::NEVER, coarse: before + LIMIT };
            let now = self.poller.wait(&self.clock, before, wake)?;
            assert!(now < before + LIMIT, "no event within {LIMIT:?}");
            for event in self.poller.events() {
                assert_eq!(event.token(), Token(7));
                self.peer_closed |= event.is_read_closed();
            }
        }
    }

    pub(crate) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.drive(|stream, _| {
            let blocked = || Err(io::ErrorKind::WouldBlock.into());
            if !stream.flush()? {
                return blocked();
            }
            while !bytes.is_empty() {
                match stream.write(bytes)? {
                    0 => return blocked(),
                    count => bytes = &bytes[count..],
                }
            }
            if stream.flush()? { Ok(()) } else { blocked() }
        })
    }

    /// Reads to the end of the stream, waiting for an event only where one is to come.
    pub(crate) fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 1000];
        self.drive(|stream, peer_closed| {
            loop {
                let Read { count, drained } = stream.read(&mut buffer)?;
                bytes.extend_from_slice(&buffer[..count]);
                match (count, drained) {
                    (0, _) => return Ok(()),
                    (_, true) if !peer_closed => return Err(io::ErrorKind::WouldBlock.into()),
                    _ => {}
                }
            }
        })?;
        Ok(bytes)
    }
}
