//! The bytes that a hit is answered with.

use std::time::Duration;

use crate::origin::{DATE, HOST, Site, get, seconds, settings};
use millrace_cache::{Answer, Lookup, NotStored, Request};
use millrace_http::h1::Method;

const KEPT: &[u8] = b"Connection: keep-alive\r\n";

/// What such a request is answered with.
fn written(site: &mut Site, method: Method, fields: &str) -> String {
    let lines = format!("{HOST}{fields}");
    let request = Request { method, ..get("/", &lines) };
    let Lookup::Hit(hit) = site.cache.lookup(site.now, &request, 0) else { panic!("a hit") };
    let mut out = b"before ".to_vec();
    hit.write(KEPT, &mut out);
    let mut parts = hit.head().to_vec();
    hit.write_head_end(KEPT, &mut parts);
    parts.extend_from_slice(hit.body());
    assert_eq!(out.strip_prefix(b"before "), Some(&parts[..]), "in parts and in one");
    String::from_utf8(parts).expect("text")
}

/// What a response leaves as, two seconds after it was stored.
fn stored(head: &str, body: &str) -> Result<String, NotStored> {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    site.answer(lead, head, body)?;
    site.advance(2.0);
    Ok(written(&mut site, Method::Get, ""))
}

#[test]
fn a_response_leaves_as_it_came_with_its_age() {
    let head = format!("HTTP/1.1 200 Fine\r\n{DATE}ETag: \"1\"\r\nX-A: 1\r\nx-a:  2 \r\n");
    assert_eq!(
        stored(&head, "hello").as_deref(),
        Ok(&*format!("{head}Content-Length: 5\r\nAge: 2\r\nConnection: keep-alive\r\n\r\nhello"))
    );
}

/// RFC 9111, section 3.1.
#[test]
fn what_belongs_to_one_connection_is_not_stored() {
    let gone = "Age: 0\r\nConnection: keep-alive, X-Hop\r\nKeep-Alive: timeout=5\r\nX-Hop: 1\r\n\
                Transfer-Encoding: chunked\r\nTE: x\r\nProxy-Authenticate: x\r\nUpgrade: h2c\r\n";
    let head = format!("HTTP/1.1 200 OK\r\n{gone}{DATE}X-Kept: 1\r\n");
    assert_eq!(
        stored(&head, "x").as_deref(),
        Ok(&*format!(
            "HTTP/1.1 200 OK\r\n{DATE}X-Kept: 1\r\nContent-Length: 1\r\n\
             Age: 2\r\nConnection: keep-alive\r\n\r\nx"
        ))
    );
}

/// RFC 9110, section 6.6.1.
#[test]
fn a_response_without_a_date_gets_one() {
    for date in ["", "Date: today\r\n"] {
        let head = format!("HTTP/1.1 200 OK\r\n{date}");
        let text = stored(&head, "x").expect("stored");
        assert!(text.starts_with(&format!("HTTP/1.1 200 OK\r\n{DATE}Content-Length")), "{text}");
    }
}

#[test]
fn a_body_is_as_long_as_its_head_says_or_not_stored() {
    let with = |status: &str, length: &str, body: &str| {
        stored(&format!("HTTP/1.1 {status}\r\n{DATE}{length}"), body).map(|_| ())
    };
    assert_eq!(with("200 OK", "Content-Length: 2\r\n", "hi"), Ok(()));
    assert_eq!(with("200 OK", "Content-Length: 3\r\n", "hi"), Err(NotStored::Incomplete));
    assert_eq!(with("200 OK", "Content-Length: 1\r\n", "hi"), Err(NotStored::Incomplete));
    assert_eq!(with("200 OK", "Content-Length: 1\r\n", ""), Err(NotStored::Incomplete));
    assert_eq!(with("200 OK", "", ""), Ok(()));
    assert_eq!(with("204 No Content", "", ""), Ok(()));
    assert_eq!(with("204 No Content", "", "hi"), Err(NotStored::Incomplete));
    let text = stored(&format!("HTTP/1.1 204 No Content\r\n{DATE}"), "").expect("stored");
    assert!(!text.contains("Content-Length"), "RFC 9110, section 8.6: {text}");
}

