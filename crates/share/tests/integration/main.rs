//! The tests of the public interface, as one program that is linked once. Tests that need a process of their own are
//! files beside this folder.

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
