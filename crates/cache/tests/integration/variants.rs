//! Responses that depend on fields of the request (RFC 9111, section 4.1).

use crate::origin::{DATE, HOST, Site, get, settings};
use millrace_cache::{Lookup, Pass, Settings};

const ENCODING: &str = "Vary: Accept-Encoding\r\n";

#[test]
fn each_request_gets_its_own() {
    let mut site = Site::new(settings());
    for coding in ["gzip", "br", ""] {
        site.store("/", &format!("Accept-Encoding: {coding}\r\n"), ENCODING, coding);
    }
    site.store("/", "", ENCODING, "none");
    for coding in ["gzip", "br", ""] {
        let fields = format!("X: 1\r\naccept-encoding: {coding}\r\n");
        assert_eq!(site.body("/", &fields).as_deref(), Some(coding));
    }
    assert_eq!(site.body("/", "").as_deref(), Some("none"), "absent is not empty");
    assert_eq!(site.body("/", "Accept-Encoding: zstd\r\n"), None);
    assert_eq!(site.statistics().entries, 4);
}

/// White space and lines mean nothing in a list; in what is no list, and within quotes, they do.
#[test]
fn values_match_if_they_mean_the_same() {
    let rows = [
        ("Accept-Encoding", "gzip, br", "gzip,br", true),
        ("Accept-Encoding", "gzip;q=0.5 ,\tbr", "gzip ; q=0.5, br", true),
        ("Accept-Encoding", "gzip, br", "br, gzip", false),
        ("Accept-Encoding", "gzip", "GZIP", false),
        ("Accept", "text/html; a=\"b, c\"", "text/html; a=\"b,c\"", false),
        ("Accept", "a b", "a  b", false),
        ("Accept", "a b", "ab", false),
        ("Accept-Language", "de, en", "de,en", true),
        ("User-Agent", "a, b", "a,b", false),
        ("User-Agent", "a", " a ", true),
        ("X-Tenant", "a", "A", false),
    ];
    for (name, first, second, expected) in rows {
        let mut site = Site::new(settings());
        site.store("/", &format!("{name}: {first}\r\n"), &format!("Vary: {name}\r\n"), "x");
        let found = site.body("/", &format!("{name}: {second}\r\n")).is_some();
        assert_eq!(found, expected, "{name}: {first:?} {second:?}");
    }
    for (name, expected) in [("Accept-Encoding", true), ("X-Tenant", false)] {
        let mut site = Site::new(settings());
        site.store("/", &format!("{name}: a,b\r\n"), &format!("Vary: {name}\r\n"), "x");
        let found = site.body("/", &format!("{name}: a\r\n{name}: b\r\n")).is_some();
        assert_eq!(found, expected, "{name} in two lines");
    }
}

/// What stands in one field cannot pass for another.
#[test]
fn values_do_not_run_into_each_other() {
    let mut site = Site::new(settings());
    site.store("/", "A: 1\r\nB: 2\r\n", "Vary: A, B\r\n", "x");
    for fields in
        ["A: 2\r\nB: 1\r\n", "A: 12\r\n", "B: 12\r\n", "A: 1\r\n", "A: 1\r\nB: 2\r\nB:\r\n"]
    {
        assert_eq!(site.body("/", fields), None, "{fields:?}");
    }
    assert!(site.body("/", "B: 2\r\nA: 1\r\n").is_some());
}

#[test]
fn names_are_the_same_in_any_order_and_case() {
    let mut site = Site::new(settings());
    site.store("/", "A: 1\r\n", "Vary: b, A\r\n", "old");
    site.store("/", "A: 2\r\n", "Vary: a,\r\nVary: B, b\r\n", "x");
    site.advance(11.0);
    site.store("/", "A: 1\r\n", "Vary: B, A\r\n", "new");
    assert_eq!(site.body("/", "A: 1\r\n").as_deref(), Some("new"));
    assert_eq!(site.statistics().entries, 2, "the old one was replaced");
}

/// The last paragraphs of section 4.1: a response that does not say that it varies is not preferred.
#[test]
fn a_response_without_vary_is_for_those_that_no_other_fits() {
    let mut site = Site::new(settings());
    site.store("/", "Accept-Encoding: gzip\r\n", ENCODING, "gzip");
    site.store("/", "", "", "plain");
    assert_eq!(site.body("/", "Accept-Encoding: gzip\r\n").as_deref(), Some("gzip"));
    assert_eq!(site.body("/", "Accept-Encoding: br\r\n").as_deref(), Some("plain"));
    assert_eq!(site.body("/", "").as_deref(), Some("plain"));
}

#[test]
fn a_newer_variant_makes_an_older_plain_response_void() {
    let mut site = Site::new(Settings { obey_requests: true, ..settings() });
    site.store("/", "", "", "plain");
    site.store("/", "Cache-Control: no-cache\r\nAccept-Encoding: gzip\r\n", ENCODING, "gzip");
    assert_eq!(site.body("/", "Accept-Encoding: gzip\r\n").as_deref(), Some("gzip"));
    assert_eq!(site.body("/", ""), None, "it varies, that response just did not say so");
}

#[test]
fn variants_are_bounded() {
    let mut site = Site::new(Settings { max_variants: 3, ..settings() });
    for n in 0..5 {
        site.store("/", &format!("A: {n}\r\n"), "Vary: A\r\n", "x");
    }
    assert_eq!((site.statistics().entries, site.statistics().evictions), (3, 2));
    for n in 0..5 {
        assert_eq!(site.body("/", &format!("A: {n}\r\n")).is_some(), n >= 2, "{n}");
    }
    // And so are those that are awaited.
    site.cache.clear();
    site.store("/", "A: 0\r\n", "Vary: A\r\n", "x");
    let leads = [1, 2, 3].map(|n| site.lead("/", &format!("A: {n}\r\n")));
    assert!(matches!(site.get("/", "A: 4\r\n"), Lookup::Pass(Pass::Variants)));
    assert!(matches!(site.get("/", "A: 3\r\n"), Lookup::Wait(_)));
    for lead in leads {
        site.answer(lead, &format!("HTTP/1.1 200 OK\r\n{DATE}Vary: A\r\n"), "x").expect("stored");
    }
    assert!(site.body("/", "A: 3\r\n").is_some());
}

/// A field with as much white space as fits into a head costs what its bytes cost.
#[test]
fn white_space_costs_no_more_than_text() {
    let mut site = Site::new(settings());
    let spaces = format!("Accept: a{}b\r\n", " ".repeat(1 << 20));
    site.store("/", &spaces, "Vary: Accept\r\n", "x");
    let lines = format!("{HOST}{spaces}");
    for _ in 0..10 {
        let found = site.cache.lookup(site.now, &get("/", &lines), 0);
        assert!(matches!(found, Lookup::Hit(_)));
    }
}
