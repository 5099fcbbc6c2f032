//! The tests of the public interface, one program: each file of its own would be linked anew. What sets or counts
//! what is the whole process's is a file beside this folder.

#[cfg(target_os = "linux")]
#[expect(dead_code, reason = "the crate's own, of which this takes a part")]
#[path = "../../src/link.rs"]
mod link;
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "the crate's own, of which this takes a part")
)]
#[path = "../../src/message.rs"]
mod message;

mod messages;
mod prefixes;
mod said;
#[cfg(target_os = "linux")]
mod sharing;
#[cfg(target_os = "linux")]
mod strangers;
