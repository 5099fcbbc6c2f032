//! Fields that say who asks, beside `Authorization` and `Cookie`: keys and tokens of APIs, and users that a proxy has
//! authenticated. There is no list of them all, so names are judged by their words.

use millrace_http::h1::field_lines;

/// Whether one of a name's words is one for credentials or for who has them, as in `X-API-Key`, `Private-Token` or
/// `Remote-User`.
pub(crate) fn is_credential(name: &[u8]) -> bool {
    let mut words = name.split(|&byte| matches!(byte, b'-' | b'_'));
    name.eq_ignore_ascii_case(b"remote-name") || words.any(is_word) && !is_of_browser(name)
}

/// Fields about the client's program that have such words: `Sec-Fetch-User`, and `User-Agent` with those that gateways
/// keep beside it, as `X-Device-User-Agent`.
fn is_of_browser(name: &[u8]) -> bool {
    const AGENT: &[u8] = b"user-agent";
    let agent = name.len().checked_sub(AGENT.len()).and_then(|at| name.get(at..));
    name.eq_ignore_ascii_case(b"sec-fetch-user")
        || agent.is_some_and(|end| end.eq_ignore_ascii_case(AGENT))
}

fn is_word(word: &[u8]) -> bool {
    let is = |known: &[u8]| word.eq_ignore_ascii_case(known);
    let ends = |end: &[u8]| word[word.len() - end.len()..].eq_ignore_ascii_case(end);
    match word.len() {
        0..=1 => false,
        2 => is(b"dn") || is(b"cn"),
        3 => is(b"key") || is(b"jwt") || is(b"sid") || is(b"uid"),
        4 => is(b"auth") || is(b"user") || is(b"cert") || is(b"oidc") || is(b"dpop"),
        5 if is(b"email") || is(b"login") => true,
        6 if is(b"groups") || is(b"userid") => true,
        7 if is(b"account") || is(b"session") => true,
        8 if is(b"identity") || is(b"username") || is(b"userinfo") || is(b"consumer") => true,
        9 if is(b"assertion") || is(b"principal") || is(b"sessionid") || is(b"signature") => true,
        10 if is(b"credential") => true,
        11 if is(b"credentials") => true,
        13 if is(b"authenticated") || is(b"authorization") => true,
        14 if is(b"authentication") => true,
        // Words that are written together: `apikey`, `authtoken`, `clientcert`.
        length => {
            ends(b"key")
                || ends(b"cert")
                || length >= 5 && ends(b"token")
                || length >= 6 && ends(b"secret")
                || length >= 8 && ends(b"password")
        }
    }
}

/// Whether a request authenticates its connection: with NTLM and Negotiate (RFC 4559, section 6), later requests of the
/// connection are the user's without saying so.
#[must_use]
pub fn authenticates_connection(lines: &[u8]) -> bool {
    field_lines(lines).any(|(name, value)| {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        (is(b"authorization") || is(b"proxy-authorization")) && is_of_connection(value)
    })
}

/// Whether credentials are of a scheme that authenticates a connection.
pub(crate) fn is_of_connection(credentials: &[u8]) -> bool {
    let end = credentials.iter().position(|byte| matches!(byte, b' ' | b'\t' | b','));
    let scheme = &credentials[..end.unwrap_or(credentials.len())];
    scheme.eq_ignore_ascii_case(b"ntlm") || scheme.eq_ignore_ascii_case(b"negotiate")
}
