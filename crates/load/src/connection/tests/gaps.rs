//! The time from a response's first byte to its last.

use super::*;

#[test]
fn the_gap_of_a_response_is_from_its_first_byte_to_its_last() {
    let responses: [&[u8]; 3] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ];
    let stream = responses.concat();
    let mut ends = vec![0];
    for response in responses {
        ends.push(ends[ends.len() - 1] + response.len());
    }
    for first in 1..stream.len() {
        for second in [1, 2, 7, 40, 90].map(|distance| first + distance) {
            let second = second.min(stream.len());
            let mut scene = Scene::new();
            scene.send(&[GET; 3], b"requests", 0).unwrap();
            scene.completes(&stream[..first], 100);
            scene.completes(&stream[first..second], 110);
            scene.completes(&stream[second..], 130);
            // The read that brought a byte ended at this time.
            let read = |byte: usize| match byte {
                byte if byte < first => 100,
                byte if byte < second => 110,
                _ => 130,
            };
            let gaps = ends.windows(2).map(|ends| read(ends[1] - 1) - read(ends[0]));
            let gaps: Vec<u64> = gaps.filter(|gap| *gap > 0).collect();
            let tally = scene.tally();
            let total = Duration::from_nanos(gaps.iter().sum());
            assert_eq!(
                (tally.gap.count(), tally.gap.censored(), tally.gap.total()),
                (gaps.len() as u64, 0, total),
                "split at {first} and {second}"
            );
            assert_eq!(tally.counts.ok, 3);
        }
    }
}

#[test]
fn a_response_that_breaks_off_has_its_gap_at_its_age() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    scene.completes(b"HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhe", 100);
    scene.completes(b"ll", 200);
    assert_eq!(scene.lose_all(350, Loss::Timeout), 2);
    // Nothing is left of it on the next connection.
    scene.connection.close();
    scene.open(Script::default());
    scene.send(&[GET], b"3", 400).unwrap();
    assert_eq!(scene.completes(b"HTTP/1.1 204 \r\n\r\n", 500), 1);
    let WindowStats { gap, .. } = scene.tally();
    assert_eq!((gap.count(), gap.censored(), gap.total()), (1, 1, Duration::from_nanos(250)));
}

#[test]
fn a_body_that_ends_with_the_connection_has_its_last_byte_there() {
    let mut scene = Scene::new();
    scene.send(&[GET], b"1", 0).unwrap();
    scene.completes(b"HTTP/1.1 200 \r\n\r\nsome", 100);
    assert_eq!(scene.finish(300).completed, 1);
    let WindowStats { gap, .. } = scene.tally();
    assert_eq!((gap.count(), gap.censored(), gap.total()), (1, 0, Duration::from_nanos(200)));
}

#[test]
fn gaps_of_the_warm_up_are_not_recorded() {
    let mut scene = Scene::new();
    scene.recorder.measure_from(Nanos(50));
    scene.send(&[GET, GET], b"1 2", 49).unwrap();
    scene.completes(b"HTTP/1.1 204 \r\n", 60);
    assert_eq!(scene.completes(b"\r\nHTTP/1.1 204 \r\n", 70), 1);
    scene.lose_all(80, Loss::Timeout);
    assert_eq!(scene.tally().gap.count(), 0);
}
