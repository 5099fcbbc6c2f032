//! What makes entries leave before their time (RFC 9111, section 4.4).

use crate::origin::{HOST, Site, get, settings};
use millrace_cache::{Lookup, NotStored, Request, Selection, Target, Then, Woken};
use millrace_http::h1::Method;

const OK: &str = "HTTP/1.1 200 OK\r\n";
const TARGETS: [&str; 5] = ["/", "/a", "/a/b", "/a?x", "http://a.example/a"];

fn filled() -> Site {
    let mut site = Site::new(settings());
    for target in TARGETS {
        site.store(target, "", "", target);
    }
    let lead = match site.cache.lookup(site.now, &get("/a", "Host: b.example\r\n"), 0) {
        Lookup::Fill(lead) => lead,
        other => panic!("{other:?}"),
    };
    site.answer(lead, OK, "b").expect("stored");
    site
}

/// Those that are left of `TARGETS`, and whether the other host's is.
fn left(site: &mut Site) -> (Vec<&'static str>, bool) {
    let targets = TARGETS.into_iter().filter(|target| site.body(target, "").is_some()).collect();
    let found = site.cache.lookup(site.now, &get("/a", "Host: b.example\r\n"), 0);
    (targets, matches!(found, Lookup::Hit(_)))
}

#[test]
fn by_methods_that_are_not_safe() {
    use Method::{Get, Head, Options, Propfind, Report, Search, Trace};
    for &method in Method::ALL {
        let safe = matches!(method, Get | Head | Options | Propfind | Report | Search | Trace);
        for status in [100, 200, 201, 303, 399, 400, 404, 500] {
            let mut site = filled();
            let count = site.cache.invalidate(&Request { method, ..get("/a", HOST) }, status, b"");
            let gone = !safe && (200..400).contains(&status);
            assert_eq!(count, if gone { 2 } else { 0 }, "{method:?} {status}");
            let expected = if gone { vec!["/", "/a/b", "/a?x"] } else { TARGETS.to_vec() };
            assert_eq!(left(&mut site), (expected, true));
        }
    }
}

#[test]
fn by_the_target_in_any_form() {
    let rows = [
        ("/a", HOST, 2),
        ("/a", "Host: A.Example:80\r\n", 2),
        ("/a", "Host: a.example:\r\n", 2),
        ("/a", "Host: a.example:0080\r\n", 2),
        ("/a", "Host: a.example:81\r\n", 0),
        ("/a", "Host: b.example\r\n", 1),
        ("/a", "Host: c.example\r\n", 0),
        ("/a", "Host: a.example\r\nHost: a.example\r\n", 0),
        ("/a", "", 0),
        ("http://a.example/a", HOST, 2),
        ("HTTP://A.example:80/a", HOST, 2),
        ("http://a.example", HOST, 1),
        // What Host says does not matter then (RFC 9112, section 3.2.2).
        ("http://b.example/a", HOST, 1),
        ("https://a.example/a", HOST, 0),
        ("*", HOST, 0),
        ("/b", HOST, 0),
    ];
    for (target, lines, expected) in rows {
        let mut site = filled();
        let request = Request { method: Method::Post, ..get(target, lines) };
        assert_eq!(site.cache.invalidate(&request, 200, b""), expected, "{target} {lines:?}");
    }
}

#[test]
fn by_what_the_response_names_on_the_same_origin() {
    let rows = [
        ("Location: /a\r\n", 2),
        ("Location: /a#x\r\n", 2),
        ("Content-Location: /a\r\n", 2),
        ("Content-Location: /a\r\nLocation: /a?x\r\n", 3),
        ("location: http://a.example/a\r\n", 2),
        ("Location: HTTP://A.EXAMPLE:80/a\r\n", 2),
        ("Location: //a.example/a\r\n", 2),
        ("Location: http://a.example\r\n", 1),
        ("Location: http://b.example/a\r\n", 0),
        ("Location: //b.example/a\r\n", 0),
        ("Location: https://a.example/a\r\n", 2),
        ("Location: http://a.example.b.example/a\r\n", 0),
        ("Location: http://x@a.example/a\r\n", 0),
        ("Location: a\r\n", 0),
        ("Location: \r\n", 0),
        ("Link: </a>\r\n", 0),
    ];
    for (fields, expected) in rows {
        let mut site = filled();
        let request = Request { method: Method::Post, ..get("/new", HOST) };
        assert_eq!(site.cache.invalidate(&request, 201, fields.as_bytes()), expected, "{fields:?}");
        assert_eq!(site.statistics().invalidations, expected as u64);
    }
}

