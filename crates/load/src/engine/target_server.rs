//! The servers under load: their addresses, used in turn, and their TLS configuration.

use std::io;
use std::net::IpAddr;

use millrace_net::tls::{ClientTlsConfig, TlsTarget};
use millrace_net::{Address, SpareSocket, Stream, names};
use mio::{Registry, Token};

use crate::engine::keep_alive::KeepAlive;
use crate::plan::{Endpoint, Origin};
use crate::{ErrorKind, RunError};

/// Addresses of a server, resolved once for the whole run.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    addresses: Vec<Address>,
    /// Addresses that are tried if none of the others works: a resolver may know `localhost` as 127.0.0.1 alone.
    reserve: Vec<Address>,
    server_name: Option<String>,
}

impl Resolved {
    pub(crate) fn new(origin: &Origin) -> Result<Self, RunError> {
        let addresses = match &origin.endpoint {
            Endpoint::Unix(path) => vec![Address::Unix(path.clone())],
            Endpoint::Host(host, port) => resolve(host, *port)?,
            Endpoint::Hosts(hosts, port) => {
                let each: Result<Vec<_>, _> =
                    hosts.iter().map(|host| resolve(host, *port)).collect();
                each?.concat()
            }
        };
        let mut reserve = match &origin.endpoint {
            Endpoint::Host(host, port) => names::loopbacks(host, *port),
            _ => Vec::new(),
        };
        reserve.retain(|address| !addresses.contains(address));
        Ok(Self { addresses, reserve, server_name: origin.server_name.clone() })
    }
}

fn resolve(host: &str, port: u16) -> Result<Vec<Address>, RunError> {
    let reason = match names::resolve(host, port) {
        Ok(addresses) if !addresses.is_empty() => return Ok(addresses),
        Ok(_) => "the name has no address".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("cannot resolve {host}: {reason}");
    Err(RunError::Unreachable { kind: ErrorKind::Dns, message })
}

/// One server of one worker. Its addresses are used in turn. An address that fails before it ever worked is excluded while
/// there are others: `localhost` often has one without a listener.
#[derive(Debug)]
pub(crate) struct TargetServer {
    addresses: Vec<(Address, AddressHealth)>,
    tls: Option<TlsTarget>,
    next: usize,
    /// The last failure of an address that is not in reserve: what a user expects to read.
    failure: Option<(ErrorKind, String)>,
    /// Number of addresses that are not in reserve.
    expected: usize,
    /// Addresses that connections come from, in turn; empty: the system chooses.
    local: Vec<IpAddr>,
    socket_reuse: SocketReuse,
    keep_alive: KeepAlive,
}

/// How long the socket of an ended connection is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketReuse {
    /// Until another connection of its slot uses it: TCP over loopback.
    ForReuse,
    /// Until the server has closed, so that the port does not wait in TIME-WAIT: other TCP, TLS.
    UntilClosed,
    /// The socket is closed at once: a Unix socket has no port.
    Never,
}

/// Whether connects to an address succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressHealth {
    /// Tried if none of the others works.
    Reserve,
    Untried,
    Works,
    Failed,
}

impl TargetServer {
    pub(crate) fn new(
        resolved: &Resolved,
        tls: Option<&ClientTlsConfig>,
        local: &[IpAddr],
    ) -> Result<Self, RunError> {
        let tls = match (&resolved.server_name, tls) {
            (Some(name), Some(settings)) => {
                Some(settings.server(name).map_err(|error| RunError::Usage(error.to_string()))?)
            }
            _ => None,
        };
        let addresses = &resolved.addresses;
        let keeping = match addresses[..] {
            [Address::Unix(_), ..] => SocketReuse::Never,
            _ if tls.is_none() && addresses.iter().all(Address::is_loopback) => {
                SocketReuse::ForReuse
            }
            _ => SocketReuse::UntilClosed,
        };
        let untried = addresses.iter().map(|address| (address, AddressHealth::Untried));
        let reserve = resolved.reserve.iter().map(|address| (address, AddressHealth::Reserve));
        let all = untried.chain(reserve);
        Ok(Self {
            addresses: all.map(|(address, health)| (address.clone(), health)).collect(),
            tls,
            next: 0,
            failure: None,
            expected: addresses.len(),
            keep_alive: KeepAlive::default(),
            local: local.to_vec(),
            socket_reuse: keeping,
        })
    }

