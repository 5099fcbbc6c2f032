//! Text with placeholders.
//!
//! `{{seq}}` a number that counts the run's requests from 0 · `{{random:1-100}}` a number in a range ·
//! `{{uuid}}` a random UUID · `{{csv:FILE:COLUMN}}` a value of the row that belongs to the request: row
//! `seq` modulo the number of rows, so that all columns of one request come from one row.
//!
//! In flows `seq` counts iterations, and `{{NAME}}` is a variable; `{{raw:NAME}}` puts it into a URL as it is.

use millrace_http::h1::{is_target, is_value};

use crate::RunError;
use crate::flow::value::{Value, push_json_escaped};
use crate::plan::Table;
use crate::trace_context::TraceContext;

/// Text with holes.
#[derive(Clone, Debug, Default)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Clone, Debug)]
enum TemplatePart {
    Literal(Vec<u8>),
    Sequence,
    Random {
        from: u64,
        to: u64,
    },
    Uuid,
    /// The values of a column, row by row, as they go out.
    Column(Vec<Vec<u8>>),
    /// A variable, by index.
    Variable(u32, Form),
    /// The field of the request's trace context, if it has one.
    TraceContext,
}

/// How the value of a variable goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As it is.
    Plain,
    /// As part of a URL's path or query: all but unreserved characters are encoded (RFC 3986, section 2.3).
    Component,
    /// As a URL or a part of one: what cannot stand there is encoded.
    Url,
    /// As a JSON value.
    JsonValue,
    /// As part of a JSON string.
    JsonText,
    /// As part of `application/x-www-form-urlencoded`.
    Urlencoded,
}

/// What placeholders can refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// Tables.
    pub tables: &'a [Table],
    /// Variables, whose numbers are their indices.
    pub variables: &'a [String],
}

/// Where a text stands in a request, which decides what it may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPosition {
    /// The request-target. What it cannot hold is percent-encoded in values of tables.
    Target,
    /// A field's value: no line breaks.
    Field,
    /// The body: anything.
    Body,
    /// A body that is JSON: values are parts of strings, and what is a string of its own keeps its type.
    Json,
    /// A body of the type `application/x-www-form-urlencoded`.
    Urlencoded,
}

/// What the holes of one request are filled from.
#[derive(Debug)]
pub struct Values<'a> {
    /// The request's number.
    pub sequence: u64,
    /// Random numbers of the worker.
    pub random: &'a mut fastrand::Rng,
    /// The variables.
    pub(crate) variables: &'a [Option<Value>],
    /// What the request says of its trace.
    pub(crate) trace: Option<TraceContext>,
}

impl<'a> Values<'a> {
    /// Values for a text without variables.
    #[must_use]
    pub fn new(sequence: u64, random: &'a mut fastrand::Rng) -> Self {
        Self { sequence, random, variables: &[], trace: None }
    }

    pub(crate) fn with_trace(self, trace: Option<TraceContext>) -> Self {
        Self { trace, ..self }
    }
}

impl Template {
    /// Text without holes.
    pub fn literal(text: &[u8], place: TextPosition) -> Result<Self, RunError> {
        place.check(text)?;
        Ok(Self { parts: vec![TemplatePart::Literal(text.to_vec())] })
    }

    /// Finds the placeholders in `text`.
    pub fn parse(text: &[u8], names: Names<'_>, place: TextPosition) -> Result<Self, RunError> {
        let mut template = Self::default();
        let mut rest = text;
        while let Some((before, name, after)) = next_placeholder(rest) {
            place.check(before)?;
            let part = TemplatePart::parse(name, names, place)?;
            let (before, part, after) = match place {
                TextPosition::Json => unquote(before, part, after),
                _ => (before, part, after),
            };
            template.push(before);
            template.parts.push(part);
            rest = after;
        }
        place.check(rest)?;
        template.push(rest);
        Ok(template)
    }

