//! Fields that say who the client is: its own credentials, and the identity that a proxy has established.

use millrace_http::field_lines;

/// Whether a field is a credential, judged by the end of its name, as applications and gateways choose their own:
/// `X-Api-Key`, `X-Auth-Token`, `X-Forwarded-User`, `X-Amzn-Oidc-Data`, `X-Forwarded-Client-Cert`. What browsers alone
/// may set (`Sec-Fetch-User`) is none.
pub(crate) fn is_credential(name: &[u8]) -> bool {
    let Some(last) = name.last() else { return false };
    let ends = |ending: &[u8]| {
        name.len()
            .checked_sub(ending.len())
            .is_some_and(|at| name[at..].eq_ignore_ascii_case(ending))
    };
    let found = match last.to_ascii_lowercase() {
        b'a' => ends(b"oidc-data"),
        b'd' => {
            ends(b"user-id") || ends(b"client-id") || ends(b"session-id") || ends(b"principal-id")
        }
        b'e' => ends(b"username") || ends(b"principal-name") || ends(b"signature"),
        b'l' => ends(b"email") || ends(b"principal"),
        b'n' => {
            ends(b"token")
                || ends(b"authorization")
                || ends(b"assertion")
                || ends(b"session")
                || ends(b"-dn")
        }
        b'r' => ends(b"user"),
        b's' => ends(b"groups"),
        b't' => ends(b"cert") || ends(b"secret") || ends(b"jwt"),
        b'y' => ends(b"key") || ends(b"identity"),
        _ => false,
    };
    found && !name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"sec-"))
}

/// Whether a request authenticates its connection: with NTLM and Negotiate, the later requests of the connection have no
/// `Authorization`, and the application knows their client nevertheless (RFC 4559, section 6).
#[must_use]
pub fn authenticates_connection(lines: &[u8]) -> bool {
    field_lines(lines).any(|(name, value)| {
        name.eq_ignore_ascii_case(b"authorization")
            && CONNECTION_SCHEMES.iter().any(|scheme| is_of_scheme(value, scheme))
    })
}

/// Schemes that authenticate a connection in place of a request.
const CONNECTION_SCHEMES: [&[u8]; 3] = [b"ntlm", b"negotiate", b"kerberos"];

fn is_of_scheme(value: &[u8], scheme: &[u8]) -> bool {
    let value = value.trim_ascii_start();
    let (start, rest) = value.split_at(value.len().min(scheme.len()));
    start.eq_ignore_ascii_case(scheme) && !rest.first().is_some_and(u8::is_ascii_alphanumeric)
}
