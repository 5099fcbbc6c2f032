//! HTTP/2: both sides of a connection, without I/O.

mod conversation;
mod endpoint;
mod errors;
mod flow;
mod frames;
mod limits;
mod splits;
