//! A response as steps look at it: status, fields, and the content without its codings.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::Read;
use std::time::Duration;

use super::hooks::HookResponse;
use crate::metrics::statuses::is_grpc;
use millrace_http::h1::{Method, ResponseHead, ResponseSink, ResponseSplitter, field_lines};

/// A complete response.
#[derive(Debug)]
pub(crate) struct Response {
    /// That of HTTP, or of a call of gRPC (below 100).
    pub(crate) status: u16,
    /// The lines of the final head, the status line included.
    head: Vec<u8>,
    /// The content as it came, without the framing of chunks.
    encoded: Vec<u8>,
    /// Whether a part of it was not kept.
    is_cut: bool,
    max_body: usize,
    decoded: OnceCell<Result<Option<Vec<u8>>, ContentError>>,
}

/// Why the content of a response cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ContentError {
    /// It is longer than the bytes that are kept.
    TooLong(usize),
    /// It cannot be decoded.
    Encoding(String),
}

impl ContentError {
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::TooLong(most) => {
                format!("the body is longer than {most} bytes (--max-body allows more)")
            }
            Self::Encoding(coding) => format!("the body cannot be decoded from {coding}"),
        }
    }
}

impl Response {
    /// Reads a response from its bytes as HTTP/1.1 has them, interim responses before it included. `is_cut`: bytes at its end
    /// are missing. `None` if its head is not complete.
    pub(crate) fn parse(
        bytes: &[u8],
        is_cut: bool,
        to_head: bool,
        max_body: usize,
    ) -> Option<Self> {
        let method = if to_head { Method::Head } else { Method::Get };
        let mut parts = Parts { method, status: None, head: Vec::new(), content: Vec::new() };
        // What comes behind a head that was understood before is understood as well; a part that is cut off needs no end.
        let _ = ResponseSplitter::default().split(bytes, &mut parts);
        let Parts { status, head, content, .. } = parts;
        let decoded = OnceCell::new();
        Some(Self { status: status?, head, encoded: content, is_cut, max_body, decoded })
    }

    /// Returns name and value of each field.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let start = self.head.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        field_lines(&self.head[start..])
    }

    /// Returns the values of the fields with this name, as text.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = Cow<'_, str>> {
        self.fields()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| String::from_utf8_lossy(value))
    }

    /// Returns it for JavaScript; `time`: from when its step was due to its end.
    pub(crate) fn for_hook(&self, time: Duration) -> HookResponse {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = self.fields().map(|(name, value)| (text(name), text(value))).collect();
        let body = self.content().ok().map(<[u8]>::to_vec);
        HookResponse { status: self.status, fields, body, time }
    }

    /// Returns the content, decoded.
    pub(crate) fn content(&self) -> Result<&[u8], ContentError> {
        let decoded = self.decoded.get_or_init(|| self.decode());
        match decoded {
            Ok(decoded) => Ok(decoded.as_ref().unwrap_or(&self.encoded)),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the content as text: what is not UTF-8 is replaced.
    pub(crate) fn text(&self) -> Result<Cow<'_, str>, ContentError> {
        self.content().map(String::from_utf8_lossy)
    }

    /// Returns the beginning of what a response says, for a message: of its content, or of the text that a call of gRPC ends
    /// with.
    pub(crate) fn beginning(&self) -> String {
        /// As much as fits a line of a report.
        const MOST: usize = 80;
        let text = match is_grpc(self.status) {
            true => self.values("grpc-message").next(),
            false => self.text().ok(),
        };
        let text = text.unwrap_or_default();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MOST) {
            None => line,
            Some((end, _)) => format!("{}...", &line[..end]),
        }
    }

    /// Removes the content codings (RFC 9110, section 8.4.1), the last one first. `None`: there are none.
    fn decode(&self) -> Result<Option<Vec<u8>>, ContentError> {
        if self.is_cut || self.encoded.len() > self.max_body {
            return Err(ContentError::TooLong(self.max_body));
        }
        let codings: Vec<String> = self
            .values("content-encoding")
            .flat_map(|value| {
                value.split(',').map(|it| it.trim().to_ascii_lowercase()).collect::<Vec<_>>()
            })
            .filter(|coding| !matches!(&coding[..], "" | "identity"))
            .collect();
        let mut content: Option<Vec<u8>> = None;
        for coding in codings.iter().rev() {
            let encoded = content.as_deref().unwrap_or(&self.encoded);
            // A response to HEAD, or without content, has none to decode.
            if encoded.is_empty() {
                break;
            }
            content = Some(decode_one(coding, encoded, self.max_body)?);
        }
        Ok(content)
    }
}

fn decode_one(coding: &str, encoded: &[u8], max: usize) -> Result<Vec<u8>, ContentError> {
    match coding {
        "gzip" | "x-gzip" => read_all(coding, flate2::read::MultiGzDecoder::new(encoded), max),
        // Some servers send deflate without the format that RFC 1950 asks for.
        "deflate" => match read_all(coding, flate2::read::ZlibDecoder::new(encoded), max) {
            Err(ContentError::Encoding(_)) => {
                read_all(coding, flate2::read::DeflateDecoder::new(encoded), max)
            }
            decoded => decoded,
        },
        "br" => read_all(coding, brotli_decompressor::Decompressor::new(encoded, 16 * 1024), max),
        "zstd" => match ruzstd::decoding::StreamingDecoder::new(encoded) {
            Ok(decoder) => read_all(coding, decoder, max),
            Err(_) => Err(ContentError::Encoding(coding.to_owned())),
        },
        _ => Err(ContentError::Encoding(coding.to_owned())),
    }
}

fn read_all(coding: &str, decoder: impl Read, max: usize) -> Result<Vec<u8>, ContentError> {
    let mut content = Vec::new();
    match decoder.take(max as u64 + 1).read_to_end(&mut content) {
        Ok(_) if content.len() > max => Err(ContentError::TooLong(max)),
        Ok(_) => Ok(content),
        Err(_) => Err(ContentError::Encoding(coding.to_owned())),
    }
}

/// What the splitter finds.
struct Parts {
    method: Method,
    status: Option<u16>,
    head: Vec<u8>,
    content: Vec<u8>,
}

impl ResponseSink for Parts {
    fn head(&mut self, head: &ResponseHead, bytes: &[u8]) -> Option<Method> {
        if self.status.is_some() {
            return None;
        }
        self.status = Some(head.status);
        self.head.extend_from_slice(bytes);
        Some(self.method)
    }

    fn data(&mut self, bytes: &[u8], _: bool) {
        self.content.extend_from_slice(bytes);
    }

    fn trailers(&mut self, _: &[u8]) {}

    fn end(&mut self) {}
}

#[cfg(test)]
mod tests;
