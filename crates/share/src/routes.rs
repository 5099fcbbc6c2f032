//! Who answers which requests.

use millrace_stack::router::Route;

use crate::prefix::{Host, UrlPrefix};

/// Who has a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A server of this reactor.
    Server(usize),
    /// Another process.
    Peer(usize),
}

/// All prefixes of one shared address. The first that covers a request has it.
#[derive(Debug, Default)]
pub(crate) struct Routes(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    prefix: UrlPrefix,
    /// None: they are gone.
    owners: Vec<Owner>,
    /// Connections that were given to one of several owners.
    given: usize,
}

impl Owner {
    /// The same, as `server` sees it.
    fn route(self, server: usize) -> Route {
        match self {
            Self::Server(own) if own == server => Route::Here,
            Self::Server(other) => Route::Server(other),
            Self::Peer(peer) => Route::Elsewhere(peer),
        }
    }
}

impl Routes {
    /// Of prefixes and who has them, in any order.
    pub(crate) fn new(mut all: Vec<(&UrlPrefix, Option<Owner>)>) -> Self {
        all.sort_by(|(one, _), (other, _)| one.order(other));
        let same = all.chunk_by(|(one, _), (other, _)| one == other);
        let entries = same.map(|of_it| Entry {
            prefix: of_it[0].0.clone(),
            owners: of_it.iter().filter_map(|(_, owner)| *owner).collect(),
            given: 0,
        });
        Self(entries.collect())
    }

    /// Where TLS sessions for a host belong that came to a server: there if it has prefixes of this host, or of no host by name if
    /// nobody has any of this one; else one of those who have.
    pub(crate) fn of_host(&self, host: &str, server: usize) -> Route {
        let is_its = |entry: &&Entry| matches!(entry.prefix.host(), Host::Name(name) if name.eq_ignore_ascii_case(host));
        let is_anybodys = |entry: &&Entry| !matches!(entry.prefix.host(), Host::Name(_));
        let mut owners: Vec<_> =
            self.0.iter().filter(is_its).flat_map(|entry| &entry.owners).collect();
        if owners.is_empty() {
            owners = self.0.iter().filter(is_anybodys).flat_map(|entry| &entry.owners).collect();
        }
        match owners.first() {
            Some(first) if !owners.contains(&&Owner::Server(server)) => first.route(server),
            _ => Route::Here,
        }
    }

    /// Where a request belongs that came to a server. A connection that is `pinned` stays if it can; the others are
    /// given to the owners of a prefix in turn.
    pub(crate) fn of_request(
        &mut self,
        host: &[u8],
        path: &[u8],
        server: usize,
        pinned: bool,
    ) -> Route {
        let Some(entry) = self.0.iter_mut().find(|entry| entry.prefix.covers(host, path)) else {
            return Route::Nobody { gone: false };
        };
        match entry.owners[..] {
            [] => Route::Nobody { gone: true },
            [owner] => owner.route(server),
            _ if pinned && entry.owners.contains(&Owner::Server(server)) => Route::Here,
            ref owners => {
                entry.given = entry.given.wrapping_add(1);
                owners[entry.given % owners.len()].route(server)
            }
        }
    }
}
