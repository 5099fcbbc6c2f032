//! Priority of a thread, and its time without a CPU core.

use std::time::Duration;

/// Lowers the priority of the calling thread and of threads that it starts later.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // Above 0 is always permitted; should it fail, nothing is lost but exactness.
        let _ = rustix::process::nice(10);
    }
}

/// Returns the total time in which the calling thread was runnable without a core. `None` where the system does not report
/// it.
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
