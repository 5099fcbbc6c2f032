//! The tests of the public interface, as one program that is linked once.

mod client;
mod names;
mod poll;
mod stream;
mod timers;
mod tls;
#[cfg(unix)]
mod tls_server;
