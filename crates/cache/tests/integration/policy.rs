//! What is stored and for how long: a row for each rule.

use std::time::Duration;

use crate::origin::{DATE, WALL, credentials, seconds};
use millrace_cache::policy::{Arrival, Decision, evaluate};
use millrace_cache::{Mode, NotStored, ResponseFields, Settings};

const ALL: Mode = Mode::All(Duration::from_secs(10));

/// The decision about a 200 of now, answered after `delay` seconds.
fn decide(
    mode: Mode,
    request: &str,
    status: u16,
    response: &str,
    duration: Option<Duration>,
    delay: u64,
) -> Result<Decision, NotStored> {
    let head = format!("HTTP/1.1 {status} X\r\n{response}\r\n");
    let head = ResponseFields::parse(head.as_bytes(), WALL).ok_or(NotStored::Malformed)?;
    let settings = Settings { mode, ..Settings::default() };
    evaluate(&settings, credentials(request), &head, duration, Arrival { wall: WALL, delay })
}

/// Seconds of freshness, and of staleness after it.
type Times = Result<(u64, u64), NotStored>;

fn times(decision: Result<Decision, NotStored>) -> Times {
    decision.map(|d| (d.fresh.as_secs(), d.stale_while_revalidate.as_secs()))
}

#[test]
fn each_rule_for_200() {
    use NotStored::*;
    const AGO: &str = "Date: Sun, 06 Nov 1994 08:49:07 GMT\r\n"; // 30 s
    const AHEAD: &str = "Date: Sun, 06 Nov 1994 09:49:37 GMT\r\n"; // 1 h
    let ago = |fields: &str| format!("{AGO}{fields}");
    let ahead = |fields: &str| format!("{AHEAD}{fields}");
    let dated = |fields: &str| format!("{DATE}{fields}");
    let rows: &[(&str, String, Times)] = &[
        // Nothing said: the operator's duration, from now on.
        ("", dated(""), Ok((10, 0))),
        ("", ago(""), Ok((10, 0))),
        ("", String::new(), Ok((10, 0))),
        // Section 4.2.1: s-maxage, max-age, Expires, in this order.
        ("", dated("Cache-Control: s-maxage=7, max-age=8\r\n"), Ok((7, 0))),
        ("", dated("Cache-Control: max-age=8, s-maxage=7\r\n"), Ok((7, 0))),
        (
            "",
            dated("Cache-Control: max-age=8\r\nExpires: Sun, 06 Nov 1994 09:49:37 GMT\r\n"),
            Ok((8, 0)),
        ),
        ("", dated("Expires: Sun, 06 Nov 1994 09:49:37 GMT\r\n"), Ok((3600, 0))),
        ("", "Expires: Sun, 06 Nov 1994 09:49:37 GMT\r\n".into(), Ok((3600, 0))),
        ("", dated("Expires: Sunday, 06-Nov-94 09:49:37 GMT\r\n"), Ok((3600, 0))),
        ("", dated("Expires: Sun Nov  6 09:49:37 1994\r\n"), Ok((3600, 0))),
        ("", dated("Expires: 0\r\n"), Err(Stale)),
        ("", dated("Expires: Sun, 06 Nov 1994 08:49:36 GMT\r\n"), Err(Stale)),
        ("", dated("Cache-Control: max-age=0\r\n"), Err(Stale)),
        ("", dated("Cache-Control: s-maxage=0, max-age=9\r\n"), Err(Stale)),
        ("", dated("Cache-Control: MAX-AGE=\"9\"\r\n"), Ok((9, 0))),
        // Given twice, or no number: stale.
        ("", dated("Cache-Control: max-age=9\r\nCache-Control: max-age=9\r\n"), Ok((9, 0))),
        ("", dated("Cache-Control: max-age=9, max-age=8\r\n"), Err(Stale)),
        ("", dated("Cache-Control: max-age=9s\r\n"), Err(Stale)),
        ("", dated("Cache-Control: max-age=-1\r\n"), Err(Stale)),
        ("", dated("Cache-Control: max-age=1.5\r\n"), Err(Stale)),
        ("", dated("Cache-Control: max-age\r\n"), Err(Stale)),
        ("", dated("Cache-Control: max-age =9\r\n"), Err(Stale)),
        ("", dated("Cache-Control: max-age=9; foo\r\n"), Err(Stale)),
        ("", dated("Cache-Control: max-age=\"9\" x\r\n"), Err(Stale)),
        (
            "",
            dated(
                "Expires: Sun, 06 Nov 1994 09:49:37 GMT\r\nExpires: Sun, 06 Nov 1994 09:49:38 GMT\r\n",
            ),
            Err(Stale),
        ),
        // Section 1.2.2: as much as anything; nothing is stored for longer than a year.
        ("", dated("Cache-Control: max-age=99999999999999999999999999\r\n"), Ok((31_536_000, 0))),
        // Section 4.2.3: it is as old as Date and Age say, and Age grows on its way.
        ("", ago("Cache-Control: max-age=100\r\n"), Ok((71, 0))),
        ("", ahead("Cache-Control: max-age=100\r\n"), Ok((100, 0))),
        ("", ago("Cache-Control: max-age=20\r\n"), Err(Stale)),
        ("", dated("Age: 20\r\nCache-Control: max-age=100\r\n"), Ok((77, 0))),
        ("", ago("Age: 20\r\nCache-Control: max-age=100\r\n"), Ok((71, 0))),
        ("", dated("Age: 20, 50\r\nCache-Control: max-age=100\r\n"), Ok((77, 0))),
        ("", dated("Age: x\r\nCache-Control: max-age=100\r\n"), Ok((100, 0))),
        ("", dated("Age: 200\r\n"), Ok((10, 0))),
        // Section 5.2.2: what forbids. More in the next test.
        ("", dated("Cache-Control: no-store, max-age=9\r\n"), Err(NoStore)),
        ("", dated("Cache-Control: must-understand, no-store, max-age=9\r\n"), Err(NoStore)),
        ("", dated("Cache-Control: private\r\n"), Err(Private)),
        ("", dated("Cache-Control: private=\"x, max-age=9\"\r\n"), Err(Private)),
        ("", dated("Cache-Control: max-age=9, no-cache\r\n"), Err(NoCache)),
        ("", dated("Cache-Control: no-cache=\"set-cookie\"\r\n"), Err(NoCache)),
        ("", dated("Cache-Control: foo=\"bar, no-store\r\n"), Err(NoStore)),
        ("", dated("Cache-Control: private; max-age=9\r\n"), Err(Private)),
        ("", dated("Cache-Control: foo=\"no-store\", max-age=9\r\n"), Ok((9, 0))),
        ("", dated("Cache-Control: \"no-store\", max-age=9\r\n"), Ok((9, 0))),
        ("", dated("Cache-Control: no-storex, max-age=9\r\n"), Ok((9, 0))),
        ("", dated("Cache-Control: ,,max-age=9,\r\n"), Ok((9, 0))),
        ("", dated("Set-Cookie: a=b\r\nCache-Control: public, s-maxage=9\r\n"), Err(SetCookie)),
        ("", dated("Vary: *\r\n"), Err(Vary)),
        ("", dated("Vary: Accept\r\nVary: Accept-Encoding, *\r\n"), Err(Vary)),
        ("", dated("Vary: Accept Encoding\r\n"), Err(Vary)),
        ("", dated("Vary: Accept, Accept-Encoding\r\n"), Ok((10, 0))),
        ("", dated("Trailer: X\r\n"), Err(Trailers)),
        ("", dated("Transfer-Encoding: chunked\r\n"), Ok((10, 0))),
        ("", dated("Transfer-Encoding: gzip, chunked\r\n"), Err(Coding)),
        // Section 3.5.
        ("Authorization: x\r\n", dated("Cache-Control: max-age=9\r\n"), Err(Authorization)),
        ("Authorization: x\r\n", dated("Cache-Control: public\r\n"), Ok((10, 0))),
        ("Authorization: x\r\n", dated("Cache-Control: s-maxage=9\r\n"), Ok((9, 0))),
        (
            "Authorization: x\r\n",
            dated("Cache-Control: must-revalidate, max-age=9\r\n"),
            Ok((9, 0)),
        ),
        (
            "Authorization: x\r\n",
            dated("Cache-Control: proxy-revalidate, max-age=9\r\n"),
            Err(Authorization),
        ),
        ("Cookie: x\r\n", dated(""), Err(Cookie)),
        ("Cookie: x\r\n", dated("Cache-Control: max-age=9\r\n"), Err(Cookie)),
        ("Cookie: x\r\n", dated("Cache-Control: must-revalidate, max-age=9\r\n"), Err(Cookie)),
        ("Cookie: x\r\n", dated("Cache-Control: public, max-age=9\r\n"), Ok((9, 0))),
        ("Cookie: x\r\n", dated("Cache-Control: s-maxage=9\r\n"), Ok((9, 0))),
        // RFC 5861, section 3.
        ("", dated("Cache-Control: max-age=9, stale-while-revalidate=5\r\n"), Ok((9, 5))),
        ("", dated("Cache-Control: max-age=0, stale-while-revalidate=5\r\n"), Ok((0, 5))),
        ("", dated("Cache-Control: s-maxage=9, stale-while-revalidate=5\r\n"), Ok((9, 5))),
        ("", dated("Cache-Control: max-age=9, stale-while-revalidate=x\r\n"), Ok((9, 0))),
        (
            "",
            dated("Cache-Control: max-age=9, must-revalidate, stale-while-revalidate=5\r\n"),
            Ok((9, 0)),
        ),
        (
            "",
            dated("Cache-Control: max-age=9, proxy-revalidate, stale-while-revalidate=5\r\n"),
            Ok((9, 0)),
        ),
        ("", ago("Cache-Control: max-age=20, stale-while-revalidate=15\r\n"), Ok((0, 6))),
        ("", ago("Cache-Control: max-age=20, stale-while-revalidate=5\r\n"), Err(Stale)),
    ];
    for (request, response, expected) in rows {
        let decided = decide(ALL, request, 200, response, None, 3);
        assert_eq!(times(decided), *expected, "{request:?} {response:?}");
    }
}

