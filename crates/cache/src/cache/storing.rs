//! What becomes of the response to a request that leads.

use std::sync::Arc;
use std::time::Duration;

use super::{Cache, Then};
use crate::collecting::Collecting;
use crate::lead::{Lead, Leading};
use crate::policy::{Arrival, judge};
use crate::reason::NotStored;
use crate::response::{Response, ResponseHead};

impl Cache {
    /// Takes the head of the response, at the monotonic time `now`, which is `wall` seconds after 1970 by the wall
    /// clock. `Ok`: the body is to be given to [`append`](Self::append). An error has ended the lead, and woken those
    /// who waited for it: they need not wait for the body.
    pub fn begin(
        &mut self,
        lead: Lead,
        now: Duration,
        wall: i64,
        response: &Response<'_>,
    ) -> Result<(), NotStored> {
        match self.judge(lead, now, wall, response) {
            Ok(collecting) => {
                self.collecting += collecting.held();
                let leading = self.leads.get(lead)?;
                leading.collecting = Some(collecting);
                // Those who wait are sent on earlier now.
                if let (Some(limit), Some(release)) = (leading.deadline, leading.release()) {
                    self.set_deadline(lead.index(), Some(limit.min(release)));
                }
                if self.make_room(0) {
                    Ok(())
                } else {
                    Err(self.end(lead, now, NotStored::NoRoom, 0))
                }
            }
            Err((why, status)) => Err(self.end(lead, now, why, status)),
        }
    }

    /// An error comes with the status, 0 if that is not known.
    fn judge(
        &mut self,
        lead: Lead,
        now: Duration,
        wall: i64,
        response: &Response<'_>,
    ) -> Result<Collecting, (NotStored, u16)> {
        let leading = self.leads.get(lead).map_err(|why| (why, 0))?;
        if leading.resource.is_none() {
            return Err((NotStored::Invalidated, 0));
        }
        let head = ResponseHead::parse(response.head, wall)
            .filter(|_| leading.collecting.is_none())
            .ok_or((NotStored::Malformed, 0))?;
        let delay = now.saturating_sub(leading.started).as_secs();
        let arrival = Arrival { wall, delay };
        let duration = response.duration;
        let decision = judge(&self.settings, leading.credentials, &head, duration, arrival)
            .map_err(|why| (why, head.status))?;
        let mut values = Vec::new();
        decision.vary.write_values(&leading.lines, &mut values);
        let collecting = Collecting::new(&head, decision, values, now, wall);
        if collecting.bytes_with(0) > self.settings.max_entry_bytes {
            return Err((NotStored::TooLarge, head.status));
        }
        Ok(collecting)
    }

    /// Takes the next bytes of the body, without any framing. An error has ended the lead.
    pub fn append(&mut self, lead: Lead, now: Duration, bytes: &[u8]) -> Result<(), NotStored> {
        let most = self.settings.max_entry_bytes;
        let leading = self.leads.get(lead)?;
        if leading.resource.is_none() {
            return Err(self.end(lead, now, NotStored::Invalidated, 0));
        }
        let Some(collecting) = &mut leading.collecting else {
            return Err(self.end(lead, now, NotStored::Malformed, 0));
        };
        if collecting.bytes_with(bytes.len()) > most {
            return Err(self.end(lead, now, NotStored::TooLarge, 0));
        }
        if now >= collecting.usable_until() {
            return Err(self.end(lead, now, NotStored::Stale, 0));
        }
        let held = collecting.held();
        collecting.add(bytes);
        self.collecting += collecting.held() - held;
        if self.make_room(0) { Ok(()) } else { Err(self.end(lead, now, NotStored::NoRoom, 0)) }
    }

    /// Stores the response, which is complete, and wakes those who wait for it.
    pub fn finish(&mut self, lead: Lead, now: Duration) -> Result<(), NotStored> {
        let leading = self.leads.get(lead)?;
        let collecting = leading.collecting.take();
        self.collecting -= collecting.as_ref().map_or(0, Collecting::held);
        let Some(resource) = leading.resource else {
            return Err(self.end(lead, now, NotStored::Invalidated, 0));
        };
        let key_length = leading.key.len();
        let Some(entry) = collecting.and_then(Collecting::finish) else {
            return Err(self.end(lead, now, NotStored::Incomplete, 0));
        };
        if now >= entry.usable_until {
            return Err(self.end(lead, now, NotStored::Stale, 0));
        }
        if self.store.has_newer(resource, &entry) {
            return Err(self.end(lead, now, NotStored::Invalidated, 0));
        }
        if !self.make_room(entry.cost() + key_length) {
            return Err(self.end(lead, now, NotStored::NoRoom, 0));
        }
        // Still listed, so that the resource has not left with its last entry.
        let most = self.settings.max_variants;
        let surplus = self.store.insert(resource, Arc::new(entry), most);
        self.statistics.evictions += surplus as u64;
        self.statistics.stores += 1;
        let leading = self.unlist(lead)?;
        if let Some(id) = self.renewed(&leading) {
            // The new one varies by something else.
            self.store.remove(id);
        }
        self.marks.clear(self.store.hash(&leading.key, leading.credentials));
        self.wake(leading.waiters, Then::LookUp);
        Ok(())
    }

    /// There will be no response, or none that could be stored: [`NotStored::Aborted`] if the client went away,
    /// [`NotStored::Failed`] if the application failed, [`NotStored::Trailers`] if the response has some.
    pub fn abandon(&mut self, lead: Lead, now: Duration, why: NotStored) {
        self.end(lead, now, why, 0);
    }

    /// Ends a lead without an entry.
    fn end(&mut self, lead: Lead, now: Duration, why: NotStored, status: u16) -> NotStored {
        let Ok(leading) = self.unlist(lead) else { return NotStored::Unknown };
        self.collecting -= leading.collecting.as_ref().map_or(0, Collecting::held);
        // These say nothing about the next response.
        let passing = matches!(why, NotStored::Aborted | NotStored::Invalidated);
        // These say nothing about the entry that was to be renewed: there was no response, or it was for one client.
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
        match self.renewed(&leading) {
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
                if leading.marks && !passing {
                    self.marks.set(self.store.hash(&leading.key, leading.credentials), again_at);
                }
            }
        }
        if let Some(resource) = leading.resource {
            self.store.tidy(resource);
        }
        self.wake(leading.waiters, if passing { Then::LookUp } else { Then::Go });
        self.count(why)
    }

    /// The entry that a lead was to renew, if it is still there.
    fn renewed(&self, leading: &Leading) -> Option<usize> {
        let serial = leading.renews?;
        let resource = self.store.resource(leading.resource?)?;
        let is = |id: &&usize| self.store.node(**id).is_some_and(|node| node.serial == serial);
        resource.variants.iter().find(is).copied()
    }

    /// Takes a lead out of all lists. Its resource is left, even if it has nothing else.
    fn unlist(&mut self, lead: Lead) -> Result<Leading, NotStored> {
        let leading = self.leads.remove(lead)?;
        let index = lead.index();
        if let Some(deadline) = leading.deadline {
            self.deadlines.remove(&(deadline, index));
        }
        if let Some(resource) = leading.resource.and_then(|at| self.store.resource_mut(at)) {
            resource.flights.retain(|&flight| flight != index);
            resource.loners.retain(|&loner| loner != index);
        }
        Ok(leading)
    }
}
