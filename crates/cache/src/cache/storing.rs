//! Storing of responses: the end of each fill.

use std::sync::Arc;
use std::time::Duration;

use super::{Cache, Then};
use crate::entry_builder::EntryBuilder;
use crate::fill::{Fill, PendingFill};
use crate::policy::{Arrival, evaluate};
use crate::reason::NotStored;
use crate::response::{Response, ResponseFields};

impl Cache {
    /// Takes the head of the response, at the monotonic time `now`, which is `wall` seconds after 1970 by the wall
    /// clock. After `Ok`, pass the body to [`append`](Self::append). An error ends the fill and resumes its waiters at
    /// once, without the body.
    pub fn begin(
        &mut self,
        fill: Fill,
        now: Duration,
        wall: i64,
        response: &Response<'_>,
    ) -> Result<(), NotStored> {
        match self.decide(fill, now, wall, response) {
            Ok(builder) => {
                self.buffered_bytes += builder.capacity_bytes();
                let pending = self.fills.get(fill)?;
                pending.entry = Some(builder);
                // Those who wait are sent on earlier now.
                if let (Some(limit), Some(release)) = (pending.deadline, pending.body_deadline()) {
                    self.set_deadline(fill.index(), Some(limit.min(release)));
                }
                if self.make_room(0) {
                    Ok(())
                } else {
                    Err(self.end(fill, now, NotStored::NoRoom, 0))
                }
            }
            Err((why, status)) => Err(self.end(fill, now, why, status)),
        }
    }

    /// Decides whether and how the response is stored. An error comes with the status, 0 if that is unknown.
    fn decide(
        &mut self,
        fill: Fill,
        now: Duration,
        wall: i64,
        response: &Response<'_>,
    ) -> Result<EntryBuilder, (NotStored, u16)> {
        let pending = self.fills.get(fill).map_err(|why| (why, 0))?;
        if pending.resource.is_none() {
            return Err((NotStored::Invalidated, 0));
        }
        let head = ResponseFields::parse(response.head, wall)
            .filter(|_| pending.entry.is_none())
            .ok_or((NotStored::Malformed, 0))?;
        let delay = now.saturating_sub(pending.started).as_secs();
        let arrival = Arrival { wall, delay };
        let duration = response.duration;
        let decision = evaluate(&self.settings, pending.credentials, &head, duration, arrival)
            .map_err(|why| (why, head.status))?;
        let mut values = Vec::new();
        decision.vary.write_values(&pending.lines, &mut values);
        let builder = EntryBuilder::new(&head, decision, values, now, wall);
        if builder.total_bytes_with(0) > self.settings.max_entry_bytes {
            return Err((NotStored::TooLarge, head.status));
        }
        Ok(builder)
    }

    /// Takes the next bytes of the body, without framing. An error ends the fill.
    pub fn append(&mut self, fill: Fill, now: Duration, bytes: &[u8]) -> Result<(), NotStored> {
        let max = self.settings.max_entry_bytes;
        let pending = self.fills.get(fill)?;
        if pending.resource.is_none() {
            return Err(self.end(fill, now, NotStored::Invalidated, 0));
        }
        let Some(builder) = &mut pending.entry else {
            return Err(self.end(fill, now, NotStored::Malformed, 0));
        };
        if builder.total_bytes_with(bytes.len()) > max {
            return Err(self.end(fill, now, NotStored::TooLarge, 0));
        }
        if now >= builder.usable_until() {
            return Err(self.end(fill, now, NotStored::Stale, 0));
        }
        let held = builder.capacity_bytes();
        builder.add(bytes);
        self.buffered_bytes += builder.capacity_bytes() - held;
        if self.make_room(0) { Ok(()) } else { Err(self.end(fill, now, NotStored::NoRoom, 0)) }
    }

