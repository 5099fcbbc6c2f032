//! Flows: what users do, their variables and cookies. Pure: responses and times in, requests and figures out.
//!
//! ```text
//!   advance ──> Next: a request · a pause · JavaScript · a failure · the end
//!      ^            │ rendered from the user's variables, with its cookies
//!      └─ answered <┘ response: checked, saved, or followed to another request
//! ```

mod compiled;
mod cookies;
pub(crate) mod ends;
pub(crate) mod hooks;
mod pointer;
mod program;
mod response;
pub(crate) mod step;
pub(crate) mod users;
pub(crate) mod value;

pub(crate) use compiled::CompiledFlows;
