//! The ceiling: what a client on edge-triggered epoll reaches that parses nothing.
//!
//! One thread. The length of a response is learnt from the first one; from then on bytes are
//! counted, and the next request is written straight from the read. The clock is read once per
//! loop turn. Prints what it did as one line of JSON.

use std::io::{self, ErrorKind};
use std::os::fd::RawFd;
use std::process::ExitCode;

use millrace_bench::args::Args;
use millrace_bench::clock::monotonic_ns;
use millrace_bench::epoll::{Epoll, READ};
use millrace_bench::socket;

struct Client {
    request_length: usize,
    /// As many requests as can be due at once.
    requests: Vec<u8>,
    response_length: usize,
    buffer: Vec<u8>,
    /// Bytes received of the response in progress, by descriptor.
    partial: Vec<usize>,
    completed: u64,
}

impl Client {
    /// Takes all that has arrived on a connection and asks for as many responses again.
    fn readable(&mut self, fd: RawFd) -> io::Result<()> {
        loop {
            let count = match socket::receive(fd, &mut self.buffer) {
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "server closed")),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let received = self.partial[fd as usize] + count;
            let responses = received / self.response_length;
            self.partial[fd as usize] = received % self.response_length;
            self.completed += responses as u64;
            self.request(fd, responses)?;
            // A read that did not fill the buffer emptied the socket: what comes later is a new edge.
            if count < self.buffer.len() {
                return Ok(());
            }
        }
    }

    fn request(&self, fd: RawFd, count: usize) -> io::Result<()> {
        let length = count * self.request_length;
        if length > 0 && socket::send(fd, &self.requests[..length])? < length {
            return Err(io::Error::other("the socket has no room for the requests"));
        }
        Ok(())
    }
}

/// Sends one request, waits until nothing more comes, and gives the length of what came.
fn response_length(epoll: &mut Epoll, fd: RawFd, request: &[u8]) -> io::Result<usize> {
    const QUIET_MS: i32 = 100;
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    socket::send(fd, request)?;
    while epoll.wait(if length == 0 { 5000 } else { QUIET_MS })? > 0 {
        match socket::receive(fd, &mut buffer) {
            Ok(count) => length += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    if length == 0 { Err(io::Error::other("no response")) } else { Ok(length) }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::read(&["port", "connections", "pipelining", "seconds"])?;
    let port: u16 = args.value("port", 8080)?;
    let connections: usize = args.value("connections", 50)?;
    let pipelining: usize = args.value("pipelining", 1)?;
    let seconds: f64 = args.value("seconds", 2.0)?;

    let request = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").into_bytes();
    let mut epoll = Epoll::new()?;
    let first = socket::connect(port)?;
    epoll.add(first, READ)?;
    let response_length = response_length(&mut epoll, first, &request)?;

    let mut fds = vec![first];
    for _ in 1..connections {
        let fd = socket::connect(port)?;
        epoll.add(fd, READ)?;
        fds.push(fd);
    }
    let mut client = Client {
        request_length: request.len(),
        requests: request.repeat(pipelining),
        response_length,
        buffer: vec![0; 1 << 16],
        partial: vec![0; fds.iter().max().map_or(0, |&fd| fd as usize + 1)],
        completed: 0,
    };

    let start = monotonic_ns();
    let end = start + (seconds * 1e9) as u64;
    for &fd in &fds {
        client.request(fd, pipelining)?;
    }
    let mut now = start;
    while now < end {
        let count = epoll.wait(100)?;
        for index in 0..count {
            client.readable(epoll.ready(index).fd)?;
        }
        now = monotonic_ns();
    }
    let elapsed = (now - start) as f64 / 1e9;
    let completed = client.completed;
    println!(
        "{{\"requests\":{completed},\"seconds\":{elapsed},\"requestsPerSecond\":{}}}",
        completed as f64 / elapsed
    );
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bare-client: {error}");
            ExitCode::FAILURE
        }
    }
}
