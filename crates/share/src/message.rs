//! What processes that share a port say to each other.
//!
//! ```text
//!   who joins        Hello ──>
//!                          <── Added and Orphaned, as many as there are; then Welcome, with the listening socket
//!                    Added ──>  as soon as it accepts; Removed when it does no more
//!   either           Connection, with its socket ──>
//!                          <── Taken, before anything of it is answered, or Refused
//! ```
//!
//! Each message is its length in three bytes, how many descriptors have come with its first byte in one, and its kind and fields as postcard
//! has them. Descriptors are taken in their order by the messages that have one, which are that message and those behind it. Whoever is gone
//! without having said `Removed` has ended unasked.

use std::borrow::Cow;
use std::net::SocketAddr;

use millrace_stack::router::SessionInfo;
use serde::{Deserialize, Serialize};

/// Changes with every change of what is said.
pub(crate) const VERSION: u32 = 5;
/// No message is longer: the bytes of one connection that were read and not taken, a client's certificates, and room to spare.
const MAX_LENGTH: usize = 256 * 1024;
const PREFIX: usize = 4;
/// Where in the prefix the number of descriptors is.
const DESCRIPTORS: usize = 3;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message<'a> {
    Hello {
        version: u32,
        secure: bool,
    },
    /// All that there is to know was said before.
    Welcome {
        version: u32,
        secure: bool,
    },
    Orphaned(Orphaned<'a>),
    Added {
        prefix: Cow<'a, str>,
    },
    Removed {
        prefix: Cow<'a, str>,
    },
    /// A connection whose next request belongs to the other. `serial` is the sender's number for it, `hops` how often it
    /// was given on since its last response, `bytes` what was read and not taken. `session`: it is the text of a TLS session,
    /// which somebody else has.
    Connection {
        serial: u32,
        hops: u8,
        peer: Option<SocketAddr>,
        session: Option<Cow<'a, SessionInfo>>,
        bytes: &'a [u8],
    },
    /// The connection with this number could not be taken: its sender still has it.
    Refused {
        serial: u32,
    },
    /// The connections with these numbers are the other's now.
    Taken {
        serials: Vec<u32>,
    },
}

/// A prefix whose owner, a process of this user, has ended unasked. `confirmed`: the one who says so has seen that, or has it from
/// somebody whom it trusts. `left_s`: for how long it is remembered, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Orphaned<'a> {
    pub(crate) prefix: Cow<'a, str>,
    pub(crate) user: u32,
    pub(crate) confirmed: bool,
    pub(crate) left_s: u32,
}

/// The other side does not keep to this, or we would not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Message<'_> {
    /// The bytes that leave; nobody would take what is too long.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, Malformed> {
        let mut bytes = postcard::to_extend(self, vec![0; PREFIX]).map_err(|_| Malformed)?;
        let length = bytes.len() - PREFIX;
        if length > MAX_LENGTH {
            return Err(Malformed);
        }
        // In range: it takes the lower three bytes.
        bytes[..PREFIX].copy_from_slice(&(length as u32).to_le_bytes());
        Ok(bytes)
    }
}

/// Says with a message how many descriptors leave with its first byte.
pub(crate) fn set_descriptors(message: &mut [u8], count: u8) {
    if let Some(byte) = message.get_mut(DESCRIPTORS) {
        *byte = count;
    }
}

/// How many descriptors have come with the first byte of a message.
pub(crate) fn descriptors(message: &[u8]) -> usize {
    message.get(DESCRIPTORS).map_or(0, |&count| usize::from(count))
}

/// The first message of these bytes, and how many it takes; `None`: it is not complete.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Message<'_>, usize)>, Malformed> {
    let Some((length, rest)) = bytes.split_first_chunk::<PREFIX>() else { return Ok(None) };
    let [low, middle, high, _] = *length;
    let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
    if length > MAX_LENGTH {
        return Err(Malformed);
    }
    let Some(message) = rest.get(..length) else { return Ok(None) };
    let (message, unused) = postcard::take_from_bytes(message).map_err(|_| Malformed)?;
    if unused.is_empty() { Ok(Some((message, PREFIX + length))) } else { Err(Malformed) }
}
