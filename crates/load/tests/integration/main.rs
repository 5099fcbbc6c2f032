//! The tests of the public interface, one program: each file of its own would be linked anew. What sets or counts
//! what is the whole process's is a file beside this folder.

mod closed;
mod error;
mod faults;
mod open;
mod peer;
mod schedule;
mod template;
mod times;
