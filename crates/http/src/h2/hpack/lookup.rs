//! Finds entries of the encoder's dynamic table.

use super::DEFAULT_TABLE_SIZE;
use super::dynamic_table::DynamicTable;
use crate::h2::field_list::FIELD_OVERHEAD;

/// The largest table of an encoder.
pub(super) const MAX_TABLE_SIZE: usize = DEFAULT_TABLE_SIZE;

/// Slots, of which each entry has one, in turn: at least as many as there can be entries, so that none is taken twice.
const SLOTS: usize = MAX_TABLE_SIZE / FIELD_OVERHEAD;

/// Where the entries of the table are, by name and value, and by name.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    newest: u8,
    fields: Chains,
    names: Chains,
}

impl Lookup {
    pub(super) fn new() -> Self {
        Self { newest: 0, fields: Chains::new(), names: Chains::new() }
    }

    /// Notes the newest entry.
    pub(super) fn insert(&mut self, name_hash: u64, field_hash: u64) {
        self.newest = (self.newest + 1) % SLOTS as u8;
        self.fields.insert(self.newest, field_hash);
        self.names.insert(self.newest, name_hash);
    }

    /// How many entries are newer than the one with this name and value.
    pub(super) fn find_field(
        &self,
        table: &DynamicTable,
        (name, value): (&[u8], &[u8]),
        field_hash: u64,
    ) -> Option<usize> {
        self.fields.find(self.newest, table.len(), field_hash, |age| {
            table.get(age).is_some_and(|field| field.name() == name && field.value() == value)
        })
    }

    /// How many entries are newer than the newest one with this name.
    pub(super) fn find_name(
        &self,
        table: &DynamicTable,
        name: &[u8],
        name_hash: u64,
    ) -> Option<usize> {
        self.names.find(self.newest, table.len(), name_hash, |age| {
            table.get(age).is_some_and(|field| field.name() == name)
        })
    }
}

/// Slots by hash: for each bucket the newest one, and for each slot the next older one of its bucket.
///
/// Nothing is done when an entry leaves the table. A slot that is older than all entries, or that another entry has by
/// now, ends its chain: what would follow it was older, and has left too.
#[derive(Clone, Debug)]
struct Chains {
    newest: [u8; SLOTS],
    older: [u8; SLOTS],
    hashes: [u32; SLOTS],
}

impl Chains {
    fn new() -> Self {
        Self { newest: [0; SLOTS], older: [0; SLOTS], hashes: [0; SLOTS] }
    }

    fn insert(&mut self, slot: u8, hash: u64) {
        let newest = &mut self.newest[to_bucket(hash)];
        self.older[usize::from(slot)] = *newest;
        self.hashes[usize::from(slot)] = to_kept(hash);
        *newest = slot;
    }

    /// The age of the newest of `entries` entries that has this hash and is the one.
    fn find(
        &self,
        newest: u8,
        entries: usize,
        hash: u64,
        is_it: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let to_age = |slot: u8| usize::from(newest.wrapping_sub(slot)) % SLOTS;
        let mut slot = self.newest[to_bucket(hash)];
        let mut age = to_age(slot);
        while age < entries {
            if self.hashes[usize::from(slot)] == to_kept(hash) && is_it(age) {
                return Some(age);
            }
            slot = self.older[usize::from(slot)];
            let older = to_age(slot);
            if older <= age {
                break;
            }
            age = older;
        }
        None
    }
}

fn to_bucket(hash: u64) -> usize {
    (hash >> 32) as usize % SLOTS
}

fn to_kept(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// A hash whose upper half is well mixed. Names and values of an encoder come from this side, and a bucket has at most
/// `SLOTS` entries: so it need not be a keyed one.
pub(super) const fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mut state = mix(seed, bytes.len() as u64);
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk() {
        state = mix(state, u64::from_le_bytes(*word));
        rest = after;
    }
    if rest.is_empty() {
        return state;
    }
    // The last word overlaps the one before it, or the two halves overlap.
    let word = if let Some(word) = bytes.last_chunk() {
        u64::from_le_bytes(*word)
    } else if let (Some(first), Some(last)) = (rest.first_chunk(), rest.last_chunk()) {
        (u32::from_le_bytes(*first) as u64) << 32 | u32::from_le_bytes(*last) as u64
    } else {
        let (first, middle, last) = (rest[0], rest[rest.len() / 2], rest[rest.len() - 1]);
        (first as u64) << 16 | (middle as u64) << 8 | last as u64
    };
    mix(state, word)
}

const fn mix(state: u64, word: u64) -> u64 {
    let product = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}