#[test]
fn each_rule_for_modes_and_the_applications_word() {
    use NotStored::*;
    let word = |duration| Some(seconds(duration));
    let rows: [(Mode, &str, &str, Option<Duration>, Times); 17] = [
        (Mode::Off, "", "Cache-Control: s-maxage=9\r\n", word(5.0), Err(NotAsked)),
        (Mode::Asked, "", "", None, Err(NotAsked)),
        (Mode::Asked, "", "", word(5.0), Ok((5, 0))),
        (Mode::Asked, "", "Cache-Control: max-age=9\r\n", None, Ok((9, 0))),
        (Mode::Asked, "", "Cache-Control: public\r\n", None, Err(NotAsked)),
        (Mode::Asked, "", "Expires: Sun, 06 Nov 1994 08:49:47 GMT\r\n", None, Ok((10, 0))),
        (ALL, "", "", word(5.0), Ok((5, 0))),
        (ALL, "", "", word(0.0), Err(Stale)),
        (ALL, "", "", word(f64::from(u32::MAX)), Ok((31_536_000, 0))),
        // It is meant for this cache, so it comes before what is said to all.
        (ALL, "", "Cache-Control: max-age=0, s-maxage=90\r\n", word(5.0), Ok((5, 0))),
        (ALL, "", "Age: 50\r\n", word(5.0), Ok((5, 0))),
        (ALL, "Cookie: x\r\n", "", word(5.0), Ok((5, 0))),
        // It permits nothing that is forbidden.
        (ALL, "Authorization: x\r\n", "", word(5.0), Err(Authorization)),
        (ALL, "", "Cache-Control: private\r\n", word(5.0), Err(Private)),
        (ALL, "", "Cache-Control: no-store\r\n", word(5.0), Err(NoStore)),
        (ALL, "", "Set-Cookie: a=b\r\n", word(5.0), Err(SetCookie)),
        (Mode::All(Duration::ZERO), "", "", None, Err(Stale)),
    ];
    for (mode, request, response, duration, expected) in rows {
        let response = format!("{DATE}{response}");
        let decided = decide(mode, request, 200, &response, duration, 0);
        assert_eq!(times(decided), expected, "{mode:?} {request:?} {response:?} {duration:?}");
    }
}

