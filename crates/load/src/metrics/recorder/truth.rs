//! Simulated runs against services whose time is known: what the figures say, and what the service took
//! for all that it was asked, answered before the end or not.

use std::time::Duration;

use fastrand::Rng;
use millrace_net::Nanos;

use super::{InFlight, Loss, Recorder};
use crate::metrics::duration_histogram::DurationHistogram;

const MILLI: f64 = 1e6;

/// What a service takes, in milliseconds.
#[derive(Clone, Copy, Debug)]
enum Service {
    Constant(f64),
    /// Nine of ten take the first, the others the second.
    Bimodal(f64, f64),
    /// A lognormal: median and standard deviation of the logarithm.
    HeavyTailed(f64, f64),
}

impl Service {
    fn take(self, random: &mut Rng) -> f64 {
        // A request never takes exactly as long as the last.
        let jitter = 1.0 + 0.002 * random.f64();
        jitter
            * match self {
                Self::Constant(ms) => ms,
                Self::Bimodal(fast, slow) => {
                    if random.f64() < 0.9 {
                        fast
                    } else {
                        slow
                    }
                }
                Self::HeavyTailed(median, sigma) => median * (sigma * normal(random)).exp(),
            }
    }

    fn mean(self) -> f64 {
        let mut random = Rng::with_seed(0);
        (0..20_000).map(|_| self.take(&mut random)).sum::<f64>() / 20_000.0
    }
}

fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[derive(Clone, Copy, Debug)]
enum Arrivals {
    /// So many connections: each asks again when it is answered.
    Closed(usize),
    /// So many requests in the whole run, evenly.
    Constant(usize),
    /// The same on average, at random.
    Poisson(usize),
}

#[derive(Clone, Copy, Debug)]
struct Scene {
    service: Service,
    arrivals: Arrivals,
    /// Milliseconds.
    length: f64,
    limit: f64,
}

/// What the generator wrote down, the times of the service, and what was seen of them, ascending.
struct Seen {
    times: DurationHistogram,
    truth: Vec<f64>,
    ages: Vec<f64>,
}

impl Scene {
    fn run(self, seed: u64) -> Seen {
        let mut random = Rng::with_seed(seed);
        let mut recorder = Recorder::new(Nanos(0));
        let (mut truth, mut ages) = (Vec::new(), Vec::new());
        let mut ask = |at: f64, random: &mut Rng| {
            let takes = self.service.take(random);
            let end = self.record(&mut recorder, at, takes);
            truth.push(takes);
            ages.push(end.min(self.length) - at);
            end
        };
        match self.arrivals {
            Arrivals::Closed(connections) => {
                for _ in 0..connections {
                    let mut now = 0.0;
                    while now < self.length {
                        now = ask(now, &mut random);
                    }
                }
            }
            Arrivals::Constant(count) => {
                for index in 0..count {
                    ask(self.length * index as f64 / count as f64, &mut random);
                }
            }
            Arrivals::Poisson(count) => {
                let mut now = 0.0;
                loop {
                    now -= self.length / count as f64 * (1.0 - random.f64()).ln();
                    if now >= self.length {
                        break;
                    }
                    ask(now, &mut random);
                }
            }
        }
        truth.sort_unstable_by(f64::total_cmp);
        ages.sort_unstable_by(f64::total_cmp);
        Seen { times: recorder.stats.latency.clone(), truth, ages }
    }

    /// Writes a request down; gives the time of its end.
    fn record(self, recorder: &mut Recorder, at: f64, takes: f64) -> f64 {
        let nanos = |ms: f64| Nanos((ms * MILLI) as u64);
        let request = InFlight {
            intended: nanos(at),
            sent: nanos(at),
            request: 0,
            user: crate::metrics::in_flight::NO_USER,
            number: 0,
        };
        recorder.sent(&request, true);
        let end = at + takes.min(self.limit);
        if end >= self.length {
            recorder.lost(&request, nanos(self.length), Loss::InFlightAtEnd, String::new);
        } else if takes > self.limit {
            recorder.lost(&request, nanos(end), Loss::Timeout, String::new);
        } else {
            recorder.completed(&request, nanos(end), 200);
        }
        end
    }
}

