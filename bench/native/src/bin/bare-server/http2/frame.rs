pub const END_STREAM: u8 = 0x1;
pub const ACK: u8 = 0x1;
pub const END_HEADERS: u8 = 0x4;

/// The bytes of a frame's header.
const LENGTH: usize = 9;

/// A type of frames that matters here (RFC 9113, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Data = 0,
    Headers = 1,
    Settings = 4,
    Ping = 6,
    WindowUpdate = 8,
    Continuation = 9,
    /// Any other.
    Other = 255,
}

/// The header of a frame (section 4.1).
pub struct Header {
    pub kind: Kind,
    /// The bytes of the payload.
    pub length: usize,
    pub flags: u8,
    pub stream: u32,
}

impl Header {
    /// The header at the start of `bytes` and what follows it; `None` if it is not complete.
    pub fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<LENGTH>()?;
        let [a, b, c, kind, flags, id @ ..] = *head;
        let kind = match kind {
            0 => Kind::Data,
            1 => Kind::Headers,
            4 => Kind::Settings,
            6 => Kind::Ping,
            8 => Kind::WindowUpdate,
            9 => Kind::Continuation,
            _ => Kind::Other,
        };
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes(id) & (u32::MAX >> 1);
        Some((Self { kind, length, flags, stream }, rest))
    }

    pub fn append_to(&self, output: &mut Vec<u8>) {
        let [_, a, b, c] = (self.length as u32).to_be_bytes();
        output.extend_from_slice(&[a, b, c, self.kind as u8, self.flags]);
        output.extend_from_slice(&self.stream.to_be_bytes());
    }
}
