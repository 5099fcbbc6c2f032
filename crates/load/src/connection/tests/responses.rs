//! Which bytes complete which requests.

use super::*;

#[test]
fn pipelined_responses_belong_to_their_requests_in_order() {
    let mut scene = Scene::new();
    scene.send(&[GET, HEAD], b"1 2", 100).unwrap();
    scene.send(&[GET], b"3", 200).unwrap();
    // The HEAD's response would take the next one for its body if it were taken for a GET's.
    let first =
        b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 404 \r\nContent-Length: 9\r\n\r\n";
    assert_eq!(scene.completes(first, 1000), 2);
    assert_eq!(scene.connection.in_flight(), 1);
    assert_eq!(scene.connection.waiting_since(), Some(Nanos(200)));
    assert_eq!(scene.completes(b"HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n", 5000), 1);
    assert_eq!(scene.connection.waiting_since(), None);
    let tally = scene.tally();
    assert_eq!(statuses(&tally), [(200, 1), (404, 1), (503, 1)]);
    assert_eq!(tally.service_time.total(), Duration::from_nanos(900 + 900 + 4800));
    assert!(tally.adds_up());
}

#[test]
fn a_response_is_done_with_its_last_byte_wherever_it_is_split() {
    let responses: [&[u8]; 5] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n",
        b"HTTP/1.1 202 Accepted\r\nContent-Length: 77\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n",
    ];
    let requests = [GET, GET, HEAD, GET, GET];
    let stream = responses.concat();
    for split in 1..stream.len() {
        let mut scene = Scene::new();
        scene.send(&requests, b"requests", 0).unwrap();
        let mut ends = responses.iter().scan(0, |end, response| {
            *end += response.len();
            Some(*end)
        });
        let early = ends.by_ref().take_while(|end| *end <= split).count();
        assert_eq!(scene.completes(&stream[..split], 10), early, "split at {split}");
        assert_eq!(scene.completes(&stream[split..], 20), 5 - early, "split at {split}");
        let tally = scene.tally();
        assert_eq!(statuses(&tally), [(200, 1), (201, 1), (202, 1), (204, 1), (304, 1)]);
        let expected = 10 * early + 20 * (5 - early);
        assert_eq!(tally.latency.total(), Duration::from_nanos(expected as u64));
        assert_eq!(tally.counts.bytes_received, stream.len() as u64);
    }
}

#[test]
fn a_response_may_come_byte_by_byte() {
    let mut scene = Scene::new();
    scene.send(&[GET], b"r", 0).unwrap();
    let response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    let (last, before) = response.split_last().unwrap();
    for (time, byte) in before.iter().enumerate() {
        assert_eq!(scene.completes(&[*byte], time as u64), 0);
    }
    assert_eq!(scene.completes(&[*last], 500), 1);
    assert_eq!(scene.tally().latency.total(), Duration::from_nanos(500));
}

#[test]
fn bytes_that_answer_no_request_are_an_error() {
    let mut scene = Scene::new();
    let fed = scene.feed(b"HTTP/1.1 503 \r\n\r\n", 1);
    assert!(matches!(fed.end, Some(End::Failed(ErrorKind::Protocol, _))), "{fed:?}");
    let mut scene = Scene::new();
    scene.send(&[GET], b"1", 0).unwrap();
    let fed = scene.feed(b"HTTP/1.1 204 \r\n\r\nHTTP/1.1 204 \r\n\r\n", 1);
    assert_eq!(fed.completed, 1);
    assert!(matches!(fed.end, Some(End::Failed(ErrorKind::Protocol, _))), "{fed:?}");
}

#[test]
fn bytes_that_are_no_response_are_an_error() {
    let mut scene = Scene::new();
    scene.send(&[GET, GET], b"1 2", 0).unwrap();
    let fed = scene.feed(b"HTTP/1.1 204 \r\n\r\nnonsense\r\n", 1);
    assert_eq!(fed.completed, 1);
    match fed.end {
        Some(End::Failed(ErrorKind::Protocol, why)) => assert_eq!(why, "invalid status line"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_comes_while_nothing_is_in_flight() {
    let ended = |bytes: &[u8]| {
        let mut scene = Scene::new();
        scene.feed(bytes, 0).end
    };
    assert!(ended(b"\r\n").is_none(), "a line end too many");
    let timed_out = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    assert!(matches!(ended(timed_out), Some(End::Eof)), "the server has closed an idle connection");
    for (bytes, wanted) in [
        (&b"HTTP/1.1 200 OK\r\n\r\n"[..], "bytes that answer no request"),
        (b"SSH-2.0-x\r\n", "the server speaks SSH, not HTTP: see the port"),
    ] {
        let Some(End::Failed(ErrorKind::Protocol, why)) = ended(bytes) else { panic!("{wanted}") };
        assert_eq!(why, wanted);
    }
}

#[test]
fn a_response_in_another_protocol_names_it() {
    for (bytes, wanted) in [
        (&b"\x15\x03\x03\0\x02\x02\x46"[..], "the server speaks TLS: use https://"),
        (b"hello", "invalid status line"),
        (b"HTTP/3 200 OK\r\n\r\n", "not HTTP/1.0 or HTTP/1.1"),
    ] {
        let mut scene = Scene::new();
        scene.send(&[GET], b"1", 0).unwrap();
        let end = scene.feed(bytes, 1).end;
        let Some(End::Failed(ErrorKind::Protocol, why)) = end else { panic!("{end:?}") };
        assert_eq!(why, wanted);
    }
}
