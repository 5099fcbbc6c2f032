//! Requests and a response of arbitrary bytes, and what has to hold for whatever they are.

use std::time::Duration;

use millrace_cache::fields::control::{RequestDirectives, ResponseDirectives};
use millrace_cache::fields::date;
use millrace_cache::{Answer, Cache, Hit, Lookup, Mode, Request, Response, Settings, Then, Vary};
use millrace_http::h1::{
    Decoded, HeadLimits, HeadParser, Method, Parsed, RequestFraming, ResponseDecoder, field_lines,
};

const LIMITS: HeadLimits = HeadLimits { bytes: 16 * 1024, fields: 1000 };
const BOUND: usize = 16 * 1024;

/// Takes `input` apart at its zeros: fields of a request, fields of the response, its body, fields of another
/// request. The first byte sets switches.
pub(crate) fn run(input: &[u8]) {
    let Some((&switches, rest)) = input.split_first() else { return };
    let mut parts = rest.split(|&byte| byte == 0);
    let mut next = || parts.next().unwrap_or_default();
    let (first, response, body, second) = (next(), next(), next(), next());
    for part in [first, response, body, second] {
        parse(part);
    }
    let settings = Settings {
        mode: Mode::All(Duration::from_secs(10)),
        max_bytes: BOUND,
        obey_requests: switches & 1 != 0,
        hides_conditions: switches & 2 != 0,
        early_refresh: switches & 4 != 0,
        ..Settings::default()
    };
    let duration = (switches & 8 != 0).then(|| Duration::from_secs(u64::from(switches)));
    exchange(&mut Cache::new(settings), [first, second], response, body, duration);
}

/// The parsers alone.
fn parse(value: &[u8]) {
    let mut once = ResponseDirectives::default();
    once.add(value);
    let mut twice = once;
    twice.add(value);
    // What was said is said, and not otherwise.
    assert_eq!(once, twice);
    let _ = RequestDirectives::read([(&b"cache-control"[..], value), (b"pragma", value)]);
    if let Some(vary) = Vary::parse([value]) {
        assert_eq!(Vary::parse([vary.as_bytes()]), Some(vary.clone()));
        let mut values = Vec::new();
        vary.write_values(value, &mut values);
        let count = vary.as_bytes().split(|&byte| byte == b',').count();
        assert!(vary.is_empty() == values.is_empty());
        assert!(
            vary.is_empty() || values.windows(2).filter(|pair| pair == b"\n;").count() == count
        );
    }
    for now in [0, 1_700_000_000] {
        if let Some(seconds) = date::parse(value, now)
            && (0..253_402_300_800).contains(&seconds)
        {
            assert_eq!(date::parse(date::render(seconds).as_bytes(), now), Some(seconds));
        }
    }
}

/// The request that a server would have seen.
fn received<'a>(head: &'a [u8]) -> Option<Request<'a>> {
    let Parsed::Complete(parsed) = HeadParser::default().parse(head, &LIMITS) else { return None };
    let head = &head[parsed.start..];
    Some(Request {
        secure: false,
        method: parsed.method,
        target: &head[parsed.target.0..parsed.target.1],
        lines: &head[parsed.lines.0..parsed.lines.1],
        body: parsed.framing != RequestFraming::None,
        certificate: false,
        authenticated: false,
        server_name: b"",
        waits: 0,
    })
}

fn exchange(
    cache: &mut Cache,
    requests: [&[u8]; 2],
    response: &[u8],
    body: &[u8],
    duration: Option<Duration>,
) {
    let heads =
        requests.map(|fields| [b"GET / HTTP/1.1\r\nHost: a\r\n", fields, b"\r\n\r\n"].concat());
    let [Some(first), Some(second)] = heads.each_ref().map(|head| received(head)) else { return };
    let (now, wall) = (Duration::from_secs(1000), 784_111_777);
    if let Lookup::Fill(lead) = cache.lookup(now, &first, 1) {
        let waits = matches!(cache.lookup(now, &second, 2), Lookup::Wait(_));
        let head = [b"HTTP/1.1 ", response].concat();
        let response = Response { head: &head, duration };
        let stored = cache
            .begin(lead, now, wall, &response)
            .and_then(|()| cache.append(lead, now, body))
            .and_then(|()| cache.finish(lead, now));
        let then = if stored.is_ok() { Then::LookUp } else { Then::Go };
        let woken = cache.pop_woken();
        assert_eq!(woken.map(|woken| (woken.waiter, woken.then)), waits.then_some((2, then)));
        assert_eq!(cache.statistics().stores, u64::from(stored.is_ok()));
    }
    let statistics = cache.statistics();
    assert!(statistics.bytes <= BOUND && statistics.buffered_bytes == 0);
    for method in [Method::Get, Method::Head] {
        for request in [first, second] {
            let now = now + Duration::from_secs(9);
            match cache.lookup(now, &Request { method, ..request }, 3) {
                Lookup::Hit(hit) => check(&hit, body, method),
                Lookup::Refresh(_, hit) => check(&hit, body, method),
                _ => {}
            }
        }
    }
    let unsafe_method = Request { method: Method::Post, ..first };
    cache.invalidate(&unsafe_method, 200, second.lines);
    assert_eq!(cache.statistics().entries, 0);
}

/// What is sent is one whole response, and nobody's in particular.
fn check(hit: &Hit<'_>, body: &[u8], method: Method) {
    let mut out = Vec::new();
    hit.write(b"Connection: keep-alive\r\n", &mut out);
    let mut decoder = ResponseDecoder::default();
    let decoded = decoder.decode(&out, method == Method::Head);
    let Ok(Decoded::Complete { consumed, status, persistent }) = decoded else {
        panic!("{decoded:?}: {}", String::from_utf8_lossy(&out));
    };
    assert_eq!((consumed, persistent), (out.len(), true));
    let expected = if hit.answer == Answer::NotModified { 304 } else { hit.entry.status() };
    assert_eq!(u32::from(status), u32::from(expected));
    assert!(hit.body() == body || hit.body().is_empty());
    let count = |wanted: &[u8]| {
        let head = &out[..out.len() - hit.body().len()];
        field_lines(head).filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).count()
    };
    assert_eq!((count(b"age"), count(b"connection"), count(b"set-cookie")), (1, 1, 0));
    assert_eq!((count(b"transfer-encoding"), count(b"date") >= 1), (0, true));
}
