//! Lookup of requests.

use std::time::Duration;

use millrace_http::authority::split_port;
use millrace_http::h1::{Method, field_lines};

use super::Cache;
use crate::entry::Entry;
use crate::entry_builder::EntryBuilder;
use crate::fields::control::RequestDirectives;
use crate::fill::{Fill, FillWait, PendingFill, Role};
use crate::hit::{Answer, Hit};
use crate::hit_for_miss::HitForMiss;
use crate::key;
use crate::reason::Pass;
use crate::request::{Request, RequestFields, seen};
use crate::settings::Mode;

/// Maximum number of times that a request waits: a response that it could not use costs it time.
const MAX_WAITS: u8 = 2;

/// RequestFields whose requests go to the application, with the reason.
const SPECIAL: [(u16, Pass); 8] = [
    (seen::CONNECTION, Pass::Authenticated),
    (seen::METHOD, Pass::Method),
    (seen::RANGE, Pass::Range),
    (seen::EXPECT, Pass::Expect),
    (seen::UPGRADE, Pass::Upgrade),
    (seen::PRECONDITION, Pass::Precondition),
    (seen::HOSTS, Pass::Authority),
    (seen::FORWARDED, Pass::Forwarded),
];

/// The next step for a request.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// Answer it with this hit.
    Hit(Hit<'a>),
    /// As `Hit`, and the entry is due for renewal: send the request to the application as well, on behalf of the cache. A
    /// caller that cannot do both either sends it to the application alone, as for `Fill`, or abandons the fill and
    /// answers with the hit. Meanwhile no other request is asked to renew the entry.
    Refresh(Fill, Hit<'a>),
    /// Send it to the application, and report the response to the cache.
    Fill(Fill),
    /// Hold it until [`Cache::pop_woken`] returns it.
    Wait(FillWait),
    /// Answer it with 504: it accepts only a stored response (RFC 9111, section 5.2.1.7).
    OnlyIfCached,
    /// Send it to the application, bypassing the cache.
    Pass(Pass),
}

impl Cache {
    /// Looks up a request at the monotonic time `now`. `waiter` identifies it if it has to wait. Allocates only for a fill
    /// or a wait.
    pub fn lookup(&mut self, now: Duration, request: &Request<'_>, waiter: u64) -> Lookup<'_> {
        self.statistics.lookups += 1;
        let (fields, asked, found) = match self.seek(now, request) {
            Ok(found) => found,
            Err(reason) => return self.pass(reason),
        };
        if let Some(id) = found {
            let renewal = self.begin_renewal(now, id, request, &fields);
            let hit = self.hit(now, id, request, &fields);
            return match renewal {
                Some(fill) => Lookup::Refresh(fill, hit),
                None => Lookup::Hit(hit),
            };
        }
        self.miss(now, request, &fields, &asked, waiter)
    }

    /// Returns the stored answer to a request. If there is none, nothing is counted, and the request is still to be
    /// looked up.
    pub fn find_stored(&mut self, now: Duration, request: &Request<'_>) -> Option<Hit<'_>> {
        let (fields, _, found) = self.seek(now, request).ok()?;
        let id = found?;
        self.statistics.lookups += 1;
        Some(self.hit(now, id, request, &fields))
    }

    /// Whether the answer is stored to a request that may not fill. If it is not, counts the request as a [`Pass`].
    pub fn is_stored(&mut self, now: Duration, request: &Request<'_>) -> bool {
        let reason = match self.seek(now, request) {
            Ok((_, _, Some(_))) => return true,
            Ok(_) => Pass::Pipelined,
            Err(reason) => reason,
        };
        self.statistics.lookups += 1;
        self.statistics.count_pass(reason);
        false
    }

    /// Reads a request's fields and finds the entry that answers it.
    fn seek<'a>(
        &mut self,
        now: Duration,
        request: &Request<'a>,
    ) -> Result<(RequestFields<'a>, RequestDirectives, Option<usize>), Pass> {
        let fields = self.admit(request)?;
        let asked = self.read_directives(request, &fields);
        if asked.no_store {
            return Err(Pass::NoStore);
        }
        let found = self.find(now, request, &fields, &asked);
        Ok((fields, asked, found))
    }

    /// Checks whether the cache handles such a request, and writes its key.
    fn admit<'a>(&mut self, request: &Request<'a>) -> Result<RequestFields<'a>, Pass> {
        let Request { secure, target, .. } = *request;
        let refused = |is: bool, reason| if is { Err(reason) } else { Ok(()) };
        refused(self.settings.mode == Mode::Off, Pass::Off)?;
        refused(!matches!(request.method, Method::Get | Method::Head), Pass::Method)?;
        refused(request.body, Pass::Body)?;
        refused(request.certificate, Pass::Certificate)?;
        refused(request.authenticated, Pass::Authenticated)?;
        let fields = RequestFields::read(request.lines, &mut self.keyed);
        for (bit, reason) in SPECIAL {
            refused(fields.has(bit), reason)?;
        }
        let authority = fields.host.unwrap_or_default();
        refused(!key::is_normal(authority, secure), Pass::Authority)?;
        refused(key::path(target, secure, authority).is_none(), Pass::Target)?;
        if !request.server_name.is_empty() {
            let (host, _) = split_port(authority);
            refused(!host.eq_ignore_ascii_case(request.server_name), Pass::ServerName)?;
        }
        key::write_uri(&mut self.key, secure, authority, target);
        self.key.extend_from_slice(&self.keyed);
        Ok(fields)
    }

    fn read_directives(
        &self,
        request: &Request<'_>,
        fields: &RequestFields<'_>,
    ) -> RequestDirectives {
        if self.settings.obey_requests && fields.has(seen::CONTROL) {
            RequestDirectives::read(field_lines(request.lines))
        } else {
            RequestDirectives::default()
        }
    }

    /// Finds the entry that answers a request.
    fn find(
        &mut self,
        now: Duration,
        request: &Request<'_>,
        fields: &RequestFields<'_>,
        asked: &RequestDirectives,
    ) -> Option<usize> {
        let resource = self.store.find(&self.key)?;
        let id = self.store.select(resource, request.lines, &mut self.values)?;
        let entry = &self.store.node(id)?.entry;
        let usable = now < entry.usable_until
            && entry.permits(fields.credentials)
            && is_acceptable(entry, now, asked);
        usable.then_some(id)
    }

    /// Begins a fill for this request if its entry is due for renewal and no other request renews it. A conditional
    /// request may yield a 304, which renews nothing.
    fn begin_renewal(
        &mut self,
        now: Duration,
        id: usize,
        request: &Request<'_>,
        fields: &RequestFields<'_>,
    ) -> Option<Fill> {
        if request.method != Method::Get || self.is_conditional(fields) {
            return None;
        }
        let node = self.store.node_mut(id)?;
        let due =
            if self.settings.early_refresh { node.entry.early } else { node.entry.fresh_until };
        if now < due || now < node.renew_from {
            return None;
        }
        node.renew_from = now.saturating_add(self.settings.max_wait);
        let role = Role { renews: Some(node.serial), records_hit_for_miss: true, joinable: false };
        self.statistics.refreshes += 1;
        Some(self.begin_fill(now, request, fields, role))
    }

    fn hit(
        &mut self,
        now: Duration,
        id: usize,
        request: &Request<'_>,
        fields: &RequestFields<'_>,
    ) -> Hit<'_> {
        let entry = self.store.touch(id);
        let stale = now >= entry.fresh_until;
        let answer = if fields.has(seen::CONDITION) && entry.is_not_modified(request.lines) {
            self.statistics.not_modified += 1;
            Answer::NotModified
        } else if request.method == Method::Head {
            Answer::Head
        } else {
            Answer::Whole
        };
        self.statistics.hits += 1;
        self.statistics.stale += u64::from(stale);
        Hit { entry, answer, age: entry.age(now), stale }
    }

    fn miss(
        &mut self,
        now: Duration,
        request: &Request<'_>,
        fields: &RequestFields<'_>,
        asked: &RequestDirectives,
        waiter: u64,
    ) -> Lookup<'static> {
        if asked.only_if_cached {
            self.statistics.only_if_cached += 1;
            return Lookup::OnlyIfCached;
        }
        if request.method == Method::Head {
            return self.pass(Pass::Head);
        }
        let alone = Role::default();
        let role = if *asked == RequestDirectives::default() {
            if let Some(wait) = self.find_fill(request, fields) {
                return self.join(now, wait, request, waiter);
            }
            let hash = self.store.hash(&self.key, fields.credentials);
            match self.hits_for_miss.get(hash, now) {
                HitForMiss::Active => return self.pass(Pass::Uncacheable),
                // An endless response would be collected again and again.
                HitForMiss::Expired if self.is_arriving(now, fields) => {
                    return self.pass(Pass::Uncacheable);
                }
                // It finds out whether that is still so; the others do not wait for it.
                HitForMiss::Expired => {
                    self.hits_for_miss.set(hash, now.saturating_add(self.settings.uncacheable_for));
                    Role { records_hit_for_miss: true, ..alone }
                }
                HitForMiss::None if self.is_conditional(fields) => alone,
                HitForMiss::None if self.count_joinable_fills() >= self.settings.max_variants => {
                    return self.pass(Pass::Variants);
                }
                HitForMiss::None => {
                    Role { joinable: true, records_hit_for_miss: true, renews: None }
                }
            }
        } else {
            // It wants something newer than others do.
            alone
        };
        self.statistics.misses += 1;
        Lookup::Fill(self.begin_fill(now, request, fields, role))
    }

    /// Whether the application may answer it with 304.
    fn is_conditional(&self, fields: &RequestFields<'_>) -> bool {
        fields.has(seen::CONDITION) && !self.settings.hides_conditions
    }

    /// Counts the fills of this key that requests may wait for.
    fn count_joinable_fills(&self) -> usize {
        let resource = self.store.find(&self.key).and_then(|at| self.store.resource(at));
        resource.map_or(0, |resource| resource.joinable_fills.len())
    }

    /// Whether a detached fill for such a request has received a head and can still be stored.
    fn is_arriving(&self, now: Duration, fields: &RequestFields<'_>) -> bool {
        let resource = self.store.find(&self.key).and_then(|at| self.store.resource(at));
        let detached = resource.map_or(&[][..], |resource| &resource.detached_fills);
        detached.iter().filter_map(|&index| self.fills.at(index)).any(|(_, pending)| {
            let usable = |builder: &EntryBuilder| now < builder.usable_until();
            pending.credentials == fields.credentials && pending.entry.as_ref().is_some_and(usable)
        })
    }

    /// Finds the fill whose response answers this request, too.
    fn find_fill(&mut self, request: &Request<'_>, fields: &RequestFields<'_>) -> Option<FillWait> {
        let resource = self.store.resource(self.store.find(&self.key)?)?;
        let (fills, values) = (&self.fills, &mut self.values);
        resource.joinable_fills.iter().find_map(|&index| {
            let (fill, pending) = fills.at(index)?;
            pending.vary.write_values(request.lines, values);
            let fits = pending.credentials == fields.credentials && *pending.values == values[..];
            fits.then_some(FillWait(fill))
        })
    }

    fn join(
        &mut self,
        now: Duration,
        wait: FillWait,
        request: &Request<'_>,
        waiter: u64,
    ) -> Lookup<'static> {
        if request.waits >= MAX_WAITS {
            return self.pass(Pass::Waited);
        }
        if self.waiting >= self.settings.max_waiters {
            return self.pass(Pass::Waiters);
        }
        let index = wait.0.index();
        if let Some(pending) = self.fills.at_mut(index) {
            let release = pending.body_deadline();
            if release.is_some_and(|at| at <= now) {
                self.detach(index, now);
                return self.pass(Pass::Uncacheable);
            }
            pending.waiters.push(waiter);
            if pending.deadline.is_none() {
                let limit = now.saturating_add(self.settings.max_wait);
                self.set_deadline(index, Some(release.map_or(limit, |at| at.min(limit))));
            }
            self.waiting += 1;
        }
        self.statistics.waits += 1;
        Lookup::Wait(wait)
    }

    /// Removes a waiting request whose client has gone.
    pub fn leave(&mut self, wait: FillWait, waiter: u64) {
        let Ok(pending) = self.fills.get(wait.0) else { return };
        let Some(at) = pending.waiters.iter().position(|&waiting| waiting == waiter) else {
            return;
        };
        pending.waiters.swap_remove(at);
        self.waiting -= 1;
        if pending.waiters.is_empty() {
            self.set_deadline(wait.0.index(), None);
        }
    }

    fn begin_fill(
        &mut self,
        now: Duration,
        request: &Request<'_>,
        fields: &RequestFields<'_>,
        role: Role,
    ) -> Fill {
        let at = self.store.find_or_add(&self.key);
        let vary = self.store.last_vary(at);
        let resource = self.store.resource_mut(at);
        let key = resource.as_ref().map(|found| found.key.clone()).unwrap_or_default();
        let mut pending = PendingFill::new(key, request.lines, now, role);
        vary.write_values(request.lines, &mut self.values);
        (pending.vary, pending.values) = (vary, self.values.as_slice().into());
        (pending.credentials, pending.resource) = (fields.credentials, Some(at));
        let fill = self.fills.insert(pending);
        if let Some(resource) = resource {
            let list = if role.joinable {
                &mut resource.joinable_fills
            } else {
                &mut resource.detached_fills
            };
            list.push(fill.index());
        }
        fill
    }
}

/// Whether an entry is fresh enough for the directives of a request (RFC 9111, section 5.2.1). With `max-age` or
/// `min-fresh`, a stale entry is not.
fn is_acceptable(entry: &Entry, now: Duration, asked: &RequestDirectives) -> bool {
    let limited = asked.max_age.is_some() || asked.min_fresh.is_some();
    !asked.no_cache
        && (!limited || now < entry.fresh_until)
        && asked.max_age.is_none_or(|seconds| entry.age(now) <= seconds)
        && asked.min_fresh.is_none_or(|seconds| entry.fresh_for(now).as_secs() >= seconds)
}
