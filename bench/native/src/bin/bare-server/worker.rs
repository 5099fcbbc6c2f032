use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use millrace_bench::clock::monotonic_ns;
use millrace_bench::epoll::{Epoll, READ_LEVEL, READ_WRITE, Ready};
use millrace_bench::socket;
use rustls::server::ServerConfig;

use crate::answers::Answers;
use crate::connection::Connection;
use crate::counts::Counts;
use crate::stamps::Stamps;
use crate::tls::Session;

/// One thread of the server: a listener and its connections.
pub struct Worker {
    epoll: Epoll,
    listener: RawFd,
    /// By descriptor.
    connections: Vec<Option<Connection>>,
    buffer: Vec<u8>,
    answers: Answers,
    tls: Option<Arc<ServerConfig>>,
    counts: &'static Counts,
    stamps: Option<Arc<Stamps>>,
}

impl Worker {
    pub fn new(
        listener: RawFd,
        answers: Answers,
        tls: Option<Arc<ServerConfig>>,
        counts: &'static Counts,
        stamps: Option<Arc<Stamps>>,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(listener, READ_LEVEL)?;
        let buffer = vec![0; 1 << 16];
        Ok(Self { epoll, listener, connections: Vec::new(), buffer, answers, tls, counts, stamps })
    }

    /// Serves until the process ends.
    pub fn run(mut self) -> ! {
        // Where arrivals are timed, the server must not add its own waking up.
        let timeout_ms = if self.stamps.is_some() { 0 } else { -1 };
        loop {
            let count = self.epoll.wait(timeout_ms).expect("epoll_wait");
            if count == 0 {
                continue;
            }
            let now = monotonic_ns();
            for index in 0..count {
                let ready = self.epoll.ready(index);
                if ready.fd == self.listener {
                    self.accept();
                } else {
                    self.serve(ready);
                }
            }
            self.count(now);
        }
    }

    fn accept(&mut self) {
        while let Some(fd) = socket::accept(self.listener) {
            let tls = self.tls.clone().map(|config| {
                Box::new(Session::new(config, self.counts).expect("a checked configuration"))
            });
            let index = fd as usize;
            if self.connections.len() <= index {
                self.connections.resize_with(index + 1, || None);
            }
            self.connections[index] = Some(Connection::new(fd, tls));
            self.epoll.add(fd, READ_WRITE).expect("epoll_ctl");
            self.counts.connections.fetch_add(1, Relaxed);
        }
    }

    fn serve(&mut self, ready: Ready) {
        let slot = &mut self.connections[ready.fd as usize];
        let Some(connection) = slot else { return };
        let stays = connection.writable().and_then(|stays| {
            if ready.readable && stays {
                connection.readable(&mut self.buffer, &mut self.answers)
            } else {
                Ok(stays)
            }
        });
        if !stays.unwrap_or(false) {
            *slot = None;
        }
    }

    /// Adds the requests of the turn that began at `now` to the counts.
    fn count(&mut self, now: u64) {
        let requests = self.answers.take_requests();
        if requests == 0 {
            return;
        }
        if let Some(stamps) = &self.stamps {
            stamps.add(now, requests);
        }
        let before = self.counts.requests.fetch_add(requests as u64, Relaxed);
        if before == 0 {
            self.counts.first_request_ns.store(now, Relaxed);
        }
    }
}
