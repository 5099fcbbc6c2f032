//! Fields of HTTP that caching depends on: how they are parsed and compared.

pub(crate) mod condition;
pub mod control;
pub mod credential;
pub mod date;
pub(crate) mod keyed;
pub mod vary;
