//! Invalidation: removal of entries that are still fresh.

use millrace_http::h1::{Method, field_lines};

use super::{Cache, Then};
use crate::key::{self, KeyParts};
use crate::request::{Request, RequestFields, seen};

/// The entries to remove. A criterion that is `None` matches all of them.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// Whether they answer requests that came through TLS.
    pub secure: Option<bool>,
    /// The authority, in any form.
    pub authority: Option<&'a [u8]>,
    /// Path and query.
    pub target: Target<'a>,
}

/// Path and query of what is to be removed, as they were sent.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Equal to these bytes.
    Exact(&'a [u8]),
    /// Beginning with these bytes; all of them if it is empty.
    Prefix(&'a [u8]),
}

impl Selection<'_> {
    fn matches(&self, key: &[u8]) -> bool {
        let parts = KeyParts::of(key);
        let authority = |wanted: &[u8]| key::normalize(wanted, parts.secure) == parts.authority;
        self.secure.is_none_or(|secure| secure == parts.secure)
            && self.authority.is_none_or(authority)
            && match self.target {
                Target::Exact(path) => parts.path() == path,
                Target::Prefix(start) => parts.path().starts_with(start),
            }
    }
}

impl Cache {
    /// Removes entries and returns their number. Requests that wait for one are looked up again; responses to fills that
    /// have begun before are not stored.
    pub fn delete(&mut self, selection: &Selection<'_>) -> usize {
        let has = |(at, key)| selection.matches(key).then_some(at);
        let found: Vec<usize> =
            self.store.resources().map(|(at, found)| (at, &*found.key)).filter_map(has).collect();
        found.into_iter().map(|resource| self.invalidate_resource(resource)).sum()
    }

    /// Removes all entries and all records of hits for miss. Returns the number of entries.
    pub fn clear(&mut self) -> usize {
        self.hits_for_miss.clear_all();
        self.delete(&Selection { secure: None, authority: None, target: Target::Prefix(b"") })
    }

    /// Invalidates entries after a response to a request whose method is not safe: a success outdates the entries for its
    /// URI, and for those that `Location` and `Content-Location` name on the same origin (RFC 9111, section 4.4). Of
    /// relative references, only those that begin with a slash count. `lines` are the response's field lines. Returns
    /// the number of removed entries.
    pub fn invalidate(&mut self, request: &Request<'_>, status: u16, lines: &[u8]) -> usize {
        let fields = RequestFields::read(request.lines, &mut self.keyed);
        if is_safe(request.method) || !(200..400).contains(&status) || fields.has(seen::HOSTS) {
            return 0;
        }
        let Request { secure, target, .. } = *request;
        // Of an absolute-form, `Host` says nothing (RFC 9112, section 3.2.2).
        let (authority, path) = match split_uri(target, secure) {
            Some((authority, path)) => (authority, path),
            None => (fields.host.unwrap_or_default(), target),
        };
        let authority = key::normalize(authority, secure);
        let mut count = self.invalidate_path(secure, &authority, path);
        for (name, value) in field_lines(lines) {
            if name.eq_ignore_ascii_case(b"location")
                || name.eq_ignore_ascii_case(b"content-location")
            {
                count += self.invalidate_reference(secure, &authority, value);
            }
        }
        count
    }

    /// Invalidates the entries of a reference, if it is of this origin.
    fn invalidate_reference(&mut self, secure: bool, authority: &[u8], reference: &[u8]) -> usize {
        let end = reference.iter().position(|&byte| byte == b'#').unwrap_or(reference.len());
        let reference = &reference[..end];
        // Behind a proxy that ends TLS, applications name https though the connection is plain.
        let of_scheme = |scheme| {
            let (other, path) = match reference.strip_prefix(b"//") {
                Some(rest) => split_authority(rest),
                None => split_uri(reference, scheme)?,
            };
            Some((key::normalize(other, scheme), path))
        };
        match of_scheme(secure).or_else(|| of_scheme(!secure)) {
            Some((other, path)) if other == authority => {
                self.invalidate_path(secure, authority, path)
            }
            None if reference.starts_with(b"/") => {
                self.invalidate_path(secure, authority, reference)
            }
            _ => 0,
        }
    }

    /// Invalidates the entries of both forms of a target, whatever other fields belong to their keys.
    fn invalidate_path(&mut self, secure: bool, authority: &[u8], path: &[u8]) -> usize {
        // An empty path is "/" (RFC 9110, section 4.2.3).
        let path = if path.starts_with(b"/") { path } else { &[b"/", path].concat() };
        let absolute = [key::scheme(secure), authority, path].concat();
        let mut count = 0;
        for target in [path, &absolute] {
            key::write_uri(&mut self.key, secure, authority, target);
            for resource in self.store.find_all(&self.key) {
                count += self.invalidate_resource(resource);
            }
        }
        count
    }

    fn invalidate_resource(&mut self, resource: usize) -> usize {
        let Some(found) = self.store.resource_mut(resource) else { return 0 };
        let fills =
            [std::mem::take(&mut found.joinable_fills), std::mem::take(&mut found.detached_fills)];
        let variants = std::mem::take(&mut found.variants);
        for index in fills.into_iter().flatten() {
            self.set_deadline(index, None);
            let Some(pending) = self.fills.at_mut(index) else { continue };
            pending.resource = None;
            let waiters = std::mem::take(&mut pending.waiters);
            self.wake(waiters, Then::LookUp);
        }
        for &id in &variants {
            self.store.remove(id);
        }
        self.store.remove_if_empty(resource);
        self.statistics.invalidations += variants.len() as u64;
        variants.len()
    }
}

/// RFC 9110, section 9.2.1, and the registry of methods.
fn is_safe(method: Method) -> bool {
    use Method::{Get, Head, Options, Propfind, Report, Search, Trace};
    matches!(method, Get | Head | Options | Propfind | Report | Search | Trace)
}

/// Splits an absolute URI of this scheme into its authority, and its path and query.
fn split_uri(uri: &[u8], secure: bool) -> Option<(&[u8], &[u8])> {
    let scheme = key::scheme(secure);
    let (start, rest) = uri.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then(|| split_authority(rest))
}

fn split_authority(rest: &[u8]) -> (&[u8], &[u8]) {
    rest.split_at(rest.iter().position(|byte| b"/?".contains(byte)).unwrap_or(rest.len()))
}
