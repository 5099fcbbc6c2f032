use super::*;

#[test]
fn all_begin_at_the_same_time_after_the_last_has_arrived() {
    let gate = StartBarrier::new(3);
    gate.wait(1, Nanos(10));
    gate.wait(0, Nanos(20));
    assert_eq!(gate.signal(), Signal::Wait);
    gate.wait(0, Nanos(30));
    let start = Nanos(30) + HEAD_START;
    assert_eq!(gate.signal(), Signal::Start(start));
    assert_eq!(gate.signal(), Signal::Start(start));
}

#[test]
fn without_any_connection_nobody_begins() {
    let gate = StartBarrier::new(2);
    gate.wait(0, Nanos(10));
    gate.wait(0, Nanos(20));
    assert_eq!(gate.signal(), Signal::Unreachable);
}

#[test]
fn a_stop_is_seen_at_once_and_by_all() {
    let gate = StartBarrier::new(2);
    assert!(!gate.is_stopped());
    gate.stop();
    assert!(gate.is_stopped());
    assert_eq!(gate.signal(), Signal::Wait);
}
