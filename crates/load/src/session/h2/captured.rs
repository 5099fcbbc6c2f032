//! What is kept of a response, as HTTP/1.1 has it: for the steps of flows, and for the report.

use millrace_http::h2::FieldList;

/// The start of a status line for steps, which read HTTP/1.1.
const VERSION: &str = "HTTP/1.1";
/// And for the report.
const SHOWN_VERSION: &str = "HTTP/2";

/// A response, or its beginning.
#[derive(Debug, Default)]
pub(super) struct Captured {
    /// The status line and the fields, without the empty line; trailers are fields like the others.
    head: Vec<u8>,
    /// The beginning of the content.
    body: Vec<u8>,
    /// How many bytes of it are kept.
    max_body: usize,
    /// Whether there were more.
    is_cut: bool,
}

impl Captured {
    /// Begins with a response that has this status.
    pub(super) fn begin(&mut self, status: u16, fields: Option<&FieldList>, max_body: usize) {
        self.head.clear();
        self.body.clear();
        self.head.extend_from_slice(format!("{VERSION} {status}\r\n").as_bytes());
        (self.max_body, self.is_cut) = (max_body, false);
        fields.into_iter().for_each(|fields| self.add_fields(fields));
    }

    /// Adds fields.
    pub(super) fn add_fields(&mut self, fields: &FieldList) {
        for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with(b":")) {
            for part in [name, b": ", value, b"\r\n"] {
                self.head.extend_from_slice(part);
            }
        }
    }

    /// Adds content.
    pub(super) fn add_content(&mut self, bytes: &[u8]) {
        let room = (self.max_body - self.body.len()).min(bytes.len());
        self.body.extend_from_slice(&bytes[..room]);
        self.is_cut |= room < bytes.len();
    }

    /// Whether a part of the content is missing.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Ends the response. Returns its parts.
    pub(super) fn end(&mut self) -> [&[u8]; 2] {
        self.head.extend_from_slice(b"\r\n");
        [&self.head, &self.body]
    }

    /// Returns the parts of a response that has ended, for the report.
    pub(super) fn shown(&self) -> [Vec<u8>; 2] {
        let head = [SHOWN_VERSION.as_bytes(), &self.head[VERSION.len()..]].concat();
        [head, self.body.clone()]
    }
}
