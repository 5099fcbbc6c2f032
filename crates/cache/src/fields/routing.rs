//! Fields that select the response without `Vary`: proxies pass on the URI that the client asked for in them, and
//! frameworks read it there (`trust proxy`), or choose the handler by them. They belong to the key.

use millrace_http::field_lines;

/// Whether a field belongs to the key.
pub(crate) fn is_routing(name: &[u8]) -> bool {
    let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
    match name.len() {
        6 => is(b"x-host"),
        8 => is(b"x-scheme"),
        9 => is(b"forwarded") || is(b"x-arr-ssl"),
        10 => is(b"cf-visitor"),
        12 => is(b"x-url-scheme"),
        13 => is(b"x-rewrite-url"),
        14 => is(b"accept-version") || is(b"x-original-url") || is(b"x-original-uri"),
        15 => {
            is(b"x-forwarded-ssl")
                || is(b"x-forwarded-uri")
                || is(b"x-original-host")
                || is(b"front-end-https")
        }
        16 => {
            is(b"x-forwarded-host")
                || is(b"x-forwarded-port")
                || is(b"x-forwarded-path")
                || is(b"x-requested-with")
        }
        17 => is(b"x-forwarded-proto"),
        18 => is(b"x-forwarded-prefix") || is(b"x-forwarded-scheme") || is(b"x-forwarded-server"),
        20 => is(b"x-forwarded-protocol"),
        26 => is(b"cloudfront-forwarded-proto"),
        _ => false,
    }
}

/// Appends these fields of a request, each as a line in lower case. Of `Forwarded` only what it says of the URI.
pub(crate) fn write_routing(lines: &[u8], out: &mut Vec<u8>) {
    for (name, value) in field_lines(lines).filter(|(name, _)| is_routing(name)) {
        out.push(b'\n');
        out.extend(name.iter().map(u8::to_ascii_lowercase));
        out.extend_from_slice(b": ");
        if name.eq_ignore_ascii_case(b"forwarded") {
            write_forwarded(value, out);
        } else {
            out.extend_from_slice(value);
        }
    }
}

/// Without the addresses: `for` and `by` (RFC 7239, section 5). They differ from client to client.
fn write_forwarded(value: &[u8], out: &mut Vec<u8>) {
    let mut quoted = false;
    let mut escaped = false;
    let parameters = value.split_inclusive(|&byte| {
        let is_escape = quoted && !escaped && byte == b'\\';
        quoted ^= byte == b'"' && !escaped;
        escaped = is_escape;
        !quoted && matches!(byte, b';' | b',')
    });
    for parameter in parameters {
        let name = parameter.split(|&byte| byte == b'=').next().unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"for") || name.eq_ignore_ascii_case(b"by") {
            continue;
        }
        out.extend_from_slice(parameter);
    }
}
