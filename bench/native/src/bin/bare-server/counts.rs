use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the server has done, in memory that a file can show to others: five little-endian
/// 64-bit integers in the order of the fields.
#[repr(C)]
pub struct Counts {
    pub requests: AtomicU64,
    pub connections: AtomicU64,
    pub tls_full: AtomicU64,
    pub tls_resumed: AtomicU64,
    /// When the first request arrived, `CLOCK_MONOTONIC` in nanoseconds; 0: not yet.
    pub first_request_ns: AtomicU64,
}

impl Counts {
    /// All zero, in `file` if there is one. Lives until the process ends.
    pub fn new(file: Option<&str>) -> io::Result<&'static Self> {
        let length = size_of::<Self>();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (fd, flags) = match file {
            None => (-1, libc::MAP_SHARED | libc::MAP_ANONYMOUS),
            Some(path) => {
                let mut options = OpenOptions::new();
                let file = options.read(true).write(true).create(true).truncate(true).open(path)?;
                file.set_len(length as u64)?;
                // The mapping outlives the descriptor that leaks here.
                (Box::leak(Box::new(file)).as_raw_fd(), libc::MAP_SHARED)
            }
        };
        // SAFETY: a new mapping of `length` bytes, wherever the system puts it.
        let memory = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, fd, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is page-aligned, zeroed, long enough, and never unmapped.
        Ok(unsafe { &*memory.cast::<Self>() })
    }

    /// The counts as one line of JSON.
    pub fn json(&self) -> String {
        format!(
            "{{\"requests\":{},\"connections\":{},\"tlsFull\":{},\"tlsResumed\":{},\"firstRequestNs\":{}}}",
            self.requests.load(Relaxed),
            self.connections.load(Relaxed),
            self.tls_full.load(Relaxed),
            self.tls_resumed.load(Relaxed),
            self.first_request_ns.load(Relaxed),
        )
    }
}
