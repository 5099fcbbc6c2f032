//! What has to hold when nothing calls the caller: there is nothing that the reactor could do. So no wake-up is lost.

use std::time::Duration;

use millrace_net::peer::Standing;
use millrace_net::{Nanos, network};
use millrace_stack::batch::FallbackReason;
use millrace_stack::reactor::{ObservedConnection, Waits};

use crate::client::{Client, Fate};
use crate::sights::{Sight, see};
use crate::told::Reading;
use crate::world::World;

/// Bytes of the reactor's own that may wait on one connection: what it queues at most, and one response.
pub(crate) const MOST_OWN: usize = 512 * 1024;
/// Bytes that a connection keeps: less than one read, and one more.
const MOST_KEPT: usize = 128 * 1024;
/// Timers that may be left of what is gone, as `TimerQueue` removes them together.
const MOST_CANCELLED: usize = 256;

impl World {
    /// What has to hold at any time; and more if nothing goes on.
    pub(crate) fn check(&mut self) {
        if !self.wakes.is_empty() || self.is_called() {
            return;
        }
        self.check_timer();
        // What is due is done when the timer comes, in a moment.
        if self.reactor.next_timer() != Some(Duration::ZERO) {
            self.check_rest();
        }
    }

    fn check_rest(&mut self) {
        let observed = self.reactor.observe();
        let held = observed.connections.len() + observed.lingering;
        assert!(observed.timers <= 2 * held + MOST_CANCELLED, "{} timers", observed.timers);
        let in_flight: u32 = observed.connections.iter().map(|it| it.in_flight).sum();
        assert_eq!(observed.in_flight, in_flight, "requests that servers count");
        for connection in &observed.connections {
            let at = self.client_of(connection.id);
            let at = at.unwrap_or_else(|| panic!("nobody knows {connection:?}"));
            let client = &self.clients[at];
            let standing = client.peer.standing();
            let name = || {
                let summary = client.summary();
                format!("client {at}: {connection:?}, {standing:?}, {summary}")
            };
            assert!(
                connection.kept <= MOST_KEPT && connection.memory <= 2 * MOST_KEPT,
                "{}",
                name()
            );
            let was_told = connection.waits == Waits::Closed && client.id != Some(connection.id);
            if client.told.closed || was_told {
                continue;
            }
            let knows =
                client.id == Some(connection.id) || client.id.is_none() && connection.unopened;
            assert!(knows, "the caller does not know it, {}", name());
            assert!(!connection.has_work, "it waits for a turn, {}", name());
            self.check_writing(client, connection, standing, &name);
            self.check_waits(client, connection, &name);
            self.check_handshake(client, standing, &name);
            self.check_reading(client, connection, standing, &name);
            // Changed settings hold from the next response on.
            // Who was told of a failure closes the connection.
            let is_timed = !connection.untimed || self.has_changed || client.told.failed;
            let keeps = self.plan.settings.keep_alive.is_none();
            assert!(is_timed || keeps, "idle for ever, {}", name());
        }
        self.check_others(observed.lingering);
    }

    /// The caller's timer comes in time.
    fn check_timer(&self) {
        let Some(next) = self.reactor.next_timer() else { return };
        let at = network::now() + next + Duration::from_millis(2);
        assert!(self.armed <= at, "a timer was set and not told: in {next:?}");
    }

    fn check_writing(
        &self,
        client: &Client,
        connection: &ObservedConnection,
        standing: Standing,
        name: &dyn Fn() -> String,
    ) {
        assert!(standing.held == 0 && !connection.corked, "last bytes wait, {}", name());
        if client.broken || standing.is_reset {
            return;
        }
        let is_stuck = connection.queued > 0 && standing.is_writable;
        assert!(!is_stuck, "nothing is written, {}", name());
        assert!(!connection.ending || connection.queued > 0, "the end waits, {}", name());
        assert!(standing.is_watched, "it is not watched, {}", name());
        let hears = !client.waits || connection.queued > 0;
        assert!(hears, "nobody has heard that all has left, {}", name());
        let most = client.received.missing(&client.told) + MOST_OWN;
        assert!(connection.queued <= most, "more waits than was sent, {}", name());
        if client.told.timed_out.is_none() {
            assert_eq!(connection.in_flight, client.told.in_flight, "with the caller, {}", name());
        }
    }

