//! Placeholders, and the requests in which they stand.

use millrace_load::RunError;
use millrace_load::plan::{Request, Table};
use millrace_load::rendered::{RenderOptions, Rendered};
use millrace_load::template::{Names, Template, TextPosition, Values, table_names};

fn names(tables: &[Table]) -> Names<'_> {
    Names { tables, variables: &[] }
}

fn users() -> Vec<Table> {
    let row = |name: &str, age: &str| vec![name.to_owned(), age.to_owned()];
    let columns = vec!["name".to_owned(), "age".to_owned()];
    let rows = vec![row("ann", "30"), row("bob", "41"), row("", "52")];
    vec![Table { name: "users.csv".into(), columns, rows }]
}

fn parse(text: &str) -> Result<Template, RunError> {
    Template::parse(text.as_bytes(), names(&users()), TextPosition::Body)
}

fn with_values<R>(sequence: u64, f: impl FnOnce(&mut Values<'_>) -> R) -> R {
    let mut random = fastrand::Rng::with_seed(sequence);
    f(&mut Values::new(sequence, &mut random))
}

fn render(text: &str, sequence: u64) -> String {
    let mut out = Vec::new();
    let template = parse(text).unwrap();
    with_values(sequence, |values| template.render(values, &mut out));
    String::from_utf8(out).unwrap()
}

fn refusal<T>(result: Result<T, RunError>) -> String {
    match result {
        Err(RunError::Usage(message)) => message,
        Err(error) => panic!("{error:?} is not the user's"),
        Ok(_) => panic!("nothing was refused"),
    }
}

#[test]
fn text_without_placeholders_is_itself() {
    for text in ["", "plain", "{seq}", "{ {seq}}", "}}", "{{ not closed", "{\"a\":{\"b\":1}}"] {
        assert_eq!(render(text, 5), text);
        assert!(parse(text).unwrap().is_static(), "{text}");
    }
    assert!(!parse("a{{seq}}").unwrap().is_static());
    assert!(Template::literal(b"{{seq}}", TextPosition::Body).unwrap().is_static());
}

#[test]
fn seq_is_the_requests_number() {
    for number in [0, 9, 10, 12_345_678_901_234_567_890, u64::MAX] {
        assert_eq!(render("/{{seq}}?x={{ seq }}", number), format!("/{number}?x={number}"));
    }
}

#[test]
fn placeholders_stand_next_to_each_other_and_to_braces() {
    assert_eq!(render("{{seq}}{{seq}}", 7), "77");
    assert_eq!(render("{\"n\":{{seq}}}", 7), "{\"n\":7}");
    assert_eq!(render("{\"a\":{\"n\":{{seq}}}}", 7), "{\"a\":{\"n\":7}}");
}

#[test]
fn random_numbers_reach_both_ends_of_their_range() {
    let found: Vec<u64> =
        (0..200).map(|seed| render("{{random:3-5}}", seed).parse().unwrap()).collect();
    assert!([3, 4, 5].iter().all(|number| found.contains(number)));
    assert!(found.iter().all(|number| (3..=5).contains(number)));
    assert_eq!(render("{{random: 4 - 4 }}", 1), "4");
    render("{{random:0-18446744073709551615}}", 1).parse::<u64>().unwrap();
}

#[test]
fn uuids_are_random_ones_in_their_usual_form() {
    let all: Vec<String> = (0..100).map(|seed| render("{{uuid}}", seed)).collect();
    for uuid in &all {
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
        assert!(uuid.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-')), "{uuid}");
        assert_eq!(&uuid[14..15], "4", "version of {uuid}");
        assert!("89ab".contains(&uuid[19..20]), "variant of {uuid}");
    }
    // Every other digit takes every value.
    for at in (0..36).filter(|at| ![8, 13, 14, 18, 19, 23].contains(at)) {
        let mut digits: Vec<u8> = all.iter().map(|uuid| uuid.as_bytes()[at]).collect();
        digits.sort_unstable();
        digits.dedup();
        assert!(digits.len() > 10, "digit {at} takes {} values", digits.len());
    }
}

#[test]
fn a_csv_row_belongs_to_the_request() {
    let text = "{{csv:users.csv:name}}={{csv:users.csv:age}}";
    let found: Vec<String> = (0..4).map(|sequence| render(text, sequence)).collect();
    assert_eq!(found, ["ann=30", "bob=41", "=52", "ann=30"]);
    assert_eq!(render(text, u64::MAX), "ann=30");
}

#[test]
fn the_name_of_a_table_may_hold_colons() {
    let table = Table {
        name: "c:/data/x.csv".into(),
        columns: vec!["id".into()],
        rows: vec![vec!["1".into()]],
    };
    let text = b"{{csv:c:/data/x.csv:id}}";
    assert_eq!(table_names(text, &[]).unwrap(), ["c:/data/x.csv"]);
    assert!(Template::parse(text, names(&[table]), TextPosition::Body).is_ok());
}

#[test]
fn unknown_placeholders_are_named_with_those_that_are_known() {
    for name in [
        "",
        "sequence",
        "SEQ",
        "random",
        "random:1",
        "random:5-1",
        "random:-1-5",
        "random:1-x",
        "random:1-18446744073709551616",
        "csv:users.csv",
        "csv:other.csv:name",
        "{seq",
    ] {
        let message = refusal(parse(&format!("x{{{{{name}}}}}")));
        assert_eq!(
            message,
            format!(
                "unknown placeholder {{{{{name}}}}}: known are {{{{seq}}}}, {{{{random:FROM-TO}}}}, \
                 {{{{uuid}}}}, {{{{csv:FILE:COLUMN}}}}; --no-placeholders sends text as it is"
            )
        );
    }
}

#[test]
fn unknown_columns_are_named_with_those_that_there_are() {
    let message = refusal(parse("{{csv:users.csv:email}}"));
    assert_eq!(message, "users.csv has no column \"email\": it has name, age");
}

#[test]
fn a_table_without_rows_is_refused() {
    let table = Table { name: "e.csv".into(), columns: vec!["id".into()], rows: Vec::new() };
    let message =
        refusal(Template::parse(b"{{csv:e.csv:id}}", names(&[table]), TextPosition::Body));
    assert_eq!(message, "e.csv has a header but no rows");
}

#[test]
fn bytes_that_are_no_text_are_left_alone_outside_and_refused_inside() {
    assert!(Template::parse(b"\xff\x00{{seq}}\xfe", Names::default(), TextPosition::Body).is_ok());
    assert!(
        refusal(Template::parse(b"{{\xff}}", Names::default(), TextPosition::Body))
            .contains("not UTF-8")
    );
}

#[test]
fn the_tables_of_a_text_are_listed_before_they_are_read() {
    let names =
        table_names(b"{{csv:a.csv:x}} {{seq}} {{csv:b.csv:y}} {{csv:a.csv:z}}", &[]).unwrap();
    assert_eq!(names, ["a.csv", "b.csv", "a.csv"]);
    assert!(table_names(b"{{nothing}}", &[]).is_err());
}

// --- requests ---

fn request(target: &str, fields: &[(&str, &str)], body: Option<&str>) -> Request {
    let fields = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let body = body.map(|body| body.as_bytes().to_vec());
    Request {
        origin: 0,
        method: "POST".into(),
        target: target.into(),
        fields,
        body,
        weight: 1.0,
        name: 0,
        body_format: millrace_load::plan::flow::BodyFormat::Text,
        expected: None,
    }
}

fn rendered(request: &Request, close: bool) -> Rendered {
    let tables = users();
    let options =
        RenderOptions { close, names: Some(names(&tables)), copies: 3, ..RenderOptions::default() };
    Rendered::new(request, options).unwrap()
}

fn text(rendered: &Rendered, sequence: u64) -> String {
    let (mut scratch, mut out) = (Vec::new(), Vec::new());
    with_values(sequence, |values| rendered.render(values, &mut scratch, &mut out));
    String::from_utf8(out).unwrap()
}

#[test]
fn a_request_without_placeholders_is_ready_in_copies() {
    let request = request("/a", &[("Host", "h"), ("X", "y")], Some("body"));
    let one = "POST /a HTTP/1.1\r\nHost: h\r\nX: y\r\nContent-Length: 4\r\n\r\nbody";
    let rendered = rendered(&request, false);
    assert_eq!(text(&rendered, 0), one);
    for count in 0..=3 {
        assert_eq!(rendered.batch(count), Some(one.repeat(count).as_bytes()));
    }
    assert_eq!(rendered.batch(4), None);
}

#[test]
fn only_a_body_has_a_length() {
    assert!(!text(&rendered(&request("/", &[], None), false), 0).contains("Content-Length"));
    let empty = text(&rendered(&request("/", &[], Some("")), false), 0);
    assert!(empty.ends_with("\r\nContent-Length: 0\r\n\r\n"));
}

#[test]
fn a_connection_for_one_request_is_announced() {
    let found = text(&rendered(&request("/", &[("Host", "h")], None), true), 0);
    assert_eq!(found, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    let dynamic = text(&rendered(&request("/{{seq}}", &[], Some("{{seq}}")), true), 10);
    assert_eq!(dynamic, "POST /10 HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n10");
}

#[test]
fn placeholders_are_filled_in_everywhere_and_the_length_follows() {
    let request = request("/{{seq}}", &[("X-User", "{{csv:users.csv:name}}")], Some("<{{seq}}>"));
    let rendered = rendered(&request, false);
    assert_eq!(rendered.batch(1), None);
    for sequence in [0, 9, 10, 99, 100, 123_456] {
        let user = ["ann", "bob", ""][(sequence % 3) as usize];
        let length = sequence.to_string().len() + 2;
        let expected = format!(
            "POST /{sequence} HTTP/1.1\r\nX-User: {user}\r\nContent-Length: {length}\r\n\r\n<{sequence}>"
        );
        assert_eq!(text(&rendered, sequence), expected);
    }
}

#[test]
fn placeholders_can_be_turned_off() {
    let request = request("/{{seq}}", &[("X", "{{nothing}}")], Some("{{uuid}}"));
    let rendered =
        Rendered::new(&request, RenderOptions { copies: 1, ..RenderOptions::default() }).unwrap();
    let expected = "POST /{{seq}} HTTP/1.1\r\nX: {{nothing}}\r\nContent-Length: 8\r\n\r\n{{uuid}}";
    assert_eq!(rendered.batch(1), Some(expected.as_bytes()));
}

#[test]
fn only_head_has_no_response_body() {
    let mut request = request("/", &[], None);
    assert!(!rendered(&request, false).head);
    request.method = "HEAD".into();
    assert!(rendered(&request, false).head);
}

#[test]
fn a_request_that_would_break_its_own_framing_is_refused() {
    for (method, target, field, why) in [
        ("GE T", "/", ("A", "b"), "the method and the names of headers are tokens"),
        ("GET", "/a b", ("A", "b"), "\"/a b\" cannot be sent: a URL holds no white space"),
        ("GET", "/", ("A:", "b"), "the method and the names of headers are tokens"),
        ("GET", "/", ("A", "b\r\nC: d"), "cannot be sent: a header holds no line breaks"),
    ] {
        let mut request = request(target, &[field], None);
        request.method = method.into();
        let message = refusal(Rendered::new(
            &request,
            RenderOptions { copies: 1, ..RenderOptions::default() },
        ));
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn values_of_tables_are_made_to_fit_their_place() {
    let table = |value: &str| Table {
        name: "t.csv".into(),
        columns: vec!["a b".into()],
        rows: vec![vec![value.into()]],
    };
    let sent = |target: &str, value: &str, field: &str| {
        let request = request(target, &[("X", field)], None);
        let tables = [table(value)];
        let options =
            RenderOptions { names: Some(names(&tables)), copies: 1, ..RenderOptions::default() };
        let rendered = Rendered::new(&request, options)?;
        let mut out = Vec::new();
        with_values(0, |values| rendered.render(values, &mut Vec::new(), &mut out));
        Ok(String::from_utf8(out).unwrap())
    };
    let head = sent("/{{csv:t.csv:a b}}?x=1", "two words/é#?y=%20", "-").unwrap();
    assert!(head.starts_with("POST /two%20words/%C3%A9%23?y=%20?x=1 HTTP/1.1\r\n"), "{head}");
    let head = sent("/", "two words", "{{csv:t.csv:a b}}").unwrap();
    assert!(head.contains("\r\nX: two words\r\n"), "{head}");
    let message = refusal(sent("/", "one\r\nX-Injected: yes", "{{csv:t.csv:a b}}"));
    assert!(message.contains("t.csv, row 1: \"a b\" has a line break"), "{message}");
}
