//! The tests of the public interface, one program: each file of its own would be linked anew. What sets or counts
//! what is the whole process's is a file beside this folder.

mod exchange;
mod exchanges;
mod fields;
mod flights;
mod invalidation;
mod model;
mod origin;
mod policy;
mod requests;
mod serving;
mod speed;
mod variants;
