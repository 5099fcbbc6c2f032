//! Parser of the head of a request that a server receives.

use super::field_lines::{FieldLines, KnownField, Stop, find_target_end, line_ends};
use super::method::Method;
use super::unsure_reason::UnsureReason;
use crate::syntax::parse_content_length;

/// Limits of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Every head has fewer bytes, empty lines before it included. Node's `maxHeaderSize` is suitable: Node counts only
    /// target, names and values.
    pub bytes: usize,
    /// Maximum number of fields of a head and of a trailer section. Node's `maxHeadersCount`, or 1000 if that is not set.
    pub fields: usize,
}

/// The result of [`HeadParser::parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Valid so far: pass all of the input again, with the bytes that follow it.
    Partial,
    /// A complete head that every supported version of Node accepts.
    Complete(ReceivedHead),
    /// Unusual or invalid: Node's own parser has to decide about these bytes.
    Unsure(UnsureReason),
}

/// The parsed head of a request. Offsets count from `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedHead {
    /// Bytes of empty lines before the request line.
    pub start: usize,
    /// Bytes from there to behind the empty line that ends the head.
    pub length: usize,
    /// The method.
    pub method: Method,
    /// Begin and end of the request-target.
    pub target: (usize, usize),
    /// Begin and end of the field lines, without the empty line; for
    /// [`field_lines`](super::field_lines).
    pub lines: (usize, usize),
    /// Number of fields.
    pub fields: usize,
    /// Minor version: HTTP/1.0 or HTTP/1.1.
    pub minor: u8,
    /// How the body ends.
    pub framing: RequestFraming,
    /// Another request may follow on this connection (`llhttp_should_keep_alive`).
    pub keep_alive: bool,
    /// The client asks for another protocol: `Upgrade`, and `Connection: upgrade`. The application decides whether a body or
    /// that protocol follows.
    pub upgrade: bool,
    /// There is an `Expect`.
    pub expect: bool,
    /// There is a `Host`.
    pub host: bool,
}

/// How the body of a request ends (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestFraming {
    /// There is none.
    #[default]
    None,
    /// After this many bytes, at most 15 digits of them.
    Length(u64),
    /// After the last chunk and its trailers.
    Chunked,
}

/// Parses the heads of requests as all of llhttp 8.1 to 9.4 do with Node's strict defaults. A head that one of them might
/// refuse or read differently is `Unsure`, and so are rare forms.
///
/// Continues where it stopped: a head in many pieces costs the same as in one, and an error is reported at its byte or
/// line, wherever the input is split.
#[derive(Clone, Copy, Debug)]
pub struct HeadParser {
    part: HeadPart,
    lines: FieldLines,
    /// The head, as far as it has been parsed.
    head: ReceivedHead,
    connection: ConnectionOptions,
    has_upgrade: bool,
}

/// The part of the head to parse next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadPart {
    EmptyLines,
    Method,
    Target,
    Version,
    Fields,
}

impl Default for HeadParser {
    fn default() -> Self {
        let head = ReceivedHead {
            start: 0,
            length: 0,
            method: Method::Get,
            target: (0, 0),
            lines: (0, 0),
            fields: 0,
            minor: 1,
            framing: RequestFraming::None,
            keep_alive: true,
            upgrade: false,
            expect: false,
            host: false,
        };
        Self {
            part: HeadPart::EmptyLines,
            lines: FieldLines::default(),
            head,
            connection: ConnectionOptions::default(),
            has_upgrade: false,
        }
    }
}

impl HeadParser {
    /// Continues parsing the head that begins at the start of `input`, or behind empty lines there; `input` contains all
    /// bytes of earlier calls. After `Complete` and `Unsure` it is ready for another head.
    pub fn parse(&mut self, input: &[u8], limits: &HeadLimits) -> Parsed {
        // What is behind the limit is not looked at, so that the reason does not depend on how much has come.
        let input = &input[..input.len().min(limits.bytes)];
        let parsed = match self.parse_more(input, limits) {
            Ok(()) if self.lines.at < limits.bytes => Parsed::Complete(self.head),
            Err(Stop::Partial) if input.len() < limits.bytes => return Parsed::Partial,
            Err(Stop::Unsure(reason)) => Parsed::Unsure(reason),
            Ok(()) | Err(Stop::Partial) => Parsed::Unsure(UnsureReason::HeadSize),
        };
        *self = Self::default();
        parsed
    }

    fn parse_more(&mut self, input: &[u8], limits: &HeadLimits) -> Result<(), Stop> {
        // The limit has become smaller.
        if input.len() < self.lines.at {
            return Err(Stop::Unsure(UnsureReason::HeadSize));
        }
        if self.part != HeadPart::Fields {
            self.read_request_line(input)?;
        }
        while let Some((name, value)) = self.lines.next(input)? {
            if self.lines.count > limits.fields {
                return Err(Stop::Unsure(UnsureReason::FieldCount));
            }
            self.add(name, value)?;
        }
        self.complete();
        Ok(())
    }

    /// RFC 9112, section 3; empty lines before it are passed over (section 2.2).
    fn read_request_line(&mut self, input: &[u8]) -> Result<(), Stop> {
        let (at, head) = (&mut self.lines.at, &mut self.head);
        if self.part == HeadPart::EmptyLines {
            while line_ends(input, *at)? {
                *at += 2;
            }
            (self.part, head.start) = (HeadPart::Method, *at);
        }
        if self.part == HeadPart::Method {
            head.method = read_method(rest(input, *at))?;
            *at += head.method.as_str().len() + 1;
            (self.part, head.target.0) = (HeadPart::Target, *at);
        }
        if self.part == HeadPart::Target {
            *at = find_target_end(input, *at);
            check_target(rest(input, head.target.0), *at - head.target.0, head.method)?;
            head.target.1 = *at;
            *at += 1;
            self.part = HeadPart::Version;
        }
        head.minor = read_version(rest(input, *at))?;
        *at += VERSION_LENGTH;
        self.part = HeadPart::Fields;
        head.lines.0 = *at;
        Ok(())
    }