fn ms(time: Option<Duration>) -> f64 {
    time.unwrap().as_secs_f64() * 1e3
}

fn close(found: f64, truth: f64) -> bool {
    (found - truth).abs() <= 0.2_f64.max(0.01 * truth)
}

/// The truth's quantiles between which an estimate lies in 99 of 100 runs. Its own support, the samples
/// that lie above, tells how many samples it is worth.
fn interval(truth: &[f64], quantile: f64, above: f64) -> [f64; 2] {
    let worth = above / (1.0 - quantile);
    let half = 2.576 * (quantile * (1.0 - quantile) / worth).sqrt();
    [quantile - half, quantile + half].map(|share| {
        let rank = (share.clamp(0.0, 1.0) * truth.len() as f64) as usize;
        truth[rank.min(truth.len() - 1)]
    })
}

/// Holds the figures against the truth; what is not known must be marked, and be a lower bound.
fn check(scene: Scene, Seen { times, truth, ages }: &Seen) {
    let n = truth.len() as f64;
    let mean = truth.iter().sum::<f64>() / n;
    let (found, longest) = (ms(times.mean()), ms(times.max()));
    if times.known() == 1.0 {
        assert!(close(found, mean), "{scene:?}: mean {found}, not {mean}");
    } else {
        let restricted = truth.iter().map(|takes| takes.min(longest)).sum::<f64>() / n;
        assert!(close(found, restricted), "{scene:?}: restricted mean {found}, not {restricted}");
        assert!(found <= 1.01 * mean, "{scene:?}: {found} is no bound of {mean}");
    }
    for quantile in [0.5, 0.95, 0.99] {
        let (found, rank) = (ms(times.quantile(quantile)), (quantile * n) as usize);
        if quantile > times.known() {
            assert!(found <= 1.01 * truth[rank], "{scene:?}: {found} is no bound of {quantile}");
        } else if quantile == 0.5 {
            assert!(close(found, truth[rank]), "{scene:?}: p50 {found}, not {}", truth[rank]);
        } else if quantile <= times.supported() {
            let above = ages.len() - ages.partition_point(|age| *age <= found);
            let [low, high] = interval(truth, quantile, above as f64);
            let is_inside = found >= 0.999 * low && found <= 1.001 * high;
            assert!(is_inside, "{scene:?}: {quantile} is {found}, not {low} to {high}");
        }
    }
}

fn scenes() -> Vec<Scene> {
    let services = [
        Service::Constant(5.0),
        Service::Constant(50.0),
        Service::Constant(1000.0),
        Service::Bimodal(20.0, 200.0),
        Service::HeavyTailed(20.0, 1.2),
    ];
    let mut scenes = Vec::new();
    for service in services {
        let mean = service.mean();
        for means in [2.0, 3.0, 5.0, 40.0] {
            let count = 16_000;
            let closed = Arrivals::Closed((count as f64 / means) as usize);
            let (unlimited, limit) = (f64::INFINITY, 3.0 * mean);
            for (arrivals, limit) in [
                (closed, unlimited),
                (closed, limit),
                (Arrivals::Constant(count), unlimited),
                (Arrivals::Poisson(count), limit),
            ] {
                scenes.push(Scene { service, arrivals, length: means * mean + 0.37, limit });
            }
        }
    }
    scenes
}

#[test]
fn the_figures_are_those_of_the_service() {
    for (scene, seed) in scenes().into_iter().zip(1..) {
        check(scene, &scene.run(seed));
    }
}

/// The same requests, watched for a little longer or shorter.
#[test]
fn a_figure_does_not_depend_on_when_the_run_ends() {
    let bimodal = Service::Bimodal(20.0, 60.0);
    for (service, length) in [(Service::Constant(50.0), 2000.0), (bimodal, 240.0)] {
        for arrivals in [Arrivals::Closed(400), Arrivals::Constant(4000)] {
            for later in (0..12).map(|step| f64::from(step) * 5.0) {
                let (length, limit) = (length + later, f64::INFINITY);
                let scene = Scene { service, arrivals, length, limit };
                check(scene, &scene.run(7));
            }
        }
    }
}
