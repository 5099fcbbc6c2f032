//! The parts of a request that the cache needs.

use millrace_http::h1::{Method, field_lines};

use crate::fields::credential::{is_credential, is_of_connection};
use crate::fields::keyed::{is_keyed, is_well_formed, write_keyed};

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
    /// Whether an earlier request of its connection has authenticated it, see [`authenticates_connection`]: the response
    /// may be for that user alone.
    ///
    /// [`authenticates_connection`]: crate::authenticates_connection
    pub authenticated: bool,
    /// The name that the client gave in the TLS handshake; empty if it gave none.
    pub server_name: &'a [u8],
    /// How many times this request has waited.
    pub waits: u8,
}

/// The credentials of a request, which make its response personal unless that says otherwise. Requests that differ in
/// them do not wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Credentials {
    /// `Authorization`, or another field that says who asks.
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
    /// `Forwarded`, in a form that parsers may take apart differently.
    pub(crate) const FORWARDED: u16 = 256;
    /// A field that names another method.
    pub(crate) const METHOD: u16 = 512;
    /// Credentials that authenticate the connection.
    pub(crate) const CONNECTION: u16 = 1024;

    pub(crate) const CONDITION: u16 = IF_NONE_MATCH | IF_MODIFIED_SINCE;
}

/// Fields that name another method than the request's, for clients that can only send GET and POST.
const METHOD_OVERRIDES: [&[u8]; 3] =
    [b"x-http-method", b"x-http-method-override", b"x-method-override"];

/// The fields of a request that the cache needs, found in one pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestFields<'a> {
    pub(crate) host: Option<&'a [u8]>,
    pub(crate) credentials: Credentials,
    pub(crate) seen: u16,
}

impl<'a> RequestFields<'a> {
    /// Writes those that belong to the key into `keyed`.
    pub(crate) fn read(lines: &'a [u8], keyed: &mut Vec<u8>) -> Self {
        let mut fields = Self::default();
        keyed.clear();
        for (name, value) in field_lines(lines) {
            fields.add(name, value, keyed);
        }
        fields
    }

    fn add(&mut self, name: &[u8], value: &'a [u8], keyed: &mut Vec<u8>) {
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
            13 if is(b"authorization") => self.add_credentials(value),
            13 if is(b"cache-control") => seen::CONTROL,
            13 if is(b"if-none-match") => seen::IF_NONE_MATCH,
            17 if is(b"if-modified-since") => seen::IF_MODIFIED_SINCE,
            19 if is(b"if-unmodified-since") => seen::PRECONDITION,
            19 if is(b"proxy-authorization") => self.add_credentials(value),
            // Sent by most clients, and none of the others.
            6 if is(b"accept") => 0,
            7 if is(b"referer") => 0,
            10 if is(b"user-agent") || is(b"connection") => 0,
            15 if is(b"accept-encoding") || is(b"accept-language") => 0,
            25 if is(b"upgrade-insecure-requests") => 0,
            _ => self.add_other(name, value, keyed),
        };
    }

    fn add_credentials(&mut self, value: &[u8]) -> u16 {
        self.credentials.authorization = true;
        if is_of_connection(value) { seen::CONNECTION } else { 0 }
    }

    fn add_other(&mut self, name: &[u8], value: &[u8], keyed: &mut Vec<u8>) -> u16 {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        if is_credential(name) {
            self.credentials.authorization = true;
        } else if METHOD_OVERRIDES.iter().any(|known| is(known)) {
            return seen::METHOD;
        } else if is_keyed(name) {
            if is(b"forwarded") && !is_well_formed(value) {
                return seen::FORWARDED;
            }
            write_keyed(name, value, keyed);
        }
        0
    }

    pub(crate) fn has(&self, any: u16) -> bool {
        self.seen & any != 0
    }
}
