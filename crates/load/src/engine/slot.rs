//! Places for connections.

use millrace_net::{Nanos, Stream};

use crate::connection::Connection;
use crate::plan::{Plan, Request};

/// A place for one connection after the other.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) connection: Connection<Stream>,
    /// Index of the server.
    pub(super) origin: usize,
    /// Index of the address in use.
    pub(super) address: usize,
    /// When the slot's limit timer fires.
    pub(super) limit: Nanos,
    /// Connections in a row that completed nothing.
    pub(super) failures: u32,
    /// The present connection has completed a request.
    pub(super) fruitful: bool,
    /// A `Reopen` timer is set.
    pub(super) resting: bool,
    /// Is in the pool's list of free connections.
    pub(super) listed: bool,
    /// Is being opened before the start.
    pub(super) setting_up: bool,
    /// Requests of a closed run that wait for the end of the rest.
    pub(super) stalled: usize,
    /// Connections that have ended, the present one's predecessor last. They are kept for a while, so
    /// that the server closes first, this side's ports do not wait in TIME-WAIT, and the older one's
    /// socket can be used again.
    pub(super) ended: [Option<Stream>; 2],
}

/// The slots of one worker: each server has at least one, the others are spread by the weights of the
/// servers' requests.
pub(super) fn slots(plan: &Plan, count: usize) -> Vec<Slot> {
    let servers = plan.origins.len();
    let weight = |request: &Request| if plan.weighted { request.weight } else { 1.0 };
    let mut weights = vec![0.0; servers];
    for request in &plan.requests {
        weights[request.origin] += weight(request);
    }
    let total: f64 = weights.iter().sum();
    let mut credit = vec![0.0; servers];
    (0..count)
        .map(|index| {
            for (credit, weight) in credit.iter_mut().zip(&weights) {
                *credit += weight / total;
            }
            let richest = (0..servers).max_by(|a, b| credit[*a].total_cmp(&credit[*b]));
            let origin = if index < servers { index } else { richest.unwrap_or(0) };
            credit[origin] -= 1.0;
            Slot::new(origin)
        })
        .collect()
}

impl Slot {
    fn new(origin: usize) -> Self {
        Self {
            connection: Connection::default(),
            origin,
            address: 0,
            limit: Nanos::NEVER,
            failures: 0,
            fruitful: false,
            resting: false,
            listed: false,
            setting_up: false,
            stalled: 0,
            ended: [None, None],
        }
    }
}
