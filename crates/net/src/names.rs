//! Resolution of host names.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// An IPv4 or IPv6 address with its port.
    Inet(SocketAddr),
    /// The path of a Unix socket. One that begins with `@` is a name in Linux's abstract namespace, unix(7); a file of such a
    /// name is `./@name`.
    Unix(PathBuf),
}

impl Address {
    /// Whether it is a loopback address, 127.0.0.0/8 or ::1.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        matches!(self, Self::Inet(address) if address.ip().is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The loopback addresses with a port, if a name is one of this host: `localhost`, and all names under it.
#[must_use]
pub fn loopbacks(host: &str, port: u16) -> Vec<Address> {
    if !is_localhost(host) {
        return Vec::new();
    }
    [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
        .map(Address::Inet)
        .to_vec()
}

/// Resolves a host name or address literal by the system's resolver; returns each address once. Names under `localhost`
/// that the resolver does not know resolve to the loopback addresses.
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<Address>> {
    let mut addresses: Vec<Address> = Vec::new();
    let found: Vec<Address> = match (host, port).to_socket_addrs() {
        Ok(found) => found.map(Address::Inet).collect(),
        Err(_) if is_localhost(host) => loopbacks(host, port),
        Err(error) => return Err(error),
    };
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// `localhost` and all names under it are this host (RFC 6761, section 6.3).
fn is_localhost(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("localhost"))
}
