//! The open streams of a connection.

use super::flow::{ReceiveWindow, SendWindow};

/// Names an open stream of a connection. A key is used again when its stream has been removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamKey(u32);

impl StreamKey {
    /// No stream.
    const NONE: Self = Self(u32::MAX);
}

/// An open stream, with what its user keeps for it.
#[derive(Debug)]
pub(crate) struct Stream<T> {
    /// Its number in frames.
    pub(crate) id: u32,
    /// Which parts of the peer's message have arrived.
    pub(crate) received: Received,
    /// Whether this side has sent its last frame.
    pub(crate) is_sent: bool,
    /// Whether the peer's message has no content, whatever its fields say.
    pub(crate) is_bodiless: bool,
    /// How many bytes of content are still to come, if the peer has said so.
    pub(crate) content_left: Option<u64>,
    pub(crate) send_window: SendWindow,
    pub(crate) receive_window: ReceiveWindow,
    pub(crate) data: T,
}

/// Which parts of a message have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Received {
    Nothing,
    /// The final head.
    Head,
    /// Everything: END_STREAM.
    All,
}

#[derive(Debug)]
struct Entry<T> {
    /// `None`: the entry is free.
    stream: Option<Stream<T>>,
    /// The neighbours in the order of opening; of a free entry, `next` is the next free one.
    previous: StreamKey,
    next: StreamKey,
}

/// The open streams, by key and by number, in the order in which they were opened. Nothing is allocated once there have been
/// as many streams at a time.
#[derive(Debug)]
pub(crate) struct Streams<T> {
    entries: Vec<Entry<T>>,
    free: StreamKey,
    first: StreamKey,
    last: StreamKey,
    /// Keys by number: open addressing with linear probing. Its length is a power of two, and more than half of it is free.
    table: Vec<StreamKey>,
    count: usize,
}

impl<T> Default for Streams<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: StreamKey::NONE,
            first: StreamKey::NONE,
            last: StreamKey::NONE,
            table: Vec::new(),
            count: 0,
        }
    }
}

