use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use millrace_bench::epoll::{Epoll, READ_WRITE, Ready};
use millrace_bench::socket;

use crate::Load;

/// A connection for each request.
pub struct Client {
    port: u16,
    request: Vec<u8>,
    response_length: usize,
    buffer: Vec<u8>,
    /// By descriptor.
    exchanges: Vec<Exchange>,
}

#[derive(Clone, Copy, Default)]
struct Exchange {
    sent: bool,
    received: usize,
}

impl Client {
    /// Opens the first connections and sends their requests.
    pub fn connect(epoll: &mut Epoll, load: &Load) -> io::Result<Self> {
        let port = load.port;
        let request =
            format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        let mut client = Self {
            port,
            response_length: response_length(port, request.as_bytes())?,
            request: request.into_bytes(),
            buffer: vec![0; 1 << 16],
            exchanges: Vec::new(),
        };
        for _ in 0..load.connections {
            client.open(epoll)?;
        }
        Ok(client)
    }

    /// Goes on with a connection; when it has its response, another one takes its place.
    pub fn serve(&mut self, epoll: &Epoll, ready: Ready) -> io::Result<usize> {
        let exchange = &mut self.exchanges[ready.fd as usize];
        if !exchange.sent {
            socket::send(ready.fd, &self.request)?;
            exchange.sent = true;
        }
        if !ready.readable {
            return Ok(0);
        }
        match socket::receive(ready.fd, &mut self.buffer) {
            Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "server closed")),
            Ok(count) => exchange.received += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error),
        }
        if exchange.received < self.response_length {
            return Ok(0);
        }
        socket::close(ready.fd);
        self.open(epoll)?;
        Ok(1)
    }

    /// Opens a connection. On loopback it is there when the call returns, so the request is tried at once.
    fn open(&mut self, epoll: &Epoll) -> io::Result<()> {
        let fd = socket::start_connect(self.port)?;
        let sent = match socket::send(fd, &self.request) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => return Err(error),
        };
        epoll.add(fd, READ_WRITE)?;
        let index = fd as usize;
        if self.exchanges.len() <= index {
            self.exchanges.resize(index + 1, Exchange::default());
        }
        self.exchanges[index] = Exchange { sent, received: 0 };
        Ok(())
    }
}

fn response_length(port: u16, request: &[u8]) -> io::Result<usize> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.write_all(request)?;
    stream.read_to_end(&mut Vec::new())
}
