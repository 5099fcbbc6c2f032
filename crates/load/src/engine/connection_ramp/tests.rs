use super::*;

fn stage(millis: u64, connections: usize) -> ConnectionStage {
    ConnectionStage { duration: Duration::from_millis(millis), connections }
}

/// The changes of a ramp, as milliseconds and numbers, beginning with the first number.
fn changes(ramp: &ConnectionRamp) -> Vec<(u64, u64)> {
    let mut all = vec![(0, ramp.count_at(Duration::ZERO))];
    let mut at = Duration::ZERO;
    while let Some(next) = ramp.next_change(at) {
        assert!(next > at, "{next:?} after {at:?}");
        at = next;
        let count = ramp.count_at(at);
        if count != all[all.len() - 1].1 {
            all.push((at.as_millis() as u64, count));
        }
    }
    all
}

#[test]
fn a_ramp_reaches_its_number_in_even_steps_at_the_end_of_the_stage() {
    let ramp = ConnectionRamp::new(1, Duration::ZERO, &[stage(1000, 5)]);
    assert_eq!(changes(&ramp), [(0, 1), (250, 2), (500, 3), (750, 4), (1000, 5)]);
}

#[test]
fn stages_follow_each_other_after_the_warm_up_and_may_fall_hold_and_jump() {
    let stages = [stage(200, 4), stage(100, 4), stage(0, 8), stage(400, 6)];
    let ramp = ConnectionRamp::new(2, Duration::from_millis(1000), &stages);
    let expected = [(0, 2), (1100, 3), (1200, 4), (1300, 8), (1500, 7), (1700, 6)];
    assert_eq!(changes(&ramp), expected);
    assert_eq!(ramp.count_at(Duration::from_secs(3600)), 6);
}

#[test]
fn a_run_without_stages_has_the_first_number_throughout() {
    let ramp = ConnectionRamp::new(7, Duration::from_secs(1), &[]);
    assert_eq!(changes(&ramp), [(0, 7)]);
    assert_eq!(ramp.count_at(Duration::from_secs(9)), 7);
}

#[test]
fn any_ramp_passes_through_every_number_on_its_way() {
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..200 {
        let stages: Vec<_> = (0..random.usize(1..5))
            .map(|_| stage(random.u64(1..5000), random.usize(1..60)))
            .collect();
        let first = random.usize(1..60);
        let ramp = ConnectionRamp::new(first, Duration::ZERO, &stages);
        let all = changes(&ramp);
        for pair in all.windows(2) {
            assert_eq!(pair[0].1.abs_diff(pair[1].1), 1, "{first} {stages:?}: {all:?}");
        }
        assert_eq!(all[all.len() - 1].1, stages[stages.len() - 1].connections as u64);
    }
}
