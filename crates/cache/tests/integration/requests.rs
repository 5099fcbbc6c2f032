//! Which requests the cache answers, and what has to be equal for that.

use crate::origin::{HOST, Site, get, seconds, settings};
use millrace_cache::{Lookup, Mode, Pass, Request, Settings};
use millrace_http::h1::Method;

/// Why the cache leaves a request alone, though its URI is stored.
fn passed(request: &Request<'_>) -> Option<Pass> {
    let mut site = Site::new(settings());
    site.store("/", "", "", "stored");
    match site.cache.lookup(site.now, request, 0) {
        Lookup::Pass(reason) => {
            assert_eq!(site.statistics().passes(reason), 1);
            Some(reason)
        }
        _ => None,
    }
}

#[test]
fn each_field_that_makes_a_request_pass() {
    let rows = [
        ("", None),
        ("Accept: */*\r\n", None),
        ("Range: bytes=0-1\r\n", Some(Pass::Range)),
        ("If-Range: \"1\"\r\n", Some(Pass::Range)),
        ("Expect: 100-continue\r\n", Some(Pass::Expect)),
        ("Connection: upgrade\r\nUpgrade: h2c\r\n", Some(Pass::Upgrade)),
        ("upgrade-insecure-requests: 1\r\n", None),
        ("IF-MATCH: \"1\"\r\n", Some(Pass::Precondition)),
        ("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(Pass::Precondition)),
        ("Host: b.example\r\n", Some(Pass::Authority)),
        ("Host: a.example\r\n", Some(Pass::Authority)),
        ("If-None-Match: \"1\"\r\n", None),
        // A request says nothing about this unless the cache heeds it.
        ("Cache-Control: no-store\r\n", None),
        ("Cache-Control: no-cache\r\nPragma: no-cache\r\n", None),
    ];
    for (fields, expected) in rows {
        let lines = format!("{HOST}{fields}");
        assert_eq!(passed(&get("/", &lines)), expected, "{fields:?}");
    }
}

#[test]
fn each_property_that_makes_a_request_pass() {
    let plain = get("/", HOST);
    for &method in Method::ALL {
        let expected = (!matches!(method, Method::Get | Method::Head)).then_some(Pass::Method);
        assert_eq!(passed(&Request { method, ..plain }), expected, "{method:?}");
    }
    assert_eq!(passed(&Request { body: true, ..plain }), Some(Pass::Body));
    assert_eq!(passed(&Request { certificate: true, ..plain }), Some(Pass::Certificate));
    assert_eq!(passed(&Request { server_name: b"A.example", ..plain }), None);
    assert_eq!(passed(&Request { server_name: b"b.example", ..plain }), Some(Pass::ServerName));
    assert_eq!(passed(&Request { method: Method::Head, ..get("/other", HOST) }), Some(Pass::Head));
    let mut site = Site::new(Settings { mode: Mode::Off, ..settings() });
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Off)));
}

#[test]
fn an_authority_has_one_form() {
    let rows = [
        ("a.example", true),
        ("a.example:8080", true),
        ("a.example:443", true),
        ("127.0.0.1:3000", true),
        ("[::1]", true),
        ("[::1]:3000", true),
        ("my_host-1", true),
        ("", false),
        ("A.example", false),
        ("a.example:80", false),
        ("a.example:", false),
        ("a.example:080", false),
        ("a.example:123456", false),
        ("a.example:x", false),
        ("a.example:1:2", false),
        (":80", false),
        ("[::A]", false),
        ("[]", false),
        ("[::1", false),
        ("::1", false),
        ("[::1]x", false),
        ("user@a.example", false),
        ("a.example/x", false),
        ("a.example, b.example", false),
        ("a.example b", false),
        ("a%2eexample", false),
        ("\u{e4}.example", false),
    ];
    for (host, expected) in rows {
        let lines = format!("Host: {host}\r\n");
        let passes = passed(&get("/new", &lines)) == Some(Pass::Authority);
        assert_eq!(!passes, expected, "{host:?}");
    }
    let long = format!("Host: {}\r\n", "a".repeat(256));
    assert_eq!(passed(&get("/", &long)), Some(Pass::Authority));
    assert_eq!(passed(&get("/", "Accept: */*\r\n")), Some(Pass::Authority), "no Host");
    let secure = |lines| passed(&Request { secure: true, ..get("/", lines) });
    assert_eq!(secure("Host: a.example:443\r\n"), Some(Pass::Authority));
    assert_eq!(secure("Host: a.example:80\r\n"), None);
}

