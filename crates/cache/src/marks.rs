//! What was lately found not to be storable.

use std::time::Duration;

/// Places. A place is the newest one's: what is forgotten costs one wait.
const PLACES: usize = 4096;

/// Whether something was found not to be storable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Not that anybody remembers.
    None,
    /// Lately.
    Set,
    /// Some time ago.
    Faded,
}

/// Remembers hashes, which are keyed and of 64 bits: that two are the same does not happen. The memory is
/// constant, whatever is asked for.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Hash, and until when; empty before the first.
    places: Vec<(u64, Duration)>,
}

impl Marks {
    pub(crate) fn set(&mut self, hash: u64, until: Duration) {
        self.places.resize(PLACES, (0, Duration::ZERO));
        self.places[place(hash)] = (hash, until);
    }

    pub(crate) fn clear(&mut self, hash: u64) {
        if let Some(found) = self.places.get_mut(place(hash))
            && found.0 == hash
        {
            *found = (0, Duration::ZERO);
        }
    }

    pub(crate) fn clear_all(&mut self) {
        self.places.clear();
    }

    pub(crate) fn get(&self, hash: u64, now: Duration) -> Mark {
        match self.places.get(place(hash)) {
            Some(&(known, until)) if known == hash && !until.is_zero() => {
                if now < until {
                    Mark::Set
                } else {
                    Mark::Faded
                }
            }
            _ => Mark::None,
        }
    }
}

fn place(hash: u64) -> usize {
    (hash % PLACES as u64) as usize
}
