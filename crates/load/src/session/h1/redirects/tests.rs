use proptest::prelude::*;

use super::*;

const GET: &[u8] =
    b"GET /a/b?c=1 HTTP/1.1\r\nHost: one.test:8080\r\nX-Key:  v \r\nX-Empty: \r\n\r\n";
const POST: &[u8] = b"POST /a/b HTTP/1.1\r\nHost: one.test\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi";

fn follower(max: u32, request: &[u8]) -> RedirectFollower {
    let mut follower = RedirectFollower::new(RedirectRule::new(max, false));
    follower.begin(request);
    follower
}

fn next(request: &[u8], status: u16, location: &str) -> Option<String> {
    let response = format!("HTTP/1.1 {status} R\r\nA: b\r\nLOCATION: \t{location} \r\n\r\nbody");
    let mut follower = follower(1, request);
    let next = follower.next(status, [response.as_bytes(), b""])?;
    Some(String::from_utf8(next.to_vec()).unwrap())
}

fn target(location: &str) -> Option<String> {
    next(GET, 302, location)?.split(' ').nth(1).map(str::to_owned)
}

#[test]
fn the_next_request_has_the_bytes_of_the_last_one() {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(next(GET, 302, "/n").unwrap(), text(GET).replace("/a/b?c=1", "/n"));
    assert_eq!(next(POST, 307, "/n").unwrap(), text(POST).replace("/a/b", "/n"));
    assert_eq!(next(POST, 302, "/n").unwrap(), "GET /n HTTP/1.1\r\nHost: one.test\r\n\r\n");
    assert_eq!(next(GET, 200, "/n"), None);
}

#[test]
fn a_folded_location_is_unfolded() {
    for (folded, expected) in [
        ("\r\n /next", "/next"),
        ("\r\n \r\n\t/next", "/next"),
        ("/next\r\n ", "/next"),
        ("/a?b\r\n\t c", "/a?b%20c"),
    ] {
        assert_eq!(target(folded).as_deref(), Some(expected), "{folded:?}");
    }
}

#[test]
fn an_empty_location_leads_nowhere() {
    for location in ["", " ", "\r\n ", "\t\r\n \r\n\t"] {
        assert_eq!(target(location), None, "{location:?}");
    }
}

#[test]
fn a_head_without_location_or_end_leads_nowhere() {
    let mut follower = follower(1, GET);
    assert_eq!(follower.next(302, [b"HTTP/1.1 302 R\r\nX: ", b"y\r\n\r\n"]), None, "no Location");
    assert_eq!(
        follower.next(302, [b"HTTP/1.1 302 R\r\nLocation: /a", b""]),
        None,
        "the head was cut"
    );
}

#[test]
fn interim_responses_are_passed_over_and_the_number_is_bounded() {
    let response: &[u8] =
        b"HTTP/1.1 103 Hints\r\nLocation: /wrong\r\n\r\nHTTP/1.1 302 R\r\nLocation: x\r\n\r\n";
    let mut following = follower(2, GET);
    assert!(following.next(302, [response, b""]).unwrap().starts_with(b"GET /a/x "));
    assert!(
        following.next(302, [response, b""]).unwrap().starts_with(b"GET /a/x "),
        "relative to the last"
    );
    assert_eq!(following.next(302, [response, b""]), None);
    following.begin(GET);
    assert!(following.next(302, [response, b""]).is_some(), "the next request begins anew");
}

proptest! {
    #[test]
    fn any_location_gives_a_request_that_can_be_sent(location in any::<Vec<u8>>()) {
        let response = [&b"HTTP/1.1 302 R\r\nLocation: "[..], &location, b"\r\n\r\n"].concat();
        if let Some(request) = follower(1, GET).next(302, [&response, b""]) {
            let text = std::str::from_utf8(request).unwrap();
            let target = text.strip_prefix("GET ").and_then(|it| it.split_once(" HTTP/1.1\r\nHost: one"));
            let (target, _) = target.expect("one request line");
            prop_assert!(target.starts_with('/'), "{target}");
            prop_assert!(millrace_http::h1::is_target(target.as_bytes()), "{target}");
        }
    }
}
