//! What becomes of requests when their connection ends.

use super::*;

#[test]
fn a_close_in_the_middle_loses_the_requests_at_their_age() {
    let bytes = b"HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello";
    for cut in 1..bytes.len() {
        let mut scene = Scene::new();
        scene.send(&[GET, GET], b"1 2", 100).unwrap();
        assert_eq!(scene.completes(&bytes[..cut], 150), 0);
        let fed = scene.finish(300);
        assert_eq!(fed.completed, 0);
        assert!(matches!(fed.end, Some(End::Eof)));
        assert_eq!(scene.lose_all(300, Loss::Transport(ErrorKind::ClosedEarly)), 2);
        let tally = scene.tally();
        assert_eq!((tally.counts.transport_errors, tally.service_time.censored()), (2, 2));
        assert_eq!(tally.service_time.total(), Duration::from_nanos(400));
        assert!(tally.adds_up());
    }
}

#[test]
fn a_close_between_two_responses_completes_nothing() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.completes(b"HTTP/1.1 204 \r\n\r\n", 1);
    let fed = scene.finish(2);
    assert_eq!((fed.completed, scene.connection.in_flight()), (0, 1));
    assert!(matches!(fed.end, Some(End::Eof)));
}

#[test]
fn a_body_without_length_ends_with_the_connection() {
    let mut scene = Scene::new();
    scene.send(&[GET], b"1", 100).unwrap();
    assert_eq!(scene.completes(b"HTTP/1.1 200 \r\n\r\nsome", 200), 0);
    assert_eq!(scene.completes(b" more", 300), 0);
    let fed = scene.finish(400);
    assert_eq!(fed.completed, 1);
    assert_eq!(scene.lose_all(400, Loss::Transport(ErrorKind::ClosedEarly)), 0);
    let tally = scene.tally();
    assert_eq!((tally.counts.ok, tally.latency.total()), (1, Duration::from_nanos(300)));
}

#[test]
fn requests_behind_a_body_without_length_are_lost() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.completes(b"HTTP/1.1 200 \r\n\r\nHTTP/1.1 204 \r\n\r\n", 1);
    assert_eq!(scene.finish(2).completed, 1);
    assert_eq!(scene.lose_all(2, Loss::Transport(ErrorKind::ClosedEarly)), 1);
    assert!(scene.tally().adds_up());
}

#[test]
fn a_response_that_says_close_ends_the_connection_for_those_behind_it() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET, GET], b"1 2 3", 0).unwrap();
    let fed = scene.feed(
        b"HTTP/1.1 204 \r\n\r\nHTTP/1.1 200 \r\nConnection: close\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 \r\n\r\n",
        5,
    );
    assert_eq!(fed.completed, 2);
    assert!(matches!(fed.end, Some(End::Agreed)));
    assert_eq!(scene.connection.in_flight(), 1);
}
