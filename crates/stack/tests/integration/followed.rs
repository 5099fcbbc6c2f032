//! Responses of arbitrary bytes on their way out, split anywhere, and what has to hold for whatever they are.

use std::time::Duration;

use millrace_cache::{Cache, Lookup, Mode, Request, Settings, Statistics};
use millrace_http::h1::Method;

#[expect(dead_code, reason = "the crate's own, of which this takes a part")]
#[path = "../../src/response_tracker.rs"]
mod response_tracker;

use response_tracker::{CacheAction, ResponseTracker};

const NOW: Duration = Duration::from_secs(1);
/// What requests ask for. Those with an odd number of the second half are unsafe.
const TARGETS: [&[u8]; 8] = [b"/0", b"/1", b"/2", b"/3", b"/0", b"/1", b"/2", b"/3"];
const LINES: &[u8] = b"Host: a\r\n";

/// What is known in the end: whether the bytes were understood, what was counted, and what is stored.
type Outcome = (bool, Statistics, Vec<Option<(Vec<u8>, Vec<u8>)>>);

/// The first 8 bytes say how the others are split, and what is asked.
pub(crate) fn run(input: &[u8]) {
    let Some((control, bytes)) = input.split_first_chunk::<8>() else { return };
    let sizes = control.iter().cycle().map(|byte| 1 + usize::from(byte % 64));
    // Once more, since the wall clock goes on between the two, and ages with it.
    let is_same = || follow(control, bytes, sizes.clone()) == follow(control, bytes, [bytes.len()]);
    assert!(is_same() || is_same());
}

fn follow(control: &[u8; 8], bytes: &[u8], sizes: impl IntoIterator<Item = usize>) -> Outcome {
    let mode = Mode::All(Duration::from_secs(10));
    let mut cache = Cache::new(Settings { mode, max_bytes: 16 * 1024, ..Settings::default() });
    let mut following = ResponseTracker::default();
    for (&byte, target) in control.iter().zip(TARGETS) {
        let method = if byte & 128 == 0 { Method::Get } else { Method::Head };
        let interest = interest(&mut cache, target, byte & 64 != 0);
        following.expect(method, interest);
    }
    let mut rest = bytes;
    for size in sizes {
        let (now, later) = rest.split_at(size.min(rest.len()));
        following.sent(&mut cache, NOW, now);
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    let is_lost = following.is_lost();
    following.ended(&mut cache, NOW);
    assert!(following.is_lost());
    let stored = TARGETS.map(|target| {
        let hit = cache.find_stored(NOW, &request(target))?;
        Some((hit.head().to_vec(), hit.body().to_vec()))
    });
    (is_lost, cache.statistics(), stored.into())
}

fn interest(cache: &mut Cache, target: &'static [u8], is_unsafe: bool) -> CacheAction {
    if is_unsafe {
        return CacheAction::Invalidate {
            secure: false,
            target: target.into(),
            lines: LINES.into(),
        };
    }
    match cache.lookup(NOW, &request(target), 0) {
        Lookup::Fill(lead) => CacheAction::Store { lead, duration: None },
        _ => CacheAction::None,
    }
}

fn request(target: &'static [u8]) -> Request<'static> {
    let (secure, method, body, certificate) = (false, Method::Get, false, false);
    Request {
        secure,
        method,
        target,
        lines: LINES,
        body,
        certificate,
        authenticated: false,
        server_name: b"",
        waits: 0,
    }
}
