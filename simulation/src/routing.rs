//! Connections that move: what the simulated router does, and what the caller has to see of that.

use std::time::Duration;

use millrace_net::network;
use millrace_net::peer::close_descriptor;
use millrace_stack::router::Route;

use crate::client::Fate;
use crate::router::SimulatedRouter;
use crate::sights::{Sight, see};
use crate::world::World;

impl World {
    /// Whose connection has this number, whether the caller knows it or not.
    pub(crate) fn client_of(&self, id: usize) -> Option<usize> {
        let (_, peer) = self.reactor.addresses(id);
        let by_peer = peer.map(|peer| usize::from(peer.port()) - 1024);
        by_peer.or_else(|| self.by_id.get(id).copied().flatten())
    }

    /// What the router has said in this turn.
    pub(crate) fn look_at_router(&mut self) {
        let Some(router) = &self.router else { return };
        let mut state = router.state();
        for decision in state.decisions.drain(..) {
            trace!("    {decision:?}");
            let told = &mut self.clients[decision.client].told;
            told.replies[decision.message].declined = match decision.route {
                Route::Nobody { gone } => Some(gone),
                _ => None,
            };
            let leaves = matches!(decision.route, Route::Server(_) | Route::Elsewhere(_));
            told.leaves += u32::from(leaves);
        }
        for (_, connection) in &state.given {
            see(Sight::Elsewhere);
            let peer = connection.peer.expect("it has an address");
            let client = &self.clients[usize::from(peer.port()) - 1024];
            let kept = connection.bytes.len();
            let taken = client.sent - client.peer.standing().unread - kept;
            assert_eq!(connection.bytes, client.script.bytes[taken..taken + kept], "given bytes");
            let mut starts = client.script.messages.iter().map(|message| message.start);
            assert!(starts.any(|start| start == taken), "it is given within a message");
        }
    }

    /// The router does something by itself.
    pub(crate) fn route(&mut self) {
        let Some(router) = self.router.clone() else { return };
        match self.chance.u8(..4) {
            0 => {
                // Whoever was given one closes it.
                let mut state = router.state();
                if let Some((_, connection)) = state.given.pop() {
                    let peer = connection.peer.expect("it has an address");
                    self.clients[usize::from(peer.port()) - 1024].fate = Fate::Released;
                    close_descriptor(connection.socket);
                }
            }
            1 => self.change_server(&router),
            _ => self.bring_back(),
        }
    }

    pub(crate) fn bring_back(&mut self) {
        let by = network::now() + Duration::from_secs(3600);
        self.reactor.with_router(|router: &mut SimulatedRouter, context| {
            router.state().bring_back(by, context);
        });
    }

    /// The second server goes, or there is one again.
    fn change_server(&mut self, router: &SimulatedRouter) {
        match self.servers[..] {
            [_, second] => {
                let is_used = self.clients.iter().any(|it| it.id.is_some() && it.server == second);
                if !is_used {
                    self.servers.pop();
                    self.fallbacks -= self.counted_fallbacks(second);
                    router.state().servers = self.servers.clone();
                    self.reactor.remove_server(second);
                }
            }
            _ => {
                self.servers.push(self.reactor.add_server(self.plan.settings.clone()));
                router.state().servers = self.servers.clone();
            }
        }
    }
}
