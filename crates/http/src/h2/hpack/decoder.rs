//! Reads header blocks.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

use super::dynamic_table::{DynamicTable, entry_size};
use super::{DEFAULT_TABLE_SIZE, huffman, integer, static_table};
use crate::h2::FieldList;

/// Changes of the table's size that a block may begin with: the smallest one and the last one (RFC 7541, section 4.2).
const MAX_SIZE_UPDATES: usize = 2;

/// The decoder of one connection.
#[derive(Clone, Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// The largest size that the peer may choose for the table.
    max_table_size: usize,
    /// The next block has to begin with a size that is no larger than this.
    required: Option<usize>,
}

/// What a block held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// A field would have made the list larger than allowed. It and those after it are not in the list.
    pub is_too_large: bool,
}

/// What is wrong with a block. The connection cannot go on: the tables of both ends differ (RFC 9113, section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The block ends within a field.
    Truncated,
    /// An integer has a value of more than 32 bits, or more octets than those need.
    IntegerTooLarge,
    /// An index is 0, or there is no field with it.
    InvalidIndex,
    /// A string has EOS, or padding that is too long or not of ones.
    InvalidHuffman,
    /// A change of the table's size comes after a field, or is one too many.
    UnexpectedSizeUpdate,
    /// A size of the table is larger than allowed.
    TableTooLarge,
    /// The largest size of the table was made smaller, and the block does not begin with the change.
    MissingSizeUpdate,
}

impl Decoder {
    /// A decoder for a peer that knows `max_table_size`, the `SETTINGS_HEADER_TABLE_SIZE` of this side.
    #[must_use]
    pub fn new(max_table_size: usize) -> Self {
        let table = DynamicTable::new(DEFAULT_TABLE_SIZE);
        let mut decoder = Self { table, max_table_size: DEFAULT_TABLE_SIZE, required: None };
        decoder.set_max_table_size(max_table_size);
        decoder
    }

    /// Sets another largest size: when the peer acknowledges the settings that have it.
    pub fn set_max_table_size(&mut self, size: usize) {
        self.max_table_size = size;
        if size < self.required.unwrap_or(self.table.max_size()) {
            self.required = Some(size);
        }
    }

    /// Decodes a whole block, and appends its fields to `list` until its size would be more than `max_list_size`.
    ///
    /// The list's buffer does not get larger than the larger one of `max_list_size` and the size of the table allow.
    ///
    /// # Errors
    ///
    /// If the block is not a valid one. The decoder is of no use afterwards.
    pub fn decode(
        &mut self,
        block: &[u8],
        list: &mut FieldList,
        max_list_size: usize,
    ) -> Result<Decoded, DecodeError> {
        let mut input = block;
        self.decode_size_updates(&mut input)?;
        let (mut limit, mut is_too_large) = (max_list_size, false);
        while let Some(&first) = input.first() {
            let fits = match first {
                0x80.. => self.decode_indexed(&mut input, list, limit)?,
                0x40.. => self.decode_literal(&mut input, 6, list, limit)?,
                0x20.. => return Err(DecodeError::UnexpectedSizeUpdate),
                _ => self.decode_literal(&mut input, 4, list, limit)?,
            };
            if !fits {
                (limit, is_too_large) = (0, true);
            }
        }
        Ok(Decoded { is_too_large })
    }

