//! Settings (RFC 9113, section 6.5).

use super::error::ConnectionError;
use super::flow::MAX_WINDOW;
use super::frame::{FrameHead, kind};

const HEADER_TABLE_SIZE: u16 = 0x1;
const ENABLE_PUSH: u16 = 0x2;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// Length of one setting in a frame.
const LENGTH: usize = 6;

/// The smallest and the largest value of MAX_FRAME_SIZE; the smallest is the initial one.
pub(crate) const MIN_MAX_FRAME_SIZE: u32 = 16_384;
const MAX_MAX_FRAME_SIZE: u32 = (1 << 24) - 1;

/// What one side of a connection asks of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of the dynamic table that this side decodes with.
    pub header_table_size: u32,
    /// Whether the server may push.
    pub enable_push: bool,
    /// Streams that the other side may have open; `None`: any number.
    pub max_concurrent_streams: Option<u32>,
    /// The window of a new stream, for what the other side sends.
    pub initial_window_size: u32,
    /// The largest payload of a frame that this side accepts.
    pub max_frame_size: u32,
    /// The largest field section that a server accepts, and advice of a client; `None`: as large as anybody does.
    pub max_header_list_size: Option<u32>,
}

/// The initial values (RFC 9113, section 6.5.2).
impl Default for Settings {
    fn default() -> Self {
        Self {
            header_table_size: 4096,
            enable_push: true,
            max_concurrent_streams: None,
            initial_window_size: 65_535,
            max_frame_size: MIN_MAX_FRAME_SIZE,
            max_header_list_size: None,
        }
    }
}

impl Settings {
    /// Applies the payload of a SETTINGS frame; unknown settings are ignored. `table_sizes` is given each value of
    /// HEADER_TABLE_SIZE in turn, as an encoder has to announce the smallest of them (RFC 7541, section 4.2).
    pub(crate) fn apply(
        &mut self,
        payload: &[u8],
        mut table_sizes: impl FnMut(u32),
    ) -> Result<(), ConnectionError> {
        let (settings, rest) = payload.as_chunks::<LENGTH>();
        if !rest.is_empty() {
            return Err(ConnectionError::frame_size("a SETTINGS frame of an odd length"));
        }
        for &[i0, i1, v0, v1, v2, v3] in settings {
            let value = u32::from_be_bytes([v0, v1, v2, v3]);
            match u16::from_be_bytes([i0, i1]) {
                HEADER_TABLE_SIZE => {
                    self.header_table_size = value;
                    table_sizes(value);
                }
                ENABLE_PUSH if value > 1 => {
                    return Err(ConnectionError::protocol("ENABLE_PUSH is neither 0 nor 1"));
                }
                ENABLE_PUSH => self.enable_push = value == 1,
                MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = Some(value),
                INITIAL_WINDOW_SIZE if value > MAX_WINDOW => {
                    return Err(ConnectionError::flow_control("INITIAL_WINDOW_SIZE is too large"));
                }
                INITIAL_WINDOW_SIZE => self.initial_window_size = value,
                MAX_FRAME_SIZE if !(MIN_MAX_FRAME_SIZE..=MAX_MAX_FRAME_SIZE).contains(&value) => {
                    return Err(ConnectionError::protocol("MAX_FRAME_SIZE is out of range"));
                }
                MAX_FRAME_SIZE => self.max_frame_size = value,
                MAX_HEADER_LIST_SIZE => self.max_header_list_size = Some(value),
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends a SETTINGS frame with the values that differ from the initial ones.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let initial = Self::default();
        let changed = |id, value: u32, initial: u32| (value != initial).then_some((id, value));
        let settings = [
            changed(HEADER_TABLE_SIZE, self.header_table_size, initial.header_table_size),
            changed(ENABLE_PUSH, self.enable_push.into(), initial.enable_push.into()),
            self.max_concurrent_streams.map(|value| (MAX_CONCURRENT_STREAMS, value)),
            changed(INITIAL_WINDOW_SIZE, self.initial_window_size, initial.initial_window_size),
            changed(MAX_FRAME_SIZE, self.max_frame_size, initial.max_frame_size),
            self.max_header_list_size.map(|value| (MAX_HEADER_LIST_SIZE, value)),
        ];
        let length = settings.iter().flatten().count() * LENGTH;
        FrameHead { length, kind: kind::SETTINGS, flags: 0, stream: 0 }.write(out);
        for (id, value) in settings.into_iter().flatten() {
            out.extend_from_slice(&id.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::ErrorCode;
    use super::super::frame::HEAD_LENGTH;
    use super::*;

    fn setting(id: u16, value: u32) -> Vec<u8> {
        [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()
    }

    #[test]
    fn settings_are_read_as_they_were_written() {
        let settings = Settings {
            header_table_size: 0,
            enable_push: false,
            max_concurrent_streams: Some(7),
            initial_window_size: MAX_WINDOW,
            max_frame_size: 20_000,
            max_header_list_size: Some(1),
        };
        let mut out = Vec::new();
        settings.write(&mut out);
        let mut read = Settings::default();
        let mut sizes = Vec::new();
        assert_eq!(read.apply(&out[HEAD_LENGTH..], |size| sizes.push(size)), Ok(()));
        assert_eq!((read, sizes), (settings, vec![0]));
    }

    #[test]
    fn values_out_of_range_end_the_connection() {
        for (payload, code) in [
            (setting(ENABLE_PUSH, 2), ErrorCode::PROTOCOL_ERROR),
            (setting(INITIAL_WINDOW_SIZE, MAX_WINDOW + 1), ErrorCode::FLOW_CONTROL_ERROR),
            (setting(MAX_FRAME_SIZE, 16_383), ErrorCode::PROTOCOL_ERROR),
            (setting(MAX_FRAME_SIZE, 1 << 24), ErrorCode::PROTOCOL_ERROR),
            (vec![0; 5], ErrorCode::FRAME_SIZE_ERROR),
        ] {
            let error = Settings::default().apply(&payload, |_| {});
            assert_eq!(error.map_err(|error| error.code), Err(code));
        }
        assert_eq!(Settings::default().apply(&setting(0xff00, 5), |_| {}), Ok(()));
    }
}