#[test]
fn head_is_answered_from_get() {
    let mut site = Site::new(settings());
    site.store("/", "", "", "hello");
    let get = written(&mut site, Method::Get, "");
    let head = written(&mut site, Method::Head, "");
    assert_eq!(get.strip_suffix("hello"), Some(&*head));
}

#[test]
fn age_grows_with_the_monotonic_clock() {
    let mut site = Site::new(settings());
    site.store("/", "", "Age: 8\r\nCache-Control: max-age=2000000\r\n", "");
    for (by, age) in
        [(0.0, 8), (0.9, 8), (0.2, 9), (990.0, 999), (1.0, 1000), (999_000.0, 1_000_000)]
    {
        site.advance(by);
        assert!(written(&mut site, Method::Get, "").contains(&format!("\r\nAge: {age}\r\n")));
    }
}

const VALIDATORS: &str = "ETag: W/\"a,b\"\r\nLast-Modified: Sun, 06 Nov 1994 08:00:00 GMT\r\n";

/// RFC 9110, sections 13.1.2 and 13.1.3; RFC 9111, section 4.3.2.
#[test]
fn conditions() {
    const TAG_ONLY: &str = "ETag: \"x\"\r\n";
    let rows = [
        (VALIDATORS, "If-None-Match: W/\"a,b\"\r\n", true),
        (VALIDATORS, "If-None-Match: \"a,b\"\r\n", true),
        (VALIDATORS, "If-None-Match: \"x\", W/\"y\" ,\"a,b\"\r\n", true),
        (VALIDATORS, "If-None-Match: \"x\"\r\nIf-None-Match: \"a,b\"\r\n", true),
        (VALIDATORS, "If-None-Match: *\r\n", true),
        (VALIDATORS, "If-None-Match: \"a\", \"b\"\r\n", false),
        (VALIDATORS, "If-None-Match: \"x\" \"a,b\"\r\n", true),
        (VALIDATORS, "If-None-Match: x, \"a,b\"\r\n", false),
        (VALIDATORS, "If-None-Match: \"a,b\r\n", false),
        (VALIDATORS, "If-None-Match: a,b\r\n", false),
        (VALIDATORS, "If-None-Match: w/\"a,b\"\r\n", false),
        (VALIDATORS, "If-None-Match:\r\n", false),
        ("", "If-None-Match: \"a\"\r\n", false),
        ("", "If-None-Match: *\r\n", true),
        ("ETag: bare\r\n", "If-None-Match: bare\r\n", true),
        (VALIDATORS, "If-Modified-Since: Sun, 06 Nov 1994 08:00:00 GMT\r\n", true),
        (VALIDATORS, "If-Modified-Since: Sun, 06 Nov 1994 09:00:00 GMT\r\n", true),
        (VALIDATORS, "If-Modified-Since: Sunday, 06-Nov-94 08:00:00 GMT\r\n", true),
        (VALIDATORS, "If-Modified-Since: Sun, 06 Nov 1994 07:59:59 GMT\r\n", false),
        (VALIDATORS, "If-Modified-Since: yesterday\r\n", false),
        // Without Last-Modified, Date counts.
        (TAG_ONLY, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", true),
        (TAG_ONLY, "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", false),
        // The tag decides if it is asked for.
        (
            VALIDATORS,
            "If-None-Match: \"x\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:00:00 GMT\r\n",
            false,
        ),
        (
            VALIDATORS,
            "If-Modified-Since: Sun, 06 Nov 1994 07:00:00 GMT\r\nIf-None-Match: \"a,b\"\r\n",
            true,
        ),
    ];
    for (response, request, expected) in rows {
        for method in [Method::Get, Method::Head] {
            let mut site = Site::new(settings());
            // It is stored a while after its Date.
            site.wall += 60;
            site.store("/", "", response, "body");
            let text = written(&mut site, method, request);
            assert_eq!(text.starts_with("HTTP/1.1 304 "), expected, "{response:?} {request:?}");
            assert_eq!(site.statistics().not_modified, u64::from(expected));
        }
    }
}

/// RFC 9110, section 15.4.5, and the fields that a browser applies to the 304 itself.
#[test]
fn a_304_has_all_fields_but_those_of_content() {
    let mut site = Site::new(settings());
    let kept = "Cache-Control: max-age=9\r\nVary: Accept\r\nContent-Location: /x\r\n\
                Expires: Sun, 06 Nov 1994 09:49:37 GMT\r\nAccess-Control-Allow-Origin: *\r\n\
                Content-Security-Policy: default-src 'self'\r\nx-content-type: a\r\n";
    let of_content = "Content-Type: text/plain\r\nCONTENT-ENCODING: x\r\nContent-Language: de\r\n\
                      Content-Range: bytes 0-3/4\r\nContent-MD5: x\r\nContent-Digest: x\r\n\
                      Content-Length: 4\r\n";
    site.store("/", "", &format!("{of_content}{kept}{VALIDATORS}"), "body");
    assert_eq!(
        written(&mut site, Method::Get, "If-None-Match: *\r\n"),
        format!(
            "HTTP/1.1 304 Not Modified\r\n{DATE}{kept}{VALIDATORS}\
             Age: 0\r\nConnection: keep-alive\r\n\r\n"
        )
    );
}

/// RFC 9110, section 13.2.1.
#[test]
fn conditions_are_for_successes() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    let head =
        format!("HTTP/1.1 404 Not Found\r\n{DATE}ETag: \"1\"\r\nCache-Control: max-age=9\r\n");
    site.answer(lead, &head, "none").expect("stored");
    let text = written(&mut site, Method::Get, "If-None-Match: \"1\"\r\n");
    assert!(text.starts_with("HTTP/1.1 404 "), "{text}");
}

