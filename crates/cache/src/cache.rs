//! The cache: lookup of requests, storing of responses, invalidation.

mod invalidation;
mod lookup;
mod storing;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::fields::vary::Vary;
use crate::fill::Fills;
use crate::hit_for_miss::HitForMissTable;
use crate::key::KeyParts;
use crate::reason::{NotStored, Pass};
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::store::Store;

pub use invalidation::{Selection, Target};
pub use lookup::Lookup;

/// A waiting request that is to be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// The number that was passed to [`Cache::lookup`].
    pub waiter: u64,
    /// Its next step.
    pub then: Then,
}

/// The next step of a request that has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Look it up again, with [`Request::waits`](crate::Request::waits) increased by one: the response is stored, or
    /// another request has to fill.
    LookUp,
    /// Send it to the application: it cannot share the response.
    Go,
}

/// A description of an entry, for inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspected<'a> {
    /// Whether the entry answers requests that came through TLS; otherwise those without TLS.
    pub secure: bool,
    /// `Host`.
    pub authority: &'a [u8],
    /// The request-target.
    pub target: &'a [u8],
    /// The request's fields that belong to the key: `name:value`, each behind a line feed.
    pub fields: &'a [u8],
    /// The fields that it depends on by `Vary`.
    pub vary: &'a Vary,
    /// The status code.
    pub status: u16,
    /// Bytes of the body.
    pub body: usize,
    /// How old it is, in seconds.
    pub age: u64,
    /// How much longer it is fresh.
    pub fresh_for: Duration,
    /// How much longer it may be used.
    pub usable_for: Duration,
    /// How often it was used.
    pub hits: u64,
}

/// The stored responses of one server. See the crate's documentation.
#[derive(Debug)]
pub struct Cache {
    settings: Settings,
    store: Store,
    fills: Fills,
    hits_for_miss: HitForMissTable,
    woken: VecDeque<Woken>,
    /// Deadlines of waiting requests, with the index of the fill that they wait for.
    deadlines: BTreeSet<(Duration, usize)>,
    waiting: usize,
    /// Capacity in bytes of the responses that are being received.
    buffered_bytes: usize,
    statistics: Statistics,
    /// Scratch memory: a request's key, its fields that belong to it, and its values of those that a response varies by.
    key: Vec<u8>,
    keyed: Vec<u8>,
    values: Vec<u8>,
}

impl Cache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            store: Store::new(),
            fills: Fills::default(),
            hits_for_miss: HitForMissTable::default(),
            woken: VecDeque::new(),
            deadlines: BTreeSet::new(),
            waiting: 0,
            buffered_bytes: 0,
            statistics: Statistics::default(),
            key: Vec::new(),
            keyed: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes the settings. Stored entries keep their lifetimes; those that no longer fit are evicted.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
        self.make_room(0);
    }

    /// Pops the next waiting request to resume. Call it until it returns `None` after any operation that can complete
    /// a fill.
    pub fn pop_woken(&mut self) -> Option<Woken> {
        self.woken.pop_front()
    }

    /// Returns when to call [`Self::expire`] next; `None` while no request waits.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    /// Resumes the requests whose waiting time is over. The fills that they waited for continue, and their responses are
    /// still stored.
    pub fn expire(&mut self, now: Duration) {
        while let Some(&(at, index)) = self.deadlines.first()
            && at <= now
        {
            self.deadlines.pop_first();
            self.detach(index, now);
        }
    }

    /// Detaches a fill: resumes its waiters, and records a hit for miss, so that no request waits for this key for a
    /// while.
    fn detach(&mut self, index: usize, now: Duration) {
        self.set_deadline(index, None);
        let Some(pending) = self.fills.at_mut(index) else { return };
        let waiters = std::mem::take(&mut pending.waiters);
        let hash = self.store.hash(&pending.key, pending.credentials);
        if let Some(resource) = pending.resource.and_then(|at| self.store.resource_mut(at)) {
            resource.joinable_fills.retain(|&fill| fill != index);
            resource.detached_fills.push(index);
        }
        self.hits_for_miss.set(hash, now.saturating_add(self.settings.uncacheable_for));
        self.statistics.late += 1;
        self.wake(waiters, Then::Go);
    }

    /// Sets the deadline of a fill's waiters; `None` removes it.
    fn set_deadline(&mut self, index: usize, deadline: Option<Duration>) {
        let Some(pending) = self.fills.at_mut(index) else { return };
        if let Some(before) = std::mem::replace(&mut pending.deadline, deadline) {
            self.deadlines.remove(&(before, index));
        }
        if let Some(at) = deadline {
            self.deadlines.insert((at, index));
        }
    }

    /// Returns counts since the cache was created, and its present size.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let mut statistics = self.statistics.clone();
        statistics.entries = self.store.len();
        statistics.bytes = self.store.bytes();
        statistics.buffered_bytes = self.buffered_bytes;
        statistics.fills = self.fills.len();
        statistics.waiting = self.waiting;
        statistics
    }

    /// Returns descriptions of all entries, in no particular order.
    pub fn inspect(&self, now: Duration) -> impl Iterator<Item = Inspected<'_>> {
        self.store.resources().flat_map(move |(_, resource)| {
            let KeyParts { secure, authority, target, fields } = KeyParts::of(&resource.key);
            let nodes = resource.variants.iter().filter_map(|&id| self.store.node(id));
            nodes.map(move |node| Inspected {
                secure,
                authority,
                target,
                fields,
                vary: &node.entry.vary,
                status: node.entry.status(),
                body: node.entry.body().len(),
                age: node.entry.age(now),
                fresh_for: node.entry.fresh_for(now),
                usable_for: node.entry.usable_for(now),
                hits: node.hits,
            })
        })
    }

    fn wake(&mut self, waiters: Vec<u64>, then: Then) {
        self.waiting -= waiters.len();
        self.woken.extend(waiters.into_iter().map(|waiter| Woken { waiter, then }));
    }

    /// Evicts entries until `bytes` more fit; `false` if they cannot.
    fn make_room(&mut self, bytes: usize) -> bool {
        let max = self.settings.max_bytes;
        while self.store.bytes() + self.buffered_bytes + bytes > max {
            if !self.store.evict() {
                return false;
            }
            self.statistics.evictions += 1;
        }
        true
    }

    fn pass(&mut self, reason: Pass) -> Lookup<'static> {
        self.statistics.count_pass(reason);
        Lookup::Pass(reason)
    }

    fn count(&mut self, why: NotStored) -> NotStored {
        self.statistics.count_not_stored(why);
        why
    }
}
