//! Random programs against a naive model: what is stored, who leads, who waits, and who leaves first for want of room.

use std::time::Duration;

use crate::origin::{DATE, HOST, Site, get, seconds, settings};
use millrace_cache::{
    Fill, Lookup, NotStored, Pass, Request, Response, Selection, Settings, Target, Then,
};
use millrace_http::h1::Method;
use proptest::prelude::*;

const TARGETS: [&str; 6] = ["/0", "/1", "/2", "/v0", "/v1", "/v2"];
const MAX_BYTES: usize = 8000;
const MAX_WAITERS: usize = 3;
const MAX_VARIANTS: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    /// A request for a target, with a value of the field that the last three of them vary by.
    Ask {
        target: usize,
        value: usize,
    },
    /// The response to one of those that lead: so many bytes, fresh for so many seconds.
    Answer {
        which: usize,
        bytes: usize,
        fresh: u64,
    },
    /// Its client leaves.
    Abort {
        which: usize,
    },
    Post {
        target: usize,
    },
    Clear,
    Pass {
        milliseconds: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let answer = (any::<usize>(), 0..2500_usize, 1..6_u64);
    prop_oneof![
        12 => (0..TARGETS.len(), 0..4_usize).prop_map(|(target, value)| Step::Ask { target, value }),
        8 => answer.prop_map(|(which, bytes, fresh)| Step::Answer { which, bytes, fresh }),
        2 => any::<usize>().prop_map(|which| Step::Abort { which }),
        1 => (0..TARGETS.len()).prop_map(|target| Step::Post { target }),
        1 => Just(Step::Clear),
        3 => (0..1500_u64).prop_map(|milliseconds| Step::Pass { milliseconds }),
    ]
}

#[derive(Debug)]
struct Stored {
    target: usize,
    value: usize,
    body: String,
    until: Duration,
    cost: usize,
}

#[derive(Debug)]
struct Flight {
    lead: Fill,
    target: usize,
    /// Of the request that leads.
    value: usize,
    /// It speaks for requests with this value alone.
    speaks_for: Option<usize>,
    /// Waiter, its value, how often it has waited.
    waiters: Vec<(u64, usize, u8)>,
    /// Invalidated: it is no longer listed.
    void: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Is {
    Hit(String),
    Lead,
    Wait,
    Pass(Pass),
}

/// Lists and searches, as simple as can be.
#[derive(Debug, Default)]
struct Model {
    /// Used last first.
    stored: Vec<Stored>,
    flights: Vec<Flight>,
    /// The order in which variants were stored, the last first.
    order: Vec<(usize, usize)>,
}

fn varies(target: usize) -> bool {
    target >= 3
}

impl Model {
    fn bytes(&self) -> usize {
        self.stored.iter().map(|stored| stored.cost).sum()
    }

    fn waiting(&self) -> usize {
        self.flights.iter().map(|flight| flight.waiters.len()).sum()
    }

    fn ask(&mut self, target: usize, value: usize, waits: u8, now: Duration) -> Is {
        let fits =
            |stored: &Stored| stored.target == target && (!varies(target) || stored.value == value);
        if let Some(at) = self.stored.iter().position(fits)
            && now < self.stored[at].until
        {
            let stored = self.stored.remove(at);
            let body = stored.body.clone();
            self.stored.insert(0, stored);
            return Is::Hit(body);
        }
        let listed = |flight: &&Flight| flight.target == target && !flight.void;
        let joined = self
            .flights
            .iter()
            .filter(listed)
            .any(|flight| flight.speaks_for.is_none_or(|for_value| for_value == value));
        if joined {
            return match () {
                () if waits >= 2 => Is::Pass(Pass::Waited),
                () if self.waiting() >= MAX_WAITERS => Is::Pass(Pass::Waiters),
                () => Is::Wait,
            };
        }
        if self.flights.iter().filter(listed).count() >= MAX_VARIANTS {
            return Is::Pass(Pass::Variants);
        }
        Is::Lead
    }

    /// What a lead speaks for: it is known what a target varies by as long as a response to it is there.
    fn speaks_for(&self, target: usize, value: usize) -> Option<usize> {
        let known = self.stored.iter().any(|stored| stored.target == target);
        (varies(target) && known).then_some(value)
    }

