//! What one run is like: drawn from its seed, so that runs differ in kind.

use std::time::Duration;

use fastrand::Rng;
use millrace_net::peer::Buffers;
use millrace_net::tls::server::CIPHERTEXT;
use millrace_simulated_tls::server::ServerConfig;
use millrace_stack::Settings;
use millrace_stack::batch::EVENT_LENGTH;
use millrace_stack::cache::{self, Mode};
use millrace_stack::settings::HeadLimits;

use crate::script::Taste;
use crate::told::Habits;

/// What a step may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Connect,
    Adopt,
    Send,
    Receive,
    End,
    Leave,
    Reset,
    Turn,
    Nest,
    Answer,
    Pause,
    GoOn,
    Close,
    Release,
    Beside,
    GiveUp,
    Wait,
    WaitLong,
    Shortage,
    Configure,
    Limits,
    Listen,
    Route,
}

/// How often each is, at most and relative to the others.
const ACTS: [(Act, u32); 23] = [
    (Act::Connect, 40),
    (Act::Adopt, 6),
    (Act::Send, 260),
    (Act::Receive, 160),
    (Act::End, 8),
    (Act::Leave, 6),
    (Act::Reset, 4),
    (Act::Turn, 400),
    (Act::Nest, 20),
    (Act::Answer, 240),
    (Act::Pause, 40),
    (Act::GoOn, 40),
    (Act::Close, 8),
    (Act::Release, 4),
    (Act::Beside, 120),
    (Act::GiveUp, 20),
    (Act::Wait, 120),
    (Act::WaitLong, 10),
    (Act::Shortage, 6),
    (Act::Configure, 4),
    (Act::Limits, 10),
    (Act::Listen, 3),
    (Act::Route, 20),
];

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) settings: Settings,
    pub(crate) taste: Taste,
    /// What a server with TLS speaks, in runs that have one.
    pub(crate) tls: Option<ServerConfig>,
    /// There is a server without TLS as well.
    pub(crate) plain: bool,
    /// Handshakes go on while the caller is busy.
    pub(crate) shakes_beside: bool,
    /// How long a handshake may take.
    pub(crate) handshake: Duration,
    /// The port is shared: requests may be another's. Nothing is cached then, so that each names itself by its host.
    pub(crate) routes: bool,
    pub(crate) max_clients: usize,
    /// Bytes of a response's body at most.
    pub(crate) answer: usize,
    /// Room of the caller's memory.
    pub(crate) events: usize,
    pub(crate) bytes: usize,
    room: usize,
    weights: Vec<(Act, u32)>,
}

