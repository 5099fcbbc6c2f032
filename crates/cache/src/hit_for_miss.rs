//! Hits for miss: keys whose last response could not be stored.

use std::time::Duration;

/// Number of slots. The newest record of a slot reslots the previous one, which costs one wait.
const SLOTS: usize = 4096;

/// Whether the last response of a key could not be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HitForMiss {
    /// No record.
    None,
    /// Requests bypass the cache.
    Active,
    /// One request checks again.
    Expired,
}

/// A table of hits for miss, by keyed hashes of 64 bits: collisions are negligible. Its memory is constant.
#[derive(Debug, Default)]
pub(crate) struct HitForMissTable {
    /// Hash, and when the record expires; empty before the first record.
    slots: Vec<(u64, Duration)>,
}

impl HitForMissTable {
    pub(crate) fn set(&mut self, hash: u64, until: Duration) {
        self.slots.resize(SLOTS, (0, Duration::ZERO));
        self.slots[find_slot(hash)] = (hash, until);
    }

    pub(crate) fn clear(&mut self, hash: u64) {
        if let Some(found) = self.slots.get_mut(find_slot(hash))
            && found.0 == hash
        {
            *found = (0, Duration::ZERO);
        }
    }

    pub(crate) fn clear_all(&mut self) {
        self.slots.clear();
    }

    pub(crate) fn get(&self, hash: u64, now: Duration) -> HitForMiss {
        match self.slots.get(find_slot(hash)) {
            Some(&(known, until)) if known == hash && !until.is_zero() => {
                if now < until {
                    HitForMiss::Active
                } else {
                    HitForMiss::Expired
                }
            }
            _ => HitForMiss::None,
        }
    }
}

fn find_slot(hash: u64) -> usize {
    (hash % SLOTS as u64) as usize
}
