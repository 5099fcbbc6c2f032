//! The output cache: what a server answers by itself, as far as RFC 9111 lets a shared cache. Pure logic: requests, heads
//! and times in, decisions and bytes out; no sockets, no threads, no clock.
//!
//! ```text
//!   request ──> Cache::lookup ──> Hit          written from the entry's bytes
//!                                 Refresh      the same, and the request goes on as a lead
//!                                 Lead ──────> application ──> begin ─> append* ─> finish   stored
//!                                                                └────────┴─────> abandon   not stored
//!                                 Wait ──────> ... ──> pop_woken ──> LookUp: lookup again
//!                                                                    Go: to the application
//!                                 OnlyIfCached 504
//!                                 Pass         to the application, the cache hears no more of it
//! ```
//!
//! - [`cache`]: all of it; `lookup`, `storing` and `invalidation` are its three sides
//! - [`request`], [`response`]: what of a message matters; [`control`], [`vary`], [`date`]: its fields
//! - [`policy`]: whether a response is stored, and for how long
//! - `key`, `store`, [`entry`], [`hit`]: what has to be equal, where entries are, and their bytes
//! - `lead`, `marks`: who asks the application, and what it is no use to wait for
//! - [`reason`], [`statistics`]: why not, and how often
//!
//! # How a reactor uses it
//!
//! One [`Cache`] for each server: the listener is no part of the key. Times are those of the reactor's monotonic clock,
//! read once a turn; the wall clock is asked for once per stored response, to read its dates, and nothing lasts longer or
//! shorter if it jumps afterwards.
//!
//! - Each request head that was parsed goes through [`Cache::lookup`] before anybody else hears of it.
//! - A [`Hit`] is written at once, in its turn: on a connection where nothing is ahead of it,
//!   [`Hit::write`] appends head, `Age`, the lines given and the body to what is to be sent. For a large body, write the head, and
//!   keep the [`Entry`] to send the body from where it is.
//! - A [`Lead`] has exactly one end. `begin` takes the head of the response as Node has rendered it, `append` the body
//!   before it is put into chunks, `finish` says that it was complete. [`Cache::abandon`] is for a connection that was
//!   lost or an application that failed. A handler that never answers is the reason for [`Cache::expire`]: those who
//!   wait for it are sent on after [`Settings::flight_limit`], see [`Cache::next_deadline`]. So they are half a
//!   second after `begin`: a response that goes on may be a stream. Without waiters a lead costs nothing but its memory until
//!   its connection ends.
//! - After each of these, [`Cache::pop_woken`] until there is none. A number that nobody has any more is to be
//!   ignored; [`Cache::leave`] takes it back before.
//! - Responses to unsafe methods are told to [`Cache::invalidate`].
//!
//! # What the key holds
//!
//! Scheme, authority and the exact request-target; `key` says why nothing is normalised. Whatever else an
//! application looks at (`X-Forwarded-Host`, `X-Original-URL`, a method in a field) has to be in its `Vary`: what one
//! client can make it say by a field that is in neither, all others get. No cache can know that.
//!
//! # The life of a key
//!
//! ```text
//!             lookup: Lead                 finish                early / stale
//!   unknown ───────────────> in flight ─────────────> fresh ──────────────────> being renewed
//!      ^     others: Wait        │   woken: LookUp    Hit         one: Refresh        │ others: Hit
//!      │                         │ begin, append,      ^                              │
//!      │                         │ abandon, expire     └──────────── finish ──────────┤
//!      │                         v   woken: Go                                        │ not storable
//!      │                    uncacheable <─────────────────────────────────────────────┘
//!      │                    all: Pass; when the time is over, one: Lead, the others still Pass
//!      └── evicted, invalidated, or its time over: what waits is looked up again, what is under way is not stored
//! ```
//!
//! Requests with `Cookie` or `Authorization` have flights and marks of their own, so that what
//! is personal slows nobody else down, and so has each variant once it is known what a resource varies by.
//!
//! ```
//! use std::time::Duration;
//! use millrace_cache::{Cache, Lookup, Mode, Request, Response, Settings};
//! use millrace_http::Method;
//!
//! let mut cache = Cache::new(Settings { mode: Mode::All(Duration::from_secs(10)), ..Settings::default() });
//! let request = Request {
//!     secure: false,
//!     method: Method::Get,
//!     target: b"/",
//!     lines: b"Host: example.com\r\n",
//!     body: false,
//!     certificate: false,
//!     server_name: b"",
//!     waits: 0,
//! };
//! let at = Duration::from_secs;
//! let Lookup::Lead(lead) = cache.lookup(at(0), &request, 1) else { panic!("nothing is stored") };
//! assert!(matches!(cache.lookup(at(0), &request, 2), Lookup::Wait(_)));
//!
//! let head = b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 2\r\n\r\n";
//! cache.begin(lead, at(1), 784_111_777, &Response { head, duration: None }).unwrap();
//! cache.append(lead, at(1), b"hi").unwrap();
//! cache.finish(lead, at(1)).unwrap();
//! assert_eq!(cache.pop_woken().map(|woken| woken.waiter), Some(2));
//!
//! let Lookup::Hit(hit) = cache.lookup(at(4), &Request { waits: 1, ..request }, 2) else {
//!     panic!("it is stored")
//! };
//! let mut out = Vec::new();
//! hit.write(b"Connection: keep-alive\r\n", &mut out);
//! assert_eq!(
//!     String::from_utf8_lossy(&out),
//!     "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 2\r\n\
//!      Age: 3\r\nConnection: keep-alive\r\n\r\nhi"
//! );
//! ```

#![forbid(unsafe_code)]

pub mod cache;
mod collecting;
mod condition;
pub mod control;
pub mod date;
pub mod entry;
pub mod hit;
mod key;
mod lead;
mod marks;
pub mod policy;
pub mod reason;
pub mod request;
pub mod response;
pub mod settings;
pub mod statistics;
mod store;
pub mod vary;

pub use cache::{Cache, Inspected, Lookup, Selection, Target, Then, Woken};
pub use entry::Entry;
pub use hit::{Answer, Hit};
pub use lead::{Flight, Lead};
pub use reason::{NotStored, Pass};
pub use request::{Credentials, Request};
pub use response::{Response, ResponseHead};
pub use settings::{Mode, Settings};
pub use statistics::Statistics;
pub use vary::Vary;
