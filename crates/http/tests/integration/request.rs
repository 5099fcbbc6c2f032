//! The head of a request: what is refused, and what `httparse` reads in what is not.

use millrace_http::h1::{Error, RequestHead};
use proptest::prelude::*;

type Fields = Vec<(String, String)>;

fn render(method: &str, target: &str, fields: &[(String, String)]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    RequestHead { method, target, fields }.render(&mut out).map(|()| out)
}

fn field(name: &str, value: &str) -> Fields {
    vec![(name.to_owned(), value.to_owned())]
}

#[test]
fn is_rendered_line_by_line_without_its_end() {
    let fields = [field("Host", "a"), field("X-Empty", "")].concat();
    let head = render("GET", "/a?b=c", &fields).unwrap();
    assert_eq!(head, b"GET /a?b=c HTTP/1.1\r\nHost: a\r\nX-Empty: \r\n");
}

#[test]
fn is_appended() {
    let mut out = b"before".to_vec();
    RequestHead { method: "GET", target: "*", fields: &[] }.render(&mut out).unwrap();
    assert_eq!(out, b"beforeGET * HTTP/1.1\r\n");
}

#[test]
fn methods_that_are_no_tokens_are_refused() {
    for method in ["", "GE T", "GET\r\n", "GET\0", "G\u{e9}T", "GET:", "G(T", "G\tT"] {
        assert_eq!(render(method, "/", &[]), Err(Error::Request), "{method:?}");
    }
}

#[test]
fn targets_that_would_end_the_line_or_split_it_are_refused() {
    for target in ["", "/a b", "/a\tb", "/\r\nX: y", "/\n", "/\r", "/\0", "/\x1f", "/\x7f"] {
        assert_eq!(render("GET", target, &[]), Err(Error::Request), "{target:?}");
    }
}

#[test]
fn field_names_that_are_no_tokens_are_refused() {
    for name in ["", "A B", "A:", "A\r\nB", "A\n", "A\0", " A", "A ", "\u{e9}"] {
        assert_eq!(render("GET", "/", &field(name, "x")), Err(Error::Request), "{name:?}");
    }
}

#[test]
fn field_values_that_would_end_the_line_are_refused() {
    for value in ["a\r\nX: y", "a\nb", "a\rb", "a\0b", "\r\n\r\n"] {
        assert_eq!(render("GET", "/", &field("A", value)), Err(Error::Request), "{value:?}");
    }
}

proptest! {
    /// Whatever is rendered is read back as it was given: no byte of a part has become framing.
    #[test]
    fn what_is_rendered_is_read_back(
        method in "\\PC{0,6}|[A-Z!-~]{1,6}",
        target in "/[!-~]{0,12}|\\PC{0,6}|[\0- /\r\n]{0,4}",
        fields in prop::collection::vec(("[!-~]{1,4}|[A-Z-]{1,8}", "[ -~\u{a1}]{0,9}|[\0-~]{0,4}"), 0..4),
    ) {
        let Ok(mut head) = render(&method, &target, &fields) else { return Ok(()) };
        head.extend(b"\r\n");
        let mut found = [httparse::EMPTY_HEADER; 8];
        let mut request = httparse::Request::new(&mut found);
        match request.parse(&head) {
            Ok(status) => {
                prop_assert_eq!(status, httparse::Status::Complete(head.len()));
                prop_assert_eq!(request.method, Some(&method[..]));
                prop_assert_eq!(request.path, Some(&target[..]));
                prop_assert_eq!(request.headers.len(), fields.len());
                for (found, (name, value)) in request.headers.iter().zip(&fields) {
                    prop_assert_eq!(found.name, name);
                    let trimmed = value.trim_matches([' ', '\t']);
                    prop_assert_eq!(found.value, trimmed.as_bytes());
                }
            }
            // It refuses control characters in values, of which none but CR, LF and NUL break framing.
            Err(error) => {
                let refused = |(_, value): &(String, String)| value.bytes().any(|b| b.is_ascii_control());
                prop_assert_eq!(error, httparse::Error::HeaderValue);
                prop_assert!(fields.iter().any(refused));
            }
        }
    }
}
