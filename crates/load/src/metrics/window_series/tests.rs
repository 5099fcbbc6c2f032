use millrace_net::Nanos;

use super::*;
use crate::metrics::in_flight::InFlight;
use crate::metrics::recorder::Recorder;

/// A window's tally with this many responses, each after as many milliseconds.
fn tally(completed: u64) -> WindowStats {
    let mut recorder = Recorder::new(Nanos(0));
    for _ in 0..completed {
        let request = InFlight { intended: Nanos(0), sent: Nanos(0), request: 0 };
        recorder.sent(&request, false);
        recorder.completed(&request, Nanos(completed * 1_000_000), 200);
    }
    *recorder.roll(Nanos(completed * 1_000_000), Box::default())
}

fn completed(windows: &[Window]) -> Vec<u64> {
    windows.iter().map(|window| window.completed).collect()
}

#[test]
fn a_window_is_complete_when_all_workers_have_reported_it() {
    let mut series = WindowSeries::new(2);
    series.add(0, 0, 1, &tally(3));
    assert!(series.windows().is_empty());
    series.add(0, 1, 2, &tally(1));
    series.add(1, 0, 1, &tally(5));
    assert_eq!(completed(series.windows()), [8]);
    series.add(1, 1, 2, &tally(0));
    assert_eq!(completed(series.windows()), [8, 1]);
}

#[test]
fn a_worker_may_report_a_window_twice_and_leave_some_out() {
    let mut series = WindowSeries::new(1);
    series.add(0, 0, 0, &tally(1));
    series.add(0, 0, 4, &tally(2));
    assert_eq!(completed(series.windows()), [3, 0, 0, 0]);
}

#[test]
fn percentiles_are_those_of_all_workers_together() {
    let mut series = WindowSeries::new(2);
    series.add(0, 0, 1, &tally(2));
    series.add(1, 0, 1, &tally(8));
    let window = series.windows()[0];
    let millis = |time: Option<Duration>| time.unwrap().as_secs_f64() * 1e3;
    assert!((millis(window.p50) - 8.0).abs() < 0.01, "{window:?}");
    assert!((millis(window.p99) - 8.0).abs() < 0.01, "{window:?}");
    series.add(0, 1, 2, &tally(0));
    series.add(1, 1, 2, &tally(0));
    assert_eq!(series.windows()[1], Window::default());
}

#[test]
fn a_run_has_the_windows_of_its_duration_and_loses_nothing() {
    let series = WindowSeries::new(1);
    assert_eq!(series.finish(Duration::from_millis(500)), [Window::default(); 5]);
    let mut series = WindowSeries::new(2);
    series.add(0, 0, 2, &tally(1));
    series.add(1, 3, 4, &tally(2));
    let windows = series.finish(Duration::from_millis(300));
    assert_eq!(completed(&windows), [1, 0, 0, 2]);
}
