//! How long a thread waited for a core.

use std::time::Duration;

/// The calling thread lets others go first when they want its core, from now on. What it starts later
/// does so too.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // Above 0 is always permitted; should it fail, nothing is lost but exactness.
        let _ = rustix::process::nice(10);
    }
}

/// Time that the calling thread has spent ready to run without being given a core, since it began.
/// `None` where the system does not tell.
#[must_use]
pub fn run_queue_wait() -> Option<Duration> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // Documentation/scheduler/sched-stats.rst: time on the CPU, time waiting to run (both in ns),
    // number of time slices.
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}
