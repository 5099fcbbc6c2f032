//! Text with placeholders, and the requests made of it.
//!
//! `{{seq}}` a number that counts the run's requests from 0 · `{{random:1-100}}` a number in a range ·
//! `{{uuid}}` a random UUID · `{{csv:FILE:COLUMN}}` a value of the row that belongs to the request: row
//! `seq` modulo the number of rows, so that all columns of one request come from one row.

use std::io::Write as _;

use millrace_http::RequestHead;

use crate::RunError;
use crate::plan::{Request, Table};

/// Text with holes.
#[derive(Clone, Debug, Default)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Literal(Vec<u8>),
    Sequence,
    Random { from: u64, to: u64 },
    Uuid,
    Cell { table: usize, column: usize },
}

/// What the holes of one request are filled from.
#[derive(Debug)]
pub struct Values<'a> {
    /// The request's number.
    pub sequence: u64,
    /// Random numbers of the worker.
    pub random: &'a mut fastrand::Rng,
    /// The plan's tables.
    pub tables: &'a [Table],
}

impl Template {
    /// Text without holes.
    #[must_use]
    pub fn literal(text: &[u8]) -> Self {
        Self { parts: vec![Part::Literal(text.to_vec())] }
    }

    /// Finds the placeholders in `text`.
    pub fn parse(text: &[u8], tables: &[Table]) -> Result<Self, RunError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, name, after)) = next_placeholder(rest) {
            if !before.is_empty() {
                parts.push(Part::Literal(before.to_vec()));
            }
            parts.push(Part::parse(name, tables)?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_vec()));
        }
        Ok(Self { parts })
    }

    /// The text is the same for each request.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Literal(_)))
    }

    /// Appends the text with its holes filled. Allocates nothing once `out` has grown to its size.
    pub fn render(&self, values: &mut Values<'_>, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.extend_from_slice(text),
                Part::Sequence => push_number(out, values.sequence),
                Part::Random { from, to } => push_number(out, values.random.u64(*from..=*to)),
                Part::Uuid => push_uuid(out, values.random),
                Part::Cell { table, column } => {
                    let rows = &values.tables[*table].rows;
                    let row = &rows[(values.sequence % rows.len() as u64) as usize];
                    out.extend_from_slice(row[*column].as_bytes());
                }
            }
        }
    }
}

/// The files that `text` refers to as tables; an error for a placeholder that is not known.
pub fn table_names(text: &[u8]) -> Result<Vec<String>, RunError> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, name, after)) = next_placeholder(rest) {
        match split_csv(name) {
            Some((file, _)) => names.push(file.to_owned()),
            None => drop(Part::parse(name, &[])?),
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

/// `csv:FILE:COLUMN` to (FILE, COLUMN).
fn split_csv(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("csv:")?.rsplit_once(':')
}

impl Part {
    fn parse(name: &str, tables: &[Table]) -> Result<Self, RunError> {
        let unknown = || {
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
        let column = columns.iter().position(|name| name == column).ok_or_else(|| {
            RunError::Usage(format!(
                "{file} has no column {column:?}: it has {}",
                columns.join(", ")
            ))
        })?;
        if tables[table].rows.is_empty() {
            return Err(RunError::Usage(format!("{file} has a header but no rows")));
        }
        Ok(Self::Cell { table, column })
    }
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

/// A request of the mix, ready to be sent.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// Index into the plan's origins.
    pub origin: usize,
    /// The response has no body.
    pub head: bool,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// The same bytes each time, several copies in a row, so that a pipelined batch is one slice.
    Static { copies: Vec<u8>, length: usize },
    /// Head up to the value of `Content-Length` (or its end), and the body.
    Dynamic { head: Template, body: Option<Template> },
}

impl Rendered {
    /// Renders what does not change; `copies` requests may be sent in one write.
    pub fn new(
        request: &Request,
        close: bool,
        tables: Option<&[Table]>,
        copies: usize,
    ) -> Result<Self, RunError> {
        let head = head_of(request, close)?;
        let parse = |text: &[u8]| match tables {
            Some(tables) => Template::parse(text, tables),
            None => Ok(Template::literal(text)),
        };
        let head_template = parse(&head)?;
        let body = request.body.as_deref().map(parse).transpose()?;
        let is_static = head_template.is_static() && body.as_ref().is_none_or(Template::is_static);
        let form = if is_static {
            let mut one = head;
            end_head(&mut one, request.body.as_ref().map(Vec::len));
            one.extend_from_slice(request.body.as_deref().unwrap_or_default());
            Form::Static { length: one.len(), copies: one.repeat(copies) }
        } else {
            Form::Dynamic { head: head_template, body }
        };
        Ok(Self { origin: request.origin, head: request.method == "HEAD", form })
    }

    /// The bytes of `count` requests in a row, if they are the same each time and within the copies.
    #[must_use]
    pub fn batch(&self, count: usize) -> Option<&[u8]> {
        match &self.form {
            Form::Static { copies, length } => copies.get(..count * length),
            Form::Dynamic { .. } => None,
        }
    }

    /// Appends one request to `out`; `scratch` holds the body meanwhile.
    pub fn render(&self, values: &mut Values<'_>, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        match &self.form {
            Form::Static { copies, length } => out.extend_from_slice(&copies[..*length]),
            Form::Dynamic { head, body } => {
                scratch.clear();
                if let Some(body) = body {
                    body.render(values, scratch);
                }
                head.render(values, out);
                end_head(out, body.is_some().then_some(scratch.len()));
                out.extend_from_slice(scratch);
            }
        }
    }
}

/// Start line and fields, without `Content-Length` and the empty line.
fn head_of(request: &Request, close: bool) -> Result<Vec<u8>, RunError> {
    let mut head = Vec::new();
    let Request { method, target, fields, .. } = request;
    RequestHead { method, target, fields }.render(&mut head).map_err(|_| {
        RunError::Usage(format!(
            "{method} {target:?} cannot be sent: a method is a token, a target has no white space, and \
             field names and values have no line breaks"
        ))
    })?;
    if close {
        head.extend_from_slice(b"Connection: close\r\n");
    }
    Ok(head)
}

fn end_head(out: &mut Vec<u8>, body_length: Option<usize>) {
    if let Some(length) = body_length {
        // Writing into memory does not fail.
        let _ = write!(out, "Content-Length: {length}\r\n");
    }
    out.extend_from_slice(b"\r\n");
}
