//! Priority of a thread, its time on a CPU core, and its time without one.

use std::fs::File;
use std::time::Duration;

/// Lowers the priority of the calling thread and of threads that it starts later.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // Above 0 is always permitted; should it fail, nothing is lost but exactness.
        let _ = rustix::process::nice(10);
    }
}

/// Returns the time that the calling thread was on a core. `None` where the system does not report it.
#[must_use]
pub fn thread_time() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

/// The time for which a thread has been runnable without a core. The file stays open: a run may use up all descriptors, and
/// opening it takes longer than reading.
#[derive(Debug, Default)]
pub struct RunQueue(Option<File>);

impl RunQueue {
    /// That of the calling thread.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Returns the time since the thread began. `None` where the system does not report it.
    #[cfg(unix)]
    #[must_use]
    pub fn waited(&self) -> Option<Duration> {
        use std::os::unix::fs::FileExt as _;

        // Documentation/scheduler/sched-stats.rst: time on the CPU, time waiting to run (both in ns),
        // number of time slices.
        let mut text = [0; 64];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    }

    /// Returns `None`, as the system does not report it.
    #[cfg(not(unix))]
    #[must_use]
    pub fn waited(&self) -> Option<Duration> {
        None
    }
}
