//! The caller: takes batches, answers, pauses, closes, or comes late.

use std::time::Duration;

use millrace_net::{Nanos, network};
use millrace_stack::batch::{Batch, EVENT_LENGTH, FallbackReason, Kind};
use millrace_stack::driver::{Step, Timer};

use crate::client::Fate;
use crate::plan::Act;
use crate::sights::{Sight, see};
use crate::told::{Event, Reading};
use crate::world::World;

/// What the caller does something about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    Opened(usize),
    Asked(usize),
    Failed(usize),
    Ended(usize),
    Closed(usize),
    Drained(usize),
    Idle(usize),
    Answered(usize),
}

impl Notice {
    fn client(self) -> usize {
        let (Self::Opened(at)
        | Self::Asked(at)
        | Self::Failed(at)
        | Self::Ended(at)
        | Self::Closed(at)
        | Self::Drained(at)
        | Self::Idle(at)
        | Self::Answered(at)) = self;
        at
    }
}

/// Runs of the event loop within one another.
const MOST_NESTED: usize = 2;

impl World {
    /// The caller's thread does the next thing, if there is one.
    pub(crate) fn turn_step(&mut self) {
        if let Some((id, notice)) = self.notices.pop_front() {
            let owner = self.by_id[id].filter(|&at| self.clients[at].id == Some(id));
            assert!(
                owner.is_none_or(|at| at == notice.client()),
                "a batch names {id}, which is another's by now"
            );
            if self.clients[notice.client()].id == Some(id) {
                self.notice(notice);
            }
        } else if !self.wakes.is_empty() {
            self.next();
        } else if self.is_called() {
            self.wake();
        }
    }

    /// The caller's event loop runs within what it does about a batch.
    pub(crate) fn nest(&mut self) {
        if self.notices.is_empty() || self.wakes.len() > MOST_NESTED {
            return;
        }
        let timer = self.driver.on_nested_wait(&mut self.reactor);
        self.set_timer(timer);
        if self.is_called() {
            see(Sight::Nested);
            self.wakes.push(self.driver.wake());
        }
    }

    /// The reactor's descriptor is readable, or the timer has come.
    pub(crate) fn is_called(&self) -> bool {
        network::is_ready(self.poll) || network::now() >= self.armed
    }

    fn set_timer(&mut self, timer: Timer) {
        let set = |after| network::now() + Duration::from_millis(after);
        self.armed = timer.map_or(Nanos::NEVER, set);
    }

    /// As the addon does behind each command.
    pub(crate) fn after_commands(&mut self) {
        if let Some(timer) = self.driver.after_command(&mut self.reactor) {
            self.set_timer(timer);
        }
    }

    /// The event loop comes to the reactor.
    pub(crate) fn wake(&mut self) {
        self.wakes.push(self.driver.wake());
        self.next();
    }

    /// Does what the driver says. The rest of an outer batch has been taken: its notices come first.
    fn next(&mut self) {
        let Some(mut wake) = self.wakes.pop() else { return };
        let mut events = std::mem::take(&mut self.events);
        let mut bytes = std::mem::take(&mut self.bytes);
        let now = network::now();
        let mut batch = Batch::new(&mut events, &mut bytes);
        let step = self.driver.next(&mut wake, &mut self.reactor, &mut batch);
        self.look_at_router();
        let count = match step.expect("the simulated system refuses nothing") {
            Step::Wait(timer) => {
                self.set_timer(timer);
                0
            }
            Step::TakeRest => {
                self.wakes.push(wake);
                0
            }
            Step::Take(count) => {
                self.wakes.push(wake);
                count
            }
        };
        for event in events[..count * EVENT_LENGTH].as_chunks::<EVENT_LENGTH>().0 {
            self.take(event, &bytes, now);
        }
        (self.events, self.bytes) = (events, bytes);
    }