#[test]
fn by_order() {
    let rows: [(Option<bool>, Option<&str>, Target<'_>, usize); 9] = [
        (None, None, Target::Exact(b"/a"), 3),
        (None, Some("a.example"), Target::Exact(b"/a"), 2),
        (None, Some("A.EXAMPLE:80"), Target::Exact(b"/a"), 2),
        (Some(true), None, Target::Exact(b"/a"), 0),
        (Some(false), None, Target::Exact(b"/a"), 3),
        (None, None, Target::Prefix(b"/a"), 5),
        (None, None, Target::Prefix(b"/a/"), 1),
        (None, Some("b.example"), Target::Prefix(b""), 1),
        (None, None, Target::Prefix(b""), 6),
    ];
    for (secure, authority, target, expected) in rows {
        let mut site = filled();
        let authority = authority.map(str::as_bytes);
        let selection = Selection { secure, authority, target };
        assert_eq!(site.cache.delete(&selection), expected, "{selection:?}");
        assert_eq!(site.statistics().entries, 6 - expected);
    }
    let mut site = filled();
    assert_eq!(site.cache.clear(), 6);
    assert_eq!((site.statistics().bytes, left(&mut site)), (0, (vec![], false)));
}

/// What was asked for before is not stored after.
#[test]
fn what_is_under_way_is_not_stored() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    let loner = site.lead("/", "If-None-Match: \"1\"\r\nCookie: x\r\n");
    assert!(matches!(site.wait("/", "", 1, 0), Lookup::Wait(_)));
    let request = Request { method: Method::Put, ..get("/", HOST) };
    assert_eq!(site.cache.invalidate(&request, 204, b""), 0);
    assert_eq!(site.woken(), [Woken { waiter: 1, then: Then::LookUp }]);
    let Lookup::Fill(next) = site.wait("/", "", 1, 1) else { panic!("it leads anew") };
    for old in [lead, loner] {
        let head = format!("{OK}Cache-Control: public, max-age=9\r\n");
        assert_eq!(site.answer(old, &head, "old"), Err(NotStored::Invalidated));
    }
    assert!(matches!(site.get("/", ""), Lookup::Wait(_)), "for the new one");
    site.answer(next, OK, "new").expect("stored");
    assert_eq!(site.body("/", "").as_deref(), Some("new"));
    // In the middle of its body as well, and at its end.
    for more in [true, false] {
        let lead = site.lead("/b", "");
        let response = millrace_cache::Response { head: OK.as_bytes(), duration: None };
        let (now, wall) = (site.now, site.wall);
        site.cache.begin(lead, now, wall, &response).expect("it may be stored");
        site.cache.append(lead, now, b"x").expect("so far");
        site.cache.clear();
        let end =
            if more { site.cache.append(lead, now, b"y") } else { site.cache.finish(lead, now) };
        assert_eq!(end, Err(NotStored::Invalidated));
        assert_eq!(site.cache.finish(lead, now), Err(NotStored::Unknown));
    }
    assert_eq!((site.statistics().buffered_bytes, site.statistics().fills), (0, 0));
}

#[test]
fn entries_can_be_looked_at() {
    let mut site = Site::new(settings());
    site.store("/a", "A: 1\r\n", "Vary: A\r\nCache-Control: max-age=9\r\n", "hello");
    site.advance(2.0);
    site.body("/a", "A: 1\r\n");
    let seen: Vec<_> = site.cache.inspect(site.now).collect();
    let [entry] = seen[..] else { panic!("one entry") };
    assert_eq!(
        (entry.secure, entry.authority, entry.target),
        (false, &b"a.example"[..], &b"/a"[..])
    );
    assert_eq!((entry.vary.as_bytes(), entry.status, entry.body), (&b"a"[..], 200, 5));
    assert_eq!((entry.age, entry.fresh_for.as_secs(), entry.hits), (2, 7, 1));
}
