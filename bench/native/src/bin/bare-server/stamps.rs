use std::fs;
use std::io;
use std::sync::Mutex;

/// When the requests arrived, `CLOCK_MONOTONIC` in nanoseconds.
#[derive(Default)]
pub struct Stamps {
    times: Mutex<Vec<u64>>,
}

impl Stamps {
    /// Notes that `count` requests arrived at `now`.
    pub fn add(&self, now: u64, count: usize) {
        let mut times = self.times.lock().expect("no thread panics while it holds the lock");
        times.extend(std::iter::repeat_n(now, count));
    }

    /// Writes the times in order as little-endian 64-bit integers.
    pub fn write(&self, file: &str) -> io::Result<()> {
        let mut times = self.times.lock().expect("no thread panics while it holds the lock");
        times.sort_unstable();
        let bytes: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
        fs::write(file, bytes)
    }
}