impl Plan {
    pub(crate) fn draw(chance: &mut Rng) -> Self {
        let head_limit = match chance.u8(..4) {
            0 => chance.usize(200..2000),
            _ => 16 * 1024,
        };
        let routes = chance.u8(..4) == 0;
        let caches = !routes && chance.u8(..3) > 0;
        // Sessions of a shared port have tests with real sockets.
        let tls = (!routes && chance.bool()).then(|| draw_config(chance));
        let taste = Taste {
            first_resource: 0,
            head_limit,
            cached: if caches { *chance.choice(&[3, 8, 10]).unwrap() } else { chance.u8(..3) },
            resources: *chance.choice(&[1, 3]).unwrap(),
            unusual: *chance.choice(&[0, 1, 5, 20]).unwrap(),
            body: *chance.choice(&[0, 10, 1000, 20_000, 100_000]).unwrap(),
        };
        let mode = if caches { Mode::Asked } else { Mode::Off };
        let settings = Settings {
            head: HeadLimits { bytes: head_limit, fields: 1000 },
            max_pipelined: *chance.choice(&[1, 2, 3, 16, 256]).unwrap(),
            keep_alive: *chance
                .choice(&[None, Some(Duration::from_millis(50)), Some(Duration::from_secs(6))])
                .unwrap(),
            cache: cache::Settings {
                mode,
                max_bytes: *chance.choice(&[2_000, 50_000, 64 << 20]).unwrap(),
                max_waiters: *chance.choice(&[0, 1, 1000, 1000]).unwrap(),
                ..cache::Settings::default()
            },
            tells_hits: chance.bool(),
            requires_admission: chance.u8(..4) == 0,
            counts_requests: chance.u8(..16) == 0,
            max_in_flight: *chance.choice(&[None, None, Some(0), Some(2)]).unwrap(),
            response_limit: *chance.choice(&[None, Some(Duration::from_millis(20))]).unwrap(),
            ..Settings::default()
        };
        let sealed = if tls.is_some() { CIPHERTEXT } else { 0 };
        // Some runs are without some acts.
        let weights = ACTS.map(|(act, most)| {
            let share = *chance.choice(&[0, 1, 2, 4, 4]).unwrap();
            let vital =
                matches!(act, Act::Connect | Act::Send | Act::Receive | Act::Turn | Act::Answer);
            (act, most * if vital { share.max(1) } else { share })
        });
        Self {
            settings,
            taste,
            plain: tls.is_none() || chance.bool(),
            shakes_beside: chance.bool(),
            handshake: Duration::from_millis(
                *chance.choice(&[20, 1_000, 120_000, 120_000]).unwrap(),
            ),
            tls,
            routes,
            max_clients: *chance.choice(&[1, 2, 4, 12]).unwrap(),
            answer: *chance.choice(&[0, 100, 5_000, 100_000]).unwrap(),
            events: *chance.choice(&[12, 16, 24, 64]).unwrap() * EVENT_LENGTH,
            // At least what a connection has kept, and one read of it.
            bytes: *chance.choice(&[200_000, 220_000, 300_000]).unwrap() + sealed,
            room: *chance.choice(&[1, 100, 4_000, 200_000]).unwrap(),
            weights: weights.to_vec(),
        }
    }

    /// What comes next.
    pub(crate) fn act(&self, chance: &mut Rng) -> Act {
        let all: u32 = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut at = chance.u32(..all);
        for &(act, weight) in &self.weights {
            if at < weight {
                return act;
            }
            at -= weight;
        }
        Act::Turn
    }

    /// Room of a connection's buffers.
    pub(crate) fn buffers(&self, chance: &mut Rng) -> Buffers {
        let room = |chance: &mut Rng| match chance.u8(..3) {
            0 => 1 + chance.usize(..self.room),
            _ => 200_000,
        };
        Buffers { to_server: room(chance), to_client: room(chance) }
    }

    pub(crate) fn habits(&self) -> Habits {
        Habits {
            caches: self.settings.cache.mode != Mode::Off,
            refuses: self.settings.max_in_flight.is_some(),
            max_pipelined: self.settings.max_pipelined,
            handshake: self.handshake,
            shakes_beside: self.shakes_beside,
        }
    }

    /// What clients of the server with TLS, or of the other one, send.
    pub(crate) fn taste_of(&self, has_tls: bool) -> Taste {
        let first_resource = if has_tls { self.taste.resources } else { 0 };
        Taste { first_resource, ..self.taste.clone() }
    }

    /// Settings of a server with TLS.
    pub(crate) fn secure_settings(&self) -> Settings {
        Settings { tls: Some(self.handshake), ..self.settings.clone() }
    }
}

fn draw_config(chance: &mut Rng) -> ServerConfig {
    let (tls12, tls13) =
        *chance.choice(&[(true, true), (true, true), (false, true), (true, false)]).unwrap();
    let asks = chance.u8(..4) == 0;
    ServerConfig {
        tls12,
        tls13,
        alpn_protocols: chance
            .choice(&[&[][..], &[b"h"], &[b"y", b"h"]])
            .unwrap()
            .iter()
            .map(|it| it.to_vec())
            .collect(),
        tickets: chance.bool(),
        asks,
        requires: asks && chance.bool(),
    }
}
