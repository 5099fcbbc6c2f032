//! Keys of connections, and where connections are kept.

use super::Connection;

/// Bits of a generation: so many fit into a token of the poller, beside the index and the kind of source.
const GENERATION_BITS: u32 = 29;

/// The key of a connection. The index is its place in [`Connections`]; the generation tells it from others that had this
/// place. Whoever keeps a connection for later keeps its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnId {
    index: u32,
    generation: u32,
}

/// The key of a lane. The index is the caller's number for it. A connection's own lane has the connection's place; lanes of
/// streams would have places of their own among them, as the caller's numbers are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LaneId(ConnId);

impl LaneId {
    /// The caller's number for it.
    pub(crate) fn number(self) -> usize {
        self.0.index()
    }

    /// All of it in one number.
    pub(crate) fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// The inverse of [`Self::to_bits`].
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(ConnId::from_bits(bits))
    }
}

impl ConnId {
    /// The connection's own lane.
    pub(crate) fn lane(self) -> LaneId {
        LaneId(self)
    }

    fn index(self) -> usize {
        self.index as usize
    }

    /// All of it in one number of 61 bits.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.index) | u64::from(self.generation) << u32::BITS
    }

    /// The inverse of [`Self::to_bits`].
    pub(crate) fn from_bits(bits: u64) -> Self {
        // The lower half and the upper half.
        Self { index: bits as u32, generation: (bits >> u32::BITS) as u32 }
    }
}

/// All connections of a reactor. A look-up by key checks the generation.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    places: Vec<Option<Connection>>,
    free: Vec<u32>,
    /// Places whose numbers the caller's batch may still contain: free from the next turn on.
    vacated: Vec<u32>,
    generation: u32,
}

impl Connections {
    /// The key of the connection that [`Self::insert`] adds next.
    pub(crate) fn next_id(&self) -> ConnId {
        let index = self.free.last().copied();
        // In range: a process has far fewer than 2^32 descriptors.
        let index = index.unwrap_or(self.places.len() as u32);
        ConnId { index, generation: self.generation }
    }

    /// Adds a connection that was made with [`Self::next_id`].
    pub(crate) fn insert(&mut self, connection: Connection) {
        debug_assert_eq!(connection.id, self.next_id());
        self.generation = (self.generation + 1) % (1 << GENERATION_BITS);
        match self.free.pop() {
            Some(index) => self.places[index as usize] = Some(connection),
            None => self.places.push(Some(connection)),
        }
    }

    pub(crate) fn get(&self, id: ConnId) -> Option<&Connection> {
        self.at(id.index()).filter(|connection| connection.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: ConnId) -> Option<&mut Connection> {
        self.at_mut(id.index()).filter(|connection| connection.id == id)
    }

    /// The connection of a lane.
    pub(crate) fn of(&self, lane: LaneId) -> Option<&Connection> {
        self.get(lane.0)
    }

    pub(crate) fn of_mut(&mut self, lane: LaneId) -> Option<&mut Connection> {
        self.get_mut(lane.0)
    }

    /// The connection of the lane that the caller means by a number. The number is not given anew before the caller has taken
    /// the batch that tells of its end, or has closed it.
    pub(crate) fn at(&self, number: usize) -> Option<&Connection> {
        self.places.get(number)?.as_ref()
    }

    pub(crate) fn at_mut(&mut self, number: usize) -> Option<&mut Connection> {
        self.places.get_mut(number)?.as_mut()
    }

    pub(crate) fn remove(&mut self, id: ConnId) -> Option<Connection> {
        let connection = self.places.get_mut(id.index())?.take_if(|it| it.id == id)?;
        match connection.lane.unopened {
            // The caller does not know it.
            true => self.free.push(id.index),
            false => self.vacated.push(id.index),
        }
        Some(connection)
    }

    /// The caller's batch has been taken.
    pub(crate) fn reuse_vacated(&mut self) {
        self.free.append(&mut self.vacated);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.places.iter().flatten()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.places.iter_mut().flatten()
    }
}
