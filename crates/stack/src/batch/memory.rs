//! The bytes of a batch: what events name stays where it is until the caller has taken the batch.

use std::ops::Range;

use super::Span;

/// Memory that is given out from its start. What was reserved last gives back what it does not need.
#[derive(Debug)]
pub(crate) struct Memory<'a> {
    bytes: &'a mut [u8],
    /// Where the free memory begins.
    end: usize,
}

/// A part of the memory that somebody fills. What events name of it has to be committed; nobody else gets any of it until
/// [`Memory::commit`].
#[must_use]
#[derive(Debug)]
pub(crate) struct Region {
    start: usize,
    filled: usize,
    limit: usize,
}

impl Region {
    /// Where in the batch's memory its bytes are.
    pub(crate) fn filled(&self) -> Range<usize> {
        self.start..self.filled
    }

    /// So many more bytes of it are filled.
    pub(crate) fn advance(&mut self, count: usize) {
        self.filled = (self.filled + count).min(self.limit);
    }
}

impl<'a> Memory<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, end: 0 }
    }

    /// Bytes that are free.
    pub(crate) fn free(&self) -> usize {
        self.bytes.len() - self.end
    }

    pub(super) fn is_half_full(&self) -> bool {
        self.end >= self.bytes.len() / 2
    }

    /// Frees all.
    pub(super) fn clear(&mut self) {
        self.end = 0;
    }

    /// Reserves so many bytes, at most those that are free.
    pub(crate) fn reserve(&mut self, length: usize) -> Region {
        let start = self.end;
        self.end += length.min(self.free());
        Region { start, filled: start, limit: self.end }
    }

    /// Adds bytes to a region, as far as it has room.
    pub(crate) fn fill(&mut self, region: &mut Region, bytes: &[u8]) {
        let room = self.room(region);
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        region.advance(count);
    }

    /// What of a region is not filled.
    pub(crate) fn room(&mut self, region: &Region) -> &mut [u8] {
        &mut self.bytes[region.filled..region.limit]
    }

    /// Bytes that were filled.
    pub(crate) fn get(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Events name bytes of a region up to here, or none: the rest is free again, if nothing was reserved behind it.
    pub(crate) fn commit(&mut self, region: &Region, up_to: usize) {
        if self.end == region.limit {
            self.end = up_to.clamp(region.start, region.filled);
        }
    }

    /// The free memory, for what no event names.
    pub(crate) fn scratch(&mut self) -> &mut [u8] {
        &mut self.bytes[self.end..]
    }

    /// Keeps bytes for an event, as far as there is room; gives where they are.
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> Span {
        let mut region = self.reserve(bytes.len());
        self.fill(&mut region, bytes);
        let Range { start, end } = region.filled();
        Span::new(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_stays_and_the_rest_is_free() {
        let mut bytes = [0; 10];
        let mut memory = Memory::new(&mut bytes);
        let mut first = memory.reserve(6);
        memory.fill(&mut first, b"abcdef");
        memory.commit(&first, 4);
        assert_eq!((memory.free(), memory.get(first.filled())), (6, &b"abcdef"[..]));
        let mut second = memory.reserve(4);
        memory.fill(&mut second, b"XYZ");
        memory.commit(&second, 7);
        assert_eq!(memory.get(0..7), b"abcdXYZ");
        let none = memory.reserve(3);
        memory.commit(&none, 0);
        assert_eq!(memory.free(), 3);
    }

    #[test]
    fn what_was_reserved_behind_a_region_is_not_given_anew() {
        let mut bytes = [0; 10];
        let mut memory = Memory::new(&mut bytes);
        let mut outer = memory.reserve(5);
        memory.fill(&mut outer, b"ab");
        let kept = memory.keep(b"123");
        memory.commit(&outer, 1);
        let mut next = memory.reserve(9);
        memory.fill(&mut next, b"xxxxxxxxx");
        assert_eq!(memory.get(5..kept.end()), b"123");
        assert_eq!(next.filled(), 8..10);
    }
}
