//! Records: kind, length, checksum, and what they carry.

use crate::error::Error;

/// Bytes in front of what a record carries: its kind, two of its length, four of its checksum.
pub const HEADER: usize = 7;
/// Most of a record.
pub const MOST: usize = 16 * 1024;

/// What a record carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The end, or a failure.
    Alert = 21,
    /// A message of a handshake.
    Handshake = 22,
    /// Text.
    Text = 23,
}

/// The key of one direction, and the number of its next record. Both are part of each checksum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seal {
    /// 0 before there is one.
    key: u32,
    sequence: u64,
}

impl Seal {
    pub(crate) fn new(key: u32) -> Self {
        Self { key, sequence: 0 }
    }

    pub(crate) fn has_key(&self) -> bool {
        self.key != 0
    }

    /// Adds a record to `records`.
    pub(crate) fn seal(&mut self, kind: Kind, carried: &[u8], records: &mut Vec<u8>) {
        let length = u16::try_from(carried.len()).expect("it fits a record");
        records.push(kind as u8);
        records.extend_from_slice(&length.to_be_bytes());
        let checksum = self.checksum(kind as u8, carried);
        records.extend_from_slice(&checksum.to_be_bytes());
        let mask = self.mask();
        records.extend(carried.iter().map(|byte| byte ^ mask));
        self.sequence += 1;
    }

    fn open(&mut self, kind: u8, checksum: u32, hidden: &[u8]) -> Result<Vec<u8>, Error> {
        let mask = self.mask();
        let carried: Vec<u8> = hidden.iter().map(|byte| byte ^ mask).collect();
        if self.checksum(kind, &carried) != checksum {
            return Err(Error::DecryptError);
        }
        self.sequence += 1;
        Ok(carried)
    }

    /// What makes bytes look like no text, once there is a key.
    fn mask(&self) -> u8 {
        if self.key == 0 { 0 } else { 0x80 | self.key as u8 }
    }

    /// FNV-1a.
    fn checksum(&self, kind: u8, carried: &[u8]) -> u32 {
        let known = self.key.to_be_bytes().into_iter().chain(self.sequence.to_be_bytes());
        let all = known.chain([kind]).chain(carried.iter().copied());
        all.fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }
}

/// Records that come, in pieces.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    bytes: Vec<u8>,
    /// Those that were taken.
    taken: usize,
    pub(crate) seal: Seal,
}

impl Incoming {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.taken));
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// The next record, if it has come.
    pub(crate) fn next(&mut self) -> Result<Option<(Kind, Vec<u8>)>, Error> {
        let rest = &self.bytes[self.taken..];
        let Some((&[kind, high, low, a, b, c, d], rest)) = rest.split_first_chunk::<HEADER>()
        else {
            return Ok(None);
        };
        let known = [Kind::Alert, Kind::Handshake, Kind::Text];
        let known = known.into_iter().find(|it| *it as u8 == kind);
        let known = known.ok_or(Error::InappropriateMessage)?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > MOST {
            return Err(Error::InappropriateMessage);
        }
        let Some(hidden) = rest.get(..length) else { return Ok(None) };
        let carried = self.seal.open(kind, u32::from_be_bytes([a, b, c, d]), hidden)?;
        self.taken += HEADER + length;
        Ok(Some((known, carried)))
    }
}
