//! URL prefixes: what they are, and which requests they are for.

use std::cmp::Ordering;

use millrace_share::prefix::{PrefixError, UrlPrefix, host_and_path};
use proptest::prelude::*;

fn parse(text: &str) -> UrlPrefix {
    UrlPrefix::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn what_a_prefix_is() {
    for text in [
        "http://*:8080/",
        "http://+:1/",
        "https://*:65535/a/b/c/",
        "http://a.example:80/foo/",
        "http://127.0.0.1:8080/",
        "http://[::1]:8080/a/",
        "http://a_b-c:8080/%61/~x/",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
    assert_eq!(parse("http://A.Example:80/Foo/").to_string(), "http://a.example:80/foo/");
    assert_eq!(parse("http://LocalHost:80/").to_string(), "http://127.0.0.1:80/");
    assert_eq!(parse("http://*:0080/"), parse("http://*:80/"));
}

#[test]
fn what_none_is() {
    use PrefixError::{Host, Path, Port, Scheme};
    for (text, error) in [
        ("", Scheme),
        ("*:8080/", Scheme),
        ("ftp://*:8080/", Scheme),
        ("HTTP://*:8080/", Scheme),
        ("http://*:8080", Path),
        ("http://*:8080/foo", Path),
        ("http://*:8080/foo?/", Path),
        ("http://*:8080/foo#/", Path),
        ("http://*:8080/foo bar/", Path),
        ("http://*:8080/\u{e4}/", Path),
        ("http://*/", Port),
        ("http://*:/", Port),
        ("http://*:0/", Port),
        ("http://*:65536/", Port),
        ("http://*:+80/", Port),
        ("http://[::1]/", Port),
        ("http://:8080/", Host),
        ("http://a b:8080/", Host),
        ("http://**:8080/", Host),
        ("http://a@b:8080/", Host),
        ("http://[::g]:8080/", Host),
        ("http://[::1:8080/", Host),
    ] {
        assert_eq!(UrlPrefix::parse(text), Err(error), "{text}");
    }
}

#[test]
fn which_requests() {
    let covers = |prefix: &str, target: &str, host: &str| {
        let (host, path) = host_and_path(target.as_bytes(), host.as_bytes());
        parse(prefix).covers(host, path)
    };
    for (prefix, target, host, expected) in [
        ("http://*:80/foo/", "/foo/", "a", true),
        ("http://*:80/foo/", "/foo", "a", true),
        ("http://*:80/foo/", "/foo?x=/", "a", true),
        ("http://*:80/foo/", "/FOO/Bar", "a", true),
        ("http://*:80/foo/", "/foobar", "a", false),
        ("http://*:80/foo/", "/fo", "a", false),
        ("http://*:80/foo/", "/", "a", false),
        ("http://*:80/foo/", "/bar/foo/", "a", false),
        ("http://*:80/", "*", "a", true),
        ("http://*:80/", "/", "", true),
        ("http://a.example:80/", "/x", "A.Example:80", true),
        ("http://a.example:80/", "/x", "b.example", false),
        ("http://a.example:80/", "/x", "a.example.b", false),
        ("http://a.example:80/", "http://a.example/x", "b.example", true),
        ("http://a.example:80/", "http://b.example/x", "a.example", false),
        ("http://a.example:80/foo/", "http://a.example:80/foo?q", "b", true),
        ("http://a.example:80/", "http://user@a.example", "b", true),
        ("http://127.0.0.1:80/", "/", "anything", true),
    ] {
        assert_eq!(covers(prefix, target, host), expected, "{prefix} {target} {host}");
    }
}

#[test]
fn whose_turn_it_is() {
    let in_order = [
        "http://+:80/a/",
        "http://+:80/",
        "http://a.example:80/a/b/",
        "http://a.example:80/a/",
        "http://[::1]:80/a/",
        "http://*:80/a/b/c/",
        "http://*:80/",
    ];
    for (i, first) in in_order.iter().enumerate() {
        for (j, second) in in_order.iter().enumerate() {
            assert_eq!(parse(first).precedes(&parse(second)), i.cmp(&j) == Ordering::Less);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_a_prefix_or_none(text in "\\PC{0,40}") {
        UrlPrefix::parse(&text).ok();
    }

    #[test]
    fn a_prefix_is_what_it_says(
        host in "[a-z0-9.-]{1,20}|[*+]", port in 1u16.., path in "(/[a-zA-Z0-9._~%-]{1,8}){0,4}/",
    ) {
        let prefix = parse(&format!("http://{host}:{port}{path}"));
        prop_assert_eq!(&parse(&prefix.to_string()), &prefix);
        prop_assert_eq!(prefix.port(), port);
    }

    #[test]
    fn a_path_below_is_covered(path in "(/[a-z]{1,4}){0,3}/", rest in "[ -~]{0,20}") {
        let prefix = parse(&format!("http://*:80{path}"));
        let target = format!("{path}{rest}");
        let (host, path) = host_and_path(target.as_bytes(), b"a");
        prop_assert!(prefix.covers(host, path));
    }

    #[test]
    fn any_target_has_a_host_and_a_path(target: Vec<u8>, host: Vec<u8>) {
        let (_, path) = host_and_path(&target, &host);
        prop_assert!(!path.is_empty());
    }
}
