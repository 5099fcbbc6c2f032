//! Writes header blocks.

use super::dynamic_table::{DynamicTable, entry_size};
use super::lookup::{Lookup, MAX_TABLE_SIZE, hash};
use super::static_table::{self, Found};
use super::{huffman, integer};

/// Whether a field gets into the dynamic table. One that is in a table is written as its index, unless it is `Never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// If no other field has to leave the table for it.
    IfRoom,
    /// Always, unless it is larger than the table.
    Always,
    /// No.
    Without,
    /// No, and no intermediary may do it either: for secrets (RFC 7541, section 7.1.3).
    Never,
}

/// The encoder of one connection.
#[derive(Clone, Debug)]
pub struct Encoder {
    table: DynamicTable,
    lookup: Lookup,
    /// The smallest bound that was set since the last block, and the last one.
    pending: Option<(usize, usize)>,
}

impl Encoder {
    /// An encoder with a table of 4096 bytes, as every peer has it at first.
    #[must_use]
    pub fn new() -> Self {
        Self { table: DynamicTable::new(MAX_TABLE_SIZE), lookup: Lookup::new(), pending: None }
    }

    /// Takes the peer's `SETTINGS_HEADER_TABLE_SIZE`, of which at most 4096 bytes are used. The next block begins with
    /// the change.
    pub fn set_max_table_size(&mut self, size: usize) {
        let size = size.min(MAX_TABLE_SIZE);
        match &mut self.pending {
            Some((smallest, last)) => {
                *smallest = size.min(*smallest);
                *last = size;
            }
            None if size != self.table.max_size() => self.pending = Some((size, size)),
            None => {}
        }
    }

    /// Begins a block.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some((smallest, last)) = self.pending.take() {
            if smallest < last {
                self.change_table_size(smallest, out);
            }
            self.change_table_size(last, out);
        }
    }

    fn change_table_size(&mut self, size: usize, out: &mut Vec<u8>) {
        self.table.set_max_size(size);
        integer::encode(size, 5, 0x20, out);
    }

    /// Appends a field to a block. The name is in lower case.
    pub fn encode(&mut self, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        let name_hash = hash(name, 0);
        let in_static = static_table::find(name, name_hash, value);
        if indexing == Indexing::Never {
            let index = self.find_name(in_static, name, name_hash);
            return encode_literal(0x10, 4, index, name, value, out);
        }
        if let Some(Found::Field(index)) = in_static {
            return integer::encode(index, 7, 0x80, out);
        }
        let field_hash = hash(value, name_hash);
        if let Some(age) = self.lookup.find_field(&self.table, (name, value), field_hash) {
            return integer::encode(static_table::LEN + 1 + age, 7, 0x80, out);
        }
        let index = self.find_name(in_static, name, name_hash);
        let size = entry_size(name.len() + value.len());
        let is_inserted = match indexing {
            Indexing::IfRoom => size <= self.table.room(),
            Indexing::Always => size <= self.table.max_size(),
            Indexing::Without | Indexing::Never => false,
        };
        if is_inserted {
            encode_literal(0x40, 6, index, name, value, out);
            self.table.insert(name, value);
            self.lookup.insert(name_hash, field_hash);
        } else {
            encode_literal(0, 4, index, name, value, out);
        }
    }

    /// A number that changes whenever the dynamic table changes: a block during which it did not change may be sent
    /// again while it is the same.
    #[must_use]
    pub fn generation(&self) -> u64 {
        // A change that is pending counts now, and again when it is made.
        self.table.generation() * 2 + u64::from(self.pending.is_some())
    }

    /// The index of a name, 0 if there is none.
    fn find_name(&self, in_static: Option<Found>, name: &[u8], name_hash: u64) -> usize {
        match in_static {
            Some(Found::Field(index) | Found::Name(index)) => index,
            None => {
                let age = self.lookup.find_name(&self.table, name, name_hash);
                age.map_or(0, |age| static_table::LEN + 1 + age)
            }
        }
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Appends a field that is in no table; its name may be (RFC 7541, section 6.2).
fn encode_literal(
    pattern: u8,
    prefix: u32,
    name_index: usize,
    name: &[u8],
    value: &[u8],
    out: &mut Vec<u8>,
) {
    integer::encode(name_index, prefix, pattern, out);
    if name_index == 0 {
        encode_string(name, out);
    }
    encode_string(value, out);
}

/// Appends a string, in the Huffman code if that is shorter (RFC 7541, section 5.2).
fn encode_string(string: &[u8], out: &mut Vec<u8>) {
    let len = huffman::encoded_len(string);
    if len < string.len() {
        integer::encode(len, 7, 0x80, out);
        huffman::encode(string, out);
    } else {
        integer::encode(string.len(), 7, 0, out);
        out.extend_from_slice(string);
    }
}
