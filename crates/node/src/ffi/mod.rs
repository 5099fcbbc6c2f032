//! All `unsafe` code of the addon: handles of libuv, what napi-rs does not have of Node-API, memory that is shared with
//! JavaScript, and descriptors whose numbers JavaScript has. What these modules give to others is safe to use.

#![expect(unsafe_code, reason = "the border to Node.js and the system")]

pub(crate) mod descriptor;
pub(crate) mod node_api;
pub(crate) mod shared_memory;
pub(crate) mod uv;
