//! The tests of the public interface, as one program that is linked once. Tests that need a process of their own are
//! files beside this folder.

mod closed;
mod error;
mod faults;
mod flows;
mod http2;
mod open;
mod peer;
mod schedule;
mod servers;
mod template;
mod times;
mod traces;
