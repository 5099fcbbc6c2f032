use super::*;

#[test]
fn all_begin_at_the_same_time_after_the_last_has_arrived() {
    let gate = StartBarrier::new(3, None);
    gate.wait(1, Nanos(10));
    gate.wait(0, Nanos(20));
    assert_eq!(gate.signal(Nanos(20)), Signal::Wait);
    gate.wait(0, Nanos(30));
    let start = Nanos(30) + HEAD_START;
    assert_eq!(gate.signal(Nanos(30)), Signal::Start(start));
    assert_eq!(gate.signal(Nanos(40)), Signal::Start(start));
    assert_eq!(gate.lateness(), Duration::ZERO);
}

#[test]
fn a_planned_start_is_waited_for() {
    let planned = Nanos(10) + HEAD_START * 100;
    let gate = StartBarrier::new(1, Some(planned));
    gate.wait(1, Nanos(10));
    assert_eq!(gate.signal(Nanos(20)), Signal::Wait);
    assert_eq!(gate.signal(planned - HEAD_START), Signal::Start(planned));
    assert_eq!(gate.lateness(), Duration::ZERO);
}

#[test]
fn a_planned_start_that_has_passed_is_late() {
    let gate = StartBarrier::new(1, Some(Nanos(1_000)));
    gate.wait(1, Nanos(51_000));
    assert_eq!(gate.signal(Nanos(51_000)), Signal::Start(Nanos(51_000) + HEAD_START));
    assert_eq!(gate.lateness(), HEAD_START + Duration::from_nanos(50_000));
}

#[test]
fn without_any_connection_nobody_begins() {
    let gate = StartBarrier::new(2, None);
    gate.wait(0, Nanos(10));
    gate.wait(0, Nanos(20));
    assert_eq!(gate.signal(Nanos(20)), Signal::Unreachable);
}

#[test]
fn a_stop_is_seen_at_once_and_by_all() {
    let gate = StartBarrier::new(2, None);
    assert!(!gate.is_stopped());
    gate.stop();
    assert!(gate.is_stopped());
    assert_eq!(gate.signal(Nanos(20)), Signal::Wait);
}
