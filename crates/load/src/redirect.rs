//! Following of redirections (RFC 9110, section 15.4).

use std::borrow::Cow;

use fluent_uri::{Uri, UriRef};

use crate::template::{is_uri_byte, push_percent_encoded};

/// Which redirections the requests to a server follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedirectRule {
    /// Maximum number of redirections of one request.
    max: u32,
    scheme: &'static str,
}

/// A request as fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestFields<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: Cow<'a, str>,
    /// Names, in any case, and values; one of them is `Host`.
    pub(crate) fields: Vec<(&'a str, &'a str)>,
    pub(crate) content: &'a [u8],
}

impl RequestFields<'_> {
    fn find(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.trim())
    }
}

impl RedirectRule {
    pub(crate) fn new(max: u32, tls: bool) -> Self {
        Self { max, scheme: if tls { "https" } else { "http" } }
    }

    /// Whether a response with this status may be followed after so many redirections.
    pub(crate) fn concerns(&self, status: u16, followed: u32) -> bool {
        followed < self.max && is_redirection(status)
    }

    /// Returns the request that follows `request` after a response with this status, whose field `Location` has this value.
    /// `None` if that leads to another server, or nowhere.
    pub(crate) fn next<'a>(
        &self,
        status: u16,
        location: &[u8],
        request: RequestFields<'a>,
    ) -> Option<RequestFields<'a>> {
        let location = location.trim_ascii();
        if location.is_empty() {
            return None;
        }
        let host = request.find("host")?;
        let target = resolve_target(&encode(location), self.scheme, host, &request.target)?;
        Some(redirect(status, request, target))
    }
}

/// Returns the request that follows `request` after a response with this status, to another target.
pub(crate) fn redirect(
    status: u16,
    request: RequestFields<'_>,
    target: String,
) -> RequestFields<'_> {
    let target = Cow::Owned(target);
    // As the fetch standard has it; RFC 9110 allows it for 301 and 302 (sections 15.4.2, 15.4.3) and asks for it with 303.
    let becomes_get = match status {
        301 | 302 => request.method == "POST",
        303 => !matches!(request.method, "GET" | "HEAD"),
        _ => false,
    };
    if !becomes_get {
        return RequestFields { target, ..request };
    }
    let mut fields = request.fields;
    fields.retain(|(name, _)| !CONTENT_FIELDS.iter().any(|of| name.eq_ignore_ascii_case(of)));
    RequestFields { method: "GET", target, fields, content: &[] }
}

/// Whether a response with this status names another place for the request.
pub(crate) fn is_redirection(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Fields about the content, which is not sent with the next request.
const CONTENT_FIELDS: [&str; 7] = [
    "content-type",
    "content-length",
    "content-encoding",
    "content-language",
    "content-location",
    "transfer-encoding",
    "expect",
];

/// Resolves `location` to a request-target; it may be relative to `target` (RFC 3986, section 5), if it is on this host.
fn resolve_target(location: &str, scheme: &str, host: &str, target: &str) -> Option<String> {
    let path = if target.starts_with('/') { target } else { "/" };
    let base = Uri::parse(format!("{scheme}://{host}{}", encode(path.as_bytes()))).ok()?;
    let base = base.strip_fragment();
    let asked = UriRef::parse(location).ok()?.resolve_against(&base).ok()?;
    if parse_origin(asked.borrow())? != parse_origin(base)? {
        return None;
    }
    let path = if asked.path().is_empty() { "/" } else { asked.path().as_str() };
    Some(match asked.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    })
}

/// Returns the origin of a URI (RFC 9110, section 4.3.1): scheme, host and port.
fn parse_origin(uri: Uri<&str>) -> Option<(String, String, u16)> {
    let scheme = uri.scheme().as_str().to_ascii_lowercase();
    let authority = uri.authority()?;
    let default = if scheme == "https" { 443 } else { 80 };
    let port = authority.port_to_u16().ok()?.unwrap_or(default);
    Some((scheme, authority.host().to_ascii_lowercase(), port))
}

/// Percent-encodes the bytes of a reference that RFC 3986 does not allow, and removes its fragment.
fn encode(reference: &[u8]) -> String {
    let end = reference.iter().position(|byte| *byte == b'#').unwrap_or(reference.len());
    let reference = &reference[..end];
    let path = path_start(reference);
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let mut encoded = Vec::with_capacity(reference.len());
    for (at, &byte) in reference.iter().enumerate() {
        let is_kept = match byte {
            b'%' => reference.get(at + 1..at + 3).is_some_and(is_hex),
            b'[' | b']' => at < path,
            byte => is_uri_byte(byte),
        };
        if is_kept {
            encoded.push(byte);
        } else {
            push_percent_encoded(byte, &mut encoded);
        }
    }
    String::from_utf8_lossy(&encoded).into_owned()
}

/// Returns the end of the authority of a reference, 0 without one: brackets are allowed only before it.
fn path_start(reference: &[u8]) -> usize {
    let Some(slashes) = reference.windows(2).position(|bytes| bytes == b"//") else { return 0 };
    if reference[..slashes].iter().any(|byte| matches!(byte, b'/' | b'?')) {
        return 0;
    }
    let rest = &reference[slashes + 2..];
    let length = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    slashes + 2 + length
}

/// Parses a request as HTTP/1.1 sends it. `None` if it has bytes that are not UTF-8.
pub(crate) fn parse_request(request: &[u8]) -> Option<RequestFields<'_>> {
    let end = request.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 2;
    let head = std::str::from_utf8(&request[..end]).ok()?;
    let (start, lines) = head.split_once("\r\n")?;
    let (method, rest) = start.split_once(' ')?;
    let (target, _) = rest.split_once(' ')?;
    let fields = lines.lines().map(|line| line.split_once(": ")).collect::<Option<_>>()?;
    Some(RequestFields {
        method,
        target: Cow::Borrowed(target),
        fields,
        content: &request[end + 2..],
    })
}

/// Renders a request as [`parse_request`] parses it.
pub(crate) fn render_request(request: &RequestFields<'_>) -> Vec<u8> {
    let RequestFields { method, target, fields, content } = request;
    let mut head = format!("{method} {target} HTTP/1.1\r\n");
    for (name, value) in fields {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    [head.as_bytes(), content].concat()
}

#[cfg(test)]
mod tests;
