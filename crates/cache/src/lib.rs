//! The output cache of a server, a shared cache as in RFC 9111. Pure logic: requests, heads and times in, decisions and
//! bytes out; no sockets, no threads, no clock.
//!
//! ```text
//!   request ──> Cache::lookup ──> Hit          written from the entry's bytes
//!                                 Refresh      the same, and the request goes to the application as a fill
//!                                 Fill ──────> application ──> begin ─> append* ─> finish   stored
//!                                                                └────────┴─────> abandon   not stored
//!                                 Wait ──────> ... ──> pop_woken ──> LookUp: lookup again
//!                                                                    Go: to the application
//!                                 OnlyIfCached 504
//!                                 Pass         to the application, bypassing the cache
//! ```
//!
//! - [`cache`]: the cache; `lookup`, `storing` and `invalidation` are its three parts
//! - [`request`], [`response`]: the relevant parts of a message; [`control`], [`vary`], [`date`]: its fields
//! - [`policy`]: whether a response is stored, and for how long
//! - `key`, `store`, [`entry`], [`hit`]: keys of entries, their storage, their bytes
//! - `fill`, `hit_for_miss`: requests that the application answers for others, and keys that no request waits for
//! - [`reason`], [`statistics`]: reasons for not answering or storing, and counts
//!
//! # How a reactor uses it
//!
//! One [`Cache`] for each server: the listener is no part of the key. Times are those of the reactor's monotonic clock,
//! read once a turn; the wall clock is asked for once per stored response, to read its dates, and nothing lasts longer or
//! shorter if it jumps afterwards.
//!
//! - Pass each parsed request head to [`Cache::lookup`] before anything else handles it.
//! - A [`Hit`] is written at once, in its turn: on a connection where nothing is ahead of it,
//!   [`Hit::write`] appends head, `Age`, the lines given and the body to what is to be sent. For a large body, write the head, and
//!   keep the [`Entry`] to send the body from where it is.
//! - A [`Fill`] has exactly one end. `begin` takes the head of the response as Node has rendered it, `append` the body
//!   before it is chunked, `finish` completes it. [`Cache::abandon`] is for a lost connection or a failed application.
//!   For handlers that never answer there is [`Cache::expire`]: waiting requests are resumed after
//!   [`Settings::max_wait`], see [`Cache::next_deadline`], and half a second after `begin`, as a longer response may be a
//!   stream. Without waiters a fill costs only its memory until its connection ends.
//! - After each of these, call [`Cache::pop_woken`] until it returns `None`. Ignore the number of a request that no longer
//!   exists; [`Cache::leave`] withdraws it earlier.
//! - Report responses to unsafe methods to [`Cache::invalidate`].
//!
//! # Contents of the key
//!
//! Scheme, authority and the exact request-target; `key` explains why nothing is normalized. Then the fields by which
//! proxies tell what was asked for (`X-Forwarded-Host`, `X-Original-URL`), which `fields::keyed` lists. All other fields
//! that affect the response must be named in `Vary`: a response that one client influenced by a field in neither is served
//! to all others. Requests with a method in a field pass, and those with a key or a token have credentials.
//!
//! # Life cycle of a key
//!
//! ```text
//!             lookup: Fill                 finish                early / stale
//!   unknown ───────────────> in flight ─────────────> fresh ──────────────────> being renewed
//!      ^     others: Wait        │   woken: LookUp    Hit         one: Refresh        │ others: Hit
//!      │                         │ begin, append,      ^                              │
//!      │                         │ abandon, expire     └──────────── finish ──────────┤
//!      │                         v   woken: Go                                        │ not storable
//!      │                    uncacheable <─────────────────────────────────────────────┘
//!      │                    all: Pass; when the time is over, one: Fill, the others still Pass
//!      └── evicted, invalidated, or its time over: what waits is looked up again, what is under way is not stored
//! ```
//!
//! Requests with `Cookie` or `Authorization` have fills and hits for miss of their own, so that personal responses do not
//! delay other requests. So has each variant, once the `Vary` of a resource is known.
//!
//! ```
//! use std::time::Duration;
//! use millrace_cache::{Cache, Lookup, Mode, Request, Response, Settings};
//! use millrace_http::h1::Method;
//!
//! let mut cache = Cache::new(Settings { mode: Mode::All(Duration::from_secs(10)), ..Settings::default() });
//! let request = Request {
//!     secure: false,
//!     method: Method::Get,
//!     target: b"/",
//!     lines: b"Host: example.com\r\n",
//!     body: false,
//!     certificate: false,
//!     authenticated: false,
//!     server_name: b"",
//!     waits: 0,
//! };
//! let at = Duration::from_secs;
//! let Lookup::Fill(fill) = cache.lookup(at(0), &request, 1) else { panic!("nothing is stored") };
//! assert!(matches!(cache.lookup(at(0), &request, 2), Lookup::Wait(_)));
//!
//! let head = b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 2\r\n\r\n";
//! cache.begin(fill, at(1), 784_111_777, &Response { head, duration: None }).unwrap();
//! cache.append(fill, at(1), b"hi").unwrap();
//! cache.finish(fill, at(1)).unwrap();
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
pub mod entry;
mod entry_builder;
pub mod fields;
mod fill;
pub mod hit;
mod hit_for_miss;
mod key;
pub mod policy;
pub mod reason;
pub mod request;
pub mod response;
pub mod settings;
pub mod statistics;
mod store;

pub use cache::{Cache, Inspected, Lookup, Selection, Target, Then, Woken};
pub use entry::Entry;
pub use fields::credential::authenticates_connection;
pub use fields::vary::Vary;
pub use fill::{Fill, FillWait};
pub use hit::{Answer, Hit};
pub use reason::{NotStored, Pass};
pub use request::{Credentials, Request};
pub use response::{Response, ResponseFields};
pub use settings::{Mode, Settings};
pub use statistics::Statistics;
