//! TCP's own probes of a silent peer (keep-alive), as libuv asks for them.

use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// When a silent peer is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// After so much silence, in whole seconds; what the system refuses, zero among it: after its own time.
    pub after: Duration,
    /// Between two probes, in whole seconds.
    pub interval: Duration,
    /// So many without an answer end the connection.
    pub probes: u32,
}

impl KeepAlive {
    /// With libuv's interval and number.
    #[must_use]
    pub const fn after(after: Duration) -> Self {
        Self { after, interval: Duration::from_secs(1), probes: 10 }
    }
}

/// Turns probes on or off. A connection does without what the system refuses: it may be no TCP, or gone.
pub(crate) fn set(socket: &SockRef<'_>, probes: Option<KeepAlive>) {
    socket.set_keepalive(probes.is_some()).ok();
    let Some(KeepAlive { after, interval, probes }) = probes else { return };
    // All or nothing, as libuv.
    if after.as_secs() == 0 || interval.as_secs() == 0 || probes == 0 {
        return;
    }
    let times = TcpKeepalive::new().with_time(after).with_interval(interval).with_retries(probes);
    socket.set_tcp_keepalive(&times).ok();
}
