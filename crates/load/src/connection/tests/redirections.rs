//! Redirections that are followed on the connection.

use super::*;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: one.test\r\n\r\n";
const NEXT: &[u8] = b"GET /next HTTP/1.1\r\nHost: one.test\r\n\r\n";
const REDIRECTION: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n";
const NO_CONTENT: &[u8] = b"HTTP/1.1 204 \r\n\r\n";

/// With a connection that follows redirections, on which a request has been sent.
fn following() -> Scene {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.connection = Connection::new(options(Some(RedirectRule::new(5, false))));
    scene.open(Script::default());
    scene.send(&[GET], REQUEST, 0).unwrap();
    scene.script().written.clear();
    scene
}

#[test]
fn a_redirection_is_followed_in_place_of_its_completion() {
    let mut scene = following();
    assert_eq!(scene.completes(REDIRECTION, 1), 0);
    assert_eq!(scene.script().written, NEXT);
    assert_eq!(scene.completes(NO_CONTENT, 2), 1);
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(204, 1)], 1));
}

#[test]
fn a_large_head_of_a_redirection_is_kept_until_its_body_has_ended() {
    for (length, followed) in [(9 * 1024, 1), (60 * 1024, 1), (70 * 1024, 0)] {
        let mut scene = following();
        let head = format!(
            "HTTP/1.1 302 Found\r\nX-Long: {}\r\nLocation: /next\r\nContent-Length: 4\r\n\r\n",
            "y".repeat(length)
        );
        assert_eq!(scene.completes(head.as_bytes(), 1), 0);
        assert_eq!(scene.completes(b"mo", 2), 0);
        assert_eq!(scene.completes(b"ve", 3), 1 - followed, "{length}");
        assert_eq!(scene.script().written.is_empty(), followed == 0, "{length}");
        assert_eq!(scene.tally().counts.followed, followed as u64, "{length}");
    }
}

#[test]
fn bytes_that_came_with_a_redirection_do_not_answer_the_next_request() {
    let mut scene = following();
    let fed = scene.feed(&[REDIRECTION, NO_CONTENT].concat(), 1);
    assert_eq!(fed.completed, 1);
    match fed.end {
        Some(End::Failed(ErrorKind::Protocol, why)) => {
            assert_eq!(why, "bytes that answer no request");
        }
        other => panic!("{other:?}"),
    }
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(302, 1)], 0));
    // A line end too many is no answer.
    let mut scene = following();
    assert_eq!(scene.completes(&[REDIRECTION, b"\r\n"].concat(), 1), 0);
    assert_eq!(scene.completes(NO_CONTENT, 2), 1);
    assert_eq!(statuses(&scene.tally()), [(204, 1)]);
}

#[test]
fn a_redirection_is_not_followed_while_its_request_is_still_on_its_way() {
    let mut scene = Scene::new();
    scene.connection.close();
    scene.connection = Connection::new(options(Some(RedirectRule::new(5, false))));
    scene.open(Script::default());
    scene.script().writes = VecDeque::from([Ok(60), blocked()]);
    let request =
        [&b"PUT / HTTP/1.1\r\nHost: one.test\r\nContent-Length: 99\r\n\r\n"[..], &[b'x'; 99]];
    scene.send(&[GET], &request.concat(), 0).unwrap();
    let redirection = b"HTTP/1.1 307 R\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(scene.completes(redirection, 1), 1);
    assert_eq!(scene.connection.write_buffer.unsent().len(), request.concat().len() - 60);
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(307, 1)], 0));
}

#[test]
fn a_request_counts_as_its_redirection_if_the_server_closes_before_the_next_response() {
    let mut scene = following();
    scene.completes(REDIRECTION, 1);
    scene.completes(b"\r\n", 2);
    let fed = scene.finish(3);
    assert_eq!(fed.completed, 1);
    assert!(matches!(fed.end, Some(End::Eof)), "{fed:?}");
    assert_eq!(scene.connection.in_flight(), 0);
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(302, 1)], 1));
    assert_eq!(&*tally.kept[0].bytes, REDIRECTION, "the first redirection tells where it leads");
    // A response that has begun is one that breaks off.
    for begun in ["H", "HTTP/1.1 103 \r\n\r\n", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n"] {
        let mut scene = following();
        scene.completes(REDIRECTION, 1);
        scene.completes(begun.as_bytes(), 2);
        assert_eq!(scene.finish(3).completed, 0, "{begun}");
        assert_eq!(scene.connection.in_flight(), 1, "{begun}");
    }
    // The redirection of an earlier request is not that of the present one.
    let mut scene = following();
    scene.completes(REDIRECTION, 1);
    scene.completes(NO_CONTENT, 2);
    scene.send(&[GET], REQUEST, 3).unwrap();
    assert_eq!(scene.finish(4).completed, 0);
}

#[test]
fn a_redirection_is_not_followed_if_the_peer_has_closed() {
    let mut scene = following();
    scene.peer_closed = true;
    assert_eq!(scene.completes(REDIRECTION, 1), 1);
    assert_eq!(scene.script().written, b"");
    let tally = scene.tally();
    assert_eq!((statuses(&tally), tally.counts.followed), (vec![(302, 1)], 0));
}
