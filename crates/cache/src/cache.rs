//! The cache: what becomes of a request, and of the response that it leads to.

mod invalidation;
mod lookup;
mod storing;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::key::Parts;
use crate::lead::Leads;
use crate::marks::Marks;
use crate::reason::{NotStored, Pass};
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::store::Store;
use crate::vary::Vary;

pub use invalidation::{Selection, Target};
pub use lookup::Lookup;

/// A request that waits no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// As it was given to [`Cache::lookup`].
    pub waiter: u64,
    /// What it is to do.
    pub then: Then,
}

/// What a request does that has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Be looked up again, with one more in [`Request::waits`](crate::Request::waits): the response is there, or another
    /// request has to lead.
    LookUp,
    /// Go to the application: the response is not for it.
    Go,
}

/// What is known of an entry, for those who look on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspected<'a> {
    /// Requests that came through TLS get it, or those that did not.
    pub secure: bool,
    /// `Host`.
    pub authority: &'a [u8],
    /// The request-target.
    pub target: &'a [u8],
    /// The fields that it depends on.
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

/// The stored responses of one server. See the crate's page.
#[derive(Debug)]
pub struct Cache {
    settings: Settings,
    store: Store,
    leads: Leads,
    marks: Marks,
    woken: VecDeque<Woken>,
    /// When those who wait are sent on, and for which lead.
    deadlines: BTreeSet<(Duration, usize)>,
    waiting: usize,
    /// Bytes of responses that are being collected.
    collecting: usize,
    statistics: Statistics,
    /// Scratch: a request's key, and its values of the fields that a response varies by.
    key: Vec<u8>,
    values: Vec<u8>,
}

impl Cache {
    /// An empty one.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            store: Store::new(),
            leads: Leads::default(),
            marks: Marks::default(),
            woken: VecDeque::new(),
            deadlines: BTreeSet::new(),
            waiting: 0,
            collecting: 0,
            statistics: Statistics::default(),
            key: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes the settings. Entries stay as they were stored, as far as there is room.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
        self.make_room(0);
    }

    /// The next one of those that wait no longer. To be called until there is none, after whatever may end
    /// a lead.
    pub fn pop_woken(&mut self) -> Option<Woken> {
        self.woken.pop_front()
    }

    /// When [`Self::expire`] has something to do; `None` while nobody waits.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    /// Sends on those who have waited as long as they may. The leads that they waited for go on, and what
    /// they bring is still stored.
    pub fn expire(&mut self, now: Duration) {
        while let Some(&(at, index)) = self.deadlines.first()
            && at <= now
        {
            self.deadlines.pop_first();
            self.let_go(index, now);
        }
    }

    /// Nobody waits for a lead from now on, nor for the next one to the same for a while. It goes on by itself.
    fn let_go(&mut self, index: usize, now: Duration) {
        self.set_deadline(index, None);
        let Some(leading) = self.leads.at_mut(index) else { return };
        let waiters = std::mem::take(&mut leading.waiters);
        let hash = self.store.hash(&leading.key, leading.credentials);
        if let Some(resource) = leading.resource.and_then(|at| self.store.resource_mut(at)) {
            resource.flights.retain(|&flight| flight != index);
            resource.loners.push(index);
        }
        self.marks.set(hash, now.saturating_add(self.settings.uncacheable_for));
        self.statistics.late += 1;
        self.wake(waiters, Then::Go);
    }

    /// When those who wait for a lead are sent on; `None`: there are none any more.
    fn set_deadline(&mut self, index: usize, deadline: Option<Duration>) {
        let Some(leading) = self.leads.at_mut(index) else { return };
        if let Some(before) = std::mem::replace(&mut leading.deadline, deadline) {
            self.deadlines.remove(&(before, index));
        }
        if let Some(at) = deadline {
            self.deadlines.insert((at, index));
        }
    }

    /// What was done so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let mut statistics = self.statistics.clone();
        statistics.entries = self.store.len();
        statistics.bytes = self.store.bytes();
        statistics.collecting = self.collecting;
        statistics.leads = self.leads.len();
        statistics.waiting = self.waiting;
        statistics
    }

    /// All entries, in no order.
    pub fn inspect(&self, now: Duration) -> impl Iterator<Item = Inspected<'_>> {
        self.store.resources().flat_map(move |(_, resource)| {
            let Parts { secure, authority, target } = Parts::of(&resource.key);
            let nodes = resource.variants.iter().filter_map(|&id| self.store.node(id));
            nodes.map(move |node| Inspected {
                secure,
                authority,
                target,
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

    /// Lets entries go until so many bytes more have room.
    fn make_room(&mut self, bytes: usize) -> bool {
        let most = self.settings.max_bytes;
        while self.store.bytes() + self.collecting + bytes > most {
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