/// Section 3, and RFC 9110, section 15.1: statuses that are stored unasked, where asked, and never.
#[test]
fn each_status() {
    for status in 100..600 {
        let stored = |fields: &str| {
            let decided = decide(ALL, "", status, &format!("{DATE}{fields}"), None, 0);
            decided.map(|_| ()).map_err(|why| assert_eq!(why, NotStored::Status)).is_ok()
        };
        let never = status < 200 || [206, 304].contains(&status);
        let unasked = [200, 203, 204, 300, 301, 308].contains(&status);
        assert_eq!(stored(""), unasked, "{status}");
        assert_eq!(stored("Cache-Control: max-age=9\r\n"), !never, "{status}");
    }
}

#[test]
fn who_may_have_it() {
    let rows = [
        ("", None, (false, false)),
        ("Cache-Control: max-age=9\r\n", None, (false, false)),
        ("Cache-Control: public\r\n", None, (true, true)),
        ("Cache-Control: s-maxage=9\r\n", None, (true, true)),
        ("Cache-Control: must-revalidate\r\n", None, (true, false)),
        ("", Some(seconds(5.0)), (false, true)),
    ];
    for (response, duration, expected) in rows {
        let decided = decide(ALL, "", 200, response, duration, 0).expect(response);
        assert_eq!((decided.for_authorization, decided.for_cookie), expected, "{response:?}");
    }
}

#[test]
fn heads_that_no_server_may_send() {
    let heads = [
        "",
        "HTTP/1.1 200 OK",
        "HTTP/2 200 OK\r\n",
        "HTTP/1.1 20 OK\r\n",
        "HTTP/1.1 2000\r\n",
        "HTTP/1.1 099 X\r\n",
        "HTTP/1.1 200 O\0K\r\n",
        "HTTP/1.1 200 OK\nX: y\r\n",
        "HTTP/1.1 200 OK\r\nX: y",
        "HTTP/1.1 200 OK\r\nX: y\n",
        "HTTP/1.1 200 OK\r\nX y\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\n",
        "HTTP/1.1 200 OK\r\n: y\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n",
        "HTTP/1.1 200 OK\r\nX: y\rz\r\n",
        "HTTP/1.1 200 OK\r\nX: y\0\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\r\n",
        "HTTP/1.1 200 OK\r\nX:\ry\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n\r\nZ: 1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n",
    ];
    for head in heads {
        assert!(ResponseFields::parse(head.as_bytes(), WALL).is_none(), "{head:?}");
    }
    for head in ["HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 \r\n\r\n", "HTTP/1.1 404\r\nX:\ty\r\n"] {
        assert!(ResponseFields::parse(head.as_bytes(), WALL).is_some(), "{head:?}");
    }
}
