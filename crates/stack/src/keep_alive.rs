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

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// What the system says after `probes` was set: whether it probes, after how long, how far apart, and how often.
    fn told(probes: &[Option<KeepAlive>]) -> (bool, Duration, Duration, u32) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = SockRef::from(&stream);
        for &probes in probes {
            set(&socket, probes);
        }
        (
            socket.keepalive().unwrap(),
            socket.tcp_keepalive_time().unwrap(),
            socket.tcp_keepalive_interval().unwrap(),
            socket.tcp_keepalive_retries().unwrap(),
        )
    }

    #[test]
    fn the_system_has_what_was_asked_for() {
        const SECOND: Duration = Duration::from_secs(1);
        let system = told(&[]);
        assert!(!system.0);
        let on = (true, system.1, system.2, system.3);
        let after = |seconds| Some(KeepAlive::after(seconds * SECOND));
        assert_eq!(told(&[after(10)]), (true, 10 * SECOND, SECOND, 10));
        let own = KeepAlive { after: 9 * SECOND, interval: 5 * SECOND, probes: 2 };
        assert_eq!(told(&[Some(own)]), (true, 9 * SECOND, 5 * SECOND, 2));
        assert_eq!(told(&[after(0)]), on);
        assert_eq!(told(&[after(u32::MAX)]), on, "refused");
        assert_eq!(told(&[Some(KeepAlive { interval: SECOND / 2, ..own })]), on);
        assert!(!told(&[after(10), None]).0);
    }
}
