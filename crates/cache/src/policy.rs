//! Whether a response may be stored, and for how long it may be used (RFC 9111, sections 3 and 4.2).
//!
//! The rules are those of a shared cache. Where the standard leaves a choice, less is stored: `no-cache` and
//! qualified `private` are not stored at all, and no lifetime is guessed (section 4.2.2).

use std::time::Duration;

use crate::fields::vary::Vary;
use crate::reason::NotStored;
use crate::request::Credentials;
use crate::response::ResponseFields;
use crate::settings::{Mode, Settings};

/// Maximum lifetime of an entry: none outlives a deployment.
const MAX_LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Statuses that are stored although the response has no explicit lifetime: the cacheable ones of RFC 9110,
/// section 15.1, without the errors, and without 206.
const STORED_BY_DEFAULT: [u16; 6] = [200, 203, 204, 300, 301, 308];

/// Statuses whose meaning for caches is known: those of RFC 9110 that may be stored.
const UNDERSTOOD: [u16; 14] =
    [200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501];

/// Fields that redirections depend on.
const BACK: [&[u8]; 2] = [b"referer", b"referrer"];

/// The conditions under which a response is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// How long it is fresh, from now on.
    pub fresh: Duration,
    /// How long after that it may still be used while it is renewed.
    pub stale_while_revalidate: Duration,
    /// How old it is already, in seconds.
    pub age: u64,
    /// Which fields of the request it depends on.
    pub vary: Vary,
    /// Requests with `Authorization` may have it.
    pub for_authorization: bool,
    /// Requests with `Cookie` may have it.
    pub for_cookie: bool,
}

/// When the head of a response arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// By the wall clock, in seconds since 1970.
    pub wall: i64,
    /// Seconds since the request was sent to the application.
    pub delay: u64,
}

/// Decides whether and how the response to a GET is stored. `duration` is set by the application
/// ([`Response::duration`](crate::Response::duration)).
pub fn evaluate(
    settings: &Settings,
    credentials: Credentials,
    head: &ResponseFields<'_>,
    duration: Option<Duration>,
    arrival: Arrival,
) -> Result<Decision, NotStored> {
    let control = &head.control;
    if settings.mode == Mode::Off {
        return Err(NotStored::NotAsked);
    }
    // RFC 9111, section 3: a final status. What 206 and 304 are parts of is not combined here.
    if head.status < 200 || matches!(head.status, 206 | 304) {
        return Err(NotStored::Status);
    }
    // RFC 9111, section 5.2.2.3.
    if control.must_understand && !UNDERSTOOD.contains(&head.status) {
        return Err(NotStored::Status);
    }
    let forbidden = [
        (control.no_store, NotStored::NoStore),
        (control.private, NotStored::Private),
        (control.no_cache, NotStored::NoCache),
        // RFC 9111, section 7.3, asks the origin to take care; few do.
        (head.sets_cookie, NotStored::SetCookie),
        (head.trailers, NotStored::Trailers),
        (head.coded, NotStored::Coding),
    ];
    if let Some(&(_, why)) = forbidden.iter().find(|(is, _)| *is) {
        return Err(why);
    }
    let mut vary = head.vary.clone().ok_or(NotStored::Vary)?;
    if (300..400).contains(&head.status) {
        // Frameworks redirect "back", and do not say that the response varies.
        vary.add(&BACK);
    }
    // RFC 9111, section 3.5.
    let for_authorization = control.public || control.s_maxage.is_some() || control.must_revalidate;
    if credentials.authorization && !for_authorization {
        return Err(NotStored::Authorization);
    }
    // The standard has no such rule. `max-age` alone is often meant for the browser.
    let for_cookie = control.public || control.s_maxage.is_some() || duration.is_some();
    if credentials.cookie && !for_cookie {
        return Err(NotStored::Cookie);
    }
    let age = head.initial_age(arrival.wall, arrival.delay);
    let (lifetime, since) = compute_lifetime(settings, head, duration, arrival.wall)?;
    // What its own fields say counts from when it was made.
    let age_then = if since == Since::Made { Duration::from_secs(age) } else { Duration::ZERO };
    let fresh = lifetime.saturating_sub(age_then);
    let usable = (lifetime + stale_while_revalidate(head)).saturating_sub(age_then);
    if usable.is_zero() {
        return Err(NotStored::Stale);
    }
    let stale_while_revalidate = usable.saturating_sub(fresh);
    Ok(Decision { fresh, stale_while_revalidate, age, vary, for_authorization, for_cookie })
}

/// The start of a lifetime.
#[derive(PartialEq, Eq)]
enum Since {
    /// When the response was made.
    Made,
    /// When it arrived here: the operator or the application gave it for this cache.
    Arrived,
}

/// Computes how long a response is fresh (RFC 9111, section 4.2.1).
fn compute_lifetime(
    settings: &Settings,
    head: &ResponseFields<'_>,
    duration: Option<Duration>,
    wall: i64,
) -> Result<(Duration, Since), NotStored> {
    if let Some(duration) = duration {
        return Ok((duration.min(MAX_LIFETIME), Since::Arrived));
    }
    let expires = || {
        let lifetime = head.expires?.saturating_sub(head.date.unwrap_or(wall));
        Some(u64::try_from(lifetime).unwrap_or(0))
    };
    let control = &head.control;
    match (control.s_maxage.or(control.max_age).or_else(expires), settings.mode) {
        (Some(seconds), _) => Ok((Duration::from_secs(seconds).min(MAX_LIFETIME), Since::Made)),
        (None, Mode::All(_)) if !STORED_BY_DEFAULT.contains(&head.status) => Err(NotStored::Status),
        (None, Mode::All(_)) if head.is_endless => Err(NotStored::Endless),
        (None, Mode::All(duration)) => Ok((duration.min(MAX_LIFETIME), Since::Arrived)),
        (None, Mode::Asked | Mode::Off) => Err(NotStored::NotAsked),
    }
}

/// Returns how long a stale response may be used while it is renewed. `must-revalidate` and `proxy-revalidate` forbid it
/// (RFC 9111, sections 5.2.2.2 and 5.2.2.8). So does `s-maxage` (section 5.2.2.10), but next to
/// `stale-while-revalidate` the more precise directive wins: frameworks send the pair to shared caches.
fn stale_while_revalidate(head: &ResponseFields<'_>) -> Duration {
    let control = &head.control;
    if control.must_revalidate || control.proxy_revalidate {
        return Duration::ZERO;
    }
    Duration::from_secs(control.stale_while_revalidate.unwrap_or(0)).min(MAX_LIFETIME)
}
