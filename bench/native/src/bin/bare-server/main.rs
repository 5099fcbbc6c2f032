//! The server that is faster than its client.
//!
//! Edge-triggered epoll; every complete request (a head up to `\r\n\r\n`, and as many bytes as its
//! `Content-Length` says; in HTTP/2 a stream up to END_STREAM) is answered with one canned 200, all
//! responses to one read leave in one write. `Connection: close` is honoured. Prints its port as one
//! line of JSON when it listens, and what it counted as another when it is told to end.
//!
//! ```text
//! --protocol http1  or http2 (cleartext: with prior knowledge), or grpc: any method, OK
//! --port 0          0: any free port
//! --threads 1       each with a listener of its own on the same port
//! --body 12         bytes of the body
//! --json TEXT       a body of JSON instead
//! --cert, --key     PEM files: speaks TLS 1.3, with session tickets
//! --count FILE      keeps the counts in FILE, for whoever wants to read them while it runs
//! --stamp FILE      spins instead of waiting, and writes when each request arrived
//! ```

mod answers;
mod body;
mod connection;
mod counts;
mod http1;
mod http2;
mod stamps;
mod tls;
mod worker;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use millrace_bench::args::Args;
use millrace_bench::socket;

use answers::{Answers, Protocol};
use body::Body;
use counts::Counts;
use stamps::Stamps;
use worker::Worker;

fn run() -> Result<(), Box<dyn Error>> {
    let args = Args::read(&[
        "protocol", "port", "threads", "body", "json", "cert", "key", "count", "stamp",
    ])?;
    let protocol = Protocol::named(args.text("protocol").unwrap_or("http1"))?;
    let threads: usize = args.value("threads", 1)?;
    let body = match args.text("json") {
        Some(text) => Body::Json(text.to_owned()),
        None => Body::Bytes(args.value("body", 12)?),
    };
    let tls = match (args.text("cert"), args.text("key")) {
        (Some(cert), Some(key)) => Some(tls::config(cert, key, protocol.alpn())?),
        (None, None) => None,
        _ => return Err("--cert and --key go together".into()),
    };
    let counts = Counts::new(args.text("count"))?;
    let stamps = args.text("stamp").map(|_| Arc::new(Stamps::default()));

    let signals = block_signals();
    let listener = socket::listen(args.value("port", 0)?)?;
    let port = socket::port(listener)?;
    for thread in 0..threads {
        let listener = if thread == 0 { listener } else { socket::listen(port)? };
        let answers = Answers::new(protocol, &body)?;
        let worker = Worker::new(listener, answers, tls.clone(), counts, stamps.clone())?;
        thread::spawn(move || worker.run());
    }
    println!("{{\"port\":{port}}}");
    wait_for(&signals);
    println!("{}", counts.json());
    if let (Some(file), Some(stamps)) = (args.text("stamp"), stamps) {
        stamps.write(file)?;
    }
    Ok(())
}

/// Keeps SIGINT and SIGTERM from all threads, for [`wait_for`].
fn block_signals() -> libc::sigset_t {
    // SAFETY: the set is initialized by `sigemptyset` before it is used.
    unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGINT);
        libc::sigaddset(&raw mut signals, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        signals
    }
}

fn wait_for(signals: &libc::sigset_t) {
    let mut signal = 0;
    // SAFETY: both pointers are valid for the call.
    unsafe { libc::sigwait(signals, &raw mut signal) };
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bare-server: {error}");
            ExitCode::FAILURE
        }
    }
}
