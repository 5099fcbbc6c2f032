//! How a connection comes to TLS.

use std::io;

use millrace_net::Nanos;
use millrace_net::tls::secure_context::{CertificateVerdict, SecureContext};
use millrace_net::tls::server::{Agreed, Failure, Handshake, ServerTlsStream};

use crate::batch::{Batch, Event, Span, failed, secure};
use crate::connection::state::ReadState;
use crate::connection::{Connection, Effects, Flow};
use crate::forwarded::About;
use crate::server::Server;
use crate::transport::Transport;

impl Connection {
    pub(crate) fn tls(&self) -> Option<&ServerTlsStream> {
        match &self.transport {
            Transport::Tls(tls) => Some(tls),
            Transport::Plain(_) | Transport::Forwarded(..) | Transport::Gone => None,
        }
    }

    /// What whoever has the requests of this connection is to know of its session.
    pub(crate) fn about(&self) -> Option<About> {
        let tls = self.tls()?;
        let agreed = tls.agreed()?;
        Some(About {
            name: agreed.name.map(str::to_owned),
            protocol: tls.protocol().map(<[u8]>::to_vec),
            resumed: agreed.resumed,
            tls13: agreed.tls13,
            suite: agreed.suite,
            asked: agreed.verdict != CertificateVerdict::NotAsked,
            certificates: tls.certificates(),
            ..About::default()
        })
    }

    /// Tells of a session that another process has.
    pub(crate) fn tell_forwarded(&self, batch: &mut Batch<'_>) {
        let Transport::Forwarded(_, about) = &self.transport else { return };
        let name = about.name.as_deref().unwrap_or_default();
        let protocol = about.protocol.as_deref().unwrap_or_default();
        let name = batch.keep(name.as_bytes());
        let protocol = batch.keep(protocol).length();
        let resumed = if about.resumed { secure::RESUMED } else { 0 };
        let tls13 = if about.tls13 { secure::TLS13 } else { 0 };
        let asked = if about.asked { secure::ASKED } else { 0 };
        let flags = resumed | tls13 | asked;
        batch.push(self.id, Event::Forwarded { name, suite: about.suite, flags, protocol });
    }

    fn tls_mut(&mut self) -> Option<&mut ServerTlsStream> {
        match &mut self.transport {
            Transport::Tls(tls) => Some(tls),
            Transport::Plain(_) | Transport::Forwarded(..) | Transport::Gone => None,
        }
    }

    /// Goes on with the handshake; `None` when requests can be received.
    pub(crate) fn drive_handshake(
        &mut self,
        server: &mut Server,
        batch: &mut Batch<'_>,
        now: Nanos,
        effects: &mut Effects,
    ) -> Option<Flow> {
        let told = self.tls_mut()?.drive_handshake();
        if batch.silent
            && let Some(flow) = self.drive_handshake_standby(&told, server)
        {
            return flow.or_else(|| self.drive_handshake(server, batch, now, effects));
        }
        match told {
            Ok(Handshake::Done) => {
                effects.handshake_done = true;
                self.secured(batch, now);
                if self.defer_requests {
                    self.read_state = ReadState::Unsure;
                    return Some(Flow::Idle);
                }
                None
            }
            Ok(told @ (Handshake::Hello | Handshake::Unsure)) => {
                let name = self.tls().and_then(ServerTlsStream::hello_name).unwrap_or_default();
                // The session has to be of whoever has the host's certificate.
                if let Some(owner) = server.owner_of_host(self.ground, self.server, &name) {
                    return Some(Flow::Leaves(owner));
                }
                self.open(batch);
                let name = batch.keep(name.as_bytes());
                let is_unsure = told == Handshake::Unsure;
                batch.push(self.id, Event::Hello { name, is_unsure });
                self.read_state = ReadState::Unsure;
                self.readable = self.peer_ended || self.tls().is_some_and(|tls| !tls.waits());
                Some(Flow::Idle)
            }
            Ok(Handshake::Ended) => {
                self.read_state = ReadState::Ended;
                self.open(batch);
                batch.push(self.id, Event::Eof { within_message: false });
                Some(Flow::Idle)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Some(Flow::Idle)
            }
            Err(error) => Some(self.broken(batch, &error)),
        }
    }

