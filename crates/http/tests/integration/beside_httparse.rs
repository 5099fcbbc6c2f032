//! The head parser against `httparse`, which is in wide use.
//!
//! They agree on what is well-formed. Known differences, each of which has an arm in `excuse`:
//!
//! - `httparse` passes over empty lines before the status line, which RFC 9112 allows for requests only;
//! - it takes statuses below 100;
//! - it does not look into Content-Length;
//! - it takes folded lines only on demand, and then after any field;
//! - it takes a CR before the CRLF of a folded line's predecessor or of the line itself;
//! - it refuses every control character in a value or a reason, this parser CR and NUL only;
//! - it sees some faults before their line has ended.

use httparse::{EMPTY_HEADER, ParserConfig, Status};
use millrace_http::h1::Error;
use millrace_http::h1::ResponseHead;
use proptest::prelude::*;
use proptest::sample::{Index, select};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    length: usize,
}

fn ours(input: &[u8]) -> Result<Option<Head>, Error> {
    let head = ResponseHead::parse(input)?;
    Ok(head.map(|ResponseHead { status, length, .. }| Head { status, length }))
}

fn theirs(input: &[u8]) -> Result<Option<Head>, httparse::Error> {
    let mut fields = [EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut fields);
    let mut config = ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    Ok(match config.parse_response(&mut response, input)? {
        Status::Complete(length) => Some(Head { status: response.code.unwrap_or(0), length }),
        Status::Partial => None,
    })
}

/// A head by the grammar of RFC 9112, and sometimes the start of a body.
fn head() -> impl Strategy<Value = Vec<u8>> {
    let line_end = select(vec!["\r\n", "\n"]);
    let start = (select(vec!["1.0", "1.1"]), 100..=999u16, "( [\t -~\u{80}-\u{ff}]{0,20})?");
    let name = "[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}";
    let field = (name, "[\t -~\u{80}-\u{ff}]{0,20}", "(\r\n[ \t]{1,3}[!-~]{1,9})?");
    let decisive = select(vec![
        "Content-Length: 12",
        "content-length:12, 12",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Connection: close",
        "Connection: keep-alive",
    ]);
    let field = prop_oneof![
        4 => field.prop_map(|(name, value, fold)| format!("{name}:{value}{fold}")),
        1 => decisive.prop_map(str::to_owned),
    ];
    let fields = prop::collection::vec((field, line_end.clone()), 0..6);
    (start, line_end.clone(), fields, line_end, "[a-z]{0,5}").prop_map(
        |((version, status, reason), start_end, fields, last, rest)| {
            let fields = fields.into_iter().flat_map(|(field, end)| [field, end.to_owned()]);
            let fields: String = fields.collect();
            format!("HTTP/{version} {status}{reason}{start_end}{fields}{last}{rest}").into_bytes()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn well_formed_heads_are_read_alike(head in head()) {
        let found = ours(&head);
        prop_assert!(matches!(found, Ok(Some(_))), "{found:?}");
        prop_assert_eq!(found.ok(), theirs(&head).ok());
    }

    #[test]
    fn a_head_that_is_cut_short_is_incomplete_for_both(head in head(), cut in any::<Index>()) {
        let length = ours(&head).unwrap().unwrap().length;
        let cut = &head[..cut.index(length)];
        prop_assert_eq!(ours(cut), Ok(None));
        prop_assert_eq!(theirs(cut), Ok(None));
    }

    #[test]
    fn heads_with_a_fault_are_judged_alike_but_for_the_known_differences(
        mut head in head(),
        at in any::<Index>(),
        (byte, remove) in (any::<u8>(), any::<bool>()),
    ) {
        let at = at.index(head.len());
        head.splice(at..at + usize::from(remove), [byte]);
        let (ours, theirs) = (ours(&head), theirs(&head));
        let agree = match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => ours == theirs,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        prop_assert!(agree || excuse(&head, ours, theirs), "{ours:?} and {theirs:?}");
    }
}

fn excuse(
    head: &[u8],
    ours: Result<Option<Head>, Error>,
    theirs: Result<Option<Head>, httparse::Error>,
) -> bool {
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\r\n\t\0".contains(byte);
    let folds = || head.windows(2).any(|pair| matches!(pair, [b'\n', b' ' | b'\t']));
    match (ours, theirs) {
        (Ok(None), Err(_)) => true,
        (Err(Error::ContentLength), Ok(_)) => true,
        (Err(Error::StatusLine), Ok(_)) if matches!(head[0], b'\r' | b'\n') => true,
        (Err(Error::StatusLine), Ok(Some(Head { status: 0..100, .. }))) => true,
        (Err(Error::Field), Ok(_)) => folds(),
        (Ok(_), Err(_)) if head.iter().any(is_control) => true,
        // White space between status line and fields.
        (Ok(_), Err(httparse::Error::HeaderName)) => folds(),
        _ => false,
    }
}
