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

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: usize = 1;

    fn routes(all: &[(&str, Option<Owner>)]) -> Routes {
        let parsed: Vec<_> =
            all.iter().map(|(text, owner)| (UrlPrefix::parse(text).unwrap(), *owner)).collect();
        Routes::new(parsed.iter().map(|(prefix, owner)| (prefix, *owner)).collect())
    }

    /// Whatever else is asked for in between.
    #[test]
    fn owners_of_a_prefix_take_turns() {
        let all = ["http://*:80/a/", "http://*:80/b/"]
            .map(|text| [Owner::Server(SERVER), Owner::Peer(7)].map(|owner| (text, Some(owner))));
        let mut routes = routes(all.as_flattened());
        let mut both = || [b"/a/", b"/b/"].map(|path| routes.of_request(b"a", path, SERVER, false));
        let mut before = both();
        for _ in 0..10 {
            let next = both();
            assert!(before[0] != next[0] && before[1] != next[1], "{before:?} {next:?}");
            before = next;
        }
        // One that is where it belongs stays.
        for _ in 0..2 {
            assert_eq!(routes.of_request(b"a", b"/a/", SERVER, true), Route::Here);
        }
    }

    #[test]
    fn what_nobody_has_any_more_is_not_a_shorter_prefixs() {
        let owner = Some(Owner::Server(SERVER));
        let mut routes = routes(&[("http://*:80/a/", None), ("http://b:80/", owner)]);
        let mut of = |host: &[u8]| routes.of_request(host, b"/a/x", SERVER, false);
        assert_eq!([of(b"b"), of(b"c")], [Route::Here, Route::Nobody { gone: true }]);
        assert_eq!(routes.of_request(b"c", b"/", SERVER, false), Route::Nobody { gone: false });
    }

    #[test]
    fn sessions_go_to_whom_the_host_belongs() {
        let routes = routes(&[
            ("https://a.test:80/x/", Some(Owner::Server(SERVER))),
            ("https://a.test:80/y/", Some(Owner::Peer(7))),
            ("https://b.test:80/", Some(Owner::Peer(8))),
            ("https://*:80/", Some(Owner::Server(2))),
        ]);
        let of = |host| routes.of_host(host, SERVER);
        assert_eq!(of("A.test"), Route::Here, "one of those who have it");
        assert_eq!(of("b.test"), Route::Elsewhere(8));
        assert_eq!([of("c.test"), of("")], [Route::Server(2); 2]);
    }
}
