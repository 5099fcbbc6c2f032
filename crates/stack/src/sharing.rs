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
//! - `ground`: an address as one of them sees it
//! - `trust`: what the word of each is worth

mod directory;
mod ground;
pub mod joining;
mod link;
mod lost;
mod message;
pub mod prefix;
mod routes;
#[cfg(target_os = "linux")]
mod socket_option;
mod trust;

pub(crate) use ground::{
    Given, Ground, MAX_LINKS, MAX_PREFIXES, Member, Moving, Peer, Stage, Taking, is_withdrawn,
};
pub(crate) use link::is_passing;
pub(crate) use lost::{KEPT, Lost};
pub(crate) use message::{Message, VERSION};
pub use prefix::UrlPrefix;
pub(crate) use prefix::host_and_path;
pub(crate) use routes::{Owner, Place, Routes};
pub(crate) use trust::{is_trusted, own_user};

/// How often a connection is given on without an answer: more often, those who give it do not agree.
pub(crate) const MAX_HOPS: u8 = 8;
