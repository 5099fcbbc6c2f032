use proptest::prelude::*;

use super::*;
use crate::metrics::counts::Counts;

const MEASURE_FROM: u64 = 1000;

/// Something that happens to a recorder, some nanoseconds after what happened before.
#[derive(Clone, Debug)]
enum Event {
    /// A request is sent that was due this long ago.
    Send {
        age: u64,
        reused: bool,
    },
    /// One of those in flight ends, by its place.
    Complete {
        place: usize,
        status: u16,
    },
    Lose {
        place: usize,
        loss: Loss,
    },
    Overflow,
    Queue,
    Roll,
}

fn event() -> impl Strategy<Value = Event> {
    let loss = prop_oneof![
        Just(Loss::Timeout),
        Just(Loss::Transport(ErrorKind::Reset)),
        Just(Loss::Transport(ErrorKind::Protocol)),
    ];
    prop_oneof![
        8 => (0..800u64, any::<bool>()).prop_map(|(age, reused)| Event::Send { age, reused }),
        6 => (any::<usize>(), 100..=999u16).prop_map(|(place, status)| Event::Complete { place, status }),
        2 => (any::<usize>(), loss).prop_map(|(place, loss)| Event::Lose { place, loss }),
        1 => Just(Event::Overflow),
        1 => Just(Event::Queue),
        2 => Just(Event::Roll),
    ]
}

/// A request that is due at a time.
fn due(intended: u64) -> Due {
    Due::new(Nanos(intended), 0)
}

/// A recorder, what it has given away, and the requests that it should know.
struct Scene {
    now: u64,
    recorder: Recorder,
    total: WindowStats,
    /// The one that is not in use.
    empty: Box<WindowStats>,
    in_flight: Vec<InFlight>,
    sent: u64,
    warmup: u64,
    /// Times of ended requests and of present ones within the measurement.
    area: u64,
}

impl Scene {
    fn new() -> Self {
        let recorder = Recorder::new(Nanos(MEASURE_FROM));
        let (total, empty, in_flight) = (WindowStats::default(), Box::default(), Vec::new());
        Self { now: 0, recorder, total, empty, in_flight, sent: 0, warmup: 0, area: 0 }
    }

    fn apply(&mut self, event: &Event) {
        let now = Nanos(self.now);
        match *event {
            Event::Send { age, reused } => {
                let request = InFlight {
                    intended: Nanos(self.now.saturating_sub(age)),
                    sent: now,
                    request: 0,
                    user: NO_USER,
                    number: 0,
                };
                let measured = request.intended.0 >= MEASURE_FROM;
                self.sent += u64::from(measured);
                self.warmup += u64::from(!measured);
                self.recorder.sent(&request, reused);
                self.in_flight.push(request);
            }
            Event::Complete { place, status } => {
                if let Some(request) = self.take(place) {
                    self.recorder.completed(&request, now, status);
                }
            }
            Event::Lose { place, loss } => {
                if let Some(request) = self.take(place) {
                    self.recorder.lost(&request, now, loss, || "example".into());
                }
            }
            Event::Overflow => self.recorder.overflowed(&due(now.0)),
            Event::Queue => self.recorder.queued_at_end(&due(now.0), now),
            Event::Roll => {
                let empty = std::mem::take(&mut self.empty);
                self.empty = self.recorder.roll(now, empty);
                self.total += &*self.empty;
                self.empty.clear();
            }
        }
    }

    fn take(&mut self, place: usize) -> Option<InFlight> {
        let place = place.checked_rem(self.in_flight.len())?;
        Some(self.in_flight.swap_remove(place))
    }

    /// What has been counted up to now.
    fn counted(&self) -> Counts {
        let mut counted = self.total.counts.clone();
        counted += &self.recorder.stats.counts;
        counted
    }

