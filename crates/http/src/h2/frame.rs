//! Frames (RFC 9113, sections 4 and 6): their heads, and how they are written.

use super::error::ErrorCode;

/// What a client sends first (RFC 9113, section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Length of a frame's head.
pub(crate) const HEAD_LENGTH: usize = 9;

/// Types of frames.
pub(crate) mod kind {
    /// Content.
    pub(crate) const DATA: u8 = 0;
    /// Fields.
    pub(crate) const HEADERS: u8 = 1;
    /// Deprecated: the priority of a stream.
    pub(crate) const PRIORITY: u8 = 2;
    /// The end of a stream by an error.
    pub(crate) const RST_STREAM: u8 = 3;
    /// Settings, or their acknowledgement.
    pub(crate) const SETTINGS: u8 = 4;
    /// Announces a stream of the server.
    pub(crate) const PUSH_PROMISE: u8 = 5;
    /// Asks for an acknowledgement, or is one.
    pub(crate) const PING: u8 = 6;
    /// Announces the end of the connection.
    pub(crate) const GOAWAY: u8 = 7;
    /// Opens a window.
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    /// More fields of the header block before.
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub(crate) mod flag {
    /// DATA, HEADERS: the sender's last frame of the stream.
    pub(crate) const END_STREAM: u8 = 0x1;
    /// SETTINGS, PING: an acknowledgement.
    pub(crate) const ACK: u8 = 0x1;
    /// HEADERS, CONTINUATION: the header block ends.
    pub(crate) const END_HEADERS: u8 = 0x4;
    /// DATA, HEADERS: the frame is padded.
    pub(crate) const PADDED: u8 = 0x8;
    /// HEADERS: five bytes of priority come first.
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// The nine bytes before a frame's payload (RFC 9113, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    /// Length of the payload.
    pub(crate) length: usize,
    /// One of [`kind`], or an unknown one.
    pub(crate) kind: u8,
    /// Of [`flag`].
    pub(crate) flags: u8,
    /// The stream; 0 is the connection.
    pub(crate) stream: u32,
}

impl FrameHead {
    /// Parses the head at the start of these bytes; `None` if it is not complete.
    #[inline]
    #[must_use]
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, stream @ .., s3] = bytes.first_chunk::<HEAD_LENGTH>()?;
        let [s0, s1, s2] = stream;
        Some(Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            // The first bit is reserved and ignored.
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        })
    }

    /// Appends the head.
    #[inline]
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let [_, a, b, c] = (self.length as u32).to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        out.extend_from_slice(&[a, b, c, self.kind, self.flags, s0, s1, s2, s3]);
    }

    /// Whether a flag is set.
    #[inline]
    #[must_use]
    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a header block as one HEADERS frame, and CONTINUATION frames if it exceeds `max_frame_size`.
pub(crate) fn write_headers(
    stream: u32,
    block: &[u8],
    ends_stream: bool,
    max_frame_size: usize,
    out: &mut Vec<u8>,
) {
    let ends_stream = if ends_stream { flag::END_STREAM } else { 0 };
    let (mut part, mut rest) = block.split_at(block.len().min(max_frame_size));
    let (mut kind, mut flags) = (kind::HEADERS, ends_stream);
    loop {
        if rest.is_empty() {
            flags |= flag::END_HEADERS;
        }
        FrameHead { length: part.len(), kind, flags, stream }.write(out);
        out.extend_from_slice(part);
        if rest.is_empty() {
            return;
        }
        (part, rest) = rest.split_at(rest.len().min(max_frame_size));
        (kind, flags) = (kind::CONTINUATION, 0);
    }
}

/// Appends one DATA frame.
pub(crate) fn write_data(stream: u32, bytes: &[u8], ends_stream: bool, out: &mut Vec<u8>) {
    let flags = if ends_stream { flag::END_STREAM } else { 0 };
    FrameHead { length: bytes.len(), kind: kind::DATA, flags, stream }.write(out);
    out.extend_from_slice(bytes);
}

/// Appends a RST_STREAM frame.
pub(crate) fn write_rst_stream(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    FrameHead { length: 4, kind: kind::RST_STREAM, flags: 0, stream }.write(out);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends a WINDOW_UPDATE frame; stream 0 is the connection.
pub(crate) fn write_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    FrameHead { length: 4, kind: kind::WINDOW_UPDATE, flags: 0, stream }.write(out);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Appends the acknowledgement of a PING frame with this payload.
pub(crate) fn write_ping_ack(payload: [u8; 8], out: &mut Vec<u8>) {
    FrameHead { length: 8, kind: kind::PING, flags: flag::ACK, stream: 0 }.write(out);
    out.extend_from_slice(&payload);
}

/// Appends the acknowledgement of a SETTINGS frame.
pub(crate) fn write_settings_ack(out: &mut Vec<u8>) {
    FrameHead { length: 0, kind: kind::SETTINGS, flags: flag::ACK, stream: 0 }.write(out);
}

/// Appends a GOAWAY frame without debug data.
pub(crate) fn write_goaway(last_stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    FrameHead { length: 8, kind: kind::GOAWAY, flags: 0, stream: 0 }.write(out);
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let head = FrameHead { length: 0x01_02_03, kind: 9, flags: 0xa5, stream: 0x7fff_fffe };
        let mut bytes = Vec::new();
        head.write(&mut bytes);
        assert_eq!(bytes, [1, 2, 3, 9, 0xa5, 0x7f, 0xff, 0xff, 0xfe]);
        assert_eq!(FrameHead::parse(&bytes), Some(head));
        bytes[5] |= 0x80;
        assert_eq!(FrameHead::parse(&bytes), Some(head), "the reserved bit is ignored");
        assert_eq!(FrameHead::parse(&bytes[..8]), None);
    }

    #[test]
    fn a_large_header_block_is_continued() {
        let mut out = Vec::new();
        write_headers(3, &[7; 25], true, 10, &mut out);
        let mut frames = Vec::new();
        let mut rest = &out[..];
        while let Some(head) = FrameHead::parse(rest) {
            frames.push((head.kind, head.flags, head.length));
            rest = &rest[HEAD_LENGTH + head.length..];
        }
        assert!(rest.is_empty());
        let expected = [
            (kind::HEADERS, flag::END_STREAM, 10),
            (kind::CONTINUATION, 0, 10),
            (kind::CONTINUATION, flag::END_HEADERS, 5),
        ];
        assert_eq!(frames, expected);
    }
}
