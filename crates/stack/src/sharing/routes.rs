//! Who answers which requests.

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
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    /// The first that covers a request has it.
    routes: Vec<Route>,
    /// Connections that were given to one of several owners.
    given: usize,
}

#[derive(Clone, Debug)]
struct Route {
    prefix: UrlPrefix,
    /// None: they are gone.
    owners: Vec<Owner>,
}

impl Routes {
    pub(crate) fn add(&mut self, prefix: &UrlPrefix, owner: Option<Owner>) {
        let known = self.routes.iter_mut().find(|route| route.prefix == *prefix);
        match known {
            Some(route) => route.owners.extend(owner),
            None => {
                let at = self.routes.partition_point(|route| !prefix.precedes(&route.prefix));
                let owners = owner.into_iter().collect();
                self.routes.insert(at, Route { prefix: prefix.clone(), owners });
            }
        }
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

    /// Where a request belongs that came to a server. A connection that is `placed` stays if it can; the others are
    /// given to the owners of a prefix in turn.
    pub(crate) fn place(&mut self, host: &[u8], path: &[u8], server: usize, placed: bool) -> Place {
        let Some(route) = self.routes.iter().find(|route| route.prefix.covers(host, path)) else {
            return Place::Nowhere;
        };
        let here = Owner::Server(server);
        match route.owners[..] {
            [] => Place::Gone,
            [owner] => Place::To(owner),
            _ if placed && route.owners.contains(&here) => Place::To(here),
            ref owners => {
                self.given = self.given.wrapping_add(1);
                Place::To(owners[self.given % owners.len()])
            }
        }
    }
}
