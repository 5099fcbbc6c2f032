//! What the bare server and the bare client share: system calls on raw epoll, and the command line.
//!
//! Both are yardsticks, not products. The server is meant to be faster than any client, the client
//! to be the ceiling of what a client on readiness can reach. Linux only.

pub mod args;
pub mod clock;
pub mod epoll;
pub mod socket;
