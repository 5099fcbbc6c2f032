//! What becomes of a request.

use std::time::Duration;

use millrace_http::{Method, field_lines};

use super::Cache;
use crate::collecting::Collecting;
use crate::control::RequestDirectives;
use crate::entry::Entry;
use crate::hit::{Answer, Hit};
use crate::key;
use crate::lead::{Flight, Lead, Leading, Role};
use crate::marks::Mark;
use crate::reason::Pass;
use crate::request::{Fields, Request, seen};
use crate::settings::Mode;

/// A request does not wait more often: what it waited for was not for it.
const MAX_WAITS: u8 = 2;

/// Fields that the cache leaves to the application.
const SPECIAL: [(u16, Pass); 5] = [
    (seen::RANGE, Pass::Range),
    (seen::EXPECT, Pass::Expect),
    (seen::UPGRADE, Pass::Upgrade),
    (seen::PRECONDITION, Pass::Precondition),
    (seen::HOSTS, Pass::Authority),
];

/// What to do with a request.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// Answer it with this.
    Hit(Hit<'a>),
    /// As `Hit`, and the entry is to be renewed: the request goes to the application as well, on behalf of the
    /// cache. Whoever cannot do both sends it to the application alone, as a `Lead`; or gives
    /// the lead up, and keeps the hit. Nobody else is told to renew that entry meanwhile.
    Refresh(Lead, Hit<'a>),
    /// Send it to the application, and tell the cache what comes of it.
    Lead(Lead),
    /// Let it wait until it is among the woken.
    Wait(Flight),
    /// Answer it with 504: it wants nothing but what is stored (RFC 9111, section 5.2.1.7).
    OnlyIfCached,
    /// Send it to the application; the cache has nothing to do with it.
    Pass(Pass),
}

impl Cache {
    /// Looks a request up at the monotonic time `now`. `waiter` names it if it is to wait. Nothing is allocated unless
    /// it is to lead or to wait.
    pub fn lookup(&mut self, now: Duration, request: &Request<'_>, waiter: u64) -> Lookup<'_> {
        self.statistics.lookups += 1;
        let (fields, asked, found) = match self.seek(now, request) {
            Ok(found) => found,
            Err(reason) => return self.pass(reason),
        };
        if let Some(id) = found {
            let renewal = self.renewal(now, id, request, &fields);
            let hit = self.hit(now, id, request, &fields);
            return match renewal {
                Some(lead) => Lookup::Refresh(lead, hit),
                None => Lookup::Hit(hit),
            };
        }
        self.miss(now, request, &fields, &asked, waiter)
    }

    /// The answer to a request, if it is stored. Otherwise nothing has happened, and the request is still to be looked up.
    pub fn find_stored(&mut self, now: Duration, request: &Request<'_>) -> Option<Hit<'_>> {
        let (fields, _, found) = self.seek(now, request).ok()?;
        let id = found?;
        self.statistics.lookups += 1;
        Some(self.hit(now, id, request, &fields))
    }

    /// Whether the answer to a request is stored that may not lead. If not, it is a [`Pass`].
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

    /// What a request's fields say, and the entry that answers it.
    fn seek<'a>(
        &mut self,
        now: Duration,
        request: &Request<'a>,
    ) -> Result<(Fields<'a>, RequestDirectives, Option<usize>), Pass> {
        let fields = self.admit(request)?;
        let asked = self.asked(request, &fields);
        if asked.no_store {
            return Err(Pass::NoStore);
        }
        let found = self.find(now, request, &fields, &asked);
        Ok((fields, asked, found))
    }

    /// Judges whether the cache has to do with such a request at all, and writes its key.
    fn admit<'a>(&mut self, request: &Request<'a>) -> Result<Fields<'a>, Pass> {
        let Request { secure, target, .. } = *request;
        let refused = |is: bool, reason| if is { Err(reason) } else { Ok(()) };
        refused(self.settings.mode == Mode::Off, Pass::Off)?;
        refused(!matches!(request.method, Method::Get | Method::Head), Pass::Method)?;
        refused(request.body, Pass::Body)?;
        refused(request.certificate, Pass::Certificate)?;
        let fields = Fields::read(request.lines);
        for (bit, reason) in SPECIAL {
            refused(fields.has(bit), reason)?;
        }
        let authority = fields.host.unwrap_or_default();
        refused(!key::is_normal(authority, secure), Pass::Authority)?;
        refused(key::path(target, secure, authority).is_none(), Pass::Target)?;
        if !request.server_name.is_empty() {
            let (host, _) = key::split(authority);
            refused(!host.eq_ignore_ascii_case(request.server_name), Pass::ServerName)?;
        }
        key::write(&mut self.key, secure, authority, target);
        Ok(fields)
    }

    fn asked(&self, request: &Request<'_>, fields: &Fields<'_>) -> RequestDirectives {
        if self.settings.obey_requests && fields.has(seen::CONTROL) {
            RequestDirectives::read(field_lines(request.lines))
        } else {
            RequestDirectives::default()
        }
    }

    /// The entry that answers a request.
    fn find(
        &mut self,
        now: Duration,
        request: &Request<'_>,
        fields: &Fields<'_>,
        asked: &RequestDirectives,
    ) -> Option<usize> {
        let resource = self.store.find(&self.key)?;
        let id = self.store.select(resource, request.lines, &mut self.values)?;
        let entry = &self.store.node(id)?.entry;
        let usable = now < entry.usable_until
            && entry.permits(fields.credentials)
            && is_welcome(entry, now, asked);
        usable.then_some(id)
    }

    /// Makes a lead of this request if its entry is to be renewed and it is the one to do so. Of a conditional request
    /// a 304 may come, which renews nothing.
    fn renewal(
        &mut self,
        now: Duration,
        id: usize,
        request: &Request<'_>,
        fields: &Fields<'_>,
    ) -> Option<Lead> {
        if request.method != Method::Get || self.is_conditional(fields) {
            return None;
        }
        let node = self.store.node_mut(id)?;
        let due =
            if self.settings.early_refresh { node.entry.early } else { node.entry.fresh_until };
        if now < due || now < node.renew_from {
            return None;
        }
        node.renew_from = now.saturating_add(self.settings.flight_limit);
        let role = Role { renews: Some(node.serial), marks: true, joinable: false };
        self.statistics.refreshes += 1;
        Some(self.lead(now, request, fields, role))
    }

    fn hit(
        &mut self,
        now: Duration,
        id: usize,
        request: &Request<'_>,
        fields: &Fields<'_>,
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
        fields: &Fields<'_>,
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
            if let Some(flight) = self.flight(request, fields) {
                return self.join(now, flight, request, waiter);
            }
            let hash = self.store.hash(&self.key, fields.credentials);
            match self.marks.get(hash, now) {
                Mark::Set => return self.pass(Pass::Uncacheable),
                // An endless response would be collected again and again.
                Mark::Faded if self.is_arriving(now, fields) => {
                    return self.pass(Pass::Uncacheable);
                }
                // It finds out whether that is still so; the others do not wait for it.
                Mark::Faded => {
                    self.marks.set(hash, now.saturating_add(self.settings.uncacheable_for));
                    Role { marks: true, ..alone }
                }
                Mark::None if self.is_conditional(fields) => alone,
                Mark::None if self.flights() >= self.settings.max_variants => {
                    return self.pass(Pass::Variants);
                }
                Mark::None => Role { joinable: true, marks: true, renews: None },
            }
        } else {
            // It wants something newer than others do.
            alone
        };
        self.statistics.misses += 1;
        Lookup::Lead(self.lead(now, request, fields, role))
    }

    /// The application may answer it with 304.
    fn is_conditional(&self, fields: &Fields<'_>) -> bool {
        fields.has(seen::CONDITION) && !self.settings.hides_conditions
    }

    /// How many variants of what was asked for are awaited.
    fn flights(&self) -> usize {
        let resource = self.store.find(&self.key).and_then(|at| self.store.resource(at));
        resource.map_or(0, |resource| resource.flights.len())
    }

    /// Whether the response to such a request has begun that nobody waits for, and may still be stored.
    fn is_arriving(&self, now: Duration, fields: &Fields<'_>) -> bool {
        let resource = self.store.find(&self.key).and_then(|at| self.store.resource(at));
        let loners = resource.map_or(&[][..], |resource| &resource.loners);
        loners.iter().filter_map(|&index| self.leads.at(index)).any(|(_, leading)| {
            let usable = |collecting: &Collecting| now < collecting.usable_until();
            leading.credentials == fields.credentials
                && leading.collecting.as_ref().is_some_and(usable)
        })
    }

    /// The lead that speaks for such a request as well.
    fn flight(&mut self, request: &Request<'_>, fields: &Fields<'_>) -> Option<Flight> {
        let resource = self.store.resource(self.store.find(&self.key)?)?;
        let (leads, values) = (&self.leads, &mut self.values);
        resource.flights.iter().find_map(|&index| {
            let (lead, leading) = leads.at(index)?;
            leading.vary.write_values(request.lines, values);
            let fits = leading.credentials == fields.credentials && *leading.values == values[..];
            fits.then_some(Flight(lead))
        })
    }

    fn join(
        &mut self,
        now: Duration,
        flight: Flight,
        request: &Request<'_>,
        waiter: u64,
    ) -> Lookup<'static> {
        if request.waits >= MAX_WAITS {
            return self.pass(Pass::Waited);
        }
        if self.waiting >= self.settings.max_waiters {
            return self.pass(Pass::Waiters);
        }
        let index = flight.0.index();
        if let Some(leading) = self.leads.at_mut(index) {
            let release = leading.release();
            if release.is_some_and(|at| at <= now) {
                self.let_go(index, now);
                return self.pass(Pass::Uncacheable);
            }
            leading.waiters.push(waiter);
            if leading.deadline.is_none() {
                let limit = now.saturating_add(self.settings.flight_limit);
                self.set_deadline(index, Some(release.map_or(limit, |at| at.min(limit))));
            }
            self.waiting += 1;
        }
        self.statistics.waits += 1;
        Lookup::Wait(flight)
    }

    /// A request that waits leaves: its client has gone.
    pub fn leave(&mut self, flight: Flight, waiter: u64) {
        let Ok(leading) = self.leads.get(flight.0) else { return };
        let Some(at) = leading.waiters.iter().position(|&waiting| waiting == waiter) else {
            return;
        };
        leading.waiters.swap_remove(at);
        self.waiting -= 1;
        if leading.waiters.is_empty() {
            self.set_deadline(flight.0.index(), None);
        }
    }

    fn lead(
        &mut self,
        now: Duration,
        request: &Request<'_>,
        fields: &Fields<'_>,
        role: Role,
    ) -> Lead {
        let at = self.store.find_or_add(&self.key);
        let vary = self.store.last_vary(at);
        let resource = self.store.resource_mut(at);
        let key = resource.as_ref().map(|found| found.key.clone()).unwrap_or_default();
        let mut leading = Leading::new(key, request.lines, now, role);
        vary.write_values(request.lines, &mut self.values);
        (leading.vary, leading.values) = (vary, self.values.as_slice().into());
        (leading.credentials, leading.resource) = (fields.credentials, Some(at));
        let lead = self.leads.insert(leading);
        if let Some(resource) = resource {
            let list = if role.joinable { &mut resource.flights } else { &mut resource.loners };
            list.push(lead.index());
        }
        lead
    }
}

/// Whether an entry is fresh enough for what the request asks (RFC 9111, section 5.2.1). Whoever asks for a limit does
/// not want a stale one.
fn is_welcome(entry: &Entry, now: Duration, asked: &RequestDirectives) -> bool {
    let limited = asked.max_age.is_some() || asked.min_fresh.is_some();
    !asked.no_cache
        && (!limited || now < entry.fresh_until)
        && asked.max_age.is_none_or(|seconds| entry.age(now) <= seconds)
        && asked.min_fresh.is_none_or(|seconds| entry.fresh_for(now).as_secs() >= seconds)
}
