//! The tests of the public interface, as one program that is linked once.

mod bodies;
mod both_sides;
mod caching;
mod driver;
mod fair;
mod followed;
mod following;
mod handshake;
mod http2;
mod idle;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod programs;
mod queue;
mod router;
#[cfg(target_os = "linux")]
mod standby;
