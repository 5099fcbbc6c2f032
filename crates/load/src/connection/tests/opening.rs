//! From the connect to the first request.

use super::*;

#[test]
fn opening_goes_from_connect_to_handshake_to_ready() {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.tally();
    let script = Script {
        progress: VecDeque::from([
            Ok(Progress::Connecting),
            // It has connected; then it begins the handshake.
            Ok(Progress::Handshaking),
            Ok(Progress::Handshaking),
            Ok(Progress::Handshaking),
            Ok(Progress::Ready { resumed: Some(true), protocol: None }),
        ]),
        ..Script::default()
    };
    scene.connection.open(script, Nanos(100));
    assert_eq!(scene.establish(&At(150)).unwrap(), None);
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(100)));
    assert!(!scene.connection.is_handshaking());
    assert_eq!(scene.establish(&At(200)).unwrap(), None);
    assert_eq!(
        scene.connection.waiting_since(),
        Some(Nanos(200)),
        "the handshake has a limit of its own"
    );
    assert!(scene.connection.is_handshaking());
    assert_eq!(scene.establish(&At(300)).unwrap(), None);
    assert!(!scene.connection.is_open());
    assert_eq!(scene.establish(&At(450)).unwrap(), Some(Nanos(450)));
    assert!(scene.connection.is_open());
    assert_eq!(scene.connection.waiting_since(), None);
    let WindowStats { counts, connect, tls, .. } = scene.tally();
    assert_eq!((counts.opened, counts.tls_resumed, counts.tls_full), (1, 1, 0));
    assert_eq!(
        (connect.total(), tls.total()),
        (Duration::from_nanos(100), Duration::from_nanos(250))
    );
}

/// A clock whose every reading is a nanosecond after the last.
#[derive(Default)]
struct Ticking(std::cell::Cell<u64>);

impl Clock for Ticking {
    fn now(&self) -> Nanos {
        self.0.set(self.0.get() + 1);
        Nanos(self.0.get())
    }
}

#[test]
fn a_handshake_that_ends_in_the_turn_of_its_connect_took_time() {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.tally();
    let script = Script {
        progress: VecDeque::from([
            Ok(Progress::Handshaking),
            Ok(Progress::Ready { resumed: Some(false), protocol: None }),
        ]),
        ..Script::default()
    };
    scene.connection.open(script, Nanos(0));
    let ready = scene.establish(&Ticking::default()).unwrap();
    let WindowStats { connect, tls, .. } = scene.tally();
    let nanosecond = Duration::from_nanos(1);
    assert_eq!((ready, connect.total(), tls.total()), (Some(Nanos(2)), nanosecond, nanosecond));
}

#[test]
fn opening_that_fails_is_no_connection() {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.tally();
    let refused = Err(io::ErrorKind::ConnectionRefused.into());
    let script = Script { progress: VecDeque::from([refused]), ..Script::default() };
    scene.connection.open(script, Nanos(5));
    let error = scene.establish(&At(6)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    assert!(scene.connection.close().is_some());
    assert!(scene.connection.is_closed());
    assert_eq!(scene.tally().counts.opened, 0);
}

#[test]
fn the_next_connection_begins_afresh() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    // In the middle of a body, and of a head after that.
    for rest in [&b"HTTP/1.1 200 \r\nContent-Length: 99\r\n\r\nhi"[..], b"HTTP/1.1 20"] {
        assert_eq!(scene.completes(rest, 1), 0);
        assert!(scene.connection.close().is_some());
        assert!(scene.connection.close().is_none());
        scene.lose_all(1, Loss::Timeout);
        scene.open(Script::default());
        scene.send(&[GET], b"again", 2).unwrap();
        assert_eq!(scene.script().written, b"again", "nothing is left of the last connection");
    }
    assert_eq!(scene.completes(b"HTTP/1.1 204 \r\n\r\n", 3), 1);
}

#[test]
fn a_request_is_on_a_used_connection_from_the_second_on() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.send(&[GET], b"3", 1).unwrap();
    assert_eq!(scene.recorder.roll(Nanos(2), Box::default()).counts.reused, 2);
    scene.connection.close();
    scene.lose_all(3, Loss::Timeout);
    scene.open(Script::default());
    scene.send(&[GET], b"4", 4).unwrap();
    assert_eq!(scene.recorder.roll(Nanos(5), Box::default()).counts.reused, 0);
}