    /// Stores the response, which is complete, and resumes its waiters.
    pub fn finish(&mut self, fill: Fill, now: Duration) -> Result<(), NotStored> {
        let pending = self.fills.get(fill)?;
        let builder = pending.entry.take();
        self.buffered_bytes -= builder.as_ref().map_or(0, EntryBuilder::capacity_bytes);
        let Some(resource) = pending.resource else {
            return Err(self.end(fill, now, NotStored::Invalidated, 0));
        };
        let key_length = pending.key.len();
        let Some(entry) = builder.and_then(EntryBuilder::finish) else {
            return Err(self.end(fill, now, NotStored::Incomplete, 0));
        };
        if now >= entry.usable_until {
            return Err(self.end(fill, now, NotStored::Stale, 0));
        }
        if self.store.has_newer(resource, &entry) {
            return Err(self.end(fill, now, NotStored::Invalidated, 0));
        }
        if !self.make_room(entry.cost() + key_length) {
            return Err(self.end(fill, now, NotStored::NoRoom, 0));
        }
        // The fill is still listed, so evicting the last entry has not removed the resource.
        let max = self.settings.max_variants;
        let surplus = self.store.insert(resource, Arc::new(entry), max);
        self.statistics.evictions += surplus as u64;
        self.statistics.stores += 1;
        let pending = self.unlist(fill)?;
        if let Some(id) = self.find_renewed(&pending) {
            // The new one varies by something else.
            self.store.remove(id);
        }
        self.hits_for_miss.clear(self.store.hash(&pending.key, pending.credentials));
        self.wake(pending.waiters, Then::LookUp);
        Ok(())
    }

    /// Ends a fill without a response to store: [`NotStored::Aborted`] if the client went away, [`NotStored::Failed`] if
    /// the application failed, [`NotStored::Trailers`] if the response has trailers.
    pub fn abandon(&mut self, fill: Fill, now: Duration, why: NotStored) {
        self.end(fill, now, why, 0);
    }

    /// Ends a fill without an entry.
    fn end(&mut self, fill: Fill, now: Duration, why: NotStored, status: u16) -> NotStored {
        let Ok(pending) = self.unlist(fill) else { return NotStored::Unknown };
        self.buffered_bytes -= pending.entry.as_ref().map_or(0, EntryBuilder::capacity_bytes);
        // These say nothing about the next response.
        let passing = matches!(why, NotStored::Aborted | NotStored::Invalidated);
        // These say nothing about the entry to renew: there was no response, or it was for one client.
        let aside = matches!(
            why,
            NotStored::Failed
                | NotStored::Incomplete
                | NotStored::NoRoom
                | NotStored::SetCookie
                | NotStored::Cookie
                | NotStored::Authorization
        );
        let again_at = now.saturating_add(self.settings.uncacheable_for);
        match self.find_renewed(&pending) {
            // Neither is an error a reason to give up what may still be used: one client's bad request would take it
            // away from all.
            Some(id) if passing || aside || status >= 400 => {
                if let Some(node) = self.store.node_mut(id) {
                    node.renew_from = if passing { now } else { again_at };
                }
            }
            renewed => {
                // What it would be replaced with is not to be stored, so it is out of date.
                if let Some(id) = renewed {
                    self.store.remove(id);
                }
                if pending.records_hit_for_miss && !passing {
                    self.hits_for_miss
                        .set(self.store.hash(&pending.key, pending.credentials), again_at);
                }
            }
        }
        if let Some(resource) = pending.resource {
            self.store.remove_if_empty(resource);
        }
        self.wake(pending.waiters, if passing { Then::LookUp } else { Then::Go });
        self.count(why)
    }

    /// The entry that a lead was to renew, if it is still there.
    fn find_renewed(&self, pending: &PendingFill) -> Option<usize> {
        let serial = pending.renews?;
        let resource = self.store.resource(pending.resource?)?;
        let is = |id: &&usize| self.store.node(**id).is_some_and(|node| node.serial == serial);
        resource.variants.iter().find(is).copied()
    }

    /// Takes a lead out of all lists. Its resource is left, even if it has nothing else.
    fn unlist(&mut self, fill: Fill) -> Result<PendingFill, NotStored> {
        let pending = self.fills.remove(fill)?;
        let index = fill.index();
        if let Some(deadline) = pending.deadline {
            self.deadlines.remove(&(deadline, index));
        }
        if let Some(resource) = pending.resource.and_then(|at| self.store.resource_mut(at)) {
            resource.joinable_fills.retain(|&wait| wait != index);
            resource.detached_fills.retain(|&detached| detached != index);
        }
        Ok(pending)
    }
}
