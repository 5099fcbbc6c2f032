//! Flow control (RFC 9113, section 5.2): windows of a connection and of its streams.

/// The largest size of a window.
pub const MAX_WINDOW: u32 = (1 << 31) - 1;

/// The initial window of a connection, which no setting changes.
pub(crate) const INITIAL_CONNECTION_WINDOW: u32 = 65_535;

/// How much the peer lets this side send. It may be below zero, after the initial size was lowered
/// (RFC 9113, section 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SendWindow(i64);

impl SendWindow {
    pub(crate) fn new(size: u32) -> Self {
        Self(size.into())
    }

    /// Returns how many bytes may be sent.
    pub(crate) fn available(self) -> usize {
        self.0.max(0) as usize
    }

    /// Records that so many bytes were sent, at most [`Self::available`].
    pub(crate) fn take(&mut self, count: usize) {
        self.0 -= count as i64;
    }

    /// Adds to the window; `None` if it exceeds the largest size.
    pub(crate) fn add(&mut self, increment: i64) -> Option<()> {
        let sum = self.0 + increment;
        (sum <= MAX_WINDOW.into()).then(|| self.0 = sum)
    }
}

/// How much this side lets the peer send. What was received is released when it has been processed; the peer is told when
/// half of the window has been released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiveWindow {
    /// The size that the peer goes by at last.
    size: u32,
    /// What the peer may send.
    left: i64,
    /// What has been received and not released.
    held: u32,
    /// What has been released and not announced.
    released: u32,
}

impl ReceiveWindow {
    pub(crate) fn new(size: u32) -> Self {
        Self::granted(size, size)
    }

    /// A window of which the peer may think that it is larger at first.
    pub(crate) fn granted(size: u32, at_first: u32) -> Self {
        Self { size, left: at_first.max(size).into(), held: 0, released: 0 }
    }

    /// Records received bytes; `None` if there are more than the peer may send.
    pub(crate) fn receive(&mut self, count: usize) -> Option<()> {
        self.left -= count as i64;
        self.held += count as u32;
        (self.left >= 0).then_some(())
    }

    /// Returns how many bytes have been received and not released.
    pub(crate) fn held(self) -> usize {
        self.held as usize
    }

    /// Releases received bytes, at most [`Self::held`]. Returns by how much the window is to be opened, if that is due.
    pub(crate) fn release(&mut self, count: usize) -> Option<u32> {
        self.held -= count as u32;
        self.released += count as u32;
        (self.released > self.size / 2).then(|| {
            let increment = std::mem::take(&mut self.released);
            self.left += i64::from(increment);
            increment
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_opens_when_half_of_it_is_released() {
        let mut window = ReceiveWindow::new(100);
        assert_eq!(window.receive(100), Some(()));
        assert_eq!(window.release(50), None);
        assert_eq!(window.release(1), Some(51));
        assert_eq!(window.receive(51), Some(()));
        assert_eq!(window.receive(1), None);
    }

    #[test]
    fn a_window_that_is_larger_at_first_opens_by_its_size() {
        let mut window = ReceiveWindow::granted(10, 100);
        assert_eq!(window.receive(100), Some(()));
        assert_eq!((window.release(5), window.held()), (None, 95));
        assert_eq!(window.release(1), Some(6));
        assert_eq!(window.receive(7), None);
    }

    #[test]
    fn a_window_to_send_may_be_below_zero_and_not_above_its_maximum() {
        let mut window = SendWindow::new(10);
        window.take(10);
        assert_eq!(window.add(-5), Some(()));
        assert_eq!(window.available(), 0);
        assert_eq!(window.add(6), Some(()));
        assert_eq!(window.available(), 1);
        assert_eq!(window.add(MAX_WINDOW.into()), None);
    }
}
