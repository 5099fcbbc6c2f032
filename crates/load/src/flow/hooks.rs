//! Calls of JavaScript by the steps of flows. Calls leave in batches, and their results come back to the worker's loop.

use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mio::Waker;

/// A call of JavaScript, before a request or after its response.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// The worker of the user.
    pub worker: u32,
    /// The user that waits for the result.
    pub user: u32,
    /// The number of the call in the plan.
    pub hook: u32,
    /// The iteration's number.
    pub sequence: u64,
    /// Variables that have a value, by index, with their JSON texts.
    pub variables: Vec<(u32, String)>,
    /// The response, for a call after it.
    pub response: Option<HookResponse>,
}

/// The response that a call is about.
#[derive(Clone, Debug)]
pub struct HookResponse {
    /// Its status.
    pub status: u16,
    /// Names and values.
    pub fields: Vec<(String, String)>,
    /// The content, decoded; `None` if it was too long or could not be decoded.
    pub body: Option<Vec<u8>>,
    /// From when the step was due to the end of the response.
    pub time: Duration,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct HookResult {
    /// As in the call.
    pub worker: u32,
    /// As in the call.
    pub user: u32,
    /// Variables that get a value, by index, with their JSON texts; `None` takes the value away.
    pub variables: Vec<(u32, Option<String>)>,
    /// Why the step fails.
    pub error: Option<String>,
}

/// Takes calls; it must not block.
pub trait HookCaller: Send + Sync {
    /// Takes a batch of calls of one worker.
    fn call(&self, calls: Vec<HookCall>);
}

/// Brings the results of calls to the workers.
#[derive(Clone, Debug, Default)]
pub struct HookResults(Arc<OnceLock<Vec<Recipient>>>);

/// How a worker receives results.
#[derive(Debug)]
pub(crate) struct Recipient {
    pub(crate) sender: Sender<HookResult>,
    pub(crate) waker: Waker,
}

impl HookResults {
    pub(crate) fn set(&self, recipients: Vec<Recipient>) {
        // A run has its workers once.
        let _ = self.0.set(recipients);
    }

    /// Sends results to their workers. Those of a run that has ended are dropped.
    pub fn send(&self, results: Vec<HookResult>) {
        let Some(recipients) = self.0.get() else { return };
        let mut woken = vec![false; recipients.len()];
        for result in results {
            let worker = result.worker as usize;
            let Some(recipient) = recipients.get(worker) else { continue };
            woken[worker] |= recipient.sender.send(result).is_ok();
        }
        for (recipient, _) in recipients.iter().zip(woken).filter(|(_, is_woken)| *is_woken) {
            // A worker that cannot be woken looks at its next timer.
            let _ = recipient.waker.wake();
        }
    }
}
