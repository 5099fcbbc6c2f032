//! What holds for every stream of bytes, and for every way in which it arrives.

use millrace_http::h1::Error;
use proptest::prelude::*;
use proptest::sample::select;

use crate::stream::{self, Event};

/// Sizes of the pieces in which a stream arrives; the rest comes at once.
fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        prop::collection::vec(1..20usize, 0..200),
        (1..4usize).prop_map(|size| vec![size; 2000]),
    ]
}

fn heads() -> impl Strategy<Value = Vec<bool>> {
    prop::collection::vec(prop::bool::weighted(0.2), 0..4)
}

/// Bytes that get further into the decoder than random ones: fragments of responses, in any order.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    const FRAGMENTS: [&str; 26] = [
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 404 \n",
        "HTTP/1.1 204\r\n\r\n",
        "HTTP/1.1 103 x\r\nLink: x\r\n\r\n",
        "HTTP/1.1 101 x\r\n\r\n",
        "HTTP/1.",
        "Content-Length: 3\r\n\r\nabc",
        "Content-Length: 7\r\n",
        "Content-Length: 18446744073709551615\r\n",
        "Transfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "X-Field: value\r\n",
        " folded\r\n",
        "3\r\nabc\r\n",
        "ffffffffffffffff\r\n",
        "1;name=value\r\n",
        "0\r\n\r\n",
        "0\r\nTrailer: x\r\n\r\n",
        "\r\n",
        "\n",
        "\r",
        ":",
        "0",
    ];
    let fragment = prop_oneof![
        8 => select(&FRAGMENTS[..]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(fragment, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// With an empty line at the end of the stream, so that every head in it ends.
    #[test]
    fn any_split_gives_the_same_events_and_errors(
        (bytes, pieces, heads) in (fragments(), pieces(), heads())
    ) {
        let bytes = [&bytes[..], b"\r\n\r\n"].concat();
        let whole = stream::read(&bytes, &[], &heads);
        prop_assert_eq!(stream::read(&bytes, &pieces, &heads), whole);
    }

    #[test]
    fn data_that_is_skipped_leaves_the_same_events_and_errors(
        (bytes, pieces, heads) in (fragments(), pieces(), heads())
    ) {
        let whole = stream::read(&bytes, &[], &heads);
        prop_assert_eq!(stream::read_or_skip(&bytes, &[], &heads, true), whole);
        let split = stream::read(&bytes, &pieces, &heads);
        prop_assert_eq!(stream::read_or_skip(&bytes, &pieces, &heads, true), split);
    }

    /// Without one, a fault in a head may be told only by its missing end: lines that come in small
    /// pieces are not parsed before the head has ended.
    #[test]
    fn a_head_without_an_end_is_an_error_however_it_is_split(
        (bytes, pieces, heads) in (fragments(), pieces(), heads())
    ) {
        let mut whole = stream::read(&bytes, &[], &heads);
        let split = stream::read(&bytes, &pieces, &heads);
        if split.last() == Some(&Event::Error(Error::UnexpectedEnd)) {
            let last = whole.pop();
            prop_assert!(matches!(last, Some(Event::Error(_))), "{last:?}");
            whole.push(Event::Error(Error::UnexpectedEnd));
        }
        prop_assert_eq!(split, whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        start in select(vec!["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]),
        (pieces, heads) in (pieces(), heads()),
    ) {
        let bytes = [start.as_bytes(), &bytes].concat();
        stream::read(&bytes, &pieces, &heads);
    }

    #[test]
    fn responses_decode_to_themselves(
        responses in prop::collection::vec(response(), 1..5),
        pieces in pieces(),
    ) {
        let bytes: Vec<u8> = responses.iter().flat_map(|response| response.render()).collect();
        let heads: Vec<bool> = responses.iter().map(|response| response.head).collect();
        let events = stream::read(&bytes, &pieces, &heads);
        prop_assert_eq!(events, expected(&responses, bytes.len()));
    }

    #[test]
    fn a_response_that_is_cut_short_is_never_complete(
        response in response().prop_map(Response::of_known_length),
        cut in any::<prop::sample::Index>(),
        pieces in pieces(),
    ) {
        let bytes = response.render();
        let cut = cut.index(bytes.len());
        let events = stream::read(&bytes[..cut], &pieces, &[response.head]);
        let complete = events.iter().any(|event| matches!(event, Event::Complete { .. }));
        prop_assert!(!complete, "{events:?} after {cut} of {} bytes", bytes.len());
    }
}

/// A response as its parts.
#[derive(Clone, Debug)]
struct Response {
    head: bool,
    http11: bool,
    status: u16,
    interim: Vec<u16>,
    fields: Vec<(String, String)>,
    connection: Option<&'static str>,
    body: Body,
    line_end: &'static str,
}

#[derive(Clone, Debug)]
enum Body {
    Length(Vec<u8>),
    Chunked { chunks: Vec<Vec<u8>>, extension: &'static str, trailers: Vec<(String, String)> },
    UntilClose(Vec<u8>),
}

fn fields() -> impl Strategy<Value = Vec<(String, String)>> {
    // No name of one of the fields that decide about framing begins with X.
    let field = ("X[!#-'*+.0-9A-Z^-z|~-]{0,12}", "[\t -~\u{80}-\u{ff}]{0,20}");
    prop::collection::vec(field, 0..5)
}

fn bytes(size: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), size)
}

fn body() -> impl Strategy<Value = Body> {
    let extension = select(vec!["", ";x", " ; name=\"value\""]);
    let chunks = prop::collection::vec(bytes(1..40), 0..4);
    prop_oneof![
        4 => bytes(0..60).prop_map(Body::Length),
        4 => (chunks, extension, fields()).prop_map(|(chunks, extension, trailers)| {
            Body::Chunked { chunks, extension, trailers }
        }),
        1 => bytes(0..60).prop_map(Body::UntilClose),
    ]
}

fn response() -> impl Strategy<Value = Response> {
    let start = (
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.8),
        prop_oneof![6 => 200..=599u16, 1 => Just(204), 1 => Just(304), 1 => Just(101)],
        prop::collection::vec(prop_oneof![Just(100u16), 102..=199u16], 0..3),
    );
    let connection = select(vec![None, None, None, Some("close"), Some("Keep-Alive")]);
    let line_end = select(vec!["\r\n", "\r\n", "\n"]);
    (start, fields(), connection, body(), line_end).prop_map(
        |((head, http11, status, interim), fields, connection, body, line_end)| Response {
            head,
            http11,
            status,
            interim,
            fields,
            connection,
            body,
            line_end,
        },
    )
}

impl Response {
    fn has_body(&self) -> bool {
        !self.head && !matches!(self.status, 101 | 204 | 304)
    }

    fn ends_with_connection(&self) -> bool {
        self.has_body() && matches!(self.body, Body::UntilClose(_))
    }

    fn of_known_length(mut self) -> Self {
        if let Body::UntilClose(body) = self.body {
            self.body = Body::Length(body);
        }
        self
    }

    fn is_persistent(&self) -> bool {
        let chunked = matches!(self.body, Body::Chunked { .. });
        let kept = match self.connection {
            None => self.http11,
            Some(option) => option == "Keep-Alive",
        };
        let doubtful = chunked && !self.http11;
        kept && !doubtful && self.status != 101 && !self.ends_with_connection()
    }

    fn render(&self) -> Vec<u8> {
        let end = self.line_end;
        let mut out = Vec::new();
        for status in &self.interim {
            out.extend(format!("HTTP/1.1 {status} Interim{end}X: y{end}{end}").bytes());
        }
        let version = if self.http11 { "1.1" } else { "1.0" };
        out.extend(format!("HTTP/{version} {} Reason{end}", self.status).bytes());
        if let Some(option) = self.connection {
            out.extend(format!("connection: {option}{end}").bytes());
        }
        for (name, value) in &self.fields {
            out.extend(format!("{name}:{value}{end}").bytes());
        }
        match &self.body {
            Body::Length(body) => {
                out.extend(format!("Content-Length: {}{end}", body.len()).bytes())
            }
            Body::Chunked { .. } => out.extend(format!("Transfer-Encoding: chunked{end}").bytes()),
            Body::UntilClose(_) => {}
        }
        out.extend(end.bytes());
        if self.has_body() {
            self.render_body(&mut out);
        }
        out
    }

    fn render_body(&self, out: &mut Vec<u8>) {
        match &self.body {
            Body::Length(body) | Body::UntilClose(body) => out.extend(body),
            Body::Chunked { chunks, extension, trailers } => {
                for chunk in chunks {
                    out.extend(format!("{:x}{extension}\r\n", chunk.len()).bytes());
                    out.extend(chunk);
                    out.extend(b"\r\n");
                }
                out.extend(format!("0{extension}\r\n").bytes());
                for (name, value) in trailers {
                    out.extend(format!("{name}:{value}\r\n").bytes());
                }
                out.extend(b"\r\n");
            }
        }
    }
}

fn expected(responses: &[Response], length: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut at = 0;
    for response in responses {
        at += response.render().len();
        let Response { status, .. } = *response;
        if response.ends_with_connection() {
            events.push(Event::Complete { status, persistent: false, at: length });
            return events;
        }
        let persistent = response.is_persistent();
        events.push(Event::Complete { status, persistent, at });
        if !persistent {
            events.extend((at < length).then_some(Event::Unread(length - at)));
            return events;
        }
    }
    events
}
