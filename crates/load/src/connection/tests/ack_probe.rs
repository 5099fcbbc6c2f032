//! The acknowledgement probe.

use super::*;

/// A connection with a response of which the first part has arrived.
fn begun() -> Scene {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.completes(b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n", 1);
    scene.script().written.clear();
    scene.tally();
    scene
}

#[test]
fn an_acknowledgement_probe_is_one_empty_line_for_each_response_in_parts() {
    let mut scene = Scene::new();
    scene.send_ack_probe();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"1 2", "nothing has begun");
    scene.completes(b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n", 1);
    scene.send_ack_probe();
    scene.completes(b"h", 2);
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"1 2\r\n", "once");
    scene.completes(b"i", 3);
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"1 2\r\n", "it has ended");
    scene.completes(b"HTTP/1.1 ", 4);
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"1 2\r\n\r\n");
    assert_eq!(scene.completes(b"204 \r\n\r\n", 5), 1);
    let tally = scene.tally();
    assert_eq!((tally.counts.bytes_sent, tally.counts.sent), (7, 2));
    assert!(tally.adds_up());
}

#[test]
fn an_acknowledgement_probe_does_not_come_between_the_bytes_of_a_request() {
    let mut scene = begun();
    scene.script().writes = VecDeque::from([Ok(2), blocked()]);
    scene.send(&[GET], b"upload", 2).unwrap();
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"up");
    scene.flush();
    scene.send_ack_probe();
    assert_eq!(scene.script().written, b"upload\r\n");
}

#[test]
fn an_acknowledgement_probe_that_a_transport_does_not_take_goes_out_before_the_next_request() {
    for (taken, waits) in [(0, "\r\n"), (1, "\n")] {
        let mut scene = begun();
        let room = (0..taken).map(|_| Ok(1));
        scene.script().writes = room.chain([blocked()]).collect();
        scene.send_ack_probe();
        assert_eq!(scene.connection.write_buffer.unsent(), waits.as_bytes());
        scene.send(&[GET], b"3", 2).unwrap();
        assert_eq!(scene.places(), (2, 1, 0), "the request waits behind it");
        scene.flush();
        assert_eq!(scene.script().written, b"\r\n3");
        assert_eq!((scene.places(), scene.tally().counts.bytes_sent), ((3, 0, 0), 3));
    }
}

#[test]
fn an_acknowledgement_probe_that_fails_leaves_the_end_to_be_read() {
    let mut scene = begun();
    scene.script().writes = VecDeque::from([Err(io::ErrorKind::BrokenPipe.into())]);
    scene.send_ack_probe();
    assert_eq!(scene.completes(b"hi", 2), 1);
    assert!(scene.connection.is_open());
}
