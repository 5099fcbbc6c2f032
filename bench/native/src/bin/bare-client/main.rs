//! The ceiling: what a client on edge-triggered epoll reaches that parses nothing.
//!
//! One thread. The length of a response is learnt from the first one; from then on bytes are
//! counted, and the next request is written straight from the read. The clock is read once per
//! loop turn. Prints what it did as one line of JSON.
//!
//! ```text
//! --port 8080
//! --connections 50
//! --pipelining 1            requests in flight on each connection
//! --connection keep-alive   or close: a connection for each request
//! --seconds 2
//! ```

mod close;
mod keep_alive;

use std::error::Error;
use std::io;
use std::process::ExitCode;

use millrace_bench::args::Args;
use millrace_bench::clock::monotonic_ns;
use millrace_bench::epoll::{Epoll, Ready};

/// What is asked for.
struct Load {
    port: u16,
    connections: usize,
    pipelining: usize,
}

fn run() -> Result<(), Box<dyn Error>> {
    let args = Args::read(&["port", "connections", "pipelining", "connection", "seconds"])?;
    let load = Load {
        port: args.value("port", 8080)?,
        connections: args.value("connections", 50)?,
        pipelining: args.value("pipelining", 1)?,
    };
    let seconds: f64 = args.value("seconds", 2.0)?;
    let mut epoll = Epoll::new()?;
    match args.text("connection").unwrap_or("keep-alive") {
        "keep-alive" => {
            let mut client = keep_alive::Client::connect(&mut epoll, &load)?;
            run_loop(&mut epoll, seconds, |epoll, ready| client.serve(epoll, ready))?;
        }
        "close" => {
            let mut client = close::Client::connect(&mut epoll, &load)?;
            run_loop(&mut epoll, seconds, |epoll, ready| client.serve(epoll, ready))?;
        }
        other => return Err(format!("--connection {other}: keep-alive or close").into()),
    }
    Ok(())
}

/// Gives what becomes ready to `serve`, which tells how many responses it completed.
fn run_loop(
    epoll: &mut Epoll,
    seconds: f64,
    mut serve: impl FnMut(&Epoll, Ready) -> io::Result<usize>,
) -> io::Result<()> {
    let start = monotonic_ns();
    let end = start + (seconds * 1e9) as u64;
    let (mut now, mut completed) = (start, 0);
    while now < end {
        for index in 0..epoll.wait(100)? {
            completed += serve(epoll, epoll.ready(index))?;
        }
        now = monotonic_ns();
    }
    let elapsed = (now - start) as f64 / 1e9;
    let rate = completed as f64 / elapsed;
    println!("{{\"requests\":{completed},\"seconds\":{elapsed},\"requestsPerSecond\":{rate}}}");
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