    /// A number that changes whenever the dynamic table changes: a block during which it did not change gives the same
    /// fields while it is the same.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.table.generation()
    }

    fn decode_size_updates(&mut self, input: &mut &[u8]) -> Result<(), DecodeError> {
        for _ in 0..MAX_SIZE_UPDATES {
            if !matches!(input.first(), Some(0x20..0x40)) {
                break;
            }
            let size = integer::decode(input, 5)?;
            if size > self.max_table_size {
                return Err(DecodeError::TableTooLarge);
            }
            if self.required.is_some_and(|required| size <= required) {
                self.required = None;
            }
            self.table.set_max_size(size);
        }
        if self.required.is_some() { Err(DecodeError::MissingSizeUpdate) } else { Ok(()) }
    }

    /// A field that is in a table (RFC 7541, section 6.1). Tells whether the list had room for it.
    fn decode_indexed(
        &self,
        input: &mut &[u8],
        list: &mut FieldList,
        limit: usize,
    ) -> Result<bool, DecodeError> {
        let index = integer::decode(input, 7)?;
        if let Some((name, value)) = static_table::get(index) {
            let fits = list.size() + entry_size(name.len() + value.len()) <= limit;
            if fits {
                list.push(name, value);
            }
            return Ok(fits);
        }
        let field = self.table.get(to_age(index)?).ok_or(DecodeError::InvalidIndex)?;
        let fits = list.size() + entry_size(field.bytes.len()) <= limit;
        if fits {
            list.push_joined(field.bytes, field.name_len);
        }
        Ok(fits)
    }

    /// A field with a value of its own, and perhaps a name (RFC 7541, section 6.2). Tells whether the list had room for it.
    ///
    /// It is decoded to the end of the list's buffer, and inserted into the table from there, so that its name may be
    /// that of an entry that leaves the table for it.
    fn decode_literal(
        &mut self,
        input: &mut &[u8],
        prefix: u32,
        list: &mut FieldList,
        limit: usize,
    ) -> Result<bool, DecodeError> {
        let is_inserted = prefix == 6;
        let room_in_list = limit.saturating_sub(list.size() + entry_size(0));
        let fits_at_all = limit >= list.size() + entry_size(0);
        let room_in_table =
            if is_inserted { self.table.max_size().saturating_sub(entry_size(0)) } else { 0 };
        let room = room_in_list.max(room_in_table);
        let start = list.start();
        let lengths = self.decode_strings(input, prefix, list.bytes(), room);
        let Ok(Some((name_len, value_len))) = lengths else {
            list.discard_field();
            if is_inserted {
                self.table.clear();
            }
            return lengths.map(|_| false);
        };
        if is_inserted {
            let (name, value) = list.bytes()[start..].split_at(name_len);
            self.table.insert(name, value);
        }
        let fits = fits_at_all && name_len + value_len <= room_in_list;
        if fits {
            list.end_field(name_len);
        } else {
            list.discard_field();
        }
        Ok(fits)
    }

    /// Appends name and value and gives their lengths; none if they are longer than `room`.
    fn decode_strings(
        &self,
        input: &mut &[u8],
        prefix: u32,
        out: &mut Vec<u8>,
        room: usize,
    ) -> Result<Option<(usize, usize)>, DecodeError> {
        let name_len = match integer::decode(input, prefix)? {
            0 => decode_string(input, out, room)?,
            index => append_within(self.name(index)?, out, room),
        };
        let value_len = decode_string(input, out, room.saturating_sub(name_len.unwrap_or(room)))?;
        Ok(name_len.zip(value_len))
    }

    fn name(&self, index: usize) -> Result<&[u8], DecodeError> {
        if let Some((name, _)) = static_table::get(index) {
            return Ok(name);
        }
        let field = self.table.get(to_age(index)?);
        Ok(field.ok_or(DecodeError::InvalidIndex)?.name())
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(DEFAULT_TABLE_SIZE)
    }
}

/// How many entries of the dynamic table are newer than that of an index.
fn to_age(index: usize) -> Result<usize, DecodeError> {
    index.checked_sub(static_table::LEN + 1).ok_or(DecodeError::InvalidIndex)
}

/// Appends a string and gives its length; none if it is longer than `room` (RFC 7541, section 5.2).
fn decode_string(
    input: &mut &[u8],
    out: &mut Vec<u8>,
    room: usize,
) -> Result<Option<usize>, DecodeError> {
    let is_huffman = input.first().is_some_and(|octet| octet & 0x80 != 0);
    let len = integer::decode(input, 7)?;
    let (string, rest) = input.split_at_checked(len).ok_or(DecodeError::Truncated)?;
    *input = rest;
    if is_huffman {
        huffman::decode(string, out, room)
    } else {
        Ok(append_within(string, out, room))
    }
}

fn append_within(string: &[u8], out: &mut Vec<u8>, room: usize) -> Option<usize> {
    if string.len() > room {
        return None;
    }
    out.extend_from_slice(string);
    Some(string.len())
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the header block ends within a field",
            Self::IntegerTooLarge => "an integer in the header block is too large",
            Self::InvalidIndex => "the header block has an index without a field",
            Self::InvalidHuffman => "the header block has an invalid Huffman code",
            Self::UnexpectedSizeUpdate => {
                "the header block changes the table's size at a wrong place"
            }
            Self::TableTooLarge => "the header block makes the table larger than allowed",
            Self::MissingSizeUpdate => {
                "the header block does not begin with the table's smaller size"
            }
        })
    }
}

impl Error for DecodeError {}
