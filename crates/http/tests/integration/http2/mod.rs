//! HTTP/2: both sides of a connection, without I/O.

mod endpoint;
mod errors;
mod flow;
mod frames;