    fn join(&mut self, target: usize, waiter: (u64, usize, u8)) {
        let fits = |flight: &&mut Flight| {
            flight.target == target
                && !flight.void
                && flight.speaks_for.is_none_or(|value| value == waiter.1)
        };
        self.flights.iter_mut().find(fits).expect("a flight").waiters.push(waiter);
    }

    /// Those used longest ago leave until so much has room.
    fn make_room(&mut self, bytes: usize) -> bool {
        while self.bytes() + bytes > MAX_BYTES {
            if self.stored.pop().is_none() {
                return false;
            }
        }
        true
    }

    fn store(&mut self, stored: Stored) {
        let (target, value) = (stored.target, stored.value);
        let same = |old: (usize, usize)| old.0 == target && (!varies(target) || old.1 == value);
        self.stored.retain(|old| !same((old.target, old.value)));
        self.stored.insert(0, stored);
        let present: Vec<_> = self.stored.iter().map(|old| (old.target, old.value)).collect();
        self.order.retain(|&old| !same(old) && present.contains(&old));
        self.order.insert(0, (target, value));
        let of_target = self.order.iter().filter(|old| old.0 == target);
        if let Some(&surplus) = of_target.clone().nth(MAX_VARIANTS) {
            self.stored.retain(|old| (old.target, old.value) != surplus);
            self.order.retain(|&old| old != surplus);
        }
    }
}

struct Program {
    site: Site,
    model: Model,
    next_waiter: u64,
    next_body: usize,
}

impl Program {
    fn new() -> Self {
        let settings = Settings {
            max_bytes: MAX_BYTES,
            max_waiters: MAX_WAITERS,
            max_variants: MAX_VARIANTS,
            ..settings()
        };
        Self { site: Site::new(settings), model: Model::default(), next_waiter: 0, next_body: 0 }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Ask { target, value } => {
                self.next_waiter += 1;
                self.ask(target, (self.next_waiter, value, 0));
            }
            Step::Answer { which, bytes, fresh } => self.answer(which, bytes, fresh),
            Step::Abort { which } => {
                if let Some(flight) = self.take_flight(which) {
                    self.site.cache.abandon(flight.lead, self.site.now, NotStored::Aborted);
                    self.wake(&flight, Then::LookUp);
                }
            }
            Step::Post { target } => {
                let request = Request { method: Method::Post, ..get(TARGETS[target], HOST) };
                let count = self.site.cache.invalidate(&request, 200, b"");
                self.invalidate(count, |at| at == target);
            }
            Step::Clear => {
                let all = Selection { secure: None, authority: None, target: Target::Prefix(b"") };
                let count = self.site.cache.delete(&all);
                self.invalidate(count, |_| true);
            }
            Step::Pass { milliseconds } => self.site.now += Duration::from_millis(milliseconds),
        }
        let (now, model) = (self.site.statistics(), &self.model);
        assert!(now.bytes + now.buffered_bytes <= MAX_BYTES);
        assert_eq!((now.bytes, now.entries), (model.bytes(), model.stored.len()));
        assert_eq!((now.fills, now.waiting), (model.flights.len(), model.waiting()));
        assert_eq!(now.buffered_bytes, 0);
        let passes: u64 = Pass::ALL.iter().map(|&reason| now.passes(reason)).sum();
        assert_eq!(now.lookups, now.hits + now.misses + now.waits + now.only_if_cached + passes);
    }

    fn ask(&mut self, target: usize, waiter: (u64, usize, u8)) {
        let (number, value, waits) = waiter;
        let now = self.site.now;
        let expected = self.model.ask(target, value, waits, now);
        let fields = format!("X-V: {value}\r\n");
        let (is, lead) = match self.site.wait(TARGETS[target], &fields, number, waits) {
            Lookup::Hit(hit) => (Is::Hit(String::from_utf8_lossy(hit.body()).into()), None),
            Lookup::Fill(lead) => (Is::Lead, Some(lead)),
            Lookup::Wait(_) => (Is::Wait, None),
            Lookup::Pass(reason) => (Is::Pass(reason), None),
            other => panic!("{other:?}"),
        };
        assert_eq!(is, expected);
        if let Some(lead) = lead {
            let speaks_for = self.model.speaks_for(target, value);
            let waiters = Vec::new();
            let flight = Flight { lead, target, value, speaks_for, waiters, void: false };
            self.model.flights.push(flight);
        } else if is == Is::Wait {
            self.model.join(target, waiter);
        }
    }

