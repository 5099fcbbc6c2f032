//! Storage of entries: found by key and variant, ordered by their last use.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use slab::Slab;

use crate::entry::Entry;
use crate::fields::vary::Vary;
use crate::key::split_fields;
use crate::request::Credentials;

/// The end of the list.
const NONE: usize = usize::MAX;

/// The entries and fills of one key. It is removed when it has none.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) key: Arc<[u8]>,
    /// The most recent one first.
    pub(crate) variants: Vec<usize>,
    /// Fills that requests may wait for.
    pub(crate) joinable_fills: Vec<usize>,
    /// Fills that no request waits for.
    pub(crate) detached_fills: Vec<usize>,
}

/// An entry and its position in the order of use.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) entry: Arc<Entry>,
    /// Distinguishes it from earlier entries with the same index.
    pub(crate) serial: u64,
    /// No request is asked to renew it before this time.
    pub(crate) renew_from: Duration,
    pub(crate) hits: u64,
    resource: usize,
    cost: usize,
    newer: usize,
    older: usize,
}

/// All entries. The hash is keyed per process, so that clients cannot construct targets that collide.
#[derive(Debug)]
pub(crate) struct Store {
    keys: HashMap<Arc<[u8]>, usize, RandomState>,
    /// Resources with fields in their keys: the hash of the URI, and the resource.
    with_fields: BTreeSet<(u64, usize)>,
    resources: Slab<Resource>,
    nodes: Slab<Node>,
    newest: usize,
    oldest: usize,
    bytes: usize,
    serial: u64,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            keys: HashMap::new(),
            with_fields: BTreeSet::new(),
            resources: Slab::new(),
            nodes: Slab::new(),
            newest: NONE,
            oldest: NONE,
            bytes: 0,
            serial: 0,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns a hash by which other tables identify a key.
    pub(crate) fn hash(&self, key: &[u8], credentials: Credentials) -> u64 {
        self.keys.hasher().hash_one((key, credentials))
    }

    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        self.keys.get(key).copied()
    }

    /// Returns all resources of a URI, whatever fields their keys have.
    pub(crate) fn find_all(&self, uri: &[u8]) -> Vec<usize> {
        let hash = self.hash_uri(uri);
        let with_fields = self.with_fields.range((hash, 0)..=(hash, usize::MAX));
        let is_of_uri =
            |at: &usize| self.resource(*at).is_some_and(|found| split_fields(&found.key).0 == uri);
        let found = with_fields.map(|&(_, at)| at).filter(is_of_uri);
        self.find(uri).into_iter().chain(found).collect()
    }

    fn hash_uri(&self, uri: &[u8]) -> u64 {
        self.keys.hasher().hash_one(uri)
    }

    /// The place of a resource among those with fields in their keys; `None` for one without.
    fn place_with_fields(&self, key: &[u8], resource: usize) -> Option<(u64, usize)> {
        let (uri, fields) = split_fields(key);
        (!fields.is_empty()).then(|| (self.hash_uri(uri), resource))
    }

    pub(crate) fn find_or_add(&mut self, key: &[u8]) -> usize {
        if let Some(resource) = self.find(key) {
            return resource;
        }
        let key: Arc<[u8]> = key.into();
        let resource = Resource {
            key: Arc::clone(&key),
            variants: Vec::new(),
            joinable_fills: Vec::new(),
            detached_fills: Vec::new(),
        };
        let resource = self.resources.insert(resource);
        self.with_fields.extend(self.place_with_fields(&key, resource));
        self.keys.insert(key, resource);
        resource
    }

    pub(crate) fn resource(&self, resource: usize) -> Option<&Resource> {
        self.resources.get(resource)
    }

    pub(crate) fn resource_mut(&mut self, resource: usize) -> Option<&mut Resource> {
        self.resources.get_mut(resource)
    }

    pub(crate) fn resources(&self) -> impl Iterator<Item = (usize, &Resource)> {
        self.resources.iter()
    }

    pub(crate) fn node(&self, id: usize) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub(crate) fn node_mut(&mut self, id: usize) -> Option<&mut Node> {
        self.nodes.get_mut(id)
    }

    /// Returns the `Vary` of the most recent response: the best guess for the next one.
    pub(crate) fn last_vary(&self, resource: usize) -> Vary {
        let newest = self.resources.get(resource).and_then(|found| found.variants.first());
        newest
            .and_then(|&id| self.nodes.get(id))
            .map(|node| node.entry.vary.clone())
            .unwrap_or_default()
    }

    /// Finds the entry that matches a request with these field lines, usable or not (RFC 9111, section 4.1). An entry
    /// without `Vary` matches every request, but ranks behind entries that match by their `Vary`, and behind any more
    /// recent entry with `Vary`: the resource varies, that response just did not say so. `values` is scratch memory.
    pub(crate) fn select(
        &self,
        resource: usize,
        lines: &[u8],
        values: &mut Vec<u8>,
    ) -> Option<usize> {
        let (mut written, mut plain) = (None, None);
        for &id in &self.resources.get(resource)?.variants {
            let entry = &self.nodes.get(id)?.entry;
            if entry.vary.is_empty() {
                if written.is_none() {
                    plain = Some(id);
                }
                continue;
            }
            if written != Some(&entry.vary) {
                entry.vary.write_values(lines, values);
                written = Some(&entry.vary);
            }
            if *entry.values == values[..] {
                return Some(id);
            }
        }
        plain
    }

    /// Whether an entry for the same variant is stored whose response began later.
    pub(crate) fn has_newer(&self, resource: usize, entry: &Entry) -> bool {
        let variants = self.resources.get(resource).map_or(&[][..], |found| &found.variants);
        variants.iter().any(|&id| {
            let known = &self.nodes[id].entry;
            known.vary == entry.vary && known.values == entry.values && known.stored > entry.stored
        })
    }

    /// Inserts an entry, replacing the one of the same variant. Returns how many other variants were evicted to stay
    /// within `max_variants`.
    pub(crate) fn insert(
        &mut self,
        resource: usize,
        entry: Arc<Entry>,
        max_variants: usize,
    ) -> usize {
        let Some(found) = self.resources.get(resource) else { return 0 };
        let cost = entry.cost() + found.key.len();
        let same = found.variants.iter().copied().find(|&id| {
            let known = &self.nodes[id].entry;
            known.vary == entry.vary && known.values == entry.values
        });
        if let Some(same) = same {
            self.remove(same);
        }
        self.serial += 1;
        let id = self.nodes.insert(Node {
            entry,
            serial: self.serial,
            renew_from: Duration::ZERO,
            hits: 0,
            resource,
            cost,
            newer: NONE,
            older: NONE,
        });
        self.bytes += cost;
        self.link(id);
        let found = &mut self.resources[resource];
        found.variants.insert(0, id);
        let mut surplus = found.variants.split_off(max_variants.max(1).min(found.variants.len()));
        let count = surplus.len();
        surplus.drain(..).for_each(|id| self.remove(id));
        count
    }

    /// Marks an entry as the most recently used one, and returns it.
    pub(crate) fn touch(&mut self, id: usize) -> &Arc<Entry> {
        if self.newest != id {
            self.unlink(id);
            self.link(id);
        }
        let node = &mut self.nodes[id];
        node.hits += 1;
        &node.entry
    }

    /// Removes an entry; its resource stays.
    pub(crate) fn remove(&mut self, id: usize) {
        self.unlink(id);
        let node = self.nodes.remove(id);
        self.bytes -= node.cost;
        if let Some(resource) = self.resources.get_mut(node.resource) {
            resource.variants.retain(|&variant| variant != id);
        }
    }

    /// Evicts the least recently used entry; `false` if there is none.
    pub(crate) fn evict(&mut self) -> bool {
        let Some(node) = self.nodes.get(self.oldest) else { return false };
        let resource = node.resource;
        self.remove(self.oldest);
        self.remove_if_empty(resource);
        true
    }

    /// Removes a resource without entries and fills.
    pub(crate) fn remove_if_empty(&mut self, resource: usize) {
        let Some(found) = self.resources.get(resource) else { return };
        if found.variants.is_empty()
            && found.joinable_fills.is_empty()
            && found.detached_fills.is_empty()
        {
            let Resource { key, .. } = self.resources.remove(resource);
            self.keys.remove(&key);
            if let Some(place) = self.place_with_fields(&key, resource) {
                self.with_fields.remove(&place);
            }
        }
    }

    /// Links an entry as the most recently used one.
    fn link(&mut self, id: usize) {
        let older = std::mem::replace(&mut self.newest, id);
        (self.nodes[id].newer, self.nodes[id].older) = (NONE, older);
        match self.nodes.get_mut(older) {
            Some(node) => node.newer = id,
            None => self.oldest = id,
        }
    }

    fn unlink(&mut self, id: usize) {
        let (newer, older) = (self.nodes[id].newer, self.nodes[id].older);
        match self.nodes.get_mut(newer) {
            Some(node) => node.older = older,
            None => self.newest = older,
        }
        match self.nodes.get_mut(older) {
            Some(node) => node.newer = newer,
            None => self.oldest = newer,
        }
    }
}
