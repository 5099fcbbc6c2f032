//! Fills: requests that the application answers on behalf of the cache and of other requests.

use std::sync::Arc;
use std::time::Duration;

use slab::Slab;

use crate::entry_builder::EntryBuilder;
use crate::fields::vary::Vary;
use crate::reason::NotStored;
use crate::request::Credentials;

/// A request that goes to the application, and whose response is to be stored. The holder must complete it with exactly
/// one of [`finish`](crate::Cache::finish), [`abandon`](crate::Cache::abandon), or an error of `begin` or `append`.
/// Afterwards it is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fill {
    index: usize,
    /// Distinguishes it from earlier fills with the same index.
    serial: u64,
}

impl Fill {
    pub(crate) fn index(self) -> usize {
        self.index
    }
}

/// The fill that a waiting request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FillWait(pub(crate) Fill);

/// The state of a fill.
#[derive(Debug)]
pub(crate) struct PendingFill {
    serial: u64,
    pub(crate) key: Arc<[u8]>,
    /// The request's field lines: `Vary` of the response says which of them matter.
    pub(crate) lines: Box<[u8]>,
    pub(crate) credentials: Credentials,
    pub(crate) started: Duration,
    /// The resource that lists it; `None` after invalidation.
    pub(crate) resource: Option<usize>,
    /// The fields whose values a request must share to wait for it.
    pub(crate) vary: Vary,
    pub(crate) values: Box<[u8]>,
    pub(crate) waiters: Vec<u64>,
    /// When the waiters are resumed at the latest; set while there are any.
    pub(crate) deadline: Option<Duration>,
    /// Serial number of the entry that it renews.
    pub(crate) renews: Option<u64>,
    /// Whether a response that cannot be stored is recorded as a hit for miss.
    pub(crate) records_hit_for_miss: bool,
    /// The response; `None` before its head.
    pub(crate) entry: Option<EntryBuilder>,
}

/// Maximum time from the head of a response to its end for which requests wait. A longer response may be a stream, which
/// the waiting requests see sooner from the application.
const MAX_BODY_TIME: Duration = Duration::from_millis(500);

/// The purpose of a fill.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Role {
    /// Whether other requests may wait for it.
    pub(crate) joinable: bool,
    pub(crate) renews: Option<u64>,
    pub(crate) records_hit_for_miss: bool,
}

/// The fills that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Fills {
    fills: Slab<PendingFill>,
    serial: u64,
}

impl Fills {
    pub(crate) fn len(&self) -> usize {
        self.fills.len()
    }

    pub(crate) fn insert(&mut self, mut pending: PendingFill) -> Fill {
        self.serial += 1;
        pending.serial = self.serial;
        Fill { index: self.fills.insert(pending), serial: self.serial }
    }

    pub(crate) fn get(&mut self, fill: Fill) -> Result<&mut PendingFill, NotStored> {
        match self.fills.get_mut(fill.index) {
            Some(pending) if pending.serial == fill.serial => Ok(pending),
            _ => Err(NotStored::Unknown),
        }
    }

    pub(crate) fn at(&self, index: usize) -> Option<(Fill, &PendingFill)> {
        let pending = self.fills.get(index)?;
        Some((Fill { index, serial: pending.serial }, pending))
    }

    pub(crate) fn at_mut(&mut self, index: usize) -> Option<&mut PendingFill> {
        self.fills.get_mut(index)
    }

    pub(crate) fn remove(&mut self, fill: Fill) -> Result<PendingFill, NotStored> {
        self.get(fill)?;
        Ok(self.fills.remove(fill.index))
    }
}

impl PendingFill {
    pub(crate) fn new(key: Arc<[u8]>, lines: &[u8], started: Duration, role: Role) -> Self {
        Self {
            serial: 0,
            key,
            lines: lines.into(),
            credentials: Credentials::default(),
            started,
            resource: None,
            vary: Vary::default(),
            values: Box::default(),
            waiters: Vec::new(),
            deadline: None,
            renews: role.renews,
            records_hit_for_miss: role.records_hit_for_miss,
            entry: None,
        }
    }

    /// Returns when its waiters are resumed at the latest, once its response has begun.
    pub(crate) fn body_deadline(&self) -> Option<Duration> {
        let begun = self.entry.as_ref()?.arrived();
        Some(begun.saturating_add(MAX_BODY_TIME))
    }
}
