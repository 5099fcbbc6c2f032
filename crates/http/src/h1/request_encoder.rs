//! Encoder of the head of a request that a client sends.

use super::Error;
use crate::syntax::is_token;

/// The head of a request to send: start line and fields.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// A token (RFC 9110, section 9.1).
    pub method: &'a str,
    /// The request-target (RFC 9112, section 3.2): no white space, no control characters.
    pub target: &'a str,
    /// Names and values in order; a value holds neither CR, LF nor NUL.
    pub fields: &'a [(String, String)],
}

impl RequestHead<'_> {
    /// Appends start line and fields, each line with its CRLF, without the empty line that ends the
    /// head: the caller may add fields of its own.
    pub fn render(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let target = self.target.as_bytes();
        if !is_token(self.method.as_bytes()) || target.is_empty() || !is_target(target) {
            return Err(Error::Request);
        }
        for part in [self.method, " ", self.target, " HTTP/1.1\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        for (name, value) in self.fields {
            if !is_token(name.as_bytes()) || !is_value(value.as_bytes()) {
                return Err(Error::Request);
            }
            for part in [name, ": ", value, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        Ok(())
    }
}

/// Whether these bytes may be part of a request-target: no white space, no control characters.
#[must_use]
pub fn is_target(part: &[u8]) -> bool {
    part.iter().all(|&byte| byte > b' ' && byte != 0x7f)
}

/// Whether these bytes may be part of a field's value: neither CR, LF nor NUL.
#[must_use]
pub fn is_value(part: &[u8]) -> bool {
    part.iter().all(|&byte| !matches!(byte, b'\r' | b'\n' | 0))
}
