use proptest::prelude::*;

use super::*;

const GET: &[u8] = b"GET /a/b?c=1 HTTP/1.1\r\nHost: one.test:8080\r\nX-Key: v\r\n\r\n";
const POST: &[u8] = b"POST /a/b HTTP/1.1\r\nHost: one.test\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi";

fn next(request: &[u8], tls: bool, status: u16, location: &str) -> Option<String> {
    let mut following = RedirectFollower::new(1, tls);
    following.begin(request);
    let response = format!("HTTP/1.1 {status} R\r\nA: b\r\nLOCATION: \t{location} \r\n\r\nbody");
    following
        .next(status, [response.as_bytes(), b""])
        .map(|it| String::from_utf8_lossy(it).into_owned())
}

fn target(location: &str) -> Option<String> {
    let request = next(GET, false, 302, location)?;
    assert!(request.ends_with(" HTTP/1.1\r\nHost: one.test:8080\r\nX-Key: v\r\n\r\n"), "{request}");
    request.split(' ').nth(1).map(str::to_owned)
}

#[test]
fn references_are_resolved() {
    for (location, expected) in [
        ("/login", "/login"),
        ("/", "/"),
        ("?d=2", "/a/b?d=2"),
        ("next", "/a/next"),
        ("./", "/a/"),
        ("../x/../y?z", "/y?z"),
        ("../../..", "/"),
        ("//one.test:8080/p", "/p"),
        ("http://one.test:8080", "/"),
        ("HTTP://ONE.TEST:8080/p?q#fragment", "/p?q"),
        ("http://user:pw@one.test:8080/p", "/p"),
        ("/p#", "/p"),
        ("/#a#b", "/"),
        // What browsers send encoded.
        ("/a b", "/a%20b"),
        ("/\u{fc}", "/%C3%BC"),
        ("/x[0]|y?a={b}", "/x%5B0%5D%7Cy?a=%7Bb%7D"),
        ("/100%/%41", "/100%25/%41"),
        ("/?u=http://other.test/[1]", "/?u=http://other.test/%5B1%5D"),
    ] {
        assert_eq!(target(location).as_deref(), Some(expected), "{location:?}");
    }
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
fn another_server_is_not_asked() {
    for location in [
        "https://one.test:8080/",
        "http://one.test/",
        "http://one.test:8081/",
        "//two.test:8080/",
        "mailto:a@b.test",
        "http://one.test:99999/",
        "http://[::1/",
        "http:///",
    ] {
        assert_eq!(target(location), None, "{location:?}");
    }
}

#[test]
fn default_ports_and_addresses_are_the_same_server() {
    let at = |host: &str, tls, location| {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        next(request.as_bytes(), tls, 301, location)
            .and_then(|it| it.split(' ').nth(1).map(str::to_owned))
    };
    assert_eq!(at("one.test", false, "http://one.test:80/x").as_deref(), Some("/x"));
    assert_eq!(at("one.test:443", true, "https://one.test/x").as_deref(), Some("/x"));
    assert_eq!(at("[::1]:3000", false, "http://[::1]:3000/x[1]").as_deref(), Some("/x%5B1%5D"));
    assert_eq!(at("one.test", true, "http://one.test/x"), None);
}

#[test]
fn the_method_changes_where_it_has_to() {
    for (status, starts, has_content) in [
        (301, "GET /n ", false),
        (302, "GET /n ", false),
        (303, "GET /n ", false),
        (307, "POST /n ", true),
        (308, "POST /n ", true),
    ] {
        let request = next(POST, false, status, "/n").unwrap();
        assert!(request.starts_with(starts), "{status}: {request}");
        assert_eq!(request.ends_with("Content-Length: 2\r\n\r\nhi"), has_content, "{request}");
        assert_eq!(request.contains("Content-Type"), has_content, "{request}");
        assert!(request.contains("Host: one.test\r\n"), "{request}");
    }
    let put = |status| next(b"PUT / HTTP/1.1\r\nHost: h\r\n\r\n", false, status, "/n").unwrap();
    assert!(put(302).starts_with("PUT /n"), "only POST becomes GET");
    assert!(put(303).starts_with("GET /n"));
    let head = next(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", false, 303, "/n").unwrap();
    assert!(head.starts_with("HEAD /n"));
}

#[test]
fn other_responses_lead_nowhere() {
    for status in [200, 201, 300, 304, 305, 306, 400] {
        assert_eq!(next(GET, false, status, "/n"), None, "{status}");
    }
    let mut following = RedirectFollower::new(1, false);
    following.begin(GET);
    assert_eq!(following.next(302, [b"HTTP/1.1 302 R\r\nX: ", b"y\r\n\r\n"]), None, "no Location");
    assert_eq!(
        following.next(302, [b"HTTP/1.1 302 R\r\nLocation: /a", b""]),
        None,
        "the head was cut"
    );
}

#[test]
fn interim_responses_are_passed_over_and_the_number_is_bounded() {
    let response: &[u8] =
        b"HTTP/1.1 103 Hints\r\nLocation: /wrong\r\n\r\nHTTP/1.1 302 R\r\nLocation: x\r\n\r\n";
    let mut following = RedirectFollower::new(2, false);
    following.begin(GET);
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
        let mut following = RedirectFollower::new(1, false);
        following.begin(GET);
        let response = [&b"HTTP/1.1 302 R\r\nLocation: "[..], &location, b"\r\n\r\n"].concat();
        if let Some(request) = following.next(302, [&response, b""]) {
            let text = std::str::from_utf8(request).unwrap();
            let target = text.strip_prefix("GET ").and_then(|it| it.split_once(" HTTP/1.1\r\nHost: one"));
            let (target, _) = target.expect("one request line");
            prop_assert!(target.starts_with('/'), "{target}");
            prop_assert!(millrace_http::h1::is_target(target.as_bytes()), "{target}");
        }
    }
}
