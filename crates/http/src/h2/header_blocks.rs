//! Header blocks: put together from frames, decoded, checked.

use super::error::{ConnectionError, ErrorCode, StreamError};
use super::field_list::FieldList;
use super::field_section::{FieldSection, SectionKind};
use super::hpack::{DEFAULT_TABLE_SIZE, Decoder};
use super::limits::{Budget, MAX_BLOCK, calm_down};

/// Blocks up to this length are compared with the next one.
const MAX_COMPARED: usize = 512;

/// Memory for a block that is put together which is kept for the next one.
const KEPT: usize = 16 * 1024;

/// A field section of more bytes than this side accepts.
pub(crate) const TOO_LARGE: StreamError =
    StreamError::protocol("a field section that is too large");

/// The header blocks that a connection receives.
#[derive(Debug)]
pub(crate) struct HeaderBlocks {
    decoder: Decoder,
    /// The largest field section that is accepted.
    max_section: usize,
    heads: LastBlock,
    trailers: LastBlock,
    /// The stream of a block whose end has not come, and whether the block ends the stream.
    unfinished: Option<(u32, bool)>,
    /// The bytes of that block.
    bytes: Vec<u8>,
    /// Number of bytes in its frames, their heads included.
    length: usize,
}

/// The last block of a kind, decoded. Most responses of a server have the same fields: a block that equals the last one and
/// changes nothing in the dynamic table has the same meaning while that table is the same.
#[derive(Debug, Default)]
struct LastBlock {
    bytes: Vec<u8>,
    /// The generation of the dynamic table; `None`: the next block is decoded in any case.
    generation: Option<u64>,
    fields: FieldList,
    section: FieldSection,
    error: Option<StreamError>,
}

impl HeaderBlocks {
    /// `table_size`: of the dynamic table, as this side's settings have it.
    pub(crate) fn new(table_size: usize, max_section: usize) -> Self {
        Self {
            // The initial size holds until the peer has read the settings.
            decoder: Decoder::new(table_size.max(DEFAULT_TABLE_SIZE)),
            max_section,
            heads: LastBlock::default(),
            trailers: LastBlock::default(),
            unfinished: None,
            bytes: Vec::new(),
            length: 0,
        }
    }

    /// The peer has read this side's settings, which have this size of the dynamic table.
    pub(crate) fn set_table_size(&mut self, table_size: usize) {
        self.decoder.set_max_table_size(table_size);
        // A block that was decoded before may not be valid any more: it has to begin with the new size.
        (self.heads.generation, self.trailers.generation) = (None, None);
    }

    /// The stream of a block whose end has not come.
    #[inline]
    pub(crate) fn unfinished(&self) -> Option<u32> {
        self.unfinished.map(|(stream, _)| stream)
    }

    /// A block begins whose end is in another frame. `length`: of the frame.
    pub(crate) fn begin(&mut self, stream: u32, ends_stream: bool, part: &[u8], length: usize) {
        self.unfinished = Some((stream, ends_stream));
        self.bytes.clear();
        self.bytes.extend_from_slice(part);
        self.length = length;
    }

    /// Adds a part to the block. Returns whether the block ends the stream, and the length of its frames, if this was the
    /// last part.
    pub(crate) fn add(
        &mut self,
        part: &[u8],
        length: usize,
        is_last: bool,
        budget: &mut Budget,
    ) -> Result<Option<(bool, usize)>, ConnectionError> {
        budget.continue_block()?;
        if self.bytes.len() + part.len() > MAX_BLOCK {
            return Err(calm_down("a header block of more than 256 KiB"));
        }
        self.bytes.extend_from_slice(part);
        self.length += length;
        match self.unfinished {
            Some((_, ends_stream)) if is_last => {
                self.unfinished = None;
                Ok(Some((ends_stream, self.length)))
            }
            _ => Ok(None),
        }
    }

    /// Decodes the block that was put together.
    pub(crate) fn decode_assembled(
        &mut self,
        kind: SectionKind,
    ) -> Result<Result<FieldSection, StreamError>, ConnectionError> {
        let bytes = std::mem::take(&mut self.bytes);
        let section = self.decode(&bytes, kind);
        if bytes.capacity() <= KEPT {
            self.bytes = bytes;
        }
        section
    }

    /// Decodes and checks a block.
    #[inline]
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        kind: SectionKind,
    ) -> Result<Result<FieldSection, StreamError>, ConnectionError> {
        let last = match kind {
            SectionKind::Trailers => &mut self.trailers,
            SectionKind::Request | SectionKind::Response => &mut self.heads,
        };
        if last.generation != Some(self.decoder.generation()) || last.bytes != block {
            last.decode(block, kind, &mut self.decoder, self.max_section)?;
        }
        Ok(last.error.map_or(Ok(last.section), Err))
    }

    /// The fields of the last head.
    pub(crate) fn head(&self) -> &FieldList {
        &self.heads.fields
    }

    /// The fields of the last trailers.
    pub(crate) fn trailers(&self) -> &FieldList {
        &self.trailers.fields
    }
}

impl LastBlock {
    fn decode(
        &mut self,
        block: &[u8],
        kind: SectionKind,
        decoder: &mut Decoder,
        max_section: usize,
    ) -> Result<(), ConnectionError> {
        let before = decoder.generation();
        self.generation = None;
        self.fields.clear();
        let Ok(decoded) = decoder.decode(block, &mut self.fields, max_section) else {
            let code = ErrorCode::COMPRESSION_ERROR;
            return Err(ConnectionError { code, reason: "a header block that cannot be decoded" });
        };
        let checked = match decoded.is_too_large {
            true => Err(TOO_LARGE),
            false => FieldSection::check(&self.fields, kind),
        };
        self.section = checked.unwrap_or_default();
        self.error = checked.err();
        if before == decoder.generation() && block.len() <= MAX_COMPARED {
            self.bytes.clear();
            self.bytes.extend_from_slice(block);
            self.generation = Some(before);
        }
        Ok(())
    }
}
