//! Received frames that carry nothing of a message.

use super::receiving::{Named, Outcome};
use super::{Connection, Event, Role};
use crate::h2::error::{ConnectionError, ErrorCode, StreamError};
use crate::h2::frame::{self, FrameHead, flag};

impl<T: Default> Connection<T> {
    pub(super) fn on_rst_stream<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        let code = payload.try_into().map(u32::from_be_bytes).map_err(|_| {
            ConnectionError::frame_size("a RST_STREAM frame that is not 4 bytes long")
        })?;
        let Named::Open(stream) = self.named(head.stream)? else { return Ok(None) };
        self.end_by_reset(stream, out);
        Ok(Some(Event::Reset { stream, code: ErrorCode(code) }))
    }

    pub(super) fn on_settings<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        if head.stream != 0 {
            return Err(ConnectionError::protocol("SETTINGS on a stream"));
        }
        if head.has(flag::ACK) {
            if !payload.is_empty() {
                let reason = "an acknowledgement of SETTINGS with a payload";
                return Err(ConnectionError::frame_size(reason));
            }
            if !std::mem::replace(&mut self.is_acknowledged, true) {
                self.blocks.set_table_size(self.local.header_table_size as usize);
            }
            return Ok(None);
        }
        self.budget.spend()?;
        let before = self.peer.initial_window_size;
        let encoder = &mut self.encoder;
        self.peer.apply(payload, |size| encoder.set_max_table_size(size as usize))?;
        if self.role == Role::Client && self.peer.enable_push && has_enable_push(payload) {
            return Err(ConnectionError::protocol("a server cannot enable push"));
        }
        let change = i64::from(self.peer.initial_window_size) - i64::from(before);
        if change != 0 && self.streams.iter_mut().any(|it| it.send_window.add(change).is_none()) {
            return Err(ConnectionError::flow_control("a window exceeds 2,147,483,647 bytes"));
        }
        self.is_settled = true;
        frame::write_settings_ack(out);
        Ok(Some(Event::Settings))
    }

    pub(super) fn on_ping<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        let Ok(payload) = payload.try_into() else {
            return Err(ConnectionError::frame_size("a PING frame that is not 8 bytes long"));
        };
        if head.stream != 0 {
            return Err(ConnectionError::protocol("PING on a stream"));
        }
        if !head.has(flag::ACK) {
            self.budget.spend()?;
            frame::write_ping_ack(payload, out);
        }
        Ok(None)
    }

    pub(super) fn on_window_update<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'a> {
        let increment = payload.try_into().map(u32::from_be_bytes).map_err(|_| {
            ConnectionError::frame_size("a WINDOW_UPDATE frame that is not 4 bytes long")
        })?;
        let increment = i64::from(increment & 0x7fff_ffff);
        let too_large = "a window exceeds 2,147,483,647 bytes";
        if head.stream == 0 {
            if increment == 0 {
                return Err(ConnectionError::protocol("a WINDOW_UPDATE of 0"));
            }
            self.send_window.add(increment).ok_or(ConnectionError::flow_control(too_large))?;
            return Ok(Some(Event::WindowOpened));
        }
        let Named::Open(key) = self.named(head.stream)? else {
            self.on_idle_frame()?;
            return Ok(None);
        };
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        let error = match increment {
            0 => StreamError::protocol("a WINDOW_UPDATE of 0"),
            _ if stream.send_window.add(increment).is_some() => {
                return Ok(Some(Event::WindowOpened));
            }
            _ => StreamError { code: ErrorCode::FLOW_CONTROL_ERROR, reason: too_large },
        };
        self.malformed(key, error, out).map(Some)
    }
}

/// Whether the payload of SETTINGS names ENABLE_PUSH.
fn has_enable_push(payload: &[u8]) -> bool {
    payload.chunks(6).any(|setting| setting.starts_with(&[0, 2]))
}

pub(super) fn on_goaway<'a>(head: FrameHead, payload: &[u8]) -> Outcome<'a> {
    if head.stream != 0 {
        return Err(ConnectionError::protocol("GOAWAY on a stream"));
    }
    let Some(&[l0, l1, l2, l3, c0, c1, c2, c3]) = payload.first_chunk::<8>() else {
        return Err(ConnectionError::frame_size("a GOAWAY frame of less than 8 bytes"));
    };
    let last_stream = u32::from_be_bytes([l0, l1, l2, l3]) & 0x7fff_ffff;
    let code = ErrorCode(u32::from_be_bytes([c0, c1, c2, c3]));
    Ok(Some(Event::GoAway { last_stream, code }))
}
