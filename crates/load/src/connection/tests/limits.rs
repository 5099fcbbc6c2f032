//! Since when a connection waits.

use super::*;

#[test]
fn a_request_that_is_held_behind_none_has_a_limit_too() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.send(&[GET], b"upload", 100).unwrap();
    scene.send(&[GET], b"second", 200).unwrap();
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(100)));
    assert_eq!(scene.completes(b"HTTP/1.1 413 \r\nContent-Length: 0\r\n\r\n", 250), 1);
    assert_eq!(scene.places(), (0, 1, 0));
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(200)));
}

#[test]
fn the_limit_of_a_request_runs_from_the_oldest_in_flight() {
    let mut scene = Scene::new();
    assert_eq!(scene.connection.waiting_since(), None, "an idle connection has no limit");
    scene.send(&[GET], b"1", 100).unwrap();
    scene.send(&[GET], b"2", 200).unwrap();
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(100)));
    scene.completes(b"HTTP/1.1 204 \r\n\r\n", 900);
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(200)));
    assert_eq!(scene.lose_all(1200, Loss::Timeout), 1);
    assert_eq!(scene.connection.waiting_since(), None);
    let tally = scene.tally();
    assert_eq!((tally.counts.timeouts, tally.counts.ok), (1, 1));
    assert_eq!(tally.service_time.total(), Duration::from_nanos(800 + 1000));
}