impl<T> Streams<T> {
    /// Returns the number of open streams.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Removes all streams and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.table.fill(StreamKey::NONE);
        (self.free, self.first, self.last) = (StreamKey::NONE, StreamKey::NONE, StreamKey::NONE);
        self.count = 0;
    }

    #[inline]
    pub(crate) fn get(&self, key: StreamKey) -> Option<&Stream<T>> {
        self.entries.get(key.0 as usize)?.stream.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: StreamKey) -> Option<&mut Stream<T>> {
        self.entries.get_mut(key.0 as usize)?.stream.as_mut()
    }

    /// Returns the stream with this number.
    #[inline]
    pub(crate) fn find(&self, id: u32) -> Option<StreamKey> {
        if self.table.is_empty() {
            return None;
        }
        let mut at = self.home(id);
        loop {
            let key = self.table[at];
            if key == StreamKey::NONE {
                return None;
            }
            if self.get(key).is_some_and(|stream| stream.id == id) {
                return Some(key);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    /// The place in the table where a number is looked for first. The numbers of one side go up in steps of two.
    #[inline]
    fn home(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.table.len() - 1)
    }

    /// Adds a stream, whose number is not in use.
    pub(crate) fn insert(&mut self, stream: Stream<T>) -> StreamKey {
        let id = stream.id;
        let entry = Entry { stream: Some(stream), previous: self.last, next: StreamKey::NONE };
        let key = match self.entries.get_mut(self.free.0 as usize) {
            Some(free) => {
                let key = std::mem::replace(&mut self.free, free.next);
                *free = entry;
                key
            }
            None => {
                self.entries.push(entry);
                StreamKey(self.entries.len() as u32 - 1)
            }
        };
        match self.entries.get_mut(self.last.0 as usize) {
            Some(last) => last.next = key,
            None => self.first = key,
        }
        self.last = key;
        self.count += 1;
        if self.count * 2 > self.table.len() {
            self.grow();
        } else {
            self.index(id, key);
        }
        key
    }

    /// Doubles the table.
    fn grow(&mut self) {
        /// Enough for most connections.
        const MIN: usize = 16;
        let length = (self.table.len() * 2).max(MIN);
        self.table.clear();
        self.table.resize(length, StreamKey::NONE);
        let mut key = self.first;
        while let Some(Entry { stream: Some(stream), next, .. }) = self.entries.get(key.0 as usize)
        {
            let (id, next) = (stream.id, *next);
            self.index(id, key);
            key = next;
        }
    }

    fn index(&mut self, id: u32, key: StreamKey) {
        let mut at = self.home(id);
        while self.table[at] != StreamKey::NONE {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = key;
    }

    /// Removes a number from the table, and moves those behind it that were displaced.
    fn unindex(&mut self, id: u32, key: StreamKey) {
        let mask = self.table.len() - 1;
        let mut hole = self.home(id);
        while self.table[hole] != key {
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            self.table[hole] = StreamKey::NONE;
            loop {
                at = (at + 1) & mask;
                let Some(stream) = self.get(self.table[at]) else { return };
                // It may move to the hole if that is not before its home.
                let home = self.home(stream.id);
                if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                    self.table[hole] = self.table[at];
                    hole = at;
                    break;
                }
            }
        }
    }

    /// Removes a stream.
    pub(crate) fn remove(&mut self, key: StreamKey) -> Option<Stream<T>> {
        let id = self.get(key)?.id;
        self.unindex(id, key);
        let entry = &mut self.entries[key.0 as usize];
        let stream = entry.stream.take();
        let (previous, next) = (entry.previous, std::mem::replace(&mut entry.next, self.free));
        self.free = key;
        match self.entries.get_mut(previous.0 as usize) {
            Some(entry) => entry.next = next,
            None => self.first = next,
        }
        match self.entries.get_mut(next.0 as usize) {
            Some(entry) => entry.previous = previous,
            None => self.last = previous,
        }
        self.count -= 1;
        stream
    }

    /// Gives a stream another number, which is not in use; its place in the order stays.
    pub(crate) fn renumber(&mut self, key: StreamKey, id: u32) {
        let Some(stream) = self.get_mut(key) else { return };
        let before = std::mem::replace(&mut stream.id, id);
        // The table is searched by key, from the place of the number before.
        self.unindex(before, key);
        self.index(id, key);
    }

    /// Returns the stream that was opened first.
    pub(crate) fn first(&self) -> Option<StreamKey> {
        (self.first != StreamKey::NONE).then_some(self.first)
    }

    /// Returns the stream that was opened after this one.
    pub(crate) fn after(&self, key: StreamKey) -> Option<StreamKey> {
        let next = self.entries.get(key.0 as usize)?.next;
        (next != StreamKey::NONE).then_some(next)
    }

    /// Returns all streams in any order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream<T>> {
        self.entries.iter_mut().filter_map(|entry| entry.stream.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stream(id: u32) -> Stream<u32> {
        Stream {
            id,
            received: Received::Nothing,
            is_sent: false,
            is_bodiless: false,
            content_left: None,
            send_window: SendWindow::new(0),
            receive_window: ReceiveWindow::new(0),
            data: id,
        }
    }

    fn in_order(streams: &Streams<u32>) -> Vec<u32> {
        let keys = std::iter::successors(streams.first(), |key| streams.after(*key));
        keys.filter_map(|key| streams.get(key)).map(|stream| stream.data).collect()
    }

    proptest! {
        /// As a list of (number, data) in the order of opening.
        #[test]
        fn streams_are_found_in_order_and_by_number(
            steps in proptest::collection::vec((0..4u8, any::<prop::sample::Index>()), 0..300),
        ) {
            let mut streams = Streams::default();
            let mut model: Vec<(u32, u32)> = Vec::new();
            let mut next = 1;
            for (step, which) in steps {
                match step {
                    0 if !model.is_empty() => {
                        let (id, data) = model.remove(which.index(model.len()));
                        let key = streams.find(id).expect("it is open");
                        prop_assert_eq!(streams.remove(key).map(|stream| stream.data), Some(data));
                        prop_assert!(streams.find(id).is_none());
                    }
                    1 if !model.is_empty() => {
                        let at = which.index(model.len());
                        let key = streams.find(model[at].0).expect("it is open");
                        streams.renumber(key, next);
                        model[at].0 = next;
                        next += 2;
                    }
                    _ => {
                        streams.insert(stream(next));
                        model.push((next, next));
                        // Numbers far apart may share a place.
                        next += if which.index(5) == 0 { 128 } else { 2 };
                    }
                }
                let expected: Vec<u32> = model.iter().map(|(_, data)| *data).collect();
                prop_assert_eq!(in_order(&streams), expected);
                for (id, data) in &model {
                    let found = streams.find(*id).and_then(|key| streams.get(key));
                    prop_assert_eq!(found.map(|stream| stream.data), Some(*data));
                }
                prop_assert_eq!(streams.count(), model.len());
            }
        }
    }
}