/// Who sends a large body may still do so when the entry is gone.
#[test]
fn an_entry_outlives_its_place() {
    let mut site = Site::new(settings());
    site.store("/", "", "", "hello");
    let Lookup::Hit(hit) = site.get("/", "") else { panic!("a hit") };
    assert_eq!((hit.answer, hit.stale, hit.entry.status()), (Answer::Whole, false, 200));
    let entry = hit.entry.clone();
    site.cache.clear();
    assert!(site.body("/", "").is_none());
    assert_eq!(entry.body(), b"hello");
}

/// The reactor that has it may be driven by another thread.
#[test]
fn a_cache_may_move_to_another_thread() {
    let mut site = Site::new(settings());
    site.store("/", "", "", "hello");
    let (mut cache, now) = (site.cache, site.now);
    let found =
        std::thread::spawn(move || matches!(cache.lookup(now, &get("/", HOST), 0), Lookup::Hit(_)));
    assert!(found.join().expect("no panic"));
}

/// The wall clock dates a response when it is stored, and is not asked again. Whatever it says, nothing
/// lives longer than it should, or is of a negative age.
#[test]
fn the_wall_clock_may_jump() {
    const YEAR: i64 = 365 * 24 * 60 * 60;
    for jump in [0, 5, -5, YEAR, -YEAR, 100 * YEAR, -100 * YEAR, i64::MAX / 2, i64::MIN / 2] {
        for fields in
            ["", "Cache-Control: max-age=10\r\n", "Expires: Sun, 06 Nov 1994 08:49:47 GMT\r\n"]
        {
            let mut site = Site::new(settings());
            site.wall += jump;
            let lead = site.lead("/", "");
            let head = format!("HTTP/1.1 200 OK\r\n{DATE}{fields}");
            let result = site.answer(lead, &head, "x");
            if result.is_err() {
                assert!(jump > 0 && !fields.is_empty(), "{jump} {fields:?}");
                assert_eq!(result, Err(NotStored::Stale));
                continue;
            }
            site.wall = -jump;
            let Lookup::Hit(hit) = site.get("/", "") else { panic!("{jump} {fields:?}") };
            assert!(hit.age <= 1 << 31, "{}", hit.age);
            assert_eq!(hit.age > 0, jump > 1, "{jump}");
            site.now += seconds(10.0);
            assert!(site.body("/", "").is_none(), "{jump} {fields:?}");
        }
    }
}

#[test]
fn the_monotonic_clock_may_be_anything() {
    let mut site = Site::new(settings());
    site.store("/", "", "", "x");
    // Back before it was stored, and to its end.
    site.now = Duration::ZERO;
    assert!(written(&mut site, Method::Get, "").contains("\r\nAge: 0\r\n"));
    site.now = Duration::MAX;
    let lead = site.lead("/", "");
    let answered = site.answer(lead, "HTTP/1.1 200 OK\r\n", "x");
    assert_eq!(answered, Err(NotStored::Stale), "no time is left");
}
