//! How requests go out, at once and in parts.

use super::*;

#[test]
fn what_a_transport_does_not_take_goes_out_later_and_in_order() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(3), blocked()]);
    scene.send(&[GET], b"first request ", 0).unwrap();
    assert_eq!(scene.script().written, b"fir");
    // It has to wait although there would be room by now.
    scene.send(&[GET], b"second request", 10).unwrap();
    assert_eq!(scene.script().written, b"fir");
    scene.script().writes = VecDeque::from([Ok(9), blocked()]);
    scene.flush();
    assert_eq!(scene.script().written, b"first reques");
    scene.flush();
    assert_eq!(scene.script().written, b"first request second request");
    scene.flush();
    assert_eq!(scene.script().written.len(), 28, "nothing is sent twice");
    assert_eq!(scene.connection.in_flight(), 2);
    assert_eq!(scene.tally().counts.bytes_sent, 28);
}

#[test]
fn what_a_transport_keeps_itself_goes_first() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(0)]);
    scene.send(&[GET], b"request", 0).unwrap();
    scene.script().flushes = VecDeque::from([Ok(false)]);
    scene.flush();
    assert!(scene.script().written.is_empty());
    scene.flush();
    assert_eq!(scene.script().written, b"request");
}

#[test]
fn a_response_may_end_before_its_request_has_gone_out() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.send(&[GET], b"a long upload", 0).unwrap();
    assert_eq!(scene.completes(b"HTTP/1.1 413 \r\nContent-Length: 0\r\n\r\n", 5), 1);
    scene.flush();
    assert_eq!(scene.script().written, b"a long upload");
}

#[test]
fn a_request_is_sent_when_its_first_byte_goes_out() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(4), blocked()]);
    scene.send_batch(&[GET, HEAD, GET, GET], b"1 22 333 4", &[0, 2, 5, 9], 100).unwrap();
    assert_eq!(scene.places(), (2, 2, 0), "the second has begun");
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.flush_at(200).unwrap();
    assert_eq!(scene.places(), (2, 2, 0), "the third has not");
    scene.script().writes = VecDeque::from([Ok(1), blocked()]);
    scene.flush_at(300).unwrap();
    assert_eq!((scene.places(), scene.recorder.under_way()), ((3, 1, 0), 4));
    scene.flush_at(400).unwrap();
    assert_eq!((scene.places(), scene.recorder.under_way()), ((4, 0, 0), 4));
    let responses = b"HTTP/1.1 204 \r\n\r\n".repeat(4);
    assert_eq!(scene.completes(&responses, 1000), 4);
    let tally = scene.tally();
    assert_eq!((tally.counts.sent, tally.counts.reused), (4, 3));
    assert_eq!(tally.service_time.total(), Duration::from_nanos(900 + 900 + 700 + 600));
    assert_eq!(tally.latency.total(), Duration::from_nanos(4 * 900));
}

#[test]
fn bytes_count_when_they_go_out() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(3), blocked()]);
    scene.send(&[GET], b"request", 0).unwrap();
    assert_eq!(scene.tally().counts.bytes_sent, 3);
    scene.flush();
    assert_eq!(scene.tally().counts.bytes_sent, 4);
}

#[test]
fn what_has_gone_out_is_not_kept_behind_a_server_that_is_always_a_little_late() {
    let mut scene = Scene::new();
    let request = vec![b'x'; 50_000];
    // The first half of each goes out with the second half of the one before.
    scene.script().writes = [Ok(25_000), blocked()].into();
    scene.send(&[GET], &request, 0).unwrap();
    for round in 1..200 {
        scene.send(&[GET], &request, round).unwrap();
        scene.script().writes = [Ok(50_000), blocked()].into();
        scene.flush_at(round).unwrap();
        assert_eq!(scene.places(), (round as usize + 1, 0, 0));
    }
    assert_eq!(scene.connection.write_buffer.unsent().len(), 25_000);
    assert!(
        scene.connection.write_buffer.len() < 300_000,
        "{}",
        scene.connection.write_buffer.len()
    );
    scene.flush();
    assert_eq!(scene.script().written.len(), 200 * 50_000);
}

#[test]
fn requests_that_are_held_keep_their_place_when_the_outbox_is_shortened() {
    let mut scene = Scene::new();
    scene.script().writes = [Ok(1), blocked()].into();
    scene.send(&[GET, GET], &[b'x'; 100_000], 0).unwrap();
    scene.send(&[GET], &[b'y'; 1000], 0).unwrap();
    // The first two and all but the last byte before the third.
    scene.script().writes = [Ok(99_998), blocked(), Ok(1), blocked()].into();
    scene.flush();
    assert_eq!(scene.places(), (2, 1, 0));
    scene.flush();
    assert_eq!(scene.places(), (2, 1, 0), "not a byte of the third is out");
    scene.script().writes = [Ok(1), blocked()].into();
    scene.flush();
    assert_eq!(scene.places(), (3, 0, 0));
}
