//! An answer from the cache.

use std::sync::Arc;

use crate::entry::Entry;

/// What a hit is answered with.
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
    /// The response. Whoever cannot write it at once may keep it, though it leaves the cache meanwhile.
    pub entry: &'a Arc<Entry>,
    /// What of it the client gets.
    pub answer: Answer,
    /// How old it is, in seconds.
    pub age: u64,
    /// It is no longer fresh, and being renewed.
    pub stale: bool,
}

impl<'a> Hit<'a> {
    /// The part that is the same for all.
    #[must_use]
    pub fn head(&self) -> &'a [u8] {
        match self.answer {
            Answer::Whole | Answer::Head => self.entry.head(),
            Answer::NotModified => self.entry.not_modified_head(),
        }
    }

    /// What follows the head and its end.
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

    /// Appends all of it.
    pub fn write(&self, lines: &[u8], out: &mut Vec<u8>) {
        let (head, body) = (self.head(), self.body());
        out.reserve(head.len() + lines.len() + body.len() + 32);
        out.extend_from_slice(head);
        self.write_head_end(lines, out);
        out.extend_from_slice(body);
    }
}
