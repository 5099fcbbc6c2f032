//! The static table (RFC 7541, appendix A).

use super::lookup::hash;

/// The number of fields. Indexes begin at 1; those of the dynamic table follow.
pub(super) const LEN: usize = FIELDS.len();

/// Fields by index, less 1. Those of the same name follow one another.
const FIELDS: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Slots for the names: a power of two, so many that few are taken.
const SLOTS: usize = 256;

/// The first index of each name, in the slot of its hash or in one after it; 0 is an empty slot.
static FIRST_OF_NAME: [u8; SLOTS] = make_slots();

/// Where a field or its name was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Name and value, with the index.
    Field(usize),
    /// The name alone, with an index.
    Name(usize),
}

/// The name and value of an index from 1.
pub(super) fn get(index: usize) -> Option<(&'static [u8], &'static [u8])> {
    let (name, value) = FIELDS.get(index.checked_sub(1)?)?;
    Some((name.as_bytes(), value.as_bytes()))
}

/// Finds a field whose name has this hash.
pub(super) fn find(name: &[u8], name_hash: u64, value: &[u8]) -> Option<Found> {
    let mut slot = to_slot(name_hash);
    let first = loop {
        let first = usize::from(FIRST_OF_NAME[slot]);
        if first == 0 {
            return None;
        }
        if FIELDS[first - 1].0.as_bytes() == name {
            break first;
        }
        slot = (slot + 1) % SLOTS;
    };
    let same_name = FIELDS[first - 1..].iter().take_while(|field| field.0.as_bytes() == name);
    let found = same_name.zip(first..).find(|(field, _)| field.1.as_bytes() == value);
    Some(found.map_or(Found::Name(first), |(_, index)| Found::Field(index)))
}

const fn to_slot(name_hash: u64) -> usize {
    (name_hash >> 56) as usize % SLOTS
}

const fn make_slots() -> [u8; SLOTS] {
    let mut slots = [0; SLOTS];
    let mut index = 1;
    while index <= LEN {
        let name = FIELDS[index - 1].0.as_bytes();
        if index == 1 || !is_equal(name, FIELDS[index - 2].0.as_bytes()) {
            let mut slot = to_slot(hash(name, 0));
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = index as u8;
        }
        index += 1;
    }
    slots
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_and_no_other() {
        for index in 1..=LEN {
            let (name, value) = get(index).unwrap();
            assert_eq!(find(name, hash(name, 0), value), Some(Found::Field(index)));
            let found = find(name, hash(name, 0), b"other");
            assert!(matches!(found, Some(Found::Name(first)) if get(first).unwrap().0 == name));
        }
        assert_eq!((get(0), get(62)), (None, None));
        assert_eq!(find(b"x-other", hash(b"x-other", 0), b""), None);
    }
}