    /// Evaluates a field. At most one field may decide about framing, so that no two contradict each other.
    fn add(&mut self, name: KnownField, value: &[u8]) -> Result<(), Stop> {
        let head = &mut self.head;
        match name {
            KnownField::Other => {}
            KnownField::Connection => self.connection.add(value)?,
            KnownField::ContentLength | KnownField::TransferEncoding
                if head.framing != RequestFraming::None =>
            {
                return Err(Stop::Unsure(UnsureReason::MultipleFraming));
            }
            KnownField::ContentLength => {
                let length =
                    parse_content_length(value).ok_or(Stop::Unsure(UnsureReason::ContentLength))?;
                head.framing = RequestFraming::Length(length);
            }
            KnownField::TransferEncoding
                if head.minor == 1 && value.eq_ignore_ascii_case(b"chunked") =>
            {
                head.framing = RequestFraming::Chunked;
            }
            KnownField::TransferEncoding => {
                return Err(Stop::Unsure(UnsureReason::TransferEncoding));
            }
            KnownField::Expect => head.expect = true,
            KnownField::Host if head.host => {
                return Err(Stop::Unsure(UnsureReason::MultipleHost));
            }
            KnownField::Host => head.host = true,
            // llhttp does not see an empty one.
            KnownField::Upgrade if value.is_empty() => {
                return Err(Stop::Unsure(UnsureReason::FieldValue));
            }
            KnownField::Upgrade => self.has_upgrade = true,
            // As good as Connection to llhttp.
            KnownField::ProxyConnection => {
                return Err(Stop::Unsure(UnsureReason::ProxyConnection));
            }
        }
        Ok(())
    }

    /// Completes the head as `llhttp_should_keep_alive` and `llhttp__before_headers_complete` do: HTTP/1.0 with
    /// `keep-alive` is kept even if there is a `close` as well.
    fn complete(&mut self) {
        let Self { lines, head, connection, has_upgrade, .. } = self;
        head.length = lines.at - head.start;
        head.fields = lines.count;
        head.keep_alive = if head.minor == 1 { !connection.close } else { connection.keep_alive };
        head.upgrade = *has_upgrade && connection.upgrade;
        for offset in [&mut head.target.0, &mut head.target.1, &mut head.lines.0] {
            *offset -= head.start;
        }
        head.lines.1 = head.length - 2;
    }
}

fn rest(input: &[u8], at: usize) -> &[u8] {
    input.get(at..).unwrap_or_default()
}

fn read_method(line: &[u8]) -> Result<Method, Stop> {
    match Method::at_start_of(line) {
        Some(method) => Ok(method),
        None if Method::may_start_with(line) => Err(Stop::Partial),
        None => Err(Stop::Unsure(method_reason(line))),
    }
}

#[cold]
fn method_reason(line: &[u8]) -> UnsureReason {
    match line {
        [b'\n', ..] => UnsureReason::BareLf,
        _ if line.starts_with(b"CONNECT ") => UnsureReason::Connect,
        _ => UnsureReason::Method,
    }
}

/// Checks the origin-form, or the asterisk-form of OPTIONS (RFC 9112, section 3.2), with a space behind it.
fn check_target(line: &[u8], length: usize, method: Method) -> Result<(), Stop> {
    let target = &line[..length];
    let has_form = target.first() == Some(&b'/') || target == b"*" && method == Method::Options;
    match line.get(length) {
        Some(b' ') if has_form => Ok(()),
        None if has_form || target.is_empty() => Err(Stop::Partial),
        behind => Err(Stop::Unsure(match behind {
            Some(b'\r' | b'\n') if has_form => UnsureReason::Version,
            _ if has_form => UnsureReason::TargetByte,
            _ => UnsureReason::TargetForm,
        })),
    }
}

const VERSION_LENGTH: usize = b"HTTP/1.1\r\n".len();

/// Reads the minor version, with the line end behind it.
fn read_version(line: &[u8]) -> Result<u8, Stop> {
    let [one, zero] = [b"HTTP/1.1\r\n", b"HTTP/1.0\r\n"];
    if line.starts_with(one) {
        Ok(1)
    } else if line.starts_with(zero) {
        Ok(0)
    } else if one.starts_with(line) || zero.starts_with(line) {
        Err(Stop::Partial)
    } else {
        Err(Stop::Unsure(version_reason(line)))
    }
}

#[cold]
fn version_reason(line: &[u8]) -> UnsureReason {
    match line {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0' | b'1', end, ..] => match end {
            b'\n' => UnsureReason::BareLf,
            b'\r' => UnsureReason::BareCr,
            _ => UnsureReason::Version,
        },
        _ => UnsureReason::Version,
    }
}

/// The options that llhttp knows, of all `Connection` fields together.
#[derive(Clone, Copy, Debug, Default)]
struct ConnectionOptions {
    close: bool,
    keep_alive: bool,
    upgrade: bool,
}

impl ConnectionOptions {
    /// An option counts when it is an element of the list by itself: `closed` and `close x` are none.
    /// Before 9.4.2 llhttp took no tab behind an option for white space.
    fn add(&mut self, value: &[u8]) -> Result<(), Stop> {
        if value.contains(&b'\t') {
            return Err(Stop::Unsure(UnsureReason::FieldValue));
        }
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            self.upgrade |= option.eq_ignore_ascii_case(b"upgrade");
        }
        Ok(())
    }
}
