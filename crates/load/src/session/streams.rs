//! A session of streams for tests of the engine: requests have numbers, and end one by one.
//!
//! A request is a byte, its number from 0 on; `!` and its number give it up. The server says `a` and a number: answered, `r`:
//! reset; `s` and a number: so many requests at once.

use std::collections::VecDeque;
use std::time::Duration;

use millrace_net::Nanos;

use super::{End, Expired, NextRead, Received, Receiving, Rendering, RequestBatch, Written, h1};
use crate::ErrorKind;
use crate::metrics::in_flight::{Due, InFlight, Loss};
use crate::metrics::recorder::Recorder;

#[derive(Debug)]
pub(crate) struct StreamSession {
    in_flight: VecDeque<(u8, InFlight)>,
    next: u8,
    capacity: usize,
}

impl StreamSession {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { in_flight: VecDeque::new(), next: 0, capacity }
    }

    pub(super) fn begin(&mut self) {
        self.next = 0;
    }

    pub(super) fn capacity(&self, depth: usize) -> usize {
        depth.min(self.capacity)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub(super) fn buffered(&self) -> usize {
        0
    }

    pub(super) fn oldest(&self) -> Option<Nanos> {
        self.in_flight.front().map(|(_, request)| request.sent)
    }

    pub(super) fn is_within_response(&self) -> bool {
        false
    }

    pub(super) fn render<'a>(
        &mut self,
        _: &VecDeque<Due>,
        count: usize,
        rendering: &'a mut Rendering<'_>,
    ) -> RequestBatch<'a> {
        let bytes = &mut rendering.memory.outgoing;
        bytes.clear();
        bytes.extend((self.next..).take(count));
        RequestBatch { bytes, count, starts: &[] }
    }

    /// The transport takes all of these few bytes.
    pub(super) fn submit(
        &mut self,
        due: &mut VecDeque<Due>,
        batch: &RequestBatch<'_>,
        written: Written,
        now: Nanos,
        recorder: &mut Recorder,
    ) {
        assert_eq!(written.count, batch.bytes.len());
        for (number, Due { intended, request, user }) in (self.next..).zip(due.drain(..batch.count))
        {
            let request = InFlight { intended, sent: now, request, user };
            recorder.sent(&request, number > 0);
            self.in_flight.push_back((number, request));
        }
        self.next += batch.count as u8;
    }

    pub(super) fn sent_to(&mut self, _: u64, _: Nanos, _: &mut Recorder) {}

    pub(super) fn next_read(&self, _: &h1::SharedMemory) -> NextRead {
        NextRead::Bytes(usize::MAX)
    }

    /// The bytes of a pair arrive together.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        _: bool,
        now: Nanos,
        _: &mut VecDeque<Due>,
        receiving: &mut Receiving<'_>,
    ) -> Received {
        let mut received = Received::default();
        for said in bytes.chunks(2) {
            let number = said[1];
            match said[0] {
                b'a' => {
                    receiving.recorder.completed(&self.take(number), now, 200);
                    received.completed += 1;
                }
                b'r' => {
                    let loss = Loss::Transport(ErrorKind::Reset);
                    receiving.recorder.lost(&self.take(number), now, loss, String::new);
                    received.lost += 1;
                }
                b's' => {
                    received.has_grown |= usize::from(number) > self.capacity;
                    self.capacity = number.into();
                }
                other => panic!("{other}"),
            }
        }
        received
    }

    fn take(&mut self, number: u8) -> InFlight {
        let at = self.in_flight.iter().position(|(of, _)| *of == number);
        self.in_flight.remove(at.expect("it is in flight")).expect("it is there").1
    }

    pub(super) fn receive_discarded(&mut self, _: usize, _: Nanos, _: &mut Recorder) -> Received {
        Received::default()
    }

    pub(super) fn cut_read(&mut self) {}

    pub(super) fn await_rest(&mut self) {}

    pub(super) fn finish(&mut self, _: Nanos, _: &mut Recorder) -> Received {
        Received { end: Some(End::Eof), ..Received::default() }
    }

    pub(super) fn complete_redirected(&mut self, _: Nanos, _: &mut Recorder) -> usize {
        0
    }

    pub(super) fn ack_probe(&mut self) -> &'static [u8] {
        &[]
    }

    pub(super) fn expire(
        &mut self,
        now: Nanos,
        limit: Duration,
        outgoing: &mut Vec<u8>,
        recorder: &mut Recorder,
    ) -> Expired {
        let mut lost = 0;
        let is_late = |(_, request): &&(u8, InFlight)| now.since(request.sent) >= limit;
        while let Some((number, request)) = self.in_flight.front().filter(is_late) {
            recorder.lost(request, now, Loss::Timeout, String::new);
            outgoing.extend([b'!', *number]);
            lost += 1;
            self.in_flight.pop_front();
        }
        Expired { lost, ends_connection: false }
    }

    pub(super) fn lose_all(
        &mut self,
        now: Nanos,
        recorder: &mut Recorder,
        mut loss: impl FnMut(usize, &InFlight) -> (Loss, String),
    ) -> usize {
        let count = self.in_flight.len();
        for (position, (_, request)) in self.in_flight.drain(..).enumerate() {
            let (loss, example) = loss(position, &request);
            recorder.lost(&request, now, loss, || example);
        }
        count
    }

    pub(super) fn requeue_buffered(&mut self, _: &mut VecDeque<Due>, _: &mut Recorder) -> usize {
        0
    }
}
