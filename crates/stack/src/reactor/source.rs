//! What a readiness event is of.

use millrace_net::readiness::Token;

use crate::connection::id::ConnId;

const _: () = assert!(usize::BITS == 64, "a token holds the key of a connection");

/// Where the number of the kind begins in a token; below it stands which one.
const KIND_SHIFT: u32 = 61;

/// What a token of the poller stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Connection(ConnId),
    /// The way to whoever has the requests of a connection.
    Tunnel(ConnId),
    /// A connection that is over for its caller.
    Lingering(usize),
    Listener(usize),
    /// A descriptor of the router.
    Router(usize),
    Waker,
}

impl Source {
    pub(super) fn token(self) -> Token {
        let (kind, which) = match self {
            Self::Connection(id) => (0, id.to_bits()),
            Self::Tunnel(id) => (1, id.to_bits()),
            Self::Lingering(id) => (2, id as u64),
            Self::Listener(id) => (3, id as u64),
            Self::Router(id) => (4, id as u64),
            Self::Waker => (5, 0),
        };
        // Of the same size, as checked above.
        Token((kind << KIND_SHIFT | which) as usize)
    }

    pub(super) fn of(Token(token): Token) -> Self {
        let which = token & ((1 << KIND_SHIFT) - 1);
        let id = || ConnId::from_bits(which as u64);
        match token >> KIND_SHIFT {
            0 => Self::Connection(id()),
            1 => Self::Tunnel(id()),
            2 => Self::Lingering(which),
            3 => Self::Listener(which),
            4 => Self::Router(which),
            _ => Self::Waker,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_stand_for_their_sources() {
        let last = (1 << 29) - 1;
        for bits in [0, 7 | 5 << 32, u64::from(u32::MAX) | last << 32] {
            let id = ConnId::from_bits(bits);
            for source in [Source::Connection(id), Source::Tunnel(id)] {
                assert_eq!(Source::of(source.token()), source);
            }
        }
        for id in [0, 1, 1 << 32] {
            use Source::{Lingering, Listener, Router};
            for source in [Lingering(id), Listener(id), Router(id), Source::Waker] {
                assert_eq!(Source::of(source.token()), source);
            }
        }
    }
}