    fn take(&mut self, event: &[i32; EVENT_LENGTH], memory: &[u8], now: Nanos) {
        let [kind, id, details @ ..] = *event;
        let event = Event { kind, details, memory };
        Sight::of_event(kind).into_iter().for_each(see);
        trace!("    told {kind} of {id}: {details:?}");
        if event.is(Kind::AcceptFailed) {
            let expected = [libc::EMFILE, libc::ECONNABORTED];
            assert!(expected.contains(&details[0]), "accepting fails for nothing");
            self.failed_to_accept = network::now();
            return;
        }
        let id = usize::try_from(id).expect("no number is negative");
        if event.is(Kind::Open) {
            let (_, peer) = self.reactor.addresses(id);
            let client = usize::from(peer.expect("it has an address").port()) - 1024;
            let server = event.number(0);
            assert!(self.servers.contains(&server), "of no server");
            self.opened(id, client, server);
            self.notices.push_back((id, Notice::Opened(client)));
            return;
        }
        self.fallbacks += u64::from(event.is(Kind::Fallback));
        let client = self.by_id.get(id).copied().flatten();
        if event.is(Kind::Closed)
            && details[0] == 0
            && let Some(at) = client
            && self.clients[at].told.leaves > 0
        {
            // It goes to whom its next request belongs to.
            let client = &mut self.clients[at];
            see(Sight::SentAway);
            client.told.leaves -= 1;
            assert_eq!(
                (client.id, client.told.in_flight),
                (Some(id), 0),
                "what is under way leaves"
            );
            client.come_back();
            return;
        }
        let at = client.unwrap_or_else(|| panic!("kind {kind} of number {id}, which is nobody's"));
        if event.is(Kind::BodyReadable) {
            return self.receive_body(id, at, now);
        }
        // A session that fails ends what is read.
        if event.is(Kind::Closed) || event.is(Kind::Failed) {
            self.check_told_before_end(id, at);
        }
        let habits = self.habits;
        let client = &mut self.clients[at];
        assert_eq!(client.id, Some(id), "kind {kind} of a connection that the caller has not");
        assert!(
            !client.paused || !event.is(Kind::Body) && !event.is(Kind::Request),
            "kind {kind} while it is paused"
        );
        client.take_event(&event, habits, now);
        let notices = [
            (Kind::Hello, Notice::Asked(at)),
            (Kind::Secure, Notice::Asked(at)),
            (Kind::Failed, Notice::Failed(at)),
            (Kind::Eof, Notice::Ended(at)),
            (Kind::Closed, Notice::Closed(at)),
            (Kind::Drained, Notice::Drained(at)),
            (Kind::Idle, Notice::Idle(at)),
            (Kind::Answered, Notice::Answered(at)),
        ];
        self.notices
            .extend(notices.iter().filter(|(kind, _)| event.is(*kind)).map(|(_, it)| (id, *it)));
        if event.is(Kind::Closed) {
            if details[0] == libc::ECONNRESET {
                see(Sight::Reset);
            }
            // An alert may meet our own end.
            let may = client.gone || client.over || client.broken || client.told.failed;
            assert!(may, "closed with {} for nothing: {}", details[0], client.summary());
        }
        if event.is(Kind::Eof) {
            // A reset is told as an error, also where sending has met it: to the caller, where that has sent.
            let has_announced = client.tls.as_ref().is_some_and(|tls| tls.has_closed());
            let has_ended = has_announced || client.peer.standing().has_ended || client.broken;
            assert!(has_ended, "an end that has not come: {}", client.summary());
        }
        if event.is(Kind::Drained) {
            client.waits = false;
        }
        if event.is(Kind::Idle) {
            self.check_idle(at);
        }
    }

    /// Receives what the socket has of a body.
    fn receive_body(&mut self, id: usize, at: usize, now: Nanos) {
        let mut memory = vec![0; self.chance.usize(1..=64 * 1024)];
        let length = self.reactor.receive_body(id, &mut memory);
        let client = &mut self.clients[at];
        if length == 0 {
            return;
        }
        assert!(!client.paused, "a body while it is paused");
        let length = i32::try_from(length).expect("a part is small");
        let details = [0, length, 0, 0, 0, 0];
        let event = Event { kind: Kind::Body as i32, details, memory: &memory };
        client.take_event(&event, self.habits, now);
    }

    fn check_idle(&self, at: usize) {
        let client = &self.clients[at];
        let limit = self.plan.settings.keep_alive;
        // Changed settings hold from the next timer on.
        let limit = limit.unwrap_or_default().min(Duration::from_millis(50));
        let idle = network::now().since(client.rested);
        // The caller looks at the clock a moment later.
        let idle = idle + Duration::from_millis(1);
        assert!(idle >= limit, "idle after {idle:?}");
    }

    fn notice(&mut self, notice: Notice) {
        let at = notice.client();
        let chance = self.chance.u8(..10);
        match notice {
            Notice::Opened(_) if chance == 0 => self.close(at, true),
            Notice::Asked(_) if chance > 1 => drop(self.go_on(at)),
            Notice::Failed(_) if chance > 0 => self.close(at, false),
            Notice::Closed(_) if chance < 5 => self.close(at, false),
            Notice::Closed(_) => {
                let client = &mut self.clients[at];
                client.id = None;
                client.fate = Fate::Closed { at: network::now(), lingers: false, whole: false };
            }
            Notice::Ended(_) if chance < 5 => self.end(at),
            Notice::Idle(_) if chance > 0 => self.end(at),
            Notice::Answered(_) => self.end(at),
            Notice::Drained(_) => drop(self.close_if_written(at)),
            _ => {}
        }
    }

    /// Our side ends when all is written.
    pub(crate) fn end(&mut self, at: usize) {
        let client = &mut self.clients[at];
        let (Some(id), Fate::Open) = (client.id, client.fate) else { return };
        if client.is_shaking() || client.told.failed {
            return self.close(at, false);
        }
        client.fate = Fate::Ended;
        client.last_sent = true;
        self.reactor.end(id);
        if self.chance.bool() {
            self.close_if_written(at);
        }
    }

