//! Runs seeds on all cores for a while, by default for 20 seconds; see CONTRIBUTING.md.
//!
//! - `MILLRACE_SEED`: runs this one alone
//! - `MILLRACE_SECONDS`: for how long
//! - `MILLRACE_FIRST_SEED`: from which on; by default anywhere

#![expect(clippy::disallowed_methods, reason = "how long tests run is a matter of real time")]

use std::env;
use std::panic;
use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use millrace_simulation::{Sight, run};

/// So many runs reach everything.
const ENOUGH: u64 = 1000;
/// A run is a second's work at most.
const HANGS: Duration = Duration::from_secs(60);

fn number(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}

fn report(seed: u64, what: &str) {
    eprintln!("seed {seed} {what}; to run it again:");
    eprintln!("MILLRACE_SEED={seed} cargo test --manifest-path simulation/Cargo.toml");
}

/// Runs one seed after the other, as long as none fails.
struct Seeds {
    next: AtomicU64,
    steps: AtomicU64,
    /// The last one has begun, or one has failed.
    ends: AtomicBool,
    failed: AtomicBool,
}

impl Seeds {
    fn run(&self, current: &Mutex<Option<(u64, Instant)>>) {
        while !self.ends.load(Ordering::Relaxed) {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            *current.lock().unwrap() = Some((seed, Instant::now()));
            match panic::catch_unwind(|| run(seed)) {
                Ok(steps) => drop(self.steps.fetch_add(steps, Ordering::Relaxed)),
                Err(_) => {
                    report(seed, "fails");
                    self.failed.store(true, Ordering::Relaxed);
                    self.ends.store(true, Ordering::Relaxed);
                }
            }
        }
        *current.lock().unwrap() = None;
    }
}

#[test]
fn whatever_the_seed() {
    if let Some(seed) = number("MILLRACE_SEED") {
        run(seed);
        return;
    }
    let limit = Duration::from_secs(number("MILLRACE_SECONDS").unwrap_or(20));
    let first = number("MILLRACE_FIRST_SEED").unwrap_or_else(|| fastrand::u64(..u64::MAX / 2));
    let seeds = Seeds {
        next: AtomicU64::new(first),
        steps: AtomicU64::new(0),
        ends: AtomicBool::new(false),
        failed: AtomicBool::new(false),
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let current: Vec<_> = (0..cores).map(|_| Mutex::new(None)).collect();
    let start = Instant::now();
    thread::scope(|scope| {
        let seeds = &seeds;
        let threads: Vec<_> =
            current.iter().map(|current| scope.spawn(move || seeds.run(current))).collect();
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(Duration::from_millis(20));
            if start.elapsed() >= limit {
                seeds.ends.store(true, Ordering::Relaxed);
            }
            let hanging: Vec<_> = current.iter().filter_map(|it| *it.lock().unwrap()).collect();
            if let Some((seed, _)) = hanging.into_iter().find(|(_, since)| since.elapsed() > HANGS)
            {
                report(seed, "does not end");
                process::abort();
            }
        }
    });
    let runs = seeds.next.into_inner() - first;
    let steps = seeds.steps.into_inner();
    let each_minute = steps as f64 / start.elapsed().as_secs_f64() * 60.0 / 1e6;
    println!("{runs} seeds from {first} on, {steps} steps, {each_minute:.1} million a minute");
    println!("{:?}", Sight::ALL.map(|sight| (sight, sight.count())));
    assert!(!seeds.failed.into_inner());
    let missing: Vec<_> = Sight::ALL.into_iter().filter(|sight| sight.count() == 0).collect();
    assert!(missing.is_empty() || runs < ENOUGH, "runs no longer reach {missing:?}");
}
