//! An answer from the cache.

use std::sync::Arc;

use crate::entry::Entry;

/// The kind of answer to a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The response.
    Whole,
    /// Its head: the request is a HEAD.
    Head,
    /// A 304: the client has it.
    NotModified,
}

/// An answer from the cache.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// The response. A caller that cannot write it at once may keep it, even if it is evicted meanwhile.
    pub entry: &'a Arc<Entry>,
    /// The kind of answer that the client gets.
    pub answer: Answer,
    /// Its age in seconds.
    pub age: u64,
    /// Whether it is no longer fresh, and being renewed.
    pub stale: bool,
}

impl<'a> Hit<'a> {
    /// Returns the part of the head that is the same for all requests.
    #[must_use]
    pub fn head(&self) -> &'a [u8] {
        match self.answer {
            Answer::Whole | Answer::Head => self.entry.head(),
            Answer::NotModified => self.entry.not_modified_head(),
        }
    }

    /// Returns the body that follows the head and its end.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        match self.answer {
            Answer::Whole => self.entry.body(),
            Answer::Head | Answer::NotModified => &[],
        }
    }

    /// Appends the end of the head: `Age` (RFC 9111, section 4), `lines` (whole field lines: `Connection`,
    /// `Keep-Alive`), and the empty line.
    pub fn write_head_end(&self, lines: &[u8], out: &mut Vec<u8>) {
        let (mut digits, mut start, mut rest) = ([0; 20], 20, self.age);
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(b"Age: ");
        out.extend_from_slice(&digits[start..]);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(lines);
        out.extend_from_slice(b"\r\n");
    }

    /// Appends the whole answer.
    pub fn write(&self, lines: &[u8], out: &mut Vec<u8>) {
        let (head, body) = (self.head(), self.body());
        out.reserve(head.len() + lines.len() + body.len() + 32);
        out.extend_from_slice(head);
        self.write_head_end(lines, out);
        out.extend_from_slice(body);
    }
}
