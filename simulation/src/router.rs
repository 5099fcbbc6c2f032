//! A router that sends requests here, elsewhere or to nobody, at will, and brings connections back later, or never.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fastrand::Rng;
use millrace_net::Nanos;
use millrace_stack::router::{Arrival, Detached, Route, RoutedRequest, Router, RouterContext};

/// The address that all servers share.
const ADDRESS: usize = 0;

/// What was said of a client's message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub(crate) client: usize,
    pub(crate) message: usize,
    pub(crate) route: Route,
}

/// The router: what it does is seen from outside without a call of the reactor.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedRouter(Arc<Mutex<State>>);

#[derive(Debug)]
pub(crate) struct State {
    chance: Rng,
    /// Those of the reactor that may have requests.
    pub(crate) servers: Vec<usize>,
    /// Everything belongs to whom it has come to.
    pub(crate) is_settled: bool,
    /// What was said since somebody has looked.
    pub(crate) decisions: Vec<Decision>,
    /// What was given, and when it comes back.
    pub(crate) given: Vec<(Nanos, Detached)>,
}

impl SimulatedRouter {
    pub(crate) fn new(seed: u64, servers: Vec<usize>) -> Self {
        let chance = Rng::with_seed(seed);
        Self(Arc::new(Mutex::new(State {
            chance,
            servers,
            is_settled: false,
            decisions: Vec::new(),
            given: Vec::new(),
        })))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nobody has panicked with it")
    }
}

impl State {
    /// Brings back what is due by then.
    pub(crate) fn bring_back(&mut self, by: Nanos, context: &mut RouterContext<'_>) {
        for at in (0..self.given.len()).rev() {
            if self.given[at].0 > by || self.servers.is_empty() {
                continue;
            }
            let (_, connection) = self.given.swap_remove(at);
            let server = self.servers[self.chance.usize(..self.servers.len())];
            let pinned = self.chance.bool();
            context.attach(Arrival { address: ADDRESS, server, pinned, connection });
        }
    }

    fn decide(&mut self, server: usize) -> Route {
        if self.is_settled {
            return Route::Here;
        }
        let other = self.servers.iter().copied().find(|&it| it != server);
        match (self.chance.u8(..16), other) {
            (0, _) => Route::Nobody { gone: self.chance.bool() },
            (1, _) => Route::Elsewhere(0),
            (2, Some(other)) => Route::Server(other),
            _ => Route::Here,
        }
    }
}

impl Router for SimulatedRouter {
    fn address_of(&self, _: usize) -> Option<usize> {
        Some(ADDRESS)
    }

    fn route(&mut self, request: &RoutedRequest<'_>) -> Route {
        let mut state = self.state();
        let route = state.decide(request.server);
        let host = std::str::from_utf8(request.host).unwrap_or_default();
        let (client, message) = host.split_once('.').expect("hosts name clients and messages");
        let number = |text: &str| text.parse().expect("a number");
        let (client, message) = (number(client), number(message));
        state.decisions.push(Decision { client, message, route });
        route
    }

    fn route_session(&mut self, _: usize, _: usize, _: &str, _: Nanos) -> Route {
        Route::Here
    }

    fn successor(&self, _: usize, server: usize) -> Option<Route> {
        let other = self.state().servers.iter().copied().find(|&it| it != server);
        other.map(Route::Server)
    }

    fn give(
        &mut self,
        address: usize,
        _: usize,
        connection: Detached,
        context: &mut RouterContext<'_>,
    ) {
        let mut state = self.state();
        if state.chance.u8(..8) == 0 {
            // It cannot be given.
            let server = state.servers[0];
            return context.attach(Arrival { address, server, pinned: false, connection });
        }
        let after = *state.chance.choice(&[0, 1_000, 10_000_000, 5_000_000_000]).unwrap();
        state.given.push((context.now() + Duration::from_nanos(after), connection));
    }

    fn run(&mut self, context: &mut RouterContext<'_>) {
        self.state().bring_back(context.now(), context);
    }

    fn next_run(&self) -> Nanos {
        self.state().given.iter().map(|(at, _)| *at).min().unwrap_or(Nanos::NEVER)
    }
}
