//! The poller comes back for events, and at its times: never before them.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use millrace_net::{Address, Clock, Monotonic, Nanos, Poller, Stream, Wake, cpu};
use mio::Token;

/// Longer than anything here takes: a wait that ends this late was not woken.
const LATE: Duration = Duration::from_secs(10);

#[test]
fn a_precise_time_is_kept_between_the_milliseconds() {
    let mut poller = Poller::new(8).unwrap();
    let clock = Monotonic::new();
    for micros in [20, 100, 900, 1_500, 2_700, 5_100] {
        let before = clock.now();
        let precise = before + Duration::from_micros(micros);
        let wake = Wake { precise, coarse: before + LATE };
        let now = poller.wait(&clock, before, wake).unwrap();
        assert!(now >= precise, "{:?} too early", precise.since(now));
        assert!(now < before + LATE, "not woken");
        assert_eq!(poller.events().count(), 0, "the timer's event is the poller's own");
    }
}

#[test]
fn a_precise_time_that_is_near_or_past_is_not_slept_for() {
    let mut poller = Poller::new(8).unwrap();
    let clock = Monotonic::new();
    for offset in [0, 5] {
        let before = clock.now();
        let wake = Wake { precise: before + Duration::from_micros(offset), coarse: before + LATE };
        assert!(poller.wait(&clock, before, wake).unwrap() < before + LATE);
    }
    let before = clock.now();
    let wake = Wake { precise: Nanos(0), coarse: before + LATE };
    assert!(poller.wait(&clock, before, wake).unwrap() < before + LATE);
}

#[test]
fn a_coarse_time_is_not_cut_short() {
    let mut poller = Poller::new(8).unwrap();
    let clock = Monotonic::new();
    for micros in [300, 1_000, 2_200] {
        let before = clock.now();
        let coarse = before + Duration::from_micros(micros);
        let wake = Wake { precise: Nanos::NEVER, coarse };
        assert!(poller.wait(&clock, before, wake).unwrap() >= coarse);
    }
}

#[test]
fn a_coarse_time_that_comes_first_is_kept() {
    let mut poller = Poller::new(8).unwrap();
    let clock = Monotonic::new();
    let before = clock.now();
    let coarse = before + Duration::from_millis(2);
    let now = poller.wait(&clock, before, Wake { precise: before + LATE, coarse }).unwrap();
    assert!(now >= coarse && now < before + LATE);
}

#[test]
fn a_timer_that_was_overtaken_does_not_end_a_later_precise_wait() {
    let mut poller = Poller::new(8).unwrap();
    let clock = Monotonic::new();
    let before = clock.now();
    let wake = Wake {
        precise: before + Duration::from_millis(20),
        coarse: before + Duration::from_millis(1),
    };
    let now = poller.wait(&clock, before, wake).unwrap();
    let precise = now + Duration::from_millis(40);
    let later = poller.wait(&clock, now, Wake { precise, coarse: now + LATE }).unwrap();
    assert!(later >= precise && later < now + LATE);
}

#[test]
fn an_event_ends_the_wait_before_both_times() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Inet(listener.local_addr().unwrap());
    let mut poller = Poller::new(8).unwrap();
    let clock = Monotonic::new();
    let _stream = Stream::connect(&address, None, None, poller.registry(), Token(3)).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    peer.write_all(b"x").unwrap();
    let mut readable = false;
    while !readable {
        let before = clock.now();
        let wake = Wake { precise: before + LATE, coarse: before + LATE };
        assert!(poller.wait(&clock, before, wake).unwrap() < before + LATE, "not woken");
        let mut tokens = poller.events().map(|event| event.token());
        assert!(tokens.all(|token| token == Token(3)));
        readable = poller.events().any(|event| event.is_readable());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_time_without_a_core_is_known_and_never_shrinks() {
    let queue = cpu::RunQueue::of_this_thread();
    let before = queue.waited().expect("/proc/thread-self/schedstat");
    assert!(queue.waited() >= Some(before));
}

#[test]
fn a_coarse_time_beside_a_precise_one_does_not_make_it_late() {
    let mut poller = Poller::new(8).unwrap();
    let clock = Monotonic::new();
    for earlier in [0, 100] {
        let lateness = (0..50).map(|_| {
            let before = clock.now();
            let precise = before + Duration::from_micros(2_300);
            let coarse = precise - Duration::from_micros(earlier);
            let mut now = before;
            while now < precise {
                now = poller.wait(&clock, now, Wake { precise, coarse: coarse.max(now) }).unwrap();
            }
            now.since(precise)
        });
        // Rounded up to whole milliseconds it would be 700 µs late each time.
        let least = lateness.min().unwrap();
        assert!(least < Duration::from_micros(400), "{least:?} late at best");
    }
}