/// What an application can tell apart, the cache does not mix up.
#[test]
fn no_two_different_requests_share_an_entry() {
    let mut site = Site::new(settings());
    site.store("/a", "", "", "stored");
    assert_eq!(site.body("/a", "").as_deref(), Some("stored"));
    let targets = [
        "/",
        "/A",
        "/%61",
        "/a/",
        "//a",
        "/a?",
        "/a?x",
        "/a#",
        "/a;",
        "/./a",
        "/b/../a",
        "/a%20",
        "/__proto__",
        "/constructor",
        "http://a.example/a",
    ];
    for target in targets {
        assert!(site.body(target, "").is_none(), "{target}");
    }
    let now = site.now;
    for host in ["b.example", "a.example.", "a.example:8080", "aa.example"] {
        let lines = format!("Host: {host}\r\n");
        let found = site.cache.lookup(now, &get("/a", &lines), 0);
        assert!(matches!(found, Lookup::Fill(_)), "{host}");
    }
    let secure = Request { secure: true, ..get("/a", HOST) };
    assert!(matches!(site.cache.lookup(now, &secure, 0), Lookup::Fill(_)));
    // Neither do authority and target run into each other.
    let found = site.cache.lookup(now, &get("/a", "Host: a.example /\r\n"), 0);
    assert!(matches!(found, Lookup::Pass(Pass::Authority)));
}

#[test]
fn an_absolute_target_has_to_agree_with_host_and_scheme() {
    let rows = [
        ("http://a.example/x", true),
        ("http://a.example/", true),
        ("http://a.example", false),
        ("http://a.example?x", false),
        ("http://b.example/x", false),
        ("http://a.example:80/x", false),
        ("http://a.example.b/x", false),
        ("http://user@a.example/x", false),
        ("HTTP://a.example/x", false),
        ("https://a.example/x", false),
        ("ftp://a.example/x", false),
        ("a.example/x", false),
        ("*", false),
        ("", false),
    ];
    for (target, expected) in rows {
        let passes = passed(&get(target, HOST)) == Some(Pass::Target);
        assert_eq!(!passes, expected, "{target:?}");
    }
    let secure = Request { secure: true, ..get("https://a.example/x", HOST) };
    assert_eq!(passed(&secure), None);
}

/// RFC 9111, section 5.2.1, where the operator wants requests to be heeded.
#[test]
fn what_requests_ask_for_is_heeded_where_set() {
    enum Is {
        Hit,
        Lead,
        Pass,
        Absent,
    }
    let rows = [
        ("/", "Cache-Control: no-store\r\n", Is::Pass),
        ("/", "Cache-Control: no-cache\r\n", Is::Lead),
        ("/", "Pragma: no-cache\r\n", Is::Lead),
        ("/", "Pragma: no-cache\r\nCache-Control: max-age=9\r\n", Is::Hit),
        ("/", "Cache-Control: max-age=4\r\n", Is::Hit),
        ("/", "Cache-Control: max-age=3\r\n", Is::Lead),
        ("/", "Cache-Control: max-age=0\r\n", Is::Lead),
        ("/", "Cache-Control: min-fresh=6\r\n", Is::Hit),
        ("/", "Cache-Control: min-fresh=7\r\n", Is::Lead),
        ("/", "Cache-Control: max-stale\r\n", Is::Hit),
        ("/", "Cache-Control: only-if-cached\r\n", Is::Hit),
        ("/new", "Cache-Control: only-if-cached\r\n", Is::Absent),
        ("/", "Cache-Control: only-if-cached, max-age=0\r\n", Is::Absent),
    ];
    for (target, fields, expected) in rows {
        let mut site = Site::new(Settings { obey_requests: true, ..settings() });
        site.store("/", "", "", "stored");
        site.advance(4.0);
        let is = match (site.get(target, fields), expected) {
            (Lookup::Hit(_), Is::Hit)
            | (Lookup::Fill(_), Is::Lead)
            | (Lookup::Pass(Pass::NoStore), Is::Pass)
            | (Lookup::OnlyIfCached, Is::Absent) => Ok(()),
            (other, _) => Err(format!("{other:?}")),
        };
        assert_eq!(is, Ok(()), "{target} {fields:?}");
    }
    // A stale one is not for those who set a limit, and what a reload brings is for all.
    let mut site = Site::new(Settings { obey_requests: true, ..settings() });
    site.store("/", "", "Cache-Control: max-age=2, stale-while-revalidate=10\r\n", "old");
    site.advance(4.0);
    assert!(matches!(site.get("/", "Cache-Control: max-age=9\r\n"), Lookup::Fill(_)));
    site.store("/", "Cache-Control: no-cache\r\n", "", "new");
    assert_eq!(site.body("/", "").as_deref(), Some("new"));
    site.now += seconds(10.0);
    assert!(site.body("/", "").is_none());
}