    /// Adds text at the end.
    pub(crate) fn push(&mut self, text: &[u8]) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(TemplatePart::Literal(last)) => last.extend_from_slice(text),
            _ => self.parts.push(TemplatePart::Literal(text.to_vec())),
        }
    }

    /// Adds the field of the request's trace context, a line.
    pub(crate) fn push_trace_context(&mut self) {
        self.parts.push(TemplatePart::TraceContext);
    }

    /// Adds another template at the end.
    pub(crate) fn append(&mut self, other: Self) {
        for part in other.parts {
            match part {
                TemplatePart::Literal(text) => self.push(&text),
                part => self.parts.push(part),
            }
        }
    }

    /// The variables in it, by index.
    pub(crate) fn variables(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Variable(index, _) => Some(*index),
            _ => None,
        })
    }

    /// The text is the same for each request.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, TemplatePart::Literal(_)))
    }

    /// Appends the text with its holes filled. Allocates nothing once `out` has grown to its size.
    pub fn render(&self, values: &mut Values<'_>, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                TemplatePart::Literal(text) => out.extend_from_slice(text),
                TemplatePart::Sequence => push_number(out, values.sequence),
                TemplatePart::Random { from, to } => {
                    push_number(out, values.random.u64(*from..=*to))
                }
                TemplatePart::Uuid => push_uuid(out, values.random),
                TemplatePart::Column(values_by_row) => {
                    let row = values.sequence % values_by_row.len() as u64;
                    out.extend_from_slice(&values_by_row[row as usize]);
                }
                TemplatePart::TraceContext => {
                    if let Some(trace) = &values.trace {
                        trace.push_field(out);
                    }
                }
                TemplatePart::Variable(index, form) => {
                    // A step whose variables have no values fails before its request is rendered.
                    if let Some(Some(value)) = values.variables.get(*index as usize) {
                        form.push(value, out);
                    }
                }
            }
        }
    }
}

/// Takes the quotes from around a placeholder that is all of a JSON string and whose value has a type: a variable, or a
/// number. A quote inside a string has a backslash before it; a member's name stays a string.
fn unquote<'a>(
    before: &'a [u8],
    part: TemplatePart,
    after: &'a [u8],
) -> (&'a [u8], TemplatePart, &'a [u8]) {
    let (Some((b'"', text)), Some((b'"', rest))) = (before.split_last(), after.split_first())
    else {
        return (before, part, after);
    };
    if text.ends_with(b"\\") || rest.trim_ascii_start().starts_with(b":") {
        return (before, part, after);
    }
    match part {
        TemplatePart::Variable(index, _) => {
            (text, TemplatePart::Variable(index, Form::JsonValue), rest)
        }
        TemplatePart::Sequence | TemplatePart::Random { .. } => (text, part, rest),
        _ => (before, part, after),
    }
}

/// Whether a body is text, so that it may hold placeholders: UTF-8 without NUL. In other bytes, such as those of an
/// image, two braces mean nothing.
#[must_use]
pub fn is_text(body: &[u8]) -> bool {
    !body.contains(&0) && std::str::from_utf8(body).is_ok()
}

/// The files that `text` refers to as tables; an error for a placeholder that is not known. A body that is no text
/// refers to none.
pub fn table_names(text: &[u8], variables: &[String]) -> Result<Vec<String>, RunError> {
    let mut names = Vec::new();
    if !is_text(text) {
        return Ok(names);
    }
    let mut rest = text;
    while let Some((_, name, after)) = next_placeholder(rest) {
        match split_csv(name) {
            Some((file, _)) => names.push(file.to_owned()),
            None => {
                let names = Names { variables, ..Names::default() };
                drop(TemplatePart::parse(name, names, TextPosition::Target)?);
            }
        }
        rest = after;
    }
    Ok(names)
}

/// Splits at the first `{{...}}`: (before, inside, after).
fn next_placeholder(text: &[u8]) -> Option<(&[u8], &str, &[u8])> {
    let find = |from: usize, what: &[u8]| {
        text[from..].windows(2).position(|pair| pair == what).map(|at| from + at)
    };
    let start = find(0, b"{{")?;
    let end = find(start + 2, b"}}")?;
    let name = std::str::from_utf8(&text[start + 2..end]).unwrap_or("(not UTF-8)");
    Some((&text[..start], name.trim(), &text[end + 2..]))
}

/// A name as a message may quote it: between braces may stand a whole page.
fn in_a_line(name: &str) -> String {
    /// Longer than any placeholder but those with the name of a file.
    const MOST: usize = 60;
    let line = name.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST {
        return line;
    }
    line.chars().take(MOST).chain("...".chars()).collect()
}

/// `csv:FILE:COLUMN` to (FILE, COLUMN).
fn split_csv(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("csv:")?.rsplit_once(':')
}

