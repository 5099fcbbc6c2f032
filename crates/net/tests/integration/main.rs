//! The tests of the public interface, one program: each file of its own would be linked anew.

mod client;
mod names;
mod poll;
mod stream;
mod timers;
mod tls;
