//! Requests of the mix as bytes.

use std::io::Write as _;

use millrace_http::h1::RequestHead;

use crate::RunError;
use crate::plan::Request;
use crate::plan::flow::BodyFormat;
use crate::template::{Names, Template, TextPosition, Values, is_text};

/// Bytes of copies that are kept of one request; longer batches are put together when they are sent.
const MAX_COPIES: usize = 64 * 1024;

/// A request of the mix, ready to be sent.
#[derive(Debug)]
pub struct Rendered {
    /// Index into the plan's origins.
    pub origin: usize,
    /// The response has no body.
    pub head: bool,
    /// How much of its responses the steps of a flow look at.
    pub(crate) capture: Capture,
    form: Form,
}

/// How much of a response is handed on to the flow that its request belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Capture {
    /// The status.
    #[default]
    Status,
    /// The head as well.
    Head,
    /// The head, and a body of at most so many bytes.
    Body(usize),
}

#[derive(Debug)]
enum Form {
    /// The same bytes each time, several copies in a row, so that a pipelined batch is one slice.
    Static { copies: Vec<u8>, length: usize },
    /// Head up to the value of `Content-Length` (or its end), and the body.
    Dynamic { head: Template, body: Option<Template> },
}

/// How requests are rendered.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenderOptions<'a> {
    /// Each connection carries one request.
    pub close: bool,
    /// What placeholders can refer to; `None`: they are text like any other.
    pub names: Option<Names<'a>>,
    /// How many requests may be sent in one write.
    pub copies: usize,
    /// Some requests have a trace context.
    pub traced: bool,
}

impl Rendered {
    /// Renders what does not change.
    pub fn new(request: &Request, options: RenderOptions<'_>) -> Result<Self, RunError> {
        let RenderOptions { names, copies, .. } = options;
        let parse = |text: &[u8], place| match names {
            Some(names) => Template::parse(text, names, place),
            None => Template::literal(text, place),
        };
        let head = render_head(request, options, parse)?;
        let place = match request.body_format {
            BodyFormat::Text => TextPosition::Body,
            BodyFormat::Json => TextPosition::Json,
            BodyFormat::Form => TextPosition::Urlencoded,
        };
        let parse_body = |body: &[u8]| match is_text(body) {
            true => parse(body, place),
            false => Template::literal(body, place),
        };
        let body = request.body.as_deref().map(parse_body).transpose()?;
        let mut rendered = Self {
            origin: request.origin,
            head: request.method == "HEAD",
            capture: Capture::default(),
            form: Form::Dynamic { head, body },
        };
        if let Form::Dynamic { head, body } = &rendered.form
            && head.is_static()
            && body.as_ref().is_none_or(Template::is_static)
        {
            let mut one = Vec::new();
            let mut random = fastrand::Rng::with_seed(0);
            let mut values = Values::new(0, &mut random);
            rendered.render(&mut values, &mut Vec::new(), &mut one);
            let most = (MAX_COPIES / one.len().max(1)).max(1);
            rendered.form =
                Form::Static { length: one.len(), copies: one.repeat(copies.min(most)) };
        }
        Ok(rendered)
    }

    /// Returns the variables that the request needs, by index.
    pub(crate) fn variables(&self) -> Vec<u32> {
        match &self.form {
            Form::Static { .. } => Vec::new(),
            Form::Dynamic { head, body } => {
                head.variables().chain(body.iter().flat_map(Template::variables)).collect()
            }
        }
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
fn render_head(
    request: &Request,
    RenderOptions { close, traced, .. }: RenderOptions<'_>,
    parse: impl Fn(&[u8], TextPosition) -> Result<Template, RunError>,
) -> Result<Template, RunError> {
    let Request { method, target, fields, .. } = request;
    // Names and method hold no placeholders: they are checked by rendering them with nothing else.
    let names: Vec<_> = fields.iter().map(|(name, _)| (name.clone(), String::new())).collect();
    RequestHead { method, target: "/", fields: &names }.render(&mut Vec::new()).map_err(|_| {
        RunError::Usage(format!(
            "{method} {target}: the method and the names of headers are tokens"
        ))
    })?;
    let mut head = Template::default();
    head.push(format!("{method} ").as_bytes());
    head.append(parse(target.as_bytes(), TextPosition::Target)?);
    head.push(b" HTTP/1.1\r\n");
    for (name, value) in fields {
        head.push(format!("{name}: ").as_bytes());
        head.append(parse(value.as_bytes(), TextPosition::Field)?);
        head.push(b"\r\n");
    }
    if traced {
        head.push_trace_context();
    }
    if close {
        head.push(b"Connection: close\r\n");
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
