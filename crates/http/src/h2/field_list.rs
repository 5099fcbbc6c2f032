//! The fields of a header block.

/// Bytes that RFC 9113, section 6.5.2, and RFC 7541, section 4.1, count for a field beside those of its name and value.
pub(super) const FIELD_OVERHEAD: usize = 32;

/// Names and values of fields, in order, in one buffer that is used again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldList {
    bytes: Vec<u8>,
    ends: Vec<Ends>,
}

/// Where a field ends in the buffer. It begins where the field before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    name: usize,
    value: usize,
}

impl FieldList {
    /// Removes all fields and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a field.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.end_field(name.len());
    }

    /// The fields in order, each as its name and value.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone {
        let mut start = 0;
        self.ends.iter().map(move |ends| {
            let field = (&self.bytes[start..ends.name], &self.bytes[ends.name..ends.value]);
            start = ends.value;
            field
        })
    }

    /// The number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The size as RFC 9113, section 6.5.2, counts it: names and values, and 32 bytes for each field.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len() + self.ends.len() * FIELD_OVERHEAD
    }

    /// Appends a field whose name and value are one slice.
    pub(super) fn push_joined(&mut self, field: &[u8], name_len: usize) {
        self.bytes.extend_from_slice(field);
        self.end_field(name_len);
    }

    /// The buffer: bytes that are appended to it are part of no field until `end_field`.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Where the next field begins in the buffer.
    pub(super) fn start(&self) -> usize {
        self.ends.last().map_or(0, |ends| ends.value)
    }

    /// Makes a field of the bytes that were appended since the last one.
    pub(super) fn end_field(&mut self, name_len: usize) {
        let name = self.start() + name_len;
        self.ends.push(Ends { name, value: self.bytes.len() });
    }

    /// Removes the bytes that are part of no field.
    pub(super) fn discard_field(&mut self) {
        self.bytes.truncate(self.start());
    }
}

impl<'a> FromIterator<(&'a [u8], &'a [u8])> for FieldList {
    fn from_iter<I: IntoIterator<Item = (&'a [u8], &'a [u8])>>(fields: I) -> Self {
        let mut list = Self::default();
        fields.into_iter().for_each(|(name, value)| list.push(name, value));
        list
    }
}