    /// The same while the caller is busy; `None`: it makes no difference. The flow is `None` if the handshake goes on at once.
    fn drive_handshake_standby(
        &mut self,
        told: &io::Result<Handshake>,
        server: &mut Server,
    ) -> Option<Option<Flow>> {
        let context = server.context.clone()?;
        match told {
            Ok(Handshake::Done) => None,
            Ok(Handshake::Hello) => {
                let name = self.tls().and_then(ServerTlsStream::hello_name).unwrap_or_default();
                let is_others = server.owner_of_host(self.ground, self.server, &name).is_some();
                if is_others {
                    return None;
                }
                // What is not chosen is found to be unsure by the caller.
                let chosen = self.choose(&context, false);
                Some((!chosen).then_some(Flow::Report))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            // What there is to tell is found again.
            Ok(Handshake::Unsure | Handshake::Ended) | Err(_) => {
                self.readable = true;
                Some(Some(Flow::Report))
            }
        }
    }

    fn secured(&mut self, batch: &mut Batch<'_>, now: Nanos) {
        self.read_state = ReadState::Head;
        self.handshaking = false;
        // What came with the client's last message is in the session, not in the socket.
        self.readable = true;
        self.began = now;
        if let Some((name, certified)) = self.tls().map(ServerTlsStream::asked) {
            let name = name.map(Into::into);
            (self.server_name, self.certified) = (name, certified);
        }
        if batch.silent {
            self.unreported.secured = true;
        } else {
            self.tell_secure(batch);
        }
    }

    /// Tells what the handshake has come to.
    pub(crate) fn tell_secure(&self, batch: &mut Batch<'_>) {
        let Some(agreed) = self.tls().and_then(ServerTlsStream::agreed) else { return };
        let name = batch.keep(agreed.name.unwrap_or_default().as_bytes());
        let (suite, flags, verdict) = (agreed.suite, flags(&agreed), agreed.verdict);
        batch.push(self.id, Event::Secure { name, suite, flags, verdict });
    }

    /// Tells of an error of TLS; one of the socket is its closing.
    pub(crate) fn broken(&mut self, batch: &mut Batch<'_>, error: &io::Error) -> Flow {
        let Some(failure) = self.tls_mut().and_then(ServerTlsStream::take_failure) else {
            return Flow::Broken(error.raw_os_error().unwrap_or(0));
        };
        self.open(batch);
        let (how, alert, text) = match &failure {
            Failure::Alert(alert) => (failed::ALERT, *alert, ""),
            Failure::NoCertificate => (failed::NO_CERTIFICATE, 0, ""),
            Failure::Decrypt => (failed::DECRYPT, 0, ""),
            Failure::Other(text) => (failed::OTHER, 0, text.as_str()),
        };
        let text = batch.keep(text.as_bytes());
        batch.push(self.id, Event::Failed { how, alert, text, in_handshake: self.handshaking });
        self.read_state = ReadState::Ended;
        Flow::Idle
    }

    /// The handshake has taken too long.
    pub(crate) fn tell_timeout(&mut self, batch: &mut Batch<'_>) {
        self.open(batch);
        let (how, text) = (failed::TIMEOUT, Span::default());
        batch.push(self.id, Event::Failed { how, alert: 0, text, in_handshake: true });
        self.read_state = ReadState::Ended;
        self.handshaking = false;
    }

    /// Receives requests, after an end of the handshake that was told alone. `false`: does so already.
    pub(crate) fn start(&mut self) -> bool {
        let waits = self.defer_requests
            && matches!(self.read_state, ReadState::Unsure)
            && !self.handshaking;
        if waits {
            self.defer_requests = false;
            self.read_state = ReadState::Head;
        }
        waits
    }

    /// Answers the client's first message. `false`: another implementation has to.
    pub(crate) fn choose(&mut self, context: &SecureContext, defer_requests: bool) -> bool {
        self.defer_requests = defer_requests;
        let chosen = self.tls_mut().is_some_and(|tls| tls.choose(context));
        if chosen {
            self.read_state = ReadState::Handshake;
            self.readable |= self.tls().is_some_and(|tls| !tls.waits());
        }
        chosen
    }
}

fn flags(agreed: &Agreed<'_>) -> i32 {
    let resumed = if agreed.resumed { secure::RESUMED } else { 0 };
    let tls13 = if agreed.tls13 { secure::TLS13 } else { 0 };
    // In range: a handful of protocols.
    let protocol = agreed.protocol.map_or(0, |at| at as i32 + 1);
    resumed | tls13 | protocol << secure::PROTOCOL_SHIFT
}
