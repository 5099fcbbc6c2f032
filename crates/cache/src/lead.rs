//! Requests that the application answers, so that others need not ask it.

use std::sync::Arc;
use std::time::Duration;

use slab::Slab;

use crate::collecting::Collecting;
use crate::reason::NotStored;
use crate::request::Credentials;
use crate::vary::Vary;

/// A request that goes to the application, and whose response is to be stored. Whoever has it owes the cache
/// an end: [`finish`](crate::Cache::finish), [`abandon`](crate::Cache::abandon), or an error of `begin` or
/// `append`. Afterwards it means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lead {
    index: usize,
    /// Tells it from others that had its place.
    serial: u64,
}

impl Lead {
    pub(crate) fn index(self) -> usize {
        self.index
    }
}

/// The lead that a request waits for, as the one that waits knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flight(pub(crate) Lead);

#[derive(Debug)]
pub(crate) struct Leading {
    serial: u64,
    pub(crate) key: Arc<[u8]>,
    /// The request's field lines: the response says which of them matter.
    pub(crate) lines: Box<[u8]>,
    pub(crate) credentials: Credentials,
    pub(crate) started: Duration,
    /// Where it is listed; `None` once that was invalidated.
    pub(crate) resource: Option<usize>,
    /// Whom it speaks for: requests with these values of these fields.
    pub(crate) vary: Vary,
    pub(crate) values: Box<[u8]>,
    pub(crate) waiters: Vec<u64>,
    /// When they are sent on; set as long as there are any.
    pub(crate) deadline: Option<Duration>,
    /// The serial number of the entry that it renews.
    pub(crate) renews: Option<u64>,
    /// If its response cannot be stored, that is worth remembering.
    pub(crate) marks: bool,
    /// The response, from its head on.
    pub(crate) collecting: Option<Collecting>,
}

/// A response that has begun and is not complete after so long is a stream, or as good as one: whoever waits hears more of
/// it by asking.
const COMPLETED_WITHIN: Duration = Duration::from_millis(500);

/// What a lead is for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Role {
    /// Others may wait for it.
    pub(crate) joinable: bool,
    pub(crate) renews: Option<u64>,
    pub(crate) marks: bool,
}

/// All that are under way.
#[derive(Debug, Default)]
pub(crate) struct Leads {
    leads: Slab<Leading>,
    serial: u64,
}

impl Leads {
    pub(crate) fn len(&self) -> usize {
        self.leads.len()
    }

    pub(crate) fn insert(&mut self, mut leading: Leading) -> Lead {
        self.serial += 1;
        leading.serial = self.serial;
        Lead { index: self.leads.insert(leading), serial: self.serial }
    }

    pub(crate) fn get(&mut self, lead: Lead) -> Result<&mut Leading, NotStored> {
        match self.leads.get_mut(lead.index) {
            Some(leading) if leading.serial == lead.serial => Ok(leading),
            _ => Err(NotStored::Unknown),
        }
    }

    pub(crate) fn at(&self, index: usize) -> Option<(Lead, &Leading)> {
        let leading = self.leads.get(index)?;
        Some((Lead { index, serial: leading.serial }, leading))
    }

    pub(crate) fn at_mut(&mut self, index: usize) -> Option<&mut Leading> {
        self.leads.get_mut(index)
    }

    pub(crate) fn remove(&mut self, lead: Lead) -> Result<Leading, NotStored> {
        self.get(lead)?;
        Ok(self.leads.remove(lead.index))
    }
}

impl Leading {
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
            marks: role.marks,
            collecting: None,
        }
    }

    /// From when on nobody waits for it, once its response has begun.
    pub(crate) fn release(&self) -> Option<Duration> {
        let begun = self.collecting.as_ref()?.arrived();
        Some(begun.saturating_add(COMPLETED_WITHIN))
    }
}
