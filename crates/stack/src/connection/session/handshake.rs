//! How a connection comes to TLS.
//!
//! ```text
//!   Agreeing ──> H1 or H2, or Agreed ──> the same: as soon as the caller lets requests come
//!     │  ^
//!     v  │
//!    Hello
//! ```

use std::io;

use millrace_net::Nanos;
use millrace_net::tls::secure_context::{CertificateVerdict, SecureContext};
use millrace_net::tls::server::{self, Failure, ServerTlsStream};

use super::Session;
use crate::batch::{Batch, Event, failed, secure};
use crate::connection::channel::Channel;
use crate::connection::receiving::Receiving;
use crate::connection::{Connection, Flow};
use crate::router::{Route, SessionInfo};
use crate::settings::Settings;
use crate::transport::Transport;

/// How far a handshake has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handshake {
    /// It goes on; requests may have to wait in [`Self::Agreed`] then.
    Agreeing { defers_requests: bool },
    /// The caller chooses what the client's first message is answered with.
    Hello,
    /// TLS is agreed on, and requests wait for the caller's word.
    Agreed,
}

impl Channel {
    pub(crate) fn tls(&self) -> Option<&ServerTlsStream> {
        match &self.transport {
            Transport::Tls(tls) => Some(tls),
            Transport::Plain(_)
            | Transport::Forwarded(..)
            | Transport::Stream(_)
            | Transport::Detached => None,
        }
    }

    fn tls_mut(&mut self) -> Option<&mut ServerTlsStream> {
        match &mut self.transport {
            Transport::Tls(tls) => Some(tls),
            Transport::Plain(_)
            | Transport::Forwarded(..)
            | Transport::Stream(_)
            | Transport::Detached => None,
        }
    }

    /// What whoever has the requests of this connection is to know of its session.
    pub(crate) fn session_info(&self) -> Option<SessionInfo> {
        let tls = self.tls()?;
        let agreed = tls.agreed()?;
        Some(SessionInfo {
            name: agreed.name.map(str::to_owned),
            protocol: tls.protocol().map(<[u8]>::to_vec),
            resumed: agreed.resumed,
            tls13: agreed.tls13,
            suite: agreed.suite,
            asked: agreed.verdict != CertificateVerdict::NotAsked,
            certificates: tls.certificates(),
            ..SessionInfo::default()
        })
    }
}

impl Connection {
    /// Tells of a session that another process has.
    pub(crate) fn tell_forwarded(&self, batch: &mut Batch<'_>) {
        let Some(session) = self.channel.transport.forwarded() else { return };
        let name = session.name.as_deref().unwrap_or_default();
        let protocol = session.protocol.as_deref().unwrap_or_default();
        let name = batch.memory.keep(name.as_bytes());
        let protocol = batch.memory.keep(protocol).length();
        let resumed = if session.resumed { secure::RESUMED } else { 0 };
        let tls13 = if session.tls13 { secure::TLS13 } else { 0 };
        let asked = if session.asked { secure::ASKED } else { 0 };
        let flags = resumed | tls13 | asked;
        batch.push(self.lane.id, Event::Forwarded { name, suite: session.suite, flags, protocol });
    }

    /// Goes on with the handshake; `None` when requests can be received.
    pub(crate) fn drive_handshake(&mut self, cx: &mut Receiving<'_, '_>) -> Option<Flow> {
        let progress = self.channel.tls_mut()?.drive_handshake();
        if !cx.batch.can_tell()
            && let Some(flow) = self.drive_handshake_untold(&progress, cx)
        {
            return flow.or_else(|| self.drive_handshake(cx));
        }
        match progress {
            Ok(server::Handshake::Done) => {
                cx.effects.handshake_done = true;
                self.secured(&cx.server.settings, cx.batch, cx.now)
            }
            Ok(progress @ (server::Handshake::Hello | server::Handshake::Unsure)) => {
                let name =
                    self.channel.tls().and_then(ServerTlsStream::hello_name).unwrap_or_default();
                // The session has to be of whoever has the host's certificate.
                match self.route_session(cx, &name) {
                    Route::Here => {}
                    route => return Some(Flow::Leaves(route)),
                }
                self.open(cx.batch);
                let name = cx.batch.memory.keep(name.as_bytes());
                let is_unsure = progress == server::Handshake::Unsure;
                cx.batch.push(self.lane.id, Event::Hello { name, is_unsure });
                self.session = Session::Handshake(Handshake::Hello);
                self.channel.readable =
                    self.channel.peer_ended || self.channel.tls().is_some_and(|tls| !tls.waits());
                Some(Flow::Idle)
            }
            Ok(server::Handshake::Ended) => {
                self.session = Session::Ended;
                self.open(cx.batch);
                cx.batch.push(self.lane.id, Event::Eof { within_message: false });
                Some(Flow::Idle)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.channel.readable = false;
                Some(Flow::Idle)
            }
            Err(error) => Some(self.broken(cx.batch, &error)),
        }
    }

