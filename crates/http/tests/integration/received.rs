//! Runs the cases of `received-vectors/*.md`; `received-vectors/README.md` says how they are written.

use millrace_http::h1::{HeadLimits, HeadParser, Method, Parsed};

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
fn input_that_gets_shorter_is_unsure() {
    let mut parser = HeadParser::default();
    assert_eq!(parser.parse(b"GET / HTTP/1.1\r\nHost: a", &LIMITS), Parsed::Partial);
    assert_eq!(parser.parse(b"GET / HTT", &LIMITS), Parsed::Unsure);
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