impl TemplatePart {
    fn parse(name: &str, names: Names<'_>, place: TextPosition) -> Result<Self, RunError> {
        let Names { tables, variables } = names;
        let (plain, form) = match name.strip_prefix("raw:") {
            Some(plain) if place == TextPosition::Target => (plain, Form::Url),
            _ => (name, place.form()),
        };
        if let Some(index) = variables.iter().position(|variable| variable == plain) {
            return Ok(Self::Variable(index as u32, form));
        }
        let unknown = || {
            let name = in_a_line(name);
            RunError::Usage(format!(
                "unknown placeholder {{{{{name}}}}}: known are {{{{seq}}}}, {{{{random:FROM-TO}}}}, \
                 {{{{uuid}}}}, {{{{csv:FILE:COLUMN}}}}; --no-placeholders sends text as it is"
            ))
        };
        match name {
            "seq" => return Ok(Self::Sequence),
            "uuid" => return Ok(Self::Uuid),
            _ => {}
        }
        if let Some(range) = name.strip_prefix("random:") {
            let (from, to) = range.split_once('-').ok_or_else(unknown)?;
            let (Ok(from), Ok(to)) = (from.trim().parse(), to.trim().parse()) else {
                return Err(unknown());
            };
            return if from <= to { Ok(Self::Random { from, to }) } else { Err(unknown()) };
        }
        let (file, column) = split_csv(name).ok_or_else(unknown)?;
        let table = tables.iter().position(|table| table.name == file).ok_or_else(unknown)?;
        let columns = &tables[table].columns;
        let column: usize = columns.iter().position(|name| name == column).ok_or_else(|| {
            RunError::Usage(format!(
                "{file} has no column {column:?}: it has {}",
                columns.join(", ")
            ))
        })?;
        let rows = &tables[table].rows;
        if rows.is_empty() {
            return Err(RunError::Usage(format!("{file} has a header but no rows")));
        }
        let values = rows.iter().enumerate().map(|(row, cells)| {
            place.fit(&cells[column]).ok_or_else(|| {
                let name = &columns[column];
                RunError::Usage(format!(
                    "{file}, row {}: {name:?} has a line break, which a header cannot hold",
                    row + 1
                ))
            })
        });
        Ok(Self::Column(values.collect::<Result<_, _>>()?))
    }
}

impl TextPosition {
    /// Whether a literal text may stand here.
    fn check(self, text: &[u8]) -> Result<(), RunError> {
        let (fits, why) = match self {
            Self::Target => (is_target(text), "a URL holds no white space or control characters"),
            Self::Field => (is_value(text), "a header holds no line breaks"),
            Self::Body | Self::Json | Self::Urlencoded => (true, ""),
        };
        let shown = String::from_utf8_lossy(text);
        if fits { Ok(()) } else { Err(RunError::Usage(format!("{shown:?} cannot be sent: {why}"))) }
    }

    /// A table's value as it goes out here; `None` where it cannot.
    fn fit(self, value: &str) -> Option<Vec<u8>> {
        match self {
            Self::Body => Some(value.as_bytes().to_vec()),
            Self::Field => is_value(value.as_bytes()).then(|| value.as_bytes().to_vec()),
            Self::Target => Some(percent_encode(value)),
            Self::Json | Self::Urlencoded => {
                let mut fitted = Vec::new();
                self.form().push(&Value::from_text(value), &mut fitted);
                Some(fitted)
            }
        }
    }

    /// How variables go out here.
    fn form(self) -> Form {
        match self {
            Self::Target => Form::Component,
            Self::Field | Self::Body => Form::Plain,
            Self::Json => Form::JsonText,
            Self::Urlencoded => Form::Urlencoded,
        }
    }
}

impl Form {
    fn push(self, value: &Value, out: &mut Vec<u8>) {
        let text = value.as_text();
        match self {
            Self::Plain => out.extend_from_slice(text.as_bytes()),
            Self::Url => out.extend(percent_encode(text)),
            Self::JsonValue => value.push_json(out),
            Self::JsonText => push_json_escaped(text, out),
            Self::Component | Self::Urlencoded => {
                for byte in text.bytes() {
                    match byte {
                        b'-' | b'.' | b'_' | b'~' => out.push(byte),
                        b' ' if self == Self::Urlencoded => out.push(b'+'),
                        byte if byte.is_ascii_alphanumeric() => out.push(byte),
                        byte => push_percent_encoded(byte, out),
                    }
                }
            }
        }
    }
}

/// Encodes what cannot stand in a request-target (RFC 3986, appendix A). What has a meaning there (`%`,
/// `/`, `?`, `&`) stays: a value may be a whole path. `#` would end the target.
fn percent_encode(value: &str) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len());
    for byte in value.bytes() {
        if is_uri_byte(byte) || matches!(byte, b'[' | b']') {
            encoded.push(byte);
        } else {
            push_percent_encoded(byte, &mut encoded);
        }
    }
    encoded
}

/// Whether a byte may stand in a path or query as it is, `%` included (RFC 3986, appendix A).
pub(crate) fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"#<>[\\]^`{|}".contains(&byte)
}

/// Appends `%` and two digits (RFC 3986, section 2.1).
pub(crate) fn push_percent_encoded(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

fn push_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A random UUID (RFC 9562, section 5.4).
fn push_uuid(out: &mut Vec<u8>, random: &mut fastrand::Rng) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let version = 0x4000_u128 << 64;
    let variant = 0x8000_u128 << 48;
    let bits = random.u128(..) & !(0xf000_u128 << 64) & !(0xc000_u128 << 48) | version | variant;
    for (index, byte) in bits.to_be_bytes().into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.push(HEX[usize::from(byte >> 4)]);
        out.push(HEX[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests;