    pub(crate) fn socket_reuse(&self) -> SocketReuse {
        self.socket_reuse
    }

    /// Begins to connect to the next address, whose index it returns in any case. `spare` is a socket of an earlier
    /// connection to reuse.
    pub(crate) fn connect(
        &mut self,
        spare: Option<SpareSocket>,
        registry: &Registry,
        token: Token,
    ) -> (usize, io::Result<Stream>) {
        let index = self.choose();
        let local = self.choose_local(index);
        let address = &self.addresses[index].0;
        let again = spare.and_then(|spare| spare.connect(address)).map(Ok);
        let new = || Stream::connect(address, local, self.tls.as_ref(), registry, token);
        (index, again.unwrap_or_else(new))
    }

    /// Returns the next local address, of the family of the server's address where there is one.
    fn choose_local(&mut self, index: usize) -> Option<IpAddr> {
        let Address::Inet(server) = self.addresses[index].0 else { return None };
        let fits = |local: &IpAddr| local.is_ipv4() == server.is_ipv4();
        let at = self.local.iter().position(fits).unwrap_or(0);
        let chosen = *self.local.get(at)?;
        // Those before it are of the other family: the order of the rest is what counts.
        self.local[at..].rotate_left(1);
        Some(chosen)
    }

    fn choose(&mut self) -> usize {
        use AddressHealth::{Reserve, Untried, Works};

        let count = self.addresses.len();
        let in_turn = |offset: usize| (self.next + offset) % count;
        let find = |wanted: &[AddressHealth]| {
            (0..count).map(in_turn).find(|at| wanted.contains(&self.addresses[*at].1))
        };
        let good = find(&[Works, Untried]).or_else(|| find(&[Reserve]));
        let index = good.unwrap_or_else(|| in_turn(0) % self.expected);
        self.next = (index + 1) % count;
        index
    }

    /// Does what the first connection would wait for otherwise.
    pub(crate) fn warm_up(&self) {
        if let Some(tls) = &self.tls {
            tls.warm_up();
        }
    }

    /// Whether another address is tried if this one fails.
    pub(crate) fn may_rule_out(&self, index: usize) -> bool {
        let others = self.addresses.iter().enumerate().filter(|(at, _)| *at != index);
        let has_worked = self.addresses[index].1 == AddressHealth::Works;
        !has_worked && others.into_iter().any(|(_, (_, health))| *health != AddressHealth::Failed)
    }

    /// The failure to report for one of this address: of an address in reserve, that of the others.
    pub(crate) fn failure(&self, index: usize) -> Option<(ErrorKind, String)> {
        self.failure.clone().filter(|_| index >= self.expected)
    }

    pub(crate) fn keep_alive(&mut self) -> &mut KeepAlive {
        &mut self.keep_alive
    }

    pub(crate) fn mark_working(&mut self, index: usize) {
        self.addresses[index].1 = AddressHealth::Works;
    }

    /// Excludes an address after a failed connect, unless it worked before. `true` if it is excluded and others remain.
    pub(crate) fn rule_out(&mut self, index: usize, (kind, example): (ErrorKind, &str)) -> bool {
        let standing = &mut self.addresses[index].1;
        if *standing == AddressHealth::Works {
            return false;
        }
        *standing = AddressHealth::Failed;
        if index < self.expected {
            self.failure = Some((kind, example.to_owned()));
        }
        self.addresses.iter().any(|(_, standing)| *standing != AddressHealth::Failed)
    }

    pub(crate) fn address(&self, index: usize) -> &Address {
        &self.addresses[index].0
    }

    pub(crate) fn addresses(&self) -> &[(Address, AddressHealth)] {
        &self.addresses
    }
}

#[cfg(test)]
mod tests;
