//! Following of redirections (RFC 9110, section 15.4).

use fluent_uri::{Uri, UriRef};
use millrace_http::h1::ResponseHead;

use crate::metrics::kept;
use crate::template::{is_uri_byte, push_percent_encoded};

/// Follows the redirections of the present request of one connection.
#[derive(Debug)]
pub(crate) struct RedirectFollower {
    /// Maximum number of redirections of one request.
    max: u32,
    scheme: &'static str,
    /// The last request, as it was sent.
    request: Vec<u8>,
    followed: u32,
    /// Status of the last redirection, while no byte of the response to the next request has arrived.
    unanswered: Option<u16>,
    /// Its first bytes.
    response: Vec<u8>,
}

/// Maximum bytes of a response that are kept until its end to find `Location` in its head.
pub(crate) const MAX_HEAD: usize = 64 * 1024;

impl RedirectFollower {
    pub(crate) fn new(most: u32, tls: bool) -> Self {
        let scheme = if tls { "https" } else { "http" };
        Self {
            max: most,
            scheme,
            request: Vec::new(),
            followed: 0,
            unanswered: None,
            response: Vec::new(),
        }
    }

    /// Begins with a request of the mix.
    pub(crate) fn begin(&mut self, request: &[u8]) {
        self.request.clear();
        self.request.extend_from_slice(request);
        self.followed = 0;
        self.unanswered = None;
    }

    /// Returns the next request for a response with this status, which consists of or begins with these parts. `None` if it
    /// is not a redirection, leads to another server, or exceeds the maximum.
    pub(crate) fn next(&mut self, status: u16, response: [&[u8]; 2]) -> Option<&[u8]> {
        if self.followed >= self.max || !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let location = find_location(&response.concat())?;
        self.request = build_request(&self.request, status, &location, self.scheme)?;
        self.followed += 1;
        self.unanswered = Some(status);
        self.response.clear();
        self.response.extend(response.into_iter().flatten().take(kept::MAX_KEPT));
        Some(&self.request)
    }

    /// Records received bytes: unless they are only line ends, the response to the next request has begun.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        if self.unanswered.is_some() && !is_line_ends(bytes) {
            self.unanswered = None;
        }
    }

    /// Returns status and first bytes of the last redirection, if no byte of the response to the next request has arrived.
    pub(crate) fn take_unanswered(&mut self) -> Option<(u16, Vec<u8>)> {
        Some((self.unanswered.take()?, std::mem::take(&mut self.response)))
    }
}

/// Whether these bytes are empty lines, which a client passes over before a status line.
pub(crate) fn is_line_ends(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

/// Returns the value of `Location` in the final head of a response, unfolded (RFC 9112, section 5.2); `None` if it is empty.
fn find_location(mut response: &[u8]) -> Option<String> {
    let head = loop {
        let head = ResponseHead::parse(response).ok()??;
        let (bytes, rest) = response.split_at(head.length);
        if head.status >= 200 {
            break bytes;
        }
        response = rest;
    };
    let mut lines = head.split(|byte| *byte == b'\n').skip(1).peekable();
    let mut value = loop {
        let line = lines.next()?;
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        if line[..colon].eq_ignore_ascii_case(b"location") {
            break line[colon + 1..].trim_ascii().to_vec();
        }
    };
    while let Some(fold) = lines.next_if(|line| matches!(line, [b' ' | b'\t', ..])) {
        value.push(b' ');
        value.extend_from_slice(fold.trim_ascii());
    }
    let value = value.trim_ascii();
    (!value.is_empty()).then(|| encode(value))
}

/// Builds the request for `location` from the previous one, if it leads to the same server.
fn build_request(request: &[u8], status: u16, location: &str, scheme: &str) -> Option<Vec<u8>> {
    let end = request.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 2;
    let (head, body) = (std::str::from_utf8(&request[..end]).ok()?, &request[end + 2..]);
    let (start, fields) = head.split_once("\r\n")?;
    let (method, rest) = start.split_once(' ')?;
    let (target, _) = rest.split_once(' ')?;
    let host = fields.lines().find_map(|line| find_value(line, "host"))?;
    let target = resolve_target(location, scheme, host, target)?;
    // As the fetch standard has it; RFC 9110 allows it for 301 and 302 (sections 15.4.2, 15.4.3) and asks for it with 303.
    let becomes_get = match status {
        301 | 302 => method == "POST",
        303 => !matches!(method, "GET" | "HEAD"),
        _ => false,
    };
    if !becomes_get {
        let head = format!("{method} {target} HTTP/1.1\r\n{fields}\r\n");
        return Some([head.as_bytes(), body].concat());
    }
    let of_content =
        |line: &str| CONTENT_FIELDS.iter().any(|name| find_value(line, name).is_some());
    let kept = fields.lines().filter(|line| !of_content(line));
    let fields: String = kept.flat_map(|line| [line, "\r\n"]).collect();
    Some(format!("GET {target} HTTP/1.1\r\n{fields}\r\n").into_bytes())
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

fn find_value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (found, value) = line.split_once(':')?;
    found.eq_ignore_ascii_case(name).then(|| value.trim())
}

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

#[cfg(test)]
mod tests;