    fn take_flight(&mut self, which: usize) -> Option<Flight> {
        let count = self.model.flights.len();
        (count > 0).then(|| self.model.flights.remove(which % count))
    }

    fn answer(&mut self, which: usize, bytes: usize, fresh: u64) {
        let Some(flight) = self.take_flight(which) else { return };
        let (now, wall) = (self.site.now, self.site.wall);
        self.next_body += 1;
        let number = self.next_body.to_string();
        let body = format!("{number}{}", "x".repeat(bytes));
        let vary = if varies(flight.target) { "Vary: X-V\r\n" } else { "" };
        let head = format!("HTTP/1.1 200 OK\r\n{DATE}Cache-Control: max-age={fresh}\r\n{vary}");
        let response = Response { head: head.as_bytes(), duration: None };
        let cache = &mut self.site.cache;
        let begun = cache.begin(flight.lead, now, wall, &response);
        if flight.void {
            assert_eq!(begun, Err(NotStored::Invalidated));
            return;
        }
        assert_eq!(begun, Ok(()));
        // What is collected counts as well.
        assert!(self.model.make_room(cache.statistics().buffered_bytes));
        for part in body.as_bytes().chunks(1000) {
            cache.append(flight.lead, now, part).expect("it has room");
            assert!(self.model.make_room(cache.statistics().buffered_bytes));
        }
        cache.finish(flight.lead, now).expect("it has room");
        let cost = cost(flight.target, body.len());
        assert!(self.model.make_room(cost));
        let until = now + Duration::from_secs(fresh);
        let (target, value) = (flight.target, flight.value);
        self.model.store(Stored { target, value, body, until, cost });
        self.wake(&flight, Then::LookUp);
    }

    fn invalidate(&mut self, count: usize, is: impl Fn(usize) -> bool) {
        let before = self.model.stored.len();
        self.model.stored.retain(|stored| !is(stored.target));
        assert_eq!(count, before - self.model.stored.len());
        let mut woken = Vec::new();
        for flight in self.model.flights.iter_mut().filter(|flight| is(flight.target)) {
            flight.void = true;
            let waiters = std::mem::take(&mut flight.waiters);
            woken.extend(waiters.into_iter().map(|waiter| (flight.target, waiter)));
        }
        let mut found = self.site.woken();
        assert!(found.iter().all(|woken| woken.then == Then::LookUp));
        found.sort_by_key(|woken| woken.waiter);
        woken.sort_by_key(|&(_, (waiter, ..))| waiter);
        let numbers = |(_, (waiter, ..)): &(usize, (u64, usize, u8))| *waiter;
        let expected: Vec<u64> = woken.iter().map(numbers).collect();
        assert_eq!(found.iter().map(|woken| woken.waiter).collect::<Vec<_>>(), expected);
        for (target, (number, value, waits)) in woken {
            self.ask(target, (number, value, waits + 1));
        }
    }

    /// All that waited are told, in their order, and are looked up again.
    fn wake(&mut self, flight: &Flight, then: Then) {
        let found = self.site.woken();
        assert!(found.iter().all(|woken| woken.then == then));
        let numbers: Vec<u64> = flight.waiters.iter().map(|&(waiter, ..)| waiter).collect();
        assert_eq!(found.iter().map(|woken| woken.waiter).collect::<Vec<_>>(), numbers);
        for &(number, value, waits) in &flight.waiters {
            self.ask(flight.target, (number, value, waits + 1));
        }
    }
}

/// What an entry costs, from one that is alone.
fn cost(target: usize, body: usize) -> usize {
    let mut site = Site::new(settings());
    let vary = if varies(target) { "Vary: X-V\r\n" } else { "" };
    let fields = format!("Cache-Control: max-age=1\r\n{vary}");
    site.store(TARGETS[target], "X-V: 0\r\n", &fields, &"x".repeat(body));
    site.statistics().bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_cache_does_what_the_model_does(steps in prop::collection::vec(step(), 1..120)) {
        let mut program = Program::new();
        for step in &steps {
            program.run(step);
        }
        // In the end all is given back.
        while !program.model.flights.is_empty() {
            program.run(&Step::Abort { which: 0 });
        }
        program.run(&Step::Clear);
        program.site.now += seconds(100.0);
        let now = program.site.statistics();
        prop_assert_eq!((now.entries, now.bytes, now.fills, now.waiting), (0, 0, 0, 0));
        prop_assert_eq!(program.site.cache.next_deadline(), None);
    }
}