    /// The same where nobody can be told; `None`: it makes no difference. The flow is `None` if the handshake goes on at once.
    fn drive_handshake_untold(
        &mut self,
        progress: &io::Result<server::Handshake>,
        cx: &mut Receiving<'_, '_>,
    ) -> Option<Option<Flow>> {
        match progress {
            Ok(server::Handshake::Done) => None,
            Ok(server::Handshake::Hello) => {
                let name =
                    self.channel.tls().and_then(ServerTlsStream::hello_name).unwrap_or_default();
                if self.route_session(cx, &name) != Route::Here {
                    return None;
                }
                // What is not chosen is found to be unsure by the caller.
                let chosen =
                    cx.server.context.clone().is_some_and(|context| self.choose(&context, false));
                Some((!chosen).then_some(Flow::Report))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            // What there is to tell is found again, but for what the system tells once.
            Ok(server::Handshake::Unsure | server::Handshake::Ended) | Err(_) => {
                self.channel.readable = true;
                if let Some(number) = progress.as_ref().err().and_then(io::Error::raw_os_error) {
                    self.channel.fail_behind_input(io::Error::from_raw_os_error(number));
                }
                Some(Some(Flow::Report))
            }
        }
    }

    /// TLS is agreed on; `None`: requests can be received.
    fn secured(&mut self, settings: &Settings, batch: &mut Batch<'_>, now: Nanos) -> Option<Flow> {
        let defers = matches!(
            self.session,
            Session::Handshake(Handshake::Agreeing { defers_requests: true })
        );
        self.session = match defers {
            true => Session::Handshake(Handshake::Agreed),
            false => Session::agreed(&self.channel.transport, settings),
        };
        // What came with the client's last message is in the session, not in the socket.
        self.channel.readable = true;
        self.lane.incoming.began = now;
        if let Some((name, certified)) = self.channel.tls().map(ServerTlsStream::asked) {
            let name = name.map(Into::into);
            (self.client.server_name, self.client.certified) = (name, certified);
        }
        if batch.can_tell() {
            self.tell_secure(batch);
        } else {
            self.lane.unreported.secured = true;
        }
        // It is told behind the requests that have come, also those that wait for the caller's word.
        self.channel.find_write_error();
        defers.then_some(Flow::Idle)
    }

    /// Tells what the handshake has come to.
    pub(crate) fn tell_secure(&self, batch: &mut Batch<'_>) {
        let Some(agreed) = self.channel.tls().and_then(ServerTlsStream::agreed) else { return };
        let name = batch.memory.keep(agreed.name.unwrap_or_default().as_bytes());
        let (suite, flags, verdict) = (agreed.suite, flags(&agreed), agreed.verdict);
        batch.push(self.lane.id, Event::Secure { name, suite, flags, verdict });
    }

    /// The connection has failed. What TLS has to say of that is told at once, if somebody can be told.
    pub(crate) fn broken(&mut self, batch: &mut Batch<'_>, error: &io::Error) -> Flow {
        if batch.can_tell() && self.tell_failure(batch) {
            return Flow::Idle;
        }
        Flow::Broken(error.raw_os_error().unwrap_or(0))
    }

    /// Tells of a failure of TLS; `false`: there was none.
    pub(crate) fn tell_failure(&mut self, batch: &mut Batch<'_>) -> bool {
        let Some(failure) = self.channel.tls_mut().and_then(ServerTlsStream::take_failure) else {
            return false;
        };
        let (how, alert, text) = match &failure {
            Failure::Alert(alert) => (failed::ALERT, *alert, ""),
            Failure::NoCertificate => (failed::NO_CERTIFICATE, 0, ""),
            Failure::Decrypt => (failed::DECRYPT, 0, ""),
            Failure::Other(text) => (failed::OTHER, 0, text.as_str()),
        };
        self.tell_failed(batch, how, alert, text);
        self.session = Session::Ended;
        true
    }

    /// The handshake has taken too long. A caller that does not close the connection lets it go on, as Node does.
    pub(crate) fn tell_timeout(&mut self, batch: &mut Batch<'_>) {
        self.tell_failed(batch, failed::TIMEOUT, 0, "");
    }

    fn tell_failed(&mut self, batch: &mut Batch<'_>, how: i32, alert: u8, text: &str) {
        self.open(batch);
        let (text, in_handshake) =
            (batch.memory.keep(text.as_bytes()), self.session.is_handshaking());
        batch.push(self.lane.id, Event::Failed { how, alert, text, in_handshake });
    }

    /// Receives requests, after an end of the handshake that was told alone. `false`: does so already.
    pub(crate) fn start(&mut self, settings: &Settings) -> bool {
        let waits = matches!(self.session, Session::Handshake(Handshake::Agreed));
        if waits {
            self.session = Session::agreed(&self.channel.transport, settings);
        }
        waits
    }

    /// Answers the client's first message. `false`: another implementation has to.
    pub(crate) fn choose(&mut self, context: &SecureContext, defers_requests: bool) -> bool {
        let chosen = self.channel.tls_mut().is_some_and(|tls| tls.choose(context));
        if chosen {
            self.session = Session::Handshake(Handshake::Agreeing { defers_requests });
            self.channel.readable |= self.channel.tls().is_some_and(|tls| !tls.waits());
        }
        chosen
    }
}

fn flags(agreed: &server::Agreed<'_>) -> i32 {
    let resumed = if agreed.resumed { secure::RESUMED } else { 0 };
    let tls13 = if agreed.tls13 { secure::TLS13 } else { 0 };
    // In range: a handful of protocols.
    let protocol = agreed.protocol.map_or(0, |at| at as i32 + 1);
    resumed | tls13 | protocol << secure::PROTOCOL_SHIFT
}
