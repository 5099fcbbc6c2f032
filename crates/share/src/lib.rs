//! One port for several processes: each has its URL prefixes, and a connection goes to whom its next request belongs to.
//!
//! ```text
//!   process A  http://*:80/a/  ── listening socket ──  process B  http://*:80/b/
//!        └──────────────── link: prefixes, connections ────────────────┘
//! ```
//!
//! All of them accept from the same socket, which whoever joins is given; so the port is open for as long as any of them
//! lives, and there is nobody whose end the others would notice by more than its own prefixes. Who finds a request at the
//! start of a connection's bytes that is not its own gives the connection away, with what was read, as soon as nothing of
//! it is under way: order needs no further care, and from then on nobody stands between client and owner.
//!
//! - [`prefix`]: what a process asks for; `routes`: who answers a request
//! - [`joining`]: how a process comes to the others; `directory`: where they meet
//! - `link`, `message`: what they say to each other
//! - [`SharedPorts`]: the router of a reactor ([`millrace_stack::router`]). `shared_address`: an address as it sees it; `peer`: one of the
//!   others; `orphans`: prefixes that nobody has any more
//! - `trust`: what the word of each is worth

#![deny(unsafe_code)]

mod directory;
pub mod joining;
mod limits;
mod link;
mod message;
mod orphans;
mod peer;
mod ports;
pub mod prefix;
mod routes;
mod shared_address;
#[cfg(target_os = "linux")]
mod socket_option;
mod trust;

pub use ports::SharedPorts;
pub use prefix::UrlPrefix;

/// How often a connection is given on without an answer: more often, those who give it do not agree.
const MAX_HOPS: u8 = 8;
