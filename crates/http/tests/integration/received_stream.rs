//! A client's bytes, given to the parsers of requests in pieces and taken up again as a server does it.

use std::fmt;

use millrace_http::h1::{
    BodyDecoder, BodyEvent, HeadLimits, HeadParser, Parsed, ReceivedHead, RequestFraming,
    UnsureReason, field_lines,
};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// What a server sees. Offsets count from the start of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A head that begins at `at`.
    Head { at: usize, head: ReceivedHead, target: Vec<u8>, fields: Fields },
    /// Bytes of a body, however many runs they came in.
    Data(Vec<u8>),
    /// A request has ended, with these trailers.
    End { at: usize, trailers: Fields },
    /// The host's parser takes over, after this prelude.
    Unsure { at: usize, reason: UnsureReason, prelude: &'static [u8] },
    /// The last request wants the connection closed, or, at the end of its head, another protocol.
    Last,
    /// The stream ended in the middle of a head or body.
    Partial,
}

/// Reads a stream that comes in `pieces`, the rest of it at once.
pub(crate) fn read(stream: &[u8], pieces: &[usize], limits: &HeadLimits) -> Vec<Event> {
    let parser = HeadParser::default();
    let mut server = Server { stream, limits, parser, body: None, done: 0, events: Vec::new() };
    for arrived in ends(stream.len(), pieces) {
        while server.go_on(arrived) {}
        if server.is_over() {
            return server.events;
        }
    }
    if server.body.is_some() || server.done < stream.len() {
        server.events.push(Event::Partial);
    }
    server.events
}

struct Server<'a> {
    stream: &'a [u8],
    limits: &'a HeadLimits,
    parser: HeadParser,
    /// The body at hand, and whether the connection is to be closed after it.
    body: Option<(BodyDecoder, bool)>,
    done: usize,
    events: Vec<Event>,
}

impl Server<'_> {
    fn is_over(&self) -> bool {
        matches!(self.events.last(), Some(Event::Unsure { .. } | Event::Last))
    }

    /// `false` when there is nothing more to read in what has arrived.
    fn go_on(&mut self, arrived: usize) -> bool {
        let input = &self.stream[self.done..arrived];
        let Some((mut decoder, last)) = self.body else { return self.read_head(input) };
        let event = decoder.next(input, self.limits);
        self.body = Some((decoder, last));
        match event {
            BodyEvent::Data { start, end } => {
                assert!(start < end, "an empty run");
                match self.events.last_mut() {
                    Some(Event::Data(data)) => data.extend_from_slice(&input[start..end]),
                    _ => self.events.push(Event::Data(input[start..end].to_vec())),
                }
                self.done += end;
                true
            }
            BodyEvent::End { consumed, trailers } => {
                self.done += consumed;
                self.body = None;
                let trailers = owned(&input[trailers.0..trailers.1]);
                self.events.push(Event::End { at: self.done, trailers });
                self.events.extend(last.then_some(Event::Last));
                !last
            }
            BodyEvent::More { consumed } => {
                assert!(consumed <= input.len(), "consumed more than there was");
                self.done += consumed;
                false
            }
            BodyEvent::Unsure { at, reason } => {
                let prelude = decoder.prelude();
                self.events.push(Event::Unsure { at: self.done + at, reason, prelude });
                false
            }
        }
    }

    fn read_head(&mut self, input: &[u8]) -> bool {
        match self.parser.parse(input, self.limits) {
            Parsed::Partial => false,
            Parsed::Unsure(reason) => {
                self.events.push(Event::Unsure { at: self.done, reason, prelude: b"" });
                false
            }
            Parsed::Complete(head) => {
                let bytes = &input[head.start..][..head.length];
                let fields = owned(&bytes[head.lines.0..head.lines.1]);
                assert_eq!(fields.len(), head.fields);
                let (at, target) = (self.done + head.start, &bytes[head.target.0..head.target.1]);
                self.events.push(Event::Head { at, head, target: target.to_vec(), fields });
                self.done = at + head.length;
                self.body = Some((BodyDecoder::new(head.framing), !head.keep_alive));
                self.events.extend(head.upgrade.then_some(Event::Last));
                !head.upgrade
            }
        }
    }
}

fn owned(lines: &[u8]) -> Fields {
    let fields: Fields =
        field_lines(lines).map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
    let ends = lines.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(fields.len(), ends, "a field on every line");
    fields
}

/// How many bytes have arrived after each piece, and at last all of them.
fn ends(length: usize, pieces: &[usize]) -> impl Iterator<Item = usize> {
    let running = pieces.iter().scan(0usize, |sum, piece| {
        *sum = sum.saturating_add(*piece);
        Some(*sum)
    });
    running.take_while(move |end| *end < length).chain([length])
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head { head, target, fields, .. } => {
                let framing = match head.framing {
                    RequestFraming::None => "none".to_owned(),
                    RequestFraming::Length(length) => length.to_string(),
                    RequestFraming::Chunked => "chunked".to_owned(),
                };
                let keep_alive = if head.keep_alive { "keep-alive" } else { "close" };
                let method = head.method.as_str();
                let target = target.escape_ascii();
                write!(f, "{method} {target} 1.{} {keep_alive} {framing}", head.minor)?;
                for (is_set, word) in
                    [(head.upgrade, "upgrade"), (head.expect, "expect"), (head.host, "host")]
                {
                    write!(f, "{}", if is_set { format!(" {word}") } else { String::new() })?;
                }
                write_fields(f, fields)
            }
            Self::Data(data) => write!(f, "data {}", data.escape_ascii()),
            Self::End { trailers, .. } => {
                write!(f, "end")?;
                write_fields(f, trailers)
            }
            Self::Unsure { at, reason, .. } => write!(f, "unsure {at} {}", reason.as_str()),
            Self::Last => write!(f, "last"),
            Self::Partial => write!(f, "partial"),
        }
    }
}

fn write_fields(f: &mut fmt::Formatter<'_>, fields: &Fields) -> fmt::Result {
    fields.iter().try_for_each(|(name, value)| {
        write!(f, "\n{}: {}", name.escape_ascii(), value.escape_ascii())
    })
}
