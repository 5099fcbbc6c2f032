//! Fields that belong to the key although no `Vary` names them. By most of them proxies say which URI the client asked
//! for. Frameworks and applications take scheme, host, path, version and origin from them without naming them in `Vary`.

use millrace_http::syntax::is_token;

/// Whole families: what was asked for, before a proxy changed it.
const FAMILIES: [&[u8]; 4] = [b"x-forwarded-", b"x-original-", b"x-rewrite-", b"x-envoy-original-"];

/// Ends of members that differ with each client or request. They are in no key: addresses of clients, as the
/// connection's own address is not in it either, and numbers of requests.
const INDIVIDUAL: [&[u8]; 5] = [b"-for", b"-ip", b"-addr", b"-address", b"-id"];

/// Whether a field belongs to the key.
pub(crate) fn is_keyed(name: &[u8]) -> bool {
    let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
    match name.len() {
        5 => is(b"x-url"),
        6 if is(b"origin") || is(b"x-host") => true,
        8 => is(b"x-scheme"),
        9 if is(b"forwarded") || is(b"x-arr-ssl") => true,
        10 => is(b"cf-visitor"),
        12 => is(b"x-url-scheme"),
        13 if is(b"x-script-name") => true,
        14 if is(b"accept-version") => true,
        15 if is(b"front-end-https") || is(b"x-replaced-path") => true,
        16 if is(b"x-requested-with") => true,
        20 if is(b"x-http-host-override") => true,
        26 if is(b"cloudfront-forwarded-proto") => true,
        _ => is_in_family(name),
    }
}

fn is_in_family(name: &[u8]) -> bool {
    let has_at = |at: usize, part: &[u8]| {
        name.get(at..at + part.len()).is_some_and(|found| found.eq_ignore_ascii_case(part))
    };
    let ends = |end: &&[u8]| name.len().checked_sub(end.len()).is_some_and(|at| has_at(at, end));
    has_at(0, b"x-")
        && FAMILIES.iter().any(|start| has_at(0, start))
        && !INDIVIDUAL.iter().any(ends)
}

/// Writes a field that belongs to the key, behind a line feed. No value contains a line feed, so what is written can be
/// parsed in only one way.
pub(crate) fn write_keyed(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(b'\n');
    let start = out.len();
    out.extend_from_slice(name);
    out[start..].make_ascii_lowercase();
    out.push(b':');
    if name.eq_ignore_ascii_case(b"forwarded") {
        write_forwarded(value, out);
    } else {
        out.extend_from_slice(value);
    }
}

/// `Forwarded` (RFC 7239) without the addresses of clients and proxies.
fn write_forwarded(value: &[u8], out: &mut Vec<u8>) {
    for part in value.split_inclusive(divides) {
        let pair = part.strip_suffix(b",").or_else(|| part.strip_suffix(b";")).unwrap_or(part);
        let kept = if is_address(pair) { &part[pair.len()..] } else { part };
        out.extend_from_slice(kept);
    }
}

fn divides(byte: &u8) -> bool {
    matches!(byte, b',' | b';')
}

/// Whether a `Forwarded` has only pairs that each parser takes apart in the same way: no quoted text with a comma, a
/// semicolon or a backslash in it. What an application makes of another is not known here.
pub(crate) fn is_well_formed(forwarded: &[u8]) -> bool {
    forwarded.split(divides).all(|pair| pair.trim_ascii().is_empty() || split_pair(pair).is_some())
}

/// Name and value, this without its quotes.
fn split_pair(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let pair = pair.trim_ascii();
    let (name, value) = pair.split_at(pair.iter().position(|&byte| byte == b'=')?);
    let value = match &value[1..] {
        [b'"', text @ .., b'"'] => text,
        text => text,
    };
    let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | b' ' | b'\t');
    (is_token(name) && value.iter().all(is_plain)).then_some((name, value))
}

/// `for` or `by` with a node (RFC 7239, section 6).
fn is_address(pair: &[u8]) -> bool {
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b':' | b'[' | b']')
    };
    split_pair(pair).is_some_and(|(name, value)| {
        (name.eq_ignore_ascii_case(b"for") || name.eq_ignore_ascii_case(b"by"))
            && value.iter().all(is_part)
    })
}
