//! What requests have to have in common to get the same response.
//!
//! The key is the scheme, the authority and the exact bytes of the request-target. Nothing is normalized:
//! the application sees what was sent and may answer `/A`, `/a` and `/%61`, or `Host: A` and `Host: a`,
//! differently, and what one client makes it say must not reach those who asked otherwise. An authority
//! that is not in the one form that clients send (RFC 9110, section 4.2.3: lower case, no default port) goes
//! past the cache instead, so that each URI has one beginning of keys, which invalidation finds. What proxies tell of the
//! request (`fields::keyed`) follows behind it.

use millrace_http::authority::{MAX_HOST, split_port};

/// Writes the beginning of a key: the URI. No authority holds a space, no target a line feed.
pub(crate) fn write_uri(out: &mut Vec<u8>, secure: bool, authority: &[u8], target: &[u8]) {
    out.clear();
    out.push(if secure { SECURE } else { PLAIN });
    out.extend_from_slice(authority);
    out.push(b' ');
    out.extend_from_slice(target);
}

const SECURE: u8 = b's';
const PLAIN: u8 = b'h';

/// The parts of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyParts<'a> {
    pub(crate) secure: bool,
    pub(crate) authority: &'a [u8],
    pub(crate) target: &'a [u8],
    /// The fields that belong to the key: names and values, each pair behind a line feed.
    pub(crate) fields: &'a [u8],
}

impl<'a> KeyParts<'a> {
    pub(crate) fn of(key: &'a [u8]) -> Self {
        let (uri, fields) = split_fields(key);
        let (scheme, rest) = uri.split_first().unwrap_or((&PLAIN, &[]));
        let space = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
        let target = rest.get(space + 1..).unwrap_or_default();
        Self { secure: *scheme == SECURE, authority: &rest[..space], target, fields }
    }

    /// The target's path and query, whichever form it has.
    pub(crate) fn path(&self) -> &'a [u8] {
        path(self.target, self.secure, self.authority).unwrap_or_default()
    }
}

/// Splits a key into the URI and the fields that belong to it.
pub(crate) fn split_fields(key: &[u8]) -> (&[u8], &[u8]) {
    key.split_at(key.iter().position(|&byte| byte == b'\n').unwrap_or(key.len()))
}

/// The scheme as it stands in a URI, with what follows it.
pub(crate) fn scheme(secure: bool) -> &'static [u8] {
    if secure { b"https://" } else { b"http://" }
}

/// Path and query of a target in origin-form (RFC 9112, section 3.2.1), or in absolute-form if that is of
/// this scheme and authority. The authority of an absolute-form replaces `Host` (RFC 9112, section 3.2.2), but an
/// application may still look at `Host`: `None` if they differ.
pub(crate) fn path<'a>(target: &'a [u8], secure: bool, authority: &[u8]) -> Option<&'a [u8]> {
    let path = match target.first() {
        Some(b'/') => target,
        _ => target.strip_prefix(scheme(secure))?.strip_prefix(authority)?,
    };
    path.starts_with(b"/").then_some(path)
}

/// Whether this is the one form that an authority has in keys.
pub(crate) fn is_normal(authority: &[u8], secure: bool) -> bool {
    let (host, port) = split_port(authority);
    let host = match host {
        [b'[', address @ .., b']'] => {
            let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b':' | b'.');
            !address.is_empty() && address.iter().all(is_part)
        }
        name => {
            let is_part =
                |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_');
            (1..=MAX_HOST).contains(&name.len()) && name.iter().all(is_part)
        }
    };
    host && port.is_none_or(|port| is_normal_port(port, secure))
}

fn is_normal_port(port: &[u8], secure: bool) -> bool {
    (1..=5).contains(&port.len())
        && port.iter().all(u8::is_ascii_digit)
        && port[0] != b'0'
        && port != default_port(secure)
}

fn default_port(secure: bool) -> &'static [u8] {
    if secure { b"443" } else { b"80" }
}

/// The normal form of an authority, for finding what it names.
pub(crate) fn normalize(authority: &[u8], secure: bool) -> Vec<u8> {
    let (host, port) = split_port(authority);
    let mut normal = host.to_ascii_lowercase();
    if let Some(port) = port {
        let zeros = port.iter().take_while(|&&byte| byte == b'0').count();
        let port = &port[zeros..];
        if !port.is_empty() && port != default_port(secure) {
            normal.push(b':');
            normal.extend_from_slice(port);
        }
    }
    normal
}