    fn pass(&mut self, nanos: u64) {
        let within = (self.now + nanos).saturating_sub(self.now.max(MEASURE_FROM));
        self.area += within * self.in_flight.len() as u64;
        self.now += nanos;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// sent = ended + in flight, at any time.
    #[test]
    fn every_request_is_accounted_for(
        events in prop::collection::vec((0..200u64, event()), 0..120)
    ) {
        let mut scene = Scene::new();
        for (passed, event) in &events {
            scene.pass(*passed);
            scene.apply(event);
            let counts = scene.counted();
            let is_measured = |request: &&InFlight| request.intended.0 >= MEASURE_FROM;
            let in_flight = scene.in_flight.iter().filter(is_measured).count() as u64;
            prop_assert_eq!(counts.sent, scene.sent);
            prop_assert_eq!(counts.warmup, scene.warmup);
            prop_assert_eq!(counts.sent, counts.ended() + in_flight);
            prop_assert_eq!(scene.recorder.in_flight(), scene.in_flight.len() as u64);
        }
        while !scene.in_flight.is_empty() {
            scene.apply(&Event::Lose { place: 0, loss: Loss::InFlightAtEnd });
        }
        scene.apply(&Event::Roll);
        prop_assert!(scene.total.adds_up());
        let counts = &scene.total.counts;
        prop_assert_eq!(counts.in_flight_area, scene.area);
        let of_statuses: u64 = counts.statuses().map(|(_, count)| count).sum();
        prop_assert_eq!(of_statuses, counts.completed());
        let of_kinds: u64 = counts.errors().map(|(_, count, _)| count).sum();
        prop_assert_eq!(of_kinds, counts.transport_errors + counts.timeouts);
        let censored = counts.transport_errors + counts.timeouts + counts.in_flight_at_end;
        prop_assert_eq!(scene.total.service_time.censored(), censored);
    }
}

fn request(intended: u64, sent: u64) -> InFlight {
    let (intended, sent) = (Nanos(intended), Nanos(sent));
    InFlight { intended, sent, request: 0, user: NO_USER, number: 0 }
}

fn measuring() -> Recorder {
    Recorder::new(Nanos(0))
}

#[test]
fn latency_begins_when_a_request_was_due_and_service_time_when_it_was_sent() {
    let mut recorder = measuring();
    let request = request(100, 250);
    recorder.sent(&request, false);
    recorder.completed(&request, Nanos(400), 200);
    assert_eq!(recorder.stats.latency.total(), Duration::from_nanos(300));
    assert_eq!(recorder.stats.service_time.total(), Duration::from_nanos(150));
}

#[test]
fn a_request_that_failed_is_recorded_at_its_age() {
    let mut recorder = measuring();
    let request = request(100, 250);
    recorder.sent(&request, false);
    recorder.lost(&request, Nanos(1250), Loss::Timeout, || "late".into());
    let WindowStats { counts, latency, service_time, .. } = &*recorder.stats;
    assert_eq!((latency.total(), latency.censored()), (Duration::from_nanos(1150), 1));
    assert_eq!((service_time.total(), service_time.censored()), (Duration::from_nanos(1000), 1));
    assert_eq!(counts.errors().collect::<Vec<_>>(), [(ErrorKind::Timeout, 1, Some("late"))]);
}

#[test]
fn statuses_below_400_are_no_errors() {
    let mut recorder = measuring();
    for status in [100, 200, 304, 399, 400, 503, 999, 503] {
        let request = request(0, 0);
        recorder.sent(&request, false);
        recorder.completed(&request, Nanos(1), status);
    }
    let counts = &recorder.stats.counts;
    assert_eq!((counts.ok, counts.status_errors), (4, 4));
    let statuses: Vec<_> = counts.statuses().collect();
    assert_eq!(statuses, [(100, 1), (200, 1), (304, 1), (399, 1), (400, 1), (503, 2), (999, 1)]);
}

#[test]
fn the_first_example_of_each_kind_is_kept() {
    let mut recorder = measuring();
    recorder.connect_failed(ErrorKind::ConnectRefused, "first".into());
    recorder.connect_failed(ErrorKind::ConnectRefused, "second".into());
    recorder.connect_failed(ErrorKind::Tls, "other".into());
    let counts = &recorder.stats.counts;
    assert_eq!((counts.failed, counts.connect_failed), (3, 0));
    assert_eq!(
        counts.errors().collect::<Vec<_>>(),
        [(ErrorKind::ConnectRefused, 2, Some("first")), (ErrorKind::Tls, 1, Some("other"))]
    );
}

#[test]
fn handshakes_are_told_apart() {
    let mut recorder = measuring();
    let nanos = Duration::from_nanos;
    let mut opened = |connect, tls, resumed| {
        recorder.opened(Opened { connect, tls, resumed, http2: false });
    };
    opened(nanos(5), nanos(0), None);
    opened(nanos(6), nanos(20), Some(false));
    opened(nanos(7), nanos(10), Some(true));
    let WindowStats { counts, connect, tls, .. } = &*recorder.stats;
    assert_eq!((counts.opened, counts.tls_full, counts.tls_resumed), (3, 1, 1));
    assert_eq!((connect.count(), connect.total()), (3, nanos(18)));
    assert_eq!((tls.count(), tls.total()), (2, nanos(30)));
}

#[test]
fn lateness_is_from_the_time_due_to_the_attempt() {
    let mut recorder = Recorder::new(Nanos(MEASURE_FROM));
    recorder.offered(Nanos(MEASURE_FROM - 1), Nanos(5000));
    recorder.offered(Nanos(MEASURE_FROM), Nanos(1700));
    let WindowStats { counts, lateness, .. } = &*recorder.stats;
    assert_eq!(counts.offered, 1);
    assert_eq!((lateness.count(), lateness.total()), (1, Duration::from_nanos(700)));
}

#[test]
fn what_a_schedule_made_due_was_sent_or_has_a_reason() {
    let mut recorder = measuring();
    (0..5).for_each(|intended| recorder.offered(Nanos(intended), Nanos(9)));
    recorder.sent(&request(0, 9), false);
    recorder.overflowed(&due(1));
    recorder.queued_at_end(&due(2), Nanos(9));
    recorder.unconnected(&due(3));
    assert!(!recorder.stats.schedule_adds_up(), "one is missing");
    recorder.unconnected(&due(4));
    assert!(recorder.stats.schedule_adds_up());
    recorder.gave_up(0, 100, true);
    assert!(recorder.stats.schedule_adds_up());
    assert_eq!(recorder.stats.counts.connect_failed, 102);
    // A closed run offers nothing.
    recorder.gave_up(0, 10, false);
    assert!(!recorder.stats.schedule_adds_up());
}

/// A measuring recorder for requests 0 and 1 with name 0, and request 2 with name 1.
fn named() -> Recorder {
    let mut plan = crate::plan::tests::plan();
    let request = plan.requests[0].clone();
    plan.requests = [0, 0, 1].map(|name| Request { name, ..request.clone() }).to_vec();
    plan.names = 2;
    let bound = |service_time, nanos| crate::plan::Bound {
        service_time,
        time: Duration::from_nanos(nanos),
    };
    plan.bounds = vec![bound(false, 10), bound(true, 4)];
    let mut recorder = Recorder::new(Nanos(MEASURE_FROM)).for_plan(&plan);
    recorder.measure_from(Nanos(MEASURE_FROM));
    recorder
}

#[test]
fn requests_are_counted_by_name_if_they_are_measured() {
    let mut recorder = named();
    let in_flight = |index, intended: u64| InFlight {
        request: index,
        ..request(MEASURE_FROM + intended, MEASURE_FROM + intended + 3)
    };
    let early = InFlight { intended: Nanos(0), ..in_flight(2, 0) };
    for request in [in_flight(0, 0), in_flight(1, 1), in_flight(2, 2), early] {
        recorder.sent(&request, false);
        recorder.bytes_sent_for(&request, 100);
    }
    let at = |nanos| Nanos(MEASURE_FROM + nanos);
    recorder.completed(&in_flight(0, 0), at(5), 200);
    assert!(recorder.wants(KeepReason::Status(500), &in_flight(1, 1)));
    recorder.keep(KeepReason::Status(500), &in_flight(1, 1), [b"one", b""]);
    recorder.completed(&in_flight(1, 1), at(21), 500);
    let reset = Loss::Transport(ErrorKind::Reset);
    recorder.lost(&in_flight(2, 2), at(9), reset, String::new);
    recorder.completed(&early, at(9), 500);
    // Of this status one is kept, and none of this name.
    assert!(recorder.wants(KeepReason::Status(500), &in_flight(2, 2)));
    recorder.keep(KeepReason::Status(500), &in_flight(2, 2), [b"two", b""]);
    assert_eq!(recorder.stats.kept.len(), 1);

    let above: Vec<_> = recorder.counts_by_name().into_iter().map(|counts| counts.above).collect();
    let names = recorder.take_names();
    let [first, second] = &names[..] else { panic!("{} names", names.len()) };
    assert_eq!((first.counts.sent, first.counts.ok, first.counts.status_errors), (2, 1, 1));
    assert_eq!((first.counts.ended(), second.counts.ended()), (2, 1));
    assert_eq!((first.counts.bytes_sent, second.counts.bytes_sent), (200, 100));
    // Sent 3 ns after they were due: 5, 20 and 7 ns of latency, 2, 17 and 4 of service time.
    assert_eq!(above, [vec![1, 1], vec![0, 0]]);
    assert_eq!(first.counts.statuses, [(200, 1), (500, 1)]);
    assert_eq!(first.counts.latency, Duration::from_nanos(25));
    assert_eq!(first.failing.as_ref().map(|kept| &*kept.bytes), Some(&b"one"[..]));
    assert_eq!(second.failing.as_ref().map(|kept| &*kept.bytes), Some(&b"two"[..]));
    assert_eq!(second.counts.errors().collect::<Vec<_>>(), [(ErrorKind::Reset, 1)]);
    assert_eq!(second.latency.to_histogram().censored(), 1);
}

#[test]
fn what_was_not_sent_is_counted_by_name_if_it_is_measured() {
    let mut recorder = named();
    let at = |intended, request| Due::new(Nanos(intended), request);
    for intended in [MEASURE_FROM - 1, MEASURE_FROM] {
        recorder.overflowed(&at(intended, 0));
        recorder.overflowed(&at(intended, 1));
        recorder.queued_at_end(&at(intended, 2), Nanos(MEASURE_FROM + 9));
        recorder.unconnected(&at(intended, 2));
    }
    recorder.gave_up(1, 5, true);
    let names = recorder.take_names();
    let not_sent = names.iter().map(|stats| {
        let counts = &stats.counts;
        (counts.overflow, counts.queued_at_end, counts.connect_failed)
    });
    assert_eq!(not_sent.collect::<Vec<_>>(), [(2, 0, 5), (0, 1, 1)]);
    assert_eq!(names[1].latency.to_histogram().censored(), 1);
    // Snapshots sum up what has ended.
    assert_eq!(names[1].counts.latency, Duration::ZERO);
}

#[test]
fn the_figures_of_two_workers_add_up_by_name() {
    let record = |count: u64| {
        let mut recorder = named();
        for _ in 0..count {
            let request = request(MEASURE_FROM, MEASURE_FROM);
            recorder.sent(&request, false);
            recorder.completed(&request, Nanos(MEASURE_FROM + 7), 204);
        }
        recorder.take_names()
    };
    let sum = crate::metrics::by_name::add_up(record(2), record(3));
    assert_eq!((sum[0].counts.ok, &sum[0].counts.statuses), (5, &vec![(204, 5)]));
    assert_eq!(sum[0].latency.to_histogram().count(), 5);
    assert_eq!(sum[1].counts.sent, 0);
}
