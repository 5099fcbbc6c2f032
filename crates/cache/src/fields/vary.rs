//! Variants of a response: the fields that `Vary` names (RFC 9110, section 12.5.5), and their values in a
//! request (RFC 9111, section 4.1).

use std::sync::Arc;

use millrace_http::h1::field_lines;
use millrace_http::syntax::is_token;

/// Fields of which the white space around list members and parameters means nothing, and neither does the
/// split into lines. Values of all others count as they were sent: the application may look at each byte.
const LISTS: [&[u8]; 4] = [b"accept", b"accept-charset", b"accept-encoding", b"accept-language"];

/// The names in a `Vary`: in lower case, sorted, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vary {
    /// With commas between them; `None` if there are none, so that no pointer is followed.
    names: Option<Arc<[u8]>>,
}

impl Vary {
    /// Takes the values of all `Vary` fields of a response. `None` if one of them has `*`, which no request
    /// matches, or something that is no name.
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        for value in values {
            for name in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                if name.is_empty() {
                    continue;
                }
                // `*` is a token as well.
                if name == b"*" || !is_token(name) {
                    return None;
                }
                names.push(name.to_ascii_lowercase());
            }
        }
        Some(Self::of(names))
    }

    fn of(mut names: Vec<Vec<u8>>) -> Self {
        names.sort_unstable();
        names.dedup();
        Self { names: (!names.is_empty()).then(|| names.join(&b',').into()) }
    }

    /// Adds fields, in lower case, that the response depends on without naming them.
    pub(crate) fn add(&mut self, names: &[&[u8]]) {
        let known = self.as_bytes().split(|&byte| byte == b',').filter(|name| !name.is_empty());
        *self = Self::of(known.chain(names.iter().copied()).map(<[u8]>::to_vec).collect());
    }

    /// Whether no field is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_none()
    }

    /// The names with commas between them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.names.as_deref().unwrap_or_default()
    }

    /// Writes the values of these fields in a request. Two requests match if and only if the results are equal: no value
    /// contains a line feed, so the result can be parsed in only one way.
    pub fn write_values(&self, lines: &[u8], out: &mut Vec<u8>) {
        out.clear();
        if self.is_empty() {
            return;
        }
        for name in self.as_bytes().split(|&byte| byte == b',') {
            let listed = LISTS.contains(&name);
            let mut found = false;
            for (_, value) in
                field_lines(lines).filter(|(field, _)| field.eq_ignore_ascii_case(name))
            {
                // One list, in however many lines (RFC 9110, section 5.3).
                let joined = listed && std::mem::replace(&mut found, true);
                out.extend_from_slice(if joined { b"," } else { b"\n=" });
                // Within quotes white space counts.
                if listed && !value.contains(&b'"') {
                    write_list(value, out);
                } else {
                    out.extend_from_slice(value);
                }
            }
            out.extend_from_slice(b"\n;");
        }
    }
}

/// Without the optional white space of `#element` and of parameters (RFC 9110, sections 5.6.1 and 5.6.6).
fn write_list(value: &[u8], out: &mut Vec<u8>) {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let divides = |byte: &u8| matches!(byte, b',' | b';');
    let mut rest = value.trim_ascii();
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(rest.iter().position(is_space).unwrap_or(rest.len()));
        let gap = behind.iter().take_while(|byte| is_space(byte)).count();
        out.extend_from_slice(part);
        rest = &behind[gap..];
        if !part.last().is_none_or(divides) && !rest.first().is_none_or(divides) {
            out.extend_from_slice(&behind[..gap]);
        }
    }
}
