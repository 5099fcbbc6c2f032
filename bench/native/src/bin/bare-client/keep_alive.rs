use std::io::{self, ErrorKind};
use std::os::fd::RawFd;

use millrace_bench::epoll::{Epoll, READ, Ready};
use millrace_bench::socket;

use crate::Load;

/// Connections that stay, each with its requests in flight.
pub struct Client {
    request_length: usize,
    /// As many requests as can be due at once.
    requests: Vec<u8>,
    response_length: usize,
    buffer: Vec<u8>,
    /// Bytes received of the response in progress, by descriptor.
    partial: Vec<usize>,
}

impl Client {
    /// Opens the connections and sends the first requests.
    pub fn connect(epoll: &mut Epoll, load: &Load) -> io::Result<Self> {
        let request = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", load.port);
        let first = socket::connect(load.port)?;
        epoll.add(first, READ)?;
        let response_length = response_length(epoll, first, request.as_bytes())?;
        let mut fds = vec![first];
        for _ in 1..load.connections {
            let fd = socket::connect(load.port)?;
            epoll.add(fd, READ)?;
            fds.push(fd);
        }
        let client = Self {
            request_length: request.len(),
            requests: request.into_bytes().repeat(load.pipelining),
            response_length,
            buffer: vec![0; 1 << 16],
            partial: vec![0; fds.iter().max().map_or(0, |&fd| fd as usize + 1)],
        };
        for fd in fds {
            client.request(fd, load.pipelining)?;
        }
        Ok(client)
    }

    /// Takes all that has arrived on a connection and asks for as many responses again.
    pub fn serve(&mut self, _: &Epoll, ready: Ready) -> io::Result<usize> {
        let fd = ready.fd;
        let mut completed = 0;
        loop {
            let count = match socket::receive(fd, &mut self.buffer) {
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "server closed")),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(completed),
                Err(error) => return Err(error),
            };
            let received = self.partial[fd as usize] + count;
            let responses = received / self.response_length;
            self.partial[fd as usize] = received % self.response_length;
            self.request(fd, responses)?;
            completed += responses;
            // A read that did not fill the buffer emptied the socket: what comes later is a new edge.
            if count < self.buffer.len() {
                return Ok(completed);
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
