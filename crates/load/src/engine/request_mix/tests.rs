use super::RequestMix;

fn take(mut mix: RequestMix, count: usize) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(1);
    (0..count).map(|_| mix.next(&mut random)).collect()
}

#[test]
fn in_turn_each_request_comes_once_per_round() {
    let mix = |first| RequestMix::new(&[(4, 1.0), (7, 9.0), (9, 0.5)], false, first);
    assert_eq!(take(mix(0), 7), [4, 7, 9, 4, 7, 9, 4]);
    assert_eq!(take(mix(1), 4), [7, 9, 4, 7]);
    assert_eq!(take(mix(5), 2), [9, 4]);
}

#[test]
fn a_single_request_is_always_the_one() {
    for weighted in [false, true] {
        assert_eq!(take(RequestMix::new(&[(3, 0.1)], weighted, 2), 5), [3; 5]);
    }
}

#[test]
fn by_weight_each_request_has_its_share() {
    const DRAWN: usize = 100_000;
    let weights = [(0, 1.0), (1, 6.0), (2, 0.0), (3, 3.0)];
    let found = take(RequestMix::new(&weights, true, 0), DRAWN);
    for (request, weight) in weights {
        let share = weight / 10.0;
        let count = found.iter().filter(|drawn| **drawn == request).count() as f64;
        let expected = share * DRAWN as f64;
        let deviation = (expected * (1.0 - share)).sqrt();
        assert!((count - expected).abs() <= 5.0 * deviation, "{request}: {count}");
    }
}
