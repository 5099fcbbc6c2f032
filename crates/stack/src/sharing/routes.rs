//! Who answers which requests.

use std::sync::Arc;

use super::prefix::{Host, UrlPrefix};

/// Who has a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A server of this reactor.
    Server(usize),
    /// The process at the other end of a link.
    Link(usize),
}

/// Where a request belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    To(Owner),
    /// Whoever had the prefix is gone.
    Gone,
    /// Nobody has asked for it.
    Nowhere,
}

/// All prefixes of one shared address.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// The first that covers a request has it. The same for all servers of the address.
    routes: Arc<[Route]>,
    /// Connections that were given to one of several owners.
    given: usize,
}

#[derive(Debug)]
struct Route {
    prefix: UrlPrefix,
    /// None: they are gone.
    owners: Vec<Owner>,
}

impl Routes {
    /// Of prefixes and who has them, in any order.
    pub(crate) fn new(mut all: Vec<(&UrlPrefix, Option<Owner>)>) -> Self {
        all.sort_by(|(one, _), (other, _)| one.order(other));
        let same = all.chunk_by(|(one, _), (other, _)| one == other);
        let routes = same.map(|of_it| Route {
            prefix: of_it[0].0.clone(),
            owners: of_it.iter().filter_map(|(_, owner)| *owner).collect(),
        });
        Self { routes: routes.collect(), given: 0 }
    }

    /// The same, as another server has them.
    pub(crate) fn share(&self) -> Self {
        Self { routes: Arc::clone(&self.routes), given: 0 }
    }

    /// One of those who have prefixes of this host, or of no host by name if there are none; unless `own` is among them.
    pub(crate) fn owner_of_host(&self, host: &str, own: Owner) -> Option<Owner> {
        let is_its = |route: &&Route| matches!(route.prefix.host(), Host::Name(name) if name.eq_ignore_ascii_case(host));
        let is_anybodys = |route: &&Route| !matches!(route.prefix.host(), Host::Name(_));
        let mut owners: Vec<_> =
            self.routes.iter().filter(is_its).flat_map(|it| &it.owners).collect();
        if owners.is_empty() {
            owners = self.routes.iter().filter(is_anybodys).flat_map(|it| &it.owners).collect();
        }
        if owners.contains(&&own) { None } else { owners.first().map(|owner| **owner) }
    }

    /// Where a request belongs that came to a server. A connection that is `pinned` stays if it can; the others are
    /// given to the owners of a prefix in turn.
    pub(crate) fn place(&mut self, host: &[u8], path: &[u8], server: usize, pinned: bool) -> Place {
        let Some(route) = self.routes.iter().find(|route| route.prefix.covers(host, path)) else {
            return Place::Nowhere;
        };
        let here = Owner::Server(server);
        match route.owners[..] {
            [] => Place::Gone,
            [owner] => Place::To(owner),
            _ if pinned && route.owners.contains(&here) => Place::To(here),
            ref owners => {
                self.given = self.given.wrapping_add(1);
                Place::To(owners[self.given % owners.len()])
            }
        }
    }
}