    /// What keeps it from reading is there.
    fn check_waits(
        &self,
        client: &Client,
        connection: &ObservedConnection,
        name: &dyn Fn() -> String,
    ) {
        let in_flight = client.told.in_flight;
        let sight = match connection.waits {
            Waits::Pipeline => Some(Sight::WaitsForAnswers),
            Waits::Turn => Some(Sight::WaitsForItsTurn),
            Waits::Room => Some(Sight::WaitsForRoom),
            Waits::Fill => Some(Sight::WaitsForTheCache),
            Waits::Owner => Some(Sight::WaitsToLeave),
            _ => None,
        };
        sight.into_iter().for_each(see);
        let holds = match connection.waits {
            Waits::No => true,
            Waits::Pipeline => in_flight > self.habits.max_pipelined / 2,
            Waits::Turn => in_flight > 0,
            Waits::Room => connection.queued > 0,
            Waits::Fill => {
                let cache = self.reactor.cache(client.server);
                cache.is_some_and(|it| it.next_deadline().is_some()) && self.armed != Nanos::NEVER
            }
            Waits::Admission | Waits::Report => false,
            Waits::Closed => client.told.failed,
            Waits::Owner => in_flight > 0 || connection.queued > 0,
        };
        assert!(holds || client.told.timed_out.is_some(), "it waits for nothing, {}", name());
    }

    /// All that can be told has been.
    fn check_reading(
        &self,
        client: &Client,
        connection: &ObservedConnection,
        standing: Standing,
        name: &dyn Fn() -> String,
    ) {
        if standing.is_reset {
            // Whoever was told of the last answer, of an end or of a failure closes the connection.
            let is_over = client.told.eof || client.told.failed || client.told.answered_last;
            let is_over = is_over || client.broken;
            // Or it is found with what the caller answers. The last two it answers at once.
            let is_asked = matches!(
                client.told.reading,
                Reading::Hello { .. }
                    | Reading::Secured
                    | Reading::Asked { reason: FallbackReason::Body, .. }
            );
            // Behind an end that was announced, or a failure, the socket is not read: these are told when their turn comes.
            let has_closed =
                client.tls.as_ref().is_some_and(|tls| tls.has_closed() || tls.failure().is_some());
            let knows = is_over || is_asked || has_closed;
            assert!(knows, "nobody has heard of the reset, {}", name());
            return;
        }
        let goes_on = match (connection.waits, client.told.reading) {
            (_, Reading::Asked { .. } | Reading::Ended) => false,
            (_, Reading::Hello { .. } | Reading::Secured) => false,
            (Waits::No, _) => true,
            (Waits::Pipeline, Reading::Heads) => false,
            (Waits::Pipeline, _) => true,
            _ => false,
        };
        if !goes_on || client.paused || client.told.eof {
            return;
        }
        assert_eq!(standing.unread, 0, "something was not read, {}", name());
        let taken = client.sent - connection.kept;
        let messages = &client.script.messages;
        let (all, has_more) = match client.told.reading {
            Reading::Heads => {
                let whole =
                    |reason| matches!(reason, FallbackReason::Head | FallbackReason::Upgrade);
                let behind = messages.iter().find(|it| it.start <= taken && taken < it.end);
                let due = behind.is_some_and(|it| match it.unusual {
                    Some(unusual) if whole(unusual.reason) => client.sent >= it.end,
                    // Its head was declined, and its body is told.
                    _ if taken >= it.head.end => it.body_within(client.sent) > 0,
                    _ => client.sent >= it.head.end,
                });
                (!due, false)
            }
            Reading::Body(told) => {
                let message = &messages[client.told.next - 1];
                (told == message.body_within(client.sent), client.sent >= message.end)
            }
            Reading::Closed => {
                let next = messages.get(client.told.next);
                // Of an answer of the reactor's own nobody knows what it was for.
                let knows = !client.told.answered_last;
                (!knows || next.is_none_or(|it| client.sent <= it.head.start), false)
            }
            Reading::Raw(at) | Reading::Through(at) => (at == client.sent, false),
            Reading::Handshake => {
                let tls = client.tls.as_ref().expect("it has TLS");
                let is_asked = client.told.chosen || self.habits.shakes_beside && tls.fits();
                (is_asked || !tls.has_said_hello(), tls.has_finished())
            }
            Reading::Asked { .. } | Reading::Ended => (true, false),
            Reading::Hello { .. } | Reading::Secured => (true, false),
        };
        assert!(all && !has_more, "something was not told, {}", name());
        assert!(!client.has_ended(), "the end was not told, {}", name());
        let failure = client.tls.as_ref().and_then(|tls| tls.failure());
        assert_eq!(failure, None, "a failure was not told, {}", name());
    }