    pub(crate) fn close_if_written(&mut self, at: usize) -> bool {
        let client = &self.clients[at];
        let (Some(id), Fate::Ended) = (client.id, client.fate) else { return false };
        let written = self.reactor.queued(id) == 0;
        if written {
            self.close(at, false);
        }
        written
    }

    pub(crate) fn close(&mut self, at: usize, reset: bool) {
        let client = &mut self.clients[at];
        let Some(id) = client.id.take() else { return };
        let standing = client.peer.standing();
        let written = client.fate == Fate::Ended && self.reactor.queued(id) == 0;
        let whole = written && !reset && !client.told.closed && !client.broken;
        let hears = match client.told.reading {
            Reading::Through(_) | Reading::Ended | Reading::Handshake => false,
            Reading::Body(_) | Reading::Hello { .. } | Reading::Secured => true,
            _ => standing.unread > 0,
        };
        let lingers = whole && hears && !client.told.eof && !standing.is_reset;
        client.fate = Fate::Closed { at: network::now(), lingers, whole };
        self.reactor.close(id, reset);
    }

    pub(crate) fn caller_act(&mut self, act: Act, at: usize) {
        match act {
            Act::Pause => {
                let client = &mut self.clients[at];
                client.paused = !client.paused;
                if let Some(id) = client.id {
                    self.reactor.pause(id, client.paused);
                }
            }
            Act::GoOn => drop(self.go_on(at)),
            Act::Close if self.chance.bool() => self.end(at),
            Act::Close => {
                let reset = self.chance.bool();
                self.close(at, reset);
            }
            _ if self.clients[at].is_releasable() => self.release(at),
            _ => {}
        }
    }

    /// Answers the question about bytes that only the host's parser can judge; gives whether there was one.
    pub(crate) fn go_on(&mut self, at: usize) -> bool {
        if self.go_on_with_tls(at) {
            return true;
        }
        let client = &mut self.clients[at];
        let (Some(id), Reading::Asked { reason, from, to }) = (client.id, client.told.reading)
        else {
            return false;
        };
        // What was told of it in this batch comes first.
        if client.told.closed || client.fate != Fate::Open {
            return false;
        }
        // Behind an answer of the reactor's own there may be none, nor does it matter.
        let message = client.told.next.saturating_sub(1);
        let chance = self.chance.u8(..8);
        match reason {
            FallbackReason::Upgrade
                if chance < 4 && client.told.replies[message].bytes.is_empty() =>
            {
                client.told.plain = true;
                // It is told again, as a request.
                client.told.next = message;
                client.told.replies[message].told = None;
                client.told.reading = Reading::Heads;
                self.reactor.proceed(id);
            }
            FallbackReason::Upgrade | FallbackReason::Head if chance < 6 => {
                client.told.reading = Reading::Through(from);
                self.reactor.through(id);
            }
            FallbackReason::Body => {
                let end = client.script.messages[message].end;
                if to >= end {
                    let message = &client.script.messages[message];
                    client.told.reading =
                        if message.keep_alive { Reading::Heads } else { Reading::Closed };
                    self.reactor.proceed_behind(id, end - from);
                } else {
                    client.told.reading = Reading::Raw(to);
                    self.reactor.proceed_raw(id);
                }
            }
            _ if chance == 7 && self.reactor.queued(id) == 0 && client.tls.is_none() => {
                self.release(at);
            }
            _ => self.end(at),
        }
        true
    }

    /// Chooses what a client's first message is answered with, or receives its requests; gives whether one of these was due.
    fn go_on_with_tls(&mut self, at: usize) -> bool {
        let client = &mut self.clients[at];
        let (Some(id), Fate::Open, Some(tls)) = (client.id, client.fate, &client.tls) else {
            return false;
        };
        match client.told.reading {
            _ if client.told.closed => return false,
            Reading::Hello { is_unsure: true } => self.release(at),
            Reading::Hello { .. } => {
                let context = self.context.as_ref().expect("a server with TLS has one");
                let defers = self.chance.u8(..4) == 0;
                let is_chosen = self.reactor.choose(id, context, defers);
                assert_eq!(is_chosen, tls.fits(), "it is answered: {tls}");
                client.told.reading = Reading::Handshake;
                (client.told.chosen, client.told.defers) = (is_chosen, defers);
                if !is_chosen {
                    client.told.reading = Reading::Hello { is_unsure: true };
                    self.release(at);
                }
            }
            Reading::Secured => {
                client.told.reading = Reading::Heads;
                // Maybe somebody wants the bytes as they are.
                if self.chance.u8(..8) == 0 {
                    client.told.reading = Reading::Through(0);
                    self.reactor.through(id);
                }
                self.reactor.start(id);
            }
            _ => return false,
        }
        true
    }
}
