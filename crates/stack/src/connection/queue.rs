//! Bytes that wait for the system to take them.

use std::collections::VecDeque;
use std::sync::Arc;

use millrace_cache::Entry;

/// What is added goes to the part before it, up to this size: a part that has left gives its memory back.
const PART: usize = 64 * 1024;

#[derive(Debug)]
enum QueuedBytes {
    Own(Vec<u8>),
    /// The body of a stored response, which all who wait for it share.
    Body(Arc<Entry>),
}

/// Of these bytes, those from `start` on.
#[derive(Debug)]
struct QueuedPart {
    bytes: QueuedBytes,
    start: usize,
}

impl QueuedPart {
    fn rest(&self) -> &[u8] {
        match &self.bytes {
            QueuedBytes::Own(bytes) => &bytes[self.start..],
            QueuedBytes::Body(entry) => &entry.body()[self.start..],
        }
    }
}

/// A queue of bytes. One without any has no memory.
#[derive(Debug, Default)]
pub(super) struct Queue {
    parts: VecDeque<QueuedPart>,
    length: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.length += bytes.len();
        if let Some(QueuedPart { bytes: QueuedBytes::Own(last), .. }) = self.parts.back_mut()
            && last.len() + bytes.len() <= PART
        {
            last.extend_from_slice(bytes);
            return;
        }
        self.parts.push_back(QueuedPart { bytes: QueuedBytes::Own(bytes.to_vec()), start: 0 });
    }

    /// Adds the body of a stored response, from `start` on.
    pub(super) fn push_body(&mut self, entry: &Arc<Entry>, start: usize) {
        let length = entry.body().len() - start;
        if length > 0 {
            self.length += length;
            self.parts.push_back(QueuedPart { bytes: QueuedBytes::Body(Arc::clone(entry)), start });
        }
    }

    /// The first bytes; none where there are none.
    pub(super) fn front(&self) -> &[u8] {
        self.parts.front().map_or(&[], QueuedPart::rest)
    }

    /// So many of the first bytes, at most all of [`Self::front`], have left.
    pub(super) fn advance(&mut self, count: usize) {
        let Some(first) = self.parts.front_mut() else { return };
        first.start += count;
        self.length -= count;
        if first.rest().is_empty() {
            self.parts.pop_front();
        }
        if self.length == 0 {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(queue: &mut Queue, count: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        while taken.len() < count {
            let next = queue.front().len().min(count - taken.len());
            taken.extend_from_slice(&queue.front()[..next]);
            queue.advance(next);
        }
        taken
    }

    fn memory(queue: &Queue) -> usize {
        let own = |part: &QueuedPart| match &part.bytes {
            QueuedBytes::Own(bytes) => bytes.capacity(),
            QueuedBytes::Body(_) => 0,
        };
        queue.parts.capacity() * size_of::<QueuedPart>()
            + queue.parts.iter().map(own).sum::<usize>()
    }

    #[test]
    fn bytes_leave_in_order_whatever_the_sizes() {
        let bytes: Vec<u8> = (0..1_000_000u32).map(|n| n.to_le_bytes()[n as usize % 3]).collect();
        let mut queue = Queue::default();
        let (mut at, mut size, mut taken) = (0, 1, Vec::new());
        while at < bytes.len() {
            let end = bytes.len().min(at + size);
            queue.push(&bytes[at..end]);
            (at, size) = (end, (size * 7 + 1) % 200_000);
            let count = queue.len() / 2;
            taken.extend(take(&mut queue, count));
        }
        let rest = queue.len();
        taken.extend(take(&mut queue, rest));
        assert!(taken == bytes);
        assert!(queue.is_empty() && queue.front().is_empty());
    }

    #[test]
    fn a_queue_that_is_never_empty_does_not_grow() {
        let mut queue = Queue::default();
        let chunk = [1; 10_000];
        queue.push(&chunk);
        for _ in 0..10_000 {
            queue.push(&chunk);
            take(&mut queue, chunk.len());
            assert!(memory(&queue) <= 4 * PART, "{} bytes", memory(&queue));
        }
        assert_eq!(queue.len(), chunk.len());
        take(&mut queue, chunk.len());
        assert_eq!(memory(&queue), 0);
    }
}