    /// A handshake has its limit, and what the server has to say in it was said.
    fn check_handshake(&self, client: &Client, standing: Standing, name: &dyn Fn() -> String) {
        let Some(tls) = &client.tls else { return };
        let told = &client.told;
        if client.fate != Fate::Open || told.failed || told.eof || standing.is_reset {
            return;
        }
        let due = client.known + self.habits.handshake + Duration::from_millis(2);
        let is_timed = told.secured || told.shakes_long || self.armed <= due;
        assert!(is_timed, "a handshake without a limit, {}", name());
        let speaks = standing.is_writable && !client.is_silent();
        if speaks && (told.chosen || told.secured) {
            let is_answered = tls.is_answered(&client.peer, told.secured);
            assert!(is_answered, "a part of the handshake was not sent, {}", name());
        }
    }

    /// A connection is broken: what was read before has been told, unless something had to happen first.
    pub(crate) fn check_told_before_end(&self, id: usize, at: usize) {
        let Self { clients, habits, .. } = self;
        let client = &clients[at];
        let observed = self.reactor.observe();
        let connection = observed.connections.iter().find(|it| it.id == id);
        let queued = connection.expect("it is left until the batch is taken").queued;
        let in_flight = client.told.in_flight.max(client.told.in_flight_then);
        let waits = client.paused || queued > 0 || in_flight > habits.max_pipelined / 2;
        let is_answered_here = habits.caches || habits.refuses || self.router.is_some();
        if is_answered_here || waits {
            return;
        }
        // Or it may wait for the response to another, whose client is not waited for.
        // What the system has is read first; but the caller may have begun to take text as it is behind that turn.
        let read = client.read_within(match client.told.reading {
            Reading::Raw(_) | Reading::Through(_) => client.peer.standing().unread,
            _ => 0,
        });
        let (told, messages) = (&client.told, &client.script.messages);
        let all = match told.reading {
            Reading::Heads => messages.get(told.next).is_none_or(|it| read < it.head.end),
            Reading::Body(part) => part == messages[told.next - 1].body_within(read),
            Reading::Raw(to) | Reading::Through(to) => to == read,
            // The caller is asked about each part of a body, as long as our side has not ended.
            Reading::Asked { reason: FallbackReason::Body, to, .. } => {
                to == read || client.fate != Fate::Open || told.timed_out.is_some()
            }
            // Requests that have come with the end of a handshake wait for the caller's word, and the error waits for them.
            Reading::Secured => {
                let is_open = client.fate == Fate::Open;
                !is_open || messages.first().is_none_or(|it| read < it.head.end)
            }
            Reading::Closed | Reading::Asked { .. } | Reading::Ended => true,
            Reading::Handshake | Reading::Hello { .. } => true,
        };
        assert!(all, "an end before what was read, client {at}: {}", client.summary());
    }

    /// Connections that the caller does not have.
    fn check_others(&self, lingering: usize) {
        let (mut open, mut unknown) = (0, 0);
        if lingering > 0 {
            see(Sight::Lingers);
        }
        for (at, client) in self.clients.iter().enumerate() {
            let standing = client.peer.standing();
            let closed = matches!(client.fate, Fate::Closed { .. }) && !client.told.closed;
            if !closed || standing.server_gone {
                continue;
            }
            if client.told.leaves > 0 {
                // Maybe it was sent away beside, and lives on.
                unknown += 1;
                continue;
            }
            open += 1;
            let over = client.ended || client.gone || standing.is_reset || standing.unread > 0;
            assert!(!over, "it lingers for nothing, client {at}: {standing:?}");
        }
        let expected = open..=open + unknown;
        assert!(expected.contains(&lingering), "{lingering} linger of {expected:?}");
        for (_, number) in self.doors.iter().filter_map(|door| door.listener) {
            let waits = network::has_waiting(number) && self.armed == Nanos::NEVER;
            assert!(!waits, "somebody waits to be accepted");
        }
    }
}
