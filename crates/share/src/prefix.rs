//! URL prefixes, by which processes that share a port divide its requests.
//!
//! The rules are those of Windows' HTTP Server API ("UrlPrefix Strings"): host class before length of path, paths without
//! regard to case.

use std::cmp::Ordering;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use millrace_http::authority::{MAX_HOST, split_port};

const MAX_PATH: usize = 1024;

/// Whom a prefix is for. In the order in which they are asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// `+`: all hosts, before anything else.
    Strong,
    /// Requests for this host, in lower case.
    Name(Box<str>),
    /// All that comes to this address. Nobody else listens there.
    Address(IpAddr),
    /// `*`: all hosts that nobody else has asked for.
    Weak,
}

/// A URL prefix: `http://*:8080/foo/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UrlPrefix {
    secure: bool,
    host: Host,
    port: u16,
    /// In lower case, between two slashes or a single one.
    path: Box<str>,
}

/// What is wrong with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixError {
    /// Not `http://` or `https://`.
    Scheme,
    /// No host, or something that is none.
    Host,
    /// No port, or something that is none.
    Port,
    /// Not from a slash to a slash, or with what no path has.
    Path,
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "its scheme has to be http:// or https://",
            Self::Host => {
                "its host has to be *, +, a name, an IPv4 address or an IPv6 address in brackets"
            }
            Self::Port => "it has to name a port from 1 to 65535",
            Self::Path => "its path has to begin and end with a slash, without query or fragment",
        })
    }
}

impl std::error::Error for PrefixError {}

impl UrlPrefix {
    /// Reads a prefix.
    pub fn parse(text: &str) -> Result<Self, PrefixError> {
        let (secure, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(PrefixError::Scheme),
        };
        let slash = rest.find('/').ok_or(PrefixError::Path)?;
        let (authority, path) = rest.split_at(slash);
        let from = authority.find(']').unwrap_or(0);
        let colon = authority[from..].find(':').ok_or(PrefixError::Port)? + from;
        let host = parse_host(&authority[..colon]).ok_or(PrefixError::Host)?;
        let port = parse_port(&authority[colon + 1..]).ok_or(PrefixError::Port)?;
        let is_part = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'*');
        if !path.ends_with('/') || path.len() > MAX_PATH || !path.bytes().all(is_part) {
            return Err(PrefixError::Path);
        }
        Ok(Self { secure, host, port, path: path.to_ascii_lowercase().into() })
    }

    /// Its requests come through TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whom it is for.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Where its requests come to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address to listen at; `None`: all of them.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Address(address) => Some(address),
            _ => None,
        }
    }

    /// Whether it is for this host and this path; `/foo` is in `/foo/`.
    #[must_use]
    pub fn covers(&self, host: &[u8], path: &[u8]) -> bool {
        let is_host = match &self.host {
            Host::Name(name) => name.as_bytes().eq_ignore_ascii_case(host),
            Host::Strong | Host::Weak | Host::Address(_) => true,
        };
        is_host && self.covers_path(path)
    }

    fn covers_path(&self, path: &[u8]) -> bool {
        let own = self.path.as_bytes();
        match path.get(..own.len()) {
            Some(start) => own.eq_ignore_ascii_case(start),
            // All but the slash.
            None => own.len() == path.len() + 1 && own[..path.len()].eq_ignore_ascii_case(path),
        }
    }

    /// Whether this one is asked before the other, where both cover a request.
    #[must_use]
    pub fn precedes(&self, other: &Self) -> bool {
        self.precedence(other).is_lt()
    }

    fn precedence(&self, other: &Self) -> Ordering {
        let by_class = class(&self.host).cmp(&class(&other.host));
        by_class.then(other.path.len().cmp(&self.path.len()))
    }

    /// In the order in which they are asked, the same beside each other.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let of = |it: &Self| (it.port, it.secure);
        let by_name = || self.host.cmp(&other.host).then_with(|| self.path.cmp(&other.path));
        self.precedence(other).then_with(by_name).then_with(|| of(self).cmp(&of(other)))
    }
}

impl fmt::Display for UrlPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        let Self { port, path, .. } = self;
        match &self.host {
            Host::Strong => write!(f, "{scheme}://+:{port}{path}"),
            Host::Weak => write!(f, "{scheme}://*:{port}{path}"),
            Host::Name(name) => write!(f, "{scheme}://{name}:{port}{path}"),
            Host::Address(IpAddr::V4(address)) => write!(f, "{scheme}://{address}:{port}{path}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "{scheme}://[{address}]:{port}{path}"),
        }
    }
}

fn class(host: &Host) -> u8 {
    match host {
        Host::Strong => 0,
        Host::Name(_) => 1,
        Host::Address(_) => 2,
        Host::Weak => 3,
    }
}

fn parse_host(text: &str) -> Option<Host> {
    match text {
        "+" => return Some(Host::Strong),
        "*" => return Some(Host::Weak),
        // Who says so does not want to be reached from elsewhere.
        _ if text.eq_ignore_ascii_case("localhost") => {
            return Some(Host::Address(Ipv4Addr::LOCALHOST.into()));
        }
        _ => {}
    }
    if let Some(address) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Some(Host::Address(IpAddr::V6(address.parse().ok()?)));
    }
    if let Ok(address) = text.parse() {
        return Some(Host::Address(IpAddr::V4(address)));
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_name = (1..=MAX_HOST).contains(&text.len()) && text.bytes().all(is_part);
    is_name.then(|| Host::Name(text.to_ascii_lowercase().into()))
}

fn parse_port(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&port| digits && port > 0)
}

/// Host and path of a request, by its target and its field `Host`: the target's authority comes before the field
/// (RFC 9112, section 3.2.2), the path ends before the query, and what has no path is for the root.
#[must_use]
pub fn host_and_path<'a>(target: &'a [u8], host: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let (authority, path) = match target.first() {
        Some(b'/') => (host, target),
        _ => match target.windows(3).position(|three| three == b"://") {
            Some(at) => {
                let rest = &target[at + 3..];
                let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
                rest.split_at(end.unwrap_or(rest.len()))
            }
            None => (host, &b"/"[..]),
        },
    };
    let end = path.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(path.len());
    let path = if end == 0 { b"/" } else { &path[..end] };
    // User information may precede the host.
    let at = authority.iter().rposition(|&byte| byte == b'@').map_or(0, |at| at + 1);
    let (host, _) = split_port(&authority[at..]);
    (host, path)
}
