//! Rules for the fields of a message (RFC 9113, sections 8.1 to 8.3).

use super::error::StreamError;
use super::field_list::FieldList;
use crate::syntax::{is_token, is_token_byte, parse_decimal};

/// What HTTP/2 itself reads of a field section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldSection {
    /// `:status`: of responses, and not of trailers.
    pub status: Option<u16>,
    /// `content-length`.
    pub content_length: Option<u64>,
}

/// Which field section it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    Response,
    Request,
    Trailers,
}

/// Fields that belong to a connection of HTTP/1.1 and make a message malformed (RFC 9113, section 8.2.2).
const CONNECTION_FIELDS: [&[u8]; 5] =
    [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];

/// Whether a field belongs to a connection of HTTP/1.1; the name in lower case.
#[must_use]
pub fn is_connection_field(name: &[u8]) -> bool {
    CONNECTION_FIELDS.contains(&name)
}

impl FieldSection {
    /// Checks a field section.
    pub(crate) fn check(fields: &FieldList, kind: SectionKind) -> Result<Self, StreamError> {
        let mut section = Self::default();
        let mut pseudo = Pseudo::default();
        let mut in_pseudo = true;
        for (name, value) in fields.iter() {
            if !is_field_value(value) {
                return Err(StreamError::protocol(
                    "a field value with an invalid byte or white space around it",
                ));
            }
            if let [b':', name @ ..] = name {
                if !in_pseudo {
                    return Err(StreamError::protocol("a pseudo-header field after another field"));
                }
                pseudo.add(name, value, kind, &mut section)?;
                continue;
            }
            in_pseudo = false;
            if !is_field_name(name) {
                return Err(StreamError::protocol(
                    "a field name with an invalid byte or in upper case",
                ));
            }
            match name {
                b"content-length" => {
                    let length = parse_decimal(value);
                    let differs =
                        section.content_length.is_some() && section.content_length != length;
                    if length.is_none() || differs {
                        return Err(StreamError::protocol("an invalid content-length"));
                    }
                    section.content_length = length;
                }
                b"te" if value != b"trailers" => {
                    return Err(StreamError::protocol("a field that only HTTP/1.1 has"));
                }
                name if is_connection_field(name) => {
                    return Err(StreamError::protocol("a field that only HTTP/1.1 has"));
                }
                _ => {}
            }
        }
        pseudo.check(kind)?;
        Ok(section)
    }
}

/// Pseudo-header fields that were found.
#[derive(Debug, Default)]
struct Pseudo {
    status: bool,
    method: bool,
    is_connect: bool,
    scheme: bool,
    path: bool,
    authority: bool,
    protocol: bool,
}

impl Pseudo {
    fn add(
        &mut self,
        name: &[u8],
        value: &[u8],
        kind: SectionKind,
        section: &mut FieldSection,
    ) -> Result<(), StreamError> {
        let found = match (kind, name) {
            (SectionKind::Response, b"status") => {
                let status = parse_decimal(value).filter(|_| value.len() == 3);
                section.status = status.map(|status| status as u16).filter(|status| *status >= 100);
                if section.status.is_none() {
                    return Err(StreamError::protocol("an invalid :status"));
                }
                &mut self.status
            }
            (SectionKind::Request, b"method") if !is_token(value) => {
                return Err(StreamError::protocol("an invalid :method"));
            }
            (SectionKind::Request, b"path") if !is_path(value) => {
                return Err(StreamError::protocol("an empty or invalid :path"));
            }
            (SectionKind::Request, b"authority") if !value.iter().all(u8::is_ascii_graphic) => {
                return Err(StreamError::protocol("an invalid :authority"));
            }
            (SectionKind::Request, b"method") => {
                self.is_connect = value == b"CONNECT";
                &mut self.method
            }
            (SectionKind::Request, b"scheme") => &mut self.scheme,
            (SectionKind::Request, b"path") => &mut self.path,
            (SectionKind::Request, b"authority") => &mut self.authority,
            (SectionKind::Request, b"protocol") => &mut self.protocol,
            (SectionKind::Trailers, _) => {
                return Err(StreamError::protocol(
                    "a second head, or a pseudo-header field in trailers",
                ));
            }
            _ => return Err(StreamError::protocol("an unknown pseudo-header field")),
        };
        match std::mem::replace(found, true) {
            true => Err(StreamError::protocol("the same pseudo-header field twice")),
            false => Ok(()),
        }
    }

