//! Runs the cases of `received-vectors/*.md`; `received-vectors/README.md` says how they are written.

use std::collections::HashSet;

use millrace_http::h1::{HeadLimits, HeadParser, Method, Parsed, UnsureReason};

use crate::markdown::{self, Case};
use crate::received_stream;

const LIMITS: HeadLimits = HeadLimits { bytes: 16 * 1024, fields: 1000 };

#[test]
fn every_case_has_its_outcome_however_it_is_split() {
    markdown::run("tests/received-vectors", 100, |case, stream, pieces| {
        let events = received_stream::read(stream, pieces, &limits(case));
        events.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    });
}

/// A line `Limits: 100 bytes, 2 fields`.
fn limits(case: &Case<'_>) -> HeadLimits {
    let Some(line) = case.line("Limits") else { return LIMITS };
    let numbers: Vec<usize> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [bytes, fields] = numbers[..] else { panic!("{}: {line}", case.name) };
    HeadLimits { bytes, fields }
}

#[test]
fn every_reason_has_an_input_that_gives_it_and_an_id_of_its_own() {
    let limits = HeadLimits { bytes: 200, fields: 4 };
    for &reason in UnsureReason::ALL {
        let stream = example(reason).replace('\n', "\r\n").replace("<lf>", "\n");
        let events = received_stream::read(stream.as_bytes(), &[], &limits);
        let found = events.iter().map(ToString::to_string).next_back().unwrap();
        assert!(found.ends_with(&format!(" {}", reason.as_str())), "{reason:?}: {found}");
    }
    let ids: HashSet<_> = UnsureReason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(ids.len(), UnsureReason::ALL.len());
}

/// A stream whose lines end in CRLF, but for `<lf>`.
fn example(reason: UnsureReason) -> String {
    let line = |line: &str| format!("{line}\n\n");
    let field = |field: &str| format!("POST / HTTP/1.1\n{field}\n\n");
    let body = |body: &str| field("Transfer-Encoding: chunked") + body;
    match reason {
        UnsureReason::BareLf => field("A: b<lf>C: d"),
        UnsureReason::BareCr => field("A: b\rC: d"),
        UnsureReason::Method => line("QUERY / HTTP/1.1"),
        UnsureReason::Connect => line("CONNECT a:443 HTTP/1.1"),
        UnsureReason::TargetForm => line("GET http://a/ HTTP/1.1"),
        UnsureReason::TargetByte => line("GET /\u{e9} HTTP/1.1"),
        UnsureReason::Version => line("GET / HTTP/1.2"),
        UnsureReason::LineFolding => field("A: b\n c"),
        UnsureReason::FieldName => field("A : b"),
        UnsureReason::FieldValue => field("A: \x01"),
        UnsureReason::FieldCount => field("A: b\nA: b\nA: b\nA: b\nA: b"),
        UnsureReason::HeadSize => field(&format!("A: {}", "b".repeat(200))),
        UnsureReason::ContentLength => field("Content-Length: +1"),
        UnsureReason::TransferEncoding => field("Transfer-Encoding: gzip, chunked"),
        UnsureReason::MultipleFraming => field("Content-Length: 1\nTransfer-Encoding: chunked"),
        UnsureReason::MultipleHost => field("Host: a\nHost: a"),
        UnsureReason::ProxyConnection => field("Proxy-Connection: keep-alive"),
        UnsureReason::ChunkSize => body("0x1\na\n0\n\n"),
        UnsureReason::ChunkExtension => body("1;a;b\na\n0\n\n"),
        UnsureReason::ChunkEnd => body("1\nab\n0\n\n"),
        UnsureReason::TrailerField => body("0\nHost: a\n\n"),
        UnsureReason::TrailerSize => body(&format!("0\nA: {}\n\n", "b".repeat(200))),
    }
}

#[test]
fn every_method_is_read_and_has_the_number_of_llhttp() {
    for method in Method::ALL {
        let head = format!("{} / HTTP/1.1\r\n\r\n", method.as_str());
        let parsed = HeadParser::default().parse(head.as_bytes(), &LIMITS);
        assert!(matches!(parsed, Parsed::Complete(head) if head.method == *method), "{method:?}");
    }
    let numbers: Vec<u8> = Method::ALL.iter().map(|method| method.id()).collect();
    let all_but_connect: Vec<u8> = (0..=32).filter(|number| *number != 5).collect();
    assert_eq!(numbers, all_but_connect);
    assert_eq!((Method::Patch.id(), Method::MSearch.id(), Method::Unlink.id()), (28, 24, 32));
}

#[test]
fn a_limit_that_gets_smaller_than_what_was_parsed_is_that_of_the_head() {
    let mut parser = HeadParser::default();
    assert_eq!(parser.parse(b"GET / HTTP/1.1\r\nHost: a", &LIMITS), Parsed::Partial);
    let smaller = HeadLimits { bytes: 20, ..LIMITS };
    assert_eq!(
        parser.parse(b"GET / HTTP/1.1\r\nHost: a\r", &smaller),
        Parsed::Unsure(UnsureReason::HeadSize)
    );
    assert!(matches!(parser.parse(b"GET / HTTP/1.1\r\n\r\n", &LIMITS), Parsed::Complete(_)));
}

/// To look at every byte again for each that comes would take minutes.
#[test]
fn a_long_head_in_single_bytes_is_not_scanned_again_and_again() {
    let limits = HeadLimits { bytes: 1 << 21, ..LIMITS };
    let (target, name, value) = ("t".repeat(1 << 18), "n".repeat(1 << 18), "v".repeat(1 << 18));
    let head =
        format!("{}GET /{target} HTTP/1.1\r\n{name}: {value}\r\n\r\n", "\r\n".repeat(1 << 17));
    let mut parser = HeadParser::default();
    for end in 1..head.len() {
        assert_eq!(parser.parse(&head.as_bytes()[..end], &limits), Parsed::Partial);
    }
    assert!(matches!(parser.parse(head.as_bytes(), &limits), Parsed::Complete(_)));
}
