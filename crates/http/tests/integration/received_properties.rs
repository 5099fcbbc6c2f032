//! What holds for every stream of requests, and for every way in which it arrives.

use millrace_http::h1::{HeadLimits, Method, ReceivedHead, RequestFraming};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::received_stream::{Event, read};

const LIMITS: HeadLimits = HeadLimits { bytes: 16 * 1024, fields: 1000 };

/// Sizes of the pieces in which a stream arrives; the rest comes at once.
fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        prop::collection::vec(1..20usize, 0..200),
        (1..4usize).prop_map(|size| vec![size; 2000]),
    ]
}

/// Tight ones too, so that some streams meet them.
fn limits() -> impl Strategy<Value = HeadLimits> {
    let tight = (20..100usize, 0..4usize).prop_map(|(bytes, fields)| HeadLimits { bytes, fields });
    prop_oneof![Just(LIMITS), tight]
}

/// Bytes that get further than random ones: fragments of requests, in any order.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    const FRAGMENTS: [&str; 32] = [
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "POST /a?b HTTP/1.1\r\n",
        "POST / HTTP/1.0\r\n",
        "OPTIONS * HTTP/1.1\r\n",
        "PROPPATCH",
        " / HTTP/1.",
        "Host: a\r\n",
        "Content-Length: 3\r\n",
        "Content-Length: 3\r\n\r\nabc",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive,",
        "Upgrade: x\r\n",
        "Upgrade\r\n",
        "X: value\r\n",
        " folded\r\n",
        "3\r\nabc\r\n",
        "ffffffffffffffff\r\n",
        "1;name=value\r\n",
        "1;",
        "0\r\n\r\n",
        "0\r\nTrailer: x\r\n\r\n",
        "\r\n",
        "\n",
        "\r",
        "\t",
        ":",
        "0",
        "01234567",
    ];
    let fragment = prop_oneof![
        12 => select(&FRAGMENTS[..]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(fragment, 0..20).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_split_of_fragments_gives_the_same_events(
        (stream, pieces, limits) in (fragments(), pieces(), limits())
    ) {
        prop_assert_eq!(read(&stream, &pieces, &limits), read(&stream, &[], &limits));
    }

    #[test]
    fn any_split_of_requests_with_faults_gives_the_same_events(
        requests in prop::collection::vec(request(), 1..4),
        faults in prop::collection::vec((any::<Index>(), any::<u8>(), 0..2usize), 0..3),
        (pieces, limits) in (pieces(), limits()),
    ) {
        let mut stream = render(&requests).0;
        for (at, byte, removed) in faults {
            let at = at.index(stream.len());
            stream.splice(at..at + removed, [byte]);
        }
        prop_assert_eq!(read(&stream, &pieces, &limits), read(&stream, &[], &limits));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        start in select(vec!["", "GET /", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"]),
        (pieces, limits) in (pieces(), limits()),
    ) {
        let stream = [start.as_bytes(), &bytes].concat();
        read(&stream, &pieces, &limits);
    }

    #[test]
    fn requests_are_read_as_they_were_written(
        (requests, pieces) in (prop::collection::vec(request(), 1..5), pieces())
    ) {
        let (stream, expected) = render(&requests);
        prop_assert_eq!(read(&stream, &pieces, &LIMITS), expected);
    }

    #[test]
    fn a_parser_that_takes_over_a_body_stands_where_the_first_one_stood(
        (request, at, byte) in (request(), any::<Index>(), any::<u8>())
    ) {
        const HEAD: &[u8] = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut stream = render(&[request]).0;
        let at = at.index(stream.len());
        stream[at] = byte;
        let events = read(&stream, &[], &LIMITS);
        let [.., Event::Head { .. } | Event::Data(_), Event::Unsure { at, reason, prelude }] = events[..]
        else { return Ok(()) };
        let stream = [HEAD, prelude, &stream[at..]].concat();
        let events = read(&stream, &[], &LIMITS);
        let at = HEAD.len() + prelude.len();
        prop_assert_eq!(events.last(), Some(&Event::Unsure { at, reason, prelude }));
    }

    #[test]
    fn a_request_that_is_cut_short_is_partial(
        (request, cut, pieces) in (request(), any::<Index>(), pieces())
    ) {
        let (stream, whole) = render(&[request]);
        let Some(end) = whole.iter().find_map(|event| match event {
            Event::End { at, .. } => Some(*at),
            _ => None,
        }) else { return Ok(()) };
        let cut = 1 + cut.index(end - 1);
        prop_assume!(cut < end);
        let events = read(&stream[..cut], &pieces, &LIMITS);
        prop_assert_eq!(events.last(), Some(&Event::Partial));
    }
}

/// A request as its parts, all of them of the usual kind.
#[derive(Clone, Debug)]
struct Request {
    empty_lines: usize,
    method: Method,
    target: String,
    minor: u8,
    /// Names, white space before values, values, white space behind them.
    fields: Vec<(String, &'static str, String, &'static str)>,
    connection: Option<&'static str>,
    upgrade: bool,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    None,
    Length(Vec<u8>),
    Chunked { chunks: Vec<Vec<u8>>, extension: &'static str, trailers: Vec<(String, String)> },
}

/// No name that a parser has to know begins with X.
const NAME: &str = "X[!#-'*+.0-9A-Z^-z|~-]{0,12}";
/// Neither begins nor ends with white space.
const VALUE: &str = "([!-~\u{80}-\u{ff}]([\t -~\u{80}-\u{ff}]{0,20}[!-~\u{80}-\u{ff}])?)?";

fn request() -> impl Strategy<Value = Request> {
    let space = || select(vec!["", " ", "\t", "  \t "]);
    let start = (0..3usize, select(Method::ALL), "/[!-~]{0,30}", select(vec![1, 1, 1, 0]));
    let fields = prop::collection::vec((NAME, space(), VALUE, space()), 0..6);
    let options = vec![None, None, Some("close"), Some("Keep-Alive"), Some("x , CLOSE,keep-alive")];
    let connection = (select(options), prop::bool::weighted(0.1));
    (start, fields, connection, body()).prop_map(
        |((empty_lines, method, target, minor), fields, (connection, upgrade), body)| Request {
            empty_lines,
            method,
            target,
            minor,
            fields,
            connection,
            upgrade,
            body: if minor == 0 && matches!(body, Body::Chunked { .. }) {
                Body::None
            } else {
                body
            },
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let bytes = |size| prop::collection::vec(any::<u8>(), size);
    let trailers = prop::collection::vec((NAME, VALUE), 0..3);
    let extension = select(vec!["", ";x", ";name=value"]);
    prop_oneof![
        1 => Just(Body::None),
        1 => bytes(0..60).prop_map(Body::Length),
        2 => (prop::collection::vec(bytes(1..40), 0..4), extension, trailers).prop_map(
            |(chunks, extension, trailers)| Body::Chunked { chunks, extension, trailers }
        ),
    ]
}

/// The bytes of requests, and what a server sees, up to the last request.
fn render(requests: &[Request]) -> (Vec<u8>, Vec<Event>) {
    let (mut stream, mut events) = (Vec::new(), Vec::new());
    for request in requests {
        request.render(&mut stream, &mut events);
    }
    let last = events.iter().position(|event| *event == Event::Last);
    events.truncate(last.map_or(events.len(), |last| last + 1));
    (stream, events)
}

impl Request {
    fn render(&self, stream: &mut Vec<u8>, events: &mut Vec<Event>) {
        stream.extend(b"\r\n".repeat(self.empty_lines));
        let at = stream.len();
        stream.extend(self.method.as_str().bytes().chain([b' ']));
        let target = stream.len() - at;
        stream.extend(self.target.bytes());
        stream.extend(format!(" HTTP/1.{}\r\n", self.minor).bytes());
        let lines = stream.len() - at;
        let mut fields = Vec::new();
        for (name, before, value, after) in &self.all_fields() {
            stream.extend(format!("{name}:{before}{value}{after}\r\n").bytes());
            fields.push((name.clone().into_bytes(), value.clone().into_bytes()));
        }
        stream.extend(b"\r\n");
        let head = ReceivedHead {
            start: 2 * self.empty_lines,
            length: stream.len() - at,
            method: self.method,
            target: (target, target + self.target.len()),
            lines: (lines, stream.len() - at - 2),
            fields: fields.len(),
            minor: self.minor,
            framing: self.framing(),
            keep_alive: self.keep_alive(),
            upgrade: self.upgrade,
            expect: false,
            host: false,
        };
        events.push(Event::Head { at, head, target: self.target.clone().into_bytes(), fields });
        events.extend(self.upgrade.then_some(Event::Last));
        self.render_body(stream, events);
        events.extend((!self.keep_alive()).then_some(Event::Last));
    }

    fn all_fields(&self) -> Vec<(String, &'static str, String, &'static str)> {
        let field = |name: &str, value: &str| (name.to_owned(), " ", value.to_owned(), "");
        let mut fields = self.fields.clone();
        fields.extend(self.connection.map(|options| field("connection", options)));
        if self.upgrade {
            fields.extend([field("Connection", "upgrade"), field("Upgrade", "websocket")]);
        }
        match &self.body {
            Body::None => {}
            Body::Length(bytes) => fields.push(field("Content-Length", &bytes.len().to_string())),
            Body::Chunked { .. } => fields.push(field("Transfer-Encoding", "chunked")),
        }
        fields
    }

    fn framing(&self) -> RequestFraming {
        match &self.body {
            Body::None => RequestFraming::None,
            Body::Length(bytes) => RequestFraming::Length(bytes.len() as u64),
            Body::Chunked { .. } => RequestFraming::Chunked,
        }
    }

    fn keep_alive(&self) -> bool {
        match self.connection {
            None => self.minor == 1,
            Some("close") => false,
            Some("Keep-Alive") => true,
            Some(_) => self.minor == 0,
        }
    }

    fn render_body(&self, stream: &mut Vec<u8>, events: &mut Vec<Event>) {
        let (mut data, mut seen) = (Vec::new(), Vec::new());
        match &self.body {
            Body::None => {}
            Body::Length(bytes) => {
                data.clone_from(bytes);
                stream.extend(bytes);
            }
            Body::Chunked { chunks, extension, trailers } => {
                for chunk in chunks {
                    data.extend(chunk);
                    stream.extend(format!("{:X}{extension}\r\n", chunk.len()).bytes());
                    stream.extend(chunk);
                    stream.extend(b"\r\n");
                }
                stream.extend(format!("0{extension}\r\n").bytes());
                for (name, value) in trailers {
                    stream.extend(format!("{name}: {value}\r\n").bytes());
                    seen.push((name.clone().into_bytes(), value.clone().into_bytes()));
                }
                stream.extend(b"\r\n");
            }
        }
        events.extend((!data.is_empty()).then_some(Event::Data(data)));
        events.push(Event::End { at: stream.len(), trailers: seen });
    }
}