    /// Checks that those are there that have to be.
    fn check(&self, kind: SectionKind) -> Result<(), StreamError> {
        if self.protocol && !self.is_connect {
            return Err(StreamError::protocol(":protocol without CONNECT"));
        }
        let is_complete = match kind {
            SectionKind::Trailers => true,
            SectionKind::Response => self.status,
            // RFC 9113, section 8.5; extended by RFC 8441.
            SectionKind::Request if self.is_connect && !self.protocol => {
                self.authority && !self.scheme && !self.path
            }
            SectionKind::Request => self.method && self.scheme && self.path,
        };
        match is_complete {
            true => Ok(()),
            false => Err(StreamError::protocol("a pseudo-header field is missing")),
        }
    }
}

/// A name that is a token without capital letters (RFC 9113, section 8.2.1).
fn is_field_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| is_token_byte(*byte) && !byte.is_ascii_uppercase())
}

/// A path without white space and control characters, and with a query maybe, or the asterisk of OPTIONS (RFC 9113, section 8.3.1).
fn is_path(path: &[u8]) -> bool {
    let begins = path.starts_with(b"/") || path == b"*";
    begins && path.iter().all(|byte| !matches!(byte, 0..=b' ' | 0x7f))
}

/// A value without NUL, CR and LF, and without white space around it (RFC 9113, section 8.2.1).
fn is_field_value(value: &[u8]) -> bool {
    let is_white = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let is_padded = is_white(value.first()) || is_white(value.last());
    !is_padded && value.iter().all(|byte| !matches!(byte, 0 | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: SectionKind, fields: &[(&str, &str)]) -> Result<FieldSection, &'static str> {
        let mut list = FieldList::default();
        for (name, value) in fields {
            list.push(name.as_bytes(), value.as_bytes());
        }
        FieldSection::check(&list, kind).map_err(|error| error.reason)
    }

    #[test]
    fn a_response_has_a_status_and_maybe_a_length() {
        let fields = [(":status", "204"), ("content-length", "12"), ("x", "")];
        let section = FieldSection { status: Some(204), content_length: Some(12) };
        assert_eq!(check(SectionKind::Response, &fields), Ok(section));
        for (fields, reason) in [
            (&[("x", "1")][..], "missing"),
            (&[(":status", "99")], "invalid :status"),
            (&[(":status", "0200")], "invalid :status"),
            (&[(":status", "2x0")], "invalid :status"),
            (&[(":status", "200"), (":status", "200")], "twice"),
            (&[("x", "1"), (":status", "200")], "after another"),
            (&[(":status", "200"), (":path", "/")], "unknown"),
            (&[(":status", "200"), ("X", "1")], "upper case"),
            (&[(":status", "200"), ("", "1")], "field name"),
            (&[(":status", "200"), ("x", "a\nb")], "field value"),
            (&[(":status", "200"), ("x", " a")], "white space"),
            (&[(":status", "200"), ("connection", "close")], "HTTP/1.1"),
            (&[(":status", "200"), ("transfer-encoding", "chunked")], "HTTP/1.1"),
            (&[(":status", "200"), ("content-length", "-1")], "content-length"),
            (
                &[(":status", "200"), ("content-length", "1"), ("content-length", "2")],
                "content-length",
            ),
        ] {
            let error = check(SectionKind::Response, fields).expect_err(reason);
            assert!(error.contains(reason), "{error}: {reason}");
        }
    }

    #[test]
    fn a_request_has_what_it_needs() {
        let get = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
        assert!(check(SectionKind::Request, &get).is_ok());
        assert!(check(SectionKind::Request, &[&get[..], &[("te", "trailers")]].concat()).is_ok());
        assert!(check(SectionKind::Request, &[&get[..], &[("te", "gzip")]].concat()).is_err());
        assert!(check(SectionKind::Request, &get[..2]).is_err());
        assert!(check(SectionKind::Request, &[get[0], get[1], (":path", "")]).is_err());
        let connect = [(":method", "CONNECT"), (":authority", "a:1")];
        assert!(check(SectionKind::Request, &connect).is_ok());
        assert!(check(SectionKind::Request, &[connect[0]]).is_err());
    }

    #[test]
    fn trailers_have_no_pseudo_header_fields() {
        assert!(check(SectionKind::Trailers, &[("grpc-status", "0")]).is_ok());
        assert!(check(SectionKind::Trailers, &[(":status", "200")]).is_err());
    }
}
