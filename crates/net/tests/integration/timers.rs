//! Timers come out when they are due, in order.

use std::time::Duration;

use millrace_net::{Clock, ManualClock, Nanos, TimerQueue};

#[test]
fn without_timers_nothing_is_ever_due() {
    let mut timers = TimerQueue::<u32>::default();
    assert_eq!(timers.next(), Nanos::NEVER);
    assert_eq!(timers.pop_due(Nanos(u64::MAX - 1)), None);
}

#[test]
fn a_timer_is_due_at_its_time_and_not_before() {
    let mut timers = TimerQueue::default();
    timers.push(Nanos(10), 'a');
    assert_eq!(timers.next(), Nanos(10));
    assert_eq!(timers.pop_due(Nanos(9)), None);
    assert_eq!(timers.pop_due(Nanos(10)), Some((Nanos(10), 'a')));
    assert_eq!(timers.next(), Nanos::NEVER);
}

#[test]
fn timers_come_in_order_whatever_the_order_they_were_set_in() {
    let mut timers = TimerQueue::default();
    // All of 0..1000, since 7919 and 1000 have no common factor; each time twice.
    for index in 0..1000u64 {
        timers.push(Nanos(index * 7919 % 1000), 1);
        timers.push(Nanos(index * 7919 % 1000), 0);
    }
    for time in 0..1000 {
        assert_eq!(timers.pop_due(Nanos(999)), Some((Nanos(time), 0)));
        assert_eq!(timers.pop_due(Nanos(999)), Some((Nanos(time), 1)));
    }
    assert_eq!(timers.pop_due(Nanos::NEVER), None);
}

#[test]
fn timers_that_are_set_while_others_are_taken_are_in_order_too() {
    let mut timers = TimerQueue::default();
    timers.push(Nanos(5), 'b');
    timers.push(Nanos(20), 'd');
    assert_eq!(timers.pop_due(Nanos(20)), Some((Nanos(5), 'b')));
    timers.push(Nanos(1), 'a');
    timers.push(Nanos(30), 'e');
    assert_eq!(timers.pop_due(Nanos(20)), Some((Nanos(1), 'a')));
    assert_eq!(timers.pop_due(Nanos(20)), Some((Nanos(20), 'd')));
    assert_eq!(timers.pop_due(Nanos(20)), None);
    assert_eq!(timers.next(), Nanos(30));
}

#[test]
fn timers_that_do_not_matter_leave_before_they_are_due() {
    let mut timers = TimerQueue::default();
    for at in 0..10 {
        timers.push(Nanos(at), 0);
    }
    for key in 1..100_000 {
        timers.push(Nanos(1_000_000), key);
        timers.cancel(|_, &other| other == 0 || other > key);
        assert!(timers.len() < 200, "{} after {key}", timers.len());
    }
    for at in 0..10 {
        assert_eq!(timers.pop_due(Nanos(10)), Some((Nanos(at), 0)));
    }
}

#[test]
fn times_do_not_overflow() {
    assert_eq!(Nanos::NEVER + Duration::from_secs(1), Nanos::NEVER);
    assert_eq!(Nanos(5) + Duration::MAX, Nanos::NEVER);
    assert_eq!(Nanos(5) - Duration::from_nanos(6), Nanos(0));
    assert_eq!(Nanos(5).since(Nanos(6)), Duration::ZERO);
    assert_eq!(Nanos(6).since(Nanos(5)), Duration::from_nanos(1));
}

#[test]
fn a_manual_clock_moves_in_all_its_copies() {
    let clock = ManualClock::default();
    let copy = clock.clone();
    clock.advance(Duration::from_millis(3));
    assert_eq!(copy.now(), Nanos(3_000_000));
}
