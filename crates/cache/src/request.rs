//! The parts of a request that the cache needs.

use millrace_http::{Method, field_lines};

/// A request as it was received. It borrows from the head, which has to be whole and parsed.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Whether it came through TLS.
    pub secure: bool,
    /// The method.
    pub method: Method,
    /// The request-target, byte by byte.
    pub target: &'a [u8],
    /// The field lines, as [`field_lines`] takes them.
    pub lines: &'a [u8],
    /// Whether a body follows that may not be empty.
    pub body: bool,
    /// Whether the client has presented a certificate: the response may be for it alone.
    pub certificate: bool,
    /// The name that the client gave in the TLS handshake; empty if it gave none.
    pub server_name: &'a [u8],
    /// How many times this request has waited.
    pub waits: u8,
}

/// The credentials of a request, which make its response personal unless that says otherwise. Requests that differ in
/// them do not wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Credentials {
    /// `Authorization`.
    pub authorization: bool,
    /// `Cookie`.
    pub cookie: bool,
}

/// Fields that decide how a request is treated; bits of [`RequestFields::seen`].
pub(crate) mod seen {
    pub(crate) const RANGE: u16 = 1;
    pub(crate) const EXPECT: u16 = 2;
    pub(crate) const UPGRADE: u16 = 4;
    /// `If-Match`, `If-Unmodified-Since`.
    pub(crate) const PRECONDITION: u16 = 8;
    pub(crate) const IF_NONE_MATCH: u16 = 16;
    pub(crate) const IF_MODIFIED_SINCE: u16 = 32;
    /// `Cache-Control`, `Pragma`.
    pub(crate) const CONTROL: u16 = 64;
    /// More than one `Host`.
    pub(crate) const HOSTS: u16 = 128;

    pub(crate) const CONDITION: u16 = IF_NONE_MATCH | IF_MODIFIED_SINCE;
}

/// The fields of a request that the cache needs, found in one pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestFields<'a> {
    pub(crate) host: Option<&'a [u8]>,
    pub(crate) credentials: Credentials,
    pub(crate) seen: u16,
}

impl<'a> RequestFields<'a> {
    pub(crate) fn read(lines: &'a [u8]) -> Self {
        let mut fields = Self::default();
        for (name, value) in field_lines(lines) {
            fields.add(name, value);
        }
        fields
    }

    fn add(&mut self, name: &[u8], value: &'a [u8]) {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        self.seen |= match name.len() {
            4 if is(b"host") => match self.host.replace(value) {
                Some(_) => seen::HOSTS,
                None => 0,
            },
            5 if is(b"range") => seen::RANGE,
            6 if is(b"cookie") => {
                self.credentials.cookie = true;
                0
            }
            6 if is(b"expect") => seen::EXPECT,
            6 if is(b"pragma") => seen::CONTROL,
            7 if is(b"upgrade") => seen::UPGRADE,
            8 if is(b"if-match") => seen::PRECONDITION,
            8 if is(b"if-range") => seen::RANGE,
            13 if is(b"authorization") => {
                self.credentials.authorization = true;
                0
            }
            13 if is(b"cache-control") => seen::CONTROL,
            13 if is(b"if-none-match") => seen::IF_NONE_MATCH,
            17 if is(b"if-modified-since") => seen::IF_MODIFIED_SINCE,
            19 if is(b"if-unmodified-since") => seen::PRECONDITION,
            _ => 0,
        };
    }

    pub(crate) fn has(&self, any: u16) -> bool {
        self.seen & any != 0
    }
}
