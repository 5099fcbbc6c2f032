//! The end of a run: everybody says and takes all, then leaves; nothing is left.

use std::time::Duration;

use millrace_net::{Nanos, network};

use crate::client::Fate;
use crate::told::Reading;
use crate::world::World;

/// Rounds in which all comes to rest.
const ROUNDS: usize = 20_000;
/// What still waits then waits no longer than this: for the cache, or for a peer that may say more.
const LONGEST: Duration = Duration::from_secs(40);

/// Repeats a round until nothing happens in it. It gives whether anything has, and when the timer comes.
pub(crate) fn settle(mut round: impl FnMut() -> (bool, Nanos)) {
    let until = network::now() + LONGEST;
    for _ in 0..ROUNDS {
        let (goes_on, armed) = round();
        if goes_on {
            continue;
        }
        // Limits, the cache's among them.
        if armed == Nanos::NEVER || armed > until {
            return;
        }
        network::advance(armed.since(network::now()));
    }
    panic!("it does not come to rest");
}

impl World {
    /// Ends the run.
    pub(crate) fn finish(&mut self) {
        network::set_shortage(None);
        if let Some(router) = &self.router {
            router.state().is_settled = true;
            self.bring_back();
        }
        for client in &mut self.clients {
            client.peer.widen();
        }
        self.come_to_rest(false);
        self.check_complete();
        for client in &mut self.clients {
            if !client.gone {
                client.peer.end();
                client.ended = true;
            }
        }
        self.come_to_rest(true);
        for (listener, _) in self.doors.iter_mut().filter_map(|door| door.listener.take()) {
            self.reactor.close_listener(listener);
        }
        for client in &mut self.clients {
            client.peer.close();
            client.gone = true;
        }
        self.come_to_rest(true);
        // What was told of in the last turn is freed in the next one.
        self.wake();
        self.come_to_rest(true);
        self.check_empty();
    }

    /// Everybody does what there is to do. `ends`: the caller ends connections of which there is no more to come.
    fn come_to_rest(&mut self, ends: bool) {
        settle(|| {
            let mut goes_on = false;
            for at in 0..self.clients.len() {
                goes_on |= self.serve(at, ends);
                self.after_commands();
            }
            while !self.wakes.is_empty() || self.is_called() {
                goes_on = true;
                self.turn_step();
            }
            self.check();
            (goes_on, self.armed)
        });
    }

    /// What a client and the caller have to do for one connection; gives whether there was anything.
    fn serve(&mut self, at: usize, ends: bool) -> bool {
        let client = &mut self.clients[at];
        if client.gone && client.id.is_none() {
            return false;
        }
        let mut goes_on = client.send(1 << 20);
        if !client.is_silent() {
            goes_on |= self.receive(at, 1 << 20);
        }
        let client = &mut self.clients[at];
        let Some(id) = client.id else { return goes_on };
        if client.told.closed {
            return goes_on;
        }
        if std::mem::take(&mut client.paused) {
            self.reactor.pause(id, false);
            goes_on = true;
        }
        if self.clients[at].is_answerable() && self.clients[at].told.front().is_some() {
            self.answer(at);
            goes_on = true;
        }
        if self.clients[at].told.failed {
            self.close(at, false);
            return true;
        }
        goes_on |= self.go_on(at) | self.close_if_written(at);
        let client = &self.clients[at];
        let is_over = client.told.eof
            || client.told.answered_last
            || client.last_sent
            || ends && client.ended && matches!(client.told.reading, Reading::Asked { .. });
        if is_over
            && client.fate == Fate::Open
            && (client.last_sent || client.told.front().is_none())
        {
            self.end(at);
            goes_on = true;
        }
        goes_on
    }

    /// Connections that nobody has ended have all their answers.
    fn check_complete(&self) {
        for (at, client) in self.clients.iter().enumerate() {
            if client.fate != Fate::Open || client.is_silent() || client.told.closed {
                continue;
            }
            if let Some(tls) = &client.tls {
                let summary = client.summary();
                assert_eq!(tls.failure(), None, "not told of client {at}: {summary}");
                if tls.says_no_more() {
                    continue;
                }
            }
            let all = client.sent == client.script.bytes.len();
            assert!(all, "client {at} cannot send: {}", client.summary());
            let told = &client.told;
            if !matches!(told.reading, Reading::Heads) || told.eof {
                continue;
            }
            let answered = told.replies.iter().filter(|it| it.complete || it.own).count();
            assert_eq!(answered, told.replies.len(), "client {at} is not answered");
            assert!(client.received.is_whole(told), "client {at} has not got all");
            assert_eq!(client.received.missing(told), 0, "client {at} has not got all");
        }
    }

    /// Fallbacks that a server has counted.
    pub(crate) fn counted_fallbacks(&self, server: usize) -> u64 {
        self.reactor.counts(server).unusual.iter().map(|(_, count)| count).sum()
    }

    fn check_empty(&mut self) {
        let observed = self.reactor.observe();
        if let Some(connection) = observed.connections.first() {
            let client = self.by_id[connection.id].map(|at| (at, self.clients[at].summary()));
            panic!("left: {connection:?}, {client:?}");
        }
        assert_eq!((observed.lingering, observed.listeners), (0, 0), "left");
        for (at, client) in self.clients.iter().enumerate() {
            assert!(client.peer.standing().server_gone, "the socket of client {at} is open");
        }
        for door in &self.doors {
            let cache = self.reactor.cache(door.server).expect("there is the server");
            let statistics = cache.statistics();
            assert_eq!((statistics.fills, statistics.waiting), (0, 0), "left in the cache");
            let most = self.plan.settings.cache.max_bytes;
            assert!(statistics.bytes <= most, "the cache is too large");
        }
        let counted: u64 = self.servers.iter().map(|&server| self.counted_fallbacks(server)).sum();
        assert_eq!(counted, self.fallbacks, "each fallback is counted once");
        for &server in &self.servers {
            self.reactor.remove_server(server);
        }
        while !self.wakes.is_empty() || self.is_called() {
            self.turn_step();
        }
        assert_eq!(self.reactor.observe().servers, 0, "the server is left");
    }
}
