//! The tests of the public interface, as one program that is linked once. Tests that need a process of their own are
//! files beside this folder.

mod exchange;
mod exchanges;
mod fields;
mod flights;
mod invalidation;
mod model;
mod origin;
mod policy;
mod proxies;
mod requests;
mod serving;
mod speed;
mod variants;
