use millrace_net::Nanos;

use super::*;
use crate::metrics::in_flight::InFlight;
use crate::metrics::recorder::Recorder;
use crate::metrics::sparse_durations::SparseDurations;
use crate::metrics::stored::StoredDurations;

/// A window's tally with this many responses, each after as many milliseconds.
fn tally(completed: u64) -> WindowStats {
    let mut recorder = Recorder::new(Nanos(0));
    for _ in 0..completed {
        let request = InFlight {
            intended: Nanos(0),
            sent: Nanos(0),
            request: 0,
            user: crate::metrics::in_flight::NO_USER,
            number: 0,
        };
        recorder.sent(&request, false);
        recorder.completed(&request, Nanos(completed * 1_000_000), 200);
    }
    *recorder.roll(Nanos(completed * 1_000_000), Box::default())
}

/// The windows of 100 ms that are complete.
fn kept(series: &WindowSeries) -> &[Window] {
    &series.levels[0].windows
}

fn completed(windows: &[Window]) -> Vec<u64> {
    windows.iter().map(|window| window.completed).collect()
}

#[test]
fn a_window_is_complete_when_all_workers_have_reported_it() {
    let mut series = WindowSeries::new(2, false);
    series.add(0, 0, 1, &tally(3));
    assert_eq!(series.count(), 0);
    series.add(0, 1, 2, &tally(1));
    series.add(1, 0, 1, &tally(5));
    assert_eq!(completed(kept(&series)), [8]);
    series.add(1, 1, 2, &tally(0));
    assert_eq!(completed(kept(&series)), [8, 1]);
}

#[test]
fn a_worker_may_report_a_window_twice_and_leave_some_out() {
    let mut series = WindowSeries::new(1, false);
    series.add(0, 0, 0, &tally(1));
    series.add(0, 0, 4, &tally(2));
    assert_eq!(completed(kept(&series)), [3, 0, 0, 0]);
}

#[test]
fn percentiles_are_those_of_all_workers_together() {
    let mut series = WindowSeries::new(2, false);
    series.add(0, 0, 1, &tally(2));
    series.add(1, 0, 1, &tally(8));
    let window = kept(&series)[0];
    let millis = |time: Option<Duration>| time.unwrap().as_secs_f64() * 1e3;
    assert!((millis(window.p50) - 8.0).abs() < 0.01, "{window:?}");
    assert!((millis(window.p99) - 8.0).abs() < 0.01, "{window:?}");
    series.add(0, 1, 2, &tally(0));
    series.add(1, 1, 2, &tally(0));
    assert_eq!(kept(&series)[1], Window::default());
}

#[test]
fn a_run_has_the_windows_of_its_duration_and_loses_nothing() {
    let series = WindowSeries::new(1, false);
    assert_eq!(series.finish(Duration::from_millis(500)).windows, [Window::default(); 5]);
    let mut series = WindowSeries::new(2, false);
    series.add(0, 0, 2, &tally(1));
    series.add(1, 3, 4, &tally(2));
    let windows = series.finish(Duration::from_millis(300)).windows;
    assert_eq!(completed(&windows), [1, 0, 0, 2]);
}

#[test]
fn windows_beyond_the_bound_are_joined_and_keep_their_percentiles() {
    for count in [1, 7, 8, 9, 16, 17, 31, 32, 33, 100] {
        let mut series = WindowSeries::with_at_most(8, 1, true);
        for index in 0..count {
            series.add(0, index, index + 1, &tally(index % 5));
        }
        let whole: Vec<u64> = (0..count).map(|index| index % 5).collect();
        let Series { window, windows, latencies, seconds } = series.finish(WINDOW * count as u32);
        let joined = (window.as_nanos() / WINDOW.as_nanos()) as usize;
        assert!(joined.is_power_of_two() && windows.len() <= 9, "{count}: {window:?}");
        assert!(joined == 1 || windows.len() * joined > 4 * joined, "{count}: {window:?}");
        let expected: Vec<u64> = whole.chunks(joined).map(|part| part.iter().sum()).collect();
        assert_eq!(completed(&windows), expected, "{count} by {joined}");
        for (window, latency) in windows.iter().zip(&latencies) {
            let mut times = SparseDurations::default();
            if let Some(WindowLatency { all, censored }) = latency {
                let censored = censored.as_deref();
                times.add_stored(&StoredDurations { all, censored, sum: None, min: None }).unwrap();
            }
            assert_eq!(times.count(), window.completed);
            assert_eq!(times.to_histogram().quantile(0.99), window.p99);
        }
        assert_eq!(latencies.len(), windows.len());
        let per_second: Vec<u64> = whole.chunks_exact(10).map(|part| part.iter().sum()).collect();
        assert_eq!(seconds, per_second);
        for (window, part) in windows.iter().zip(whole.chunks(joined)) {
            // A window of n responses has latencies of n ms: the longest is that of the most.
            let most = part.iter().max().copied().filter(|most| *most > 0);
            let p99 = window.p99.map(|time| (time.as_secs_f64() * 1e3).round() as u64);
            assert_eq!(p99, most, "{part:?}");
        }
    }
}
