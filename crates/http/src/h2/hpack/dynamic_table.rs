//! The dynamic table (RFC 7541, sections 2.3.2 and 4).

use std::collections::VecDeque;

use crate::h2::field_list::FIELD_OVERHEAD;

/// The size of an entry with a name and value of so many bytes together (RFC 7541, section 4.1).
pub(super) fn entry_size(len: usize) -> usize {
    len + FIELD_OVERHEAD
}

/// Fields, of which the oldest leave when there is no room for a new one.
#[derive(Clone, Debug)]
pub(super) struct DynamicTable {
    /// Names and values of the entries, the oldest first. What is before them belonged to entries that left.
    bytes: Vec<u8>,
    /// The oldest first.
    entries: VecDeque<Entry>,
    size: usize,
    max_size: usize,
    generation: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    name_end: usize,
    end: usize,
}

/// A name and value that follow one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) name_len: usize,
}

impl<'a> Field<'a> {
    pub(super) fn name(self) -> &'a [u8] {
        &self.bytes[..self.name_len]
    }

    pub(super) fn value(self) -> &'a [u8] {
        &self.bytes[self.name_len..]
    }
}

impl DynamicTable {
    pub(super) fn new(max_size: usize) -> Self {
        Self { bytes: Vec::new(), entries: VecDeque::new(), size: 0, max_size, generation: 0 }
    }

    /// The entry with so many newer ones.
    pub(super) fn get(&self, age: usize) -> Option<Field<'_>> {
        let entry = self.entries.get(self.entries.len().checked_sub(age + 1)?)?;
        let name_len = entry.name_end - entry.start;
        Some(Field { bytes: &self.bytes[entry.start..entry.end], name_len })
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn max_size(&self) -> usize {
        self.max_size
    }

    /// The size that is left.
    pub(super) fn room(&self) -> usize {
        self.max_size - self.size
    }

    /// Changes when the table does.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Sets another bound; entries that are too many leave.
    pub(super) fn set_max_size(&mut self, max_size: usize) {
        self.max_size = max_size;
        self.generation += 1;
        self.evict(max_size);
    }

    /// Inserts a field. If it is larger than the table, the table becomes empty, and it is not inserted
    /// (RFC 7541, section 4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let len = name.len() + value.len();
        let size = entry_size(len);
        self.generation += 1;
        if size > self.max_size {
            return self.evict(0);
        }
        self.evict(self.max_size - size);
        self.reclaim(len);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        let name_end = start + name.len();
        self.entries.push_back(Entry { start, name_end, end: start + len });
        self.size += size;
    }

    /// Removes all entries.
    pub(super) fn clear(&mut self) {
        self.generation += 1;
        self.evict(0);
    }

    /// Removes the oldest entries until the size is as small as that.
    fn evict(&mut self, size: usize) {
        while self.size > size
            && let Some(entry) = self.entries.pop_front()
        {
            self.size -= entry_size(entry.end - entry.start);
        }
        if self.entries.is_empty() {
            self.bytes.clear();
        }
    }

    /// Moves the entries to the start of the buffer rather than let it grow for `len` bytes, if that frees at least half
    /// of it: so a move costs no more than what was inserted since the last one.
    fn reclaim(&mut self, len: usize) {
        let unused = self.entries.front().map_or(0, |entry| entry.start);
        if self.bytes.len() + len > self.bytes.capacity() && unused >= self.bytes.len() / 2 {
            self.bytes.drain(..unused);
            for entry in &mut self.entries {
                entry.start -= unused;
                entry.name_end -= unused;
                entry.end -= unused;
            }
        }
    }
}
