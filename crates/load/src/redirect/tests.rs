use proptest::prelude::*;

use super::*;

const GET: RequestFields<'_> = RequestFields {
    method: "GET",
    target: Cow::Borrowed("/a/b?c=1"),
    fields: Vec::new(),
    content: b"",
};

fn get() -> RequestFields<'static> {
    RequestFields { fields: vec![("Host", "one.test:8080"), ("X-Key", "v")], ..GET }
}

fn post() -> RequestFields<'static> {
    let fields =
        vec![("Host", "one.test"), ("Content-Type", "text/plain"), ("Content-Length", "2")];
    RequestFields { method: "POST", fields, content: b"hi", ..GET }
}

fn next<'a>(request: RequestFields<'a>, status: u16, location: &[u8]) -> Option<RequestFields<'a>> {
    RedirectRule::new(1, false).next(status, location, request)
}

fn target(location: &str) -> Option<String> {
    let next = next(get(), 302, location.as_bytes())?;
    assert_eq!(RequestFields { target: GET.target, ..next.clone() }, get());
    Some(next.target.into_owned())
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
    let at = |host, tls, location: &str| {
        let request = RequestFields { fields: vec![("Host", host)], ..GET };
        let next = RedirectRule::new(1, tls).next(301, location.as_bytes(), request)?;
        Some(next.target.into_owned())
    };
    assert_eq!(at("one.test", false, "http://one.test:80/x").as_deref(), Some("/x"));
    assert_eq!(at("one.test:443", true, "https://one.test/x").as_deref(), Some("/x"));
    assert_eq!(at("[::1]:3000", false, "http://[::1]:3000/x[1]").as_deref(), Some("/x%5B1%5D"));
    assert_eq!(at("one.test", true, "http://one.test/x"), None);
}

#[test]
fn the_method_changes_where_it_has_to() {
    for (status, method, has_content) in [
        (301, "GET", false),
        (302, "GET", false),
        (303, "GET", false),
        (307, "POST", true),
        (308, "POST", true),
    ] {
        let next = next(post(), status, b"/n").unwrap();
        let fields = if has_content { post().fields } else { vec![("Host", "one.test")] };
        let content: &[u8] = if has_content { b"hi" } else { b"" };
        assert_eq!(
            next,
            RequestFields { method, target: "/n".into(), fields, content },
            "{status}"
        );
    }
    let method =
        |method, status| next(RequestFields { method, ..get() }, status, b"/n").unwrap().method;
    assert_eq!(method("PUT", 302), "PUT", "only POST becomes GET");
    assert_eq!(method("PUT", 303), "GET");
    assert_eq!(method("HEAD", 303), "HEAD");
}

#[test]
fn the_status_and_the_number_of_redirections_are_bounded() {
    let rule = RedirectRule::new(2, false);
    for status in [301, 302, 303, 307, 308] {
        assert!(rule.concerns(status, 1), "{status}");
        assert!(!rule.concerns(status, 2), "{status}");
    }
    for status in [200, 201, 300, 304, 305, 306, 400] {
        assert!(!rule.concerns(status, 0), "{status}");
    }
}

#[test]
fn an_empty_location_leads_nowhere() {
    for location in ["", " ", "\t "] {
        assert_eq!(target(location), None, "{location:?}");
    }
}

proptest! {
    #[test]
    fn any_location_gives_a_request_that_can_be_sent(location in any::<Vec<u8>>()) {
        if let Some(next) = next(get(), 302, &location) {
            let target = next.target;
            prop_assert!(target.starts_with('/'), "{target}");
            prop_assert!(millrace_http::h1::is_target(target.as_bytes()), "{target}");
        }
    }
}
