//! One request asks the application, the others wait for what it gets.

use crate::origin::{DATE, HOST, Site, get, seconds, settings};
use millrace_cache::{Fill, Lookup, Mode, NotStored, Pass, Request, Settings, Then, Woken};

const OK: &str = "HTTP/1.1 200 OK\r\n";

fn woken(waiters: impl IntoIterator<Item = u64>, then: Then) -> Vec<Woken> {
    waiters.into_iter().map(|waiter| Woken { waiter, then }).collect()
}

#[test]
fn of_a_thousand_misses_one_reaches_the_application() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    for waiter in 0..1000 {
        assert!(matches!(site.wait("/", "", waiter, 0), Lookup::Wait(_)));
    }
    assert_eq!((site.statistics().waiting, site.statistics().fills), (1000, 1));
    assert_eq!(site.cache.pop_woken(), None);
    site.answer(lead, OK, "x").expect("stored");
    assert_eq!(site.woken(), woken(0..1000, Then::LookUp));
    for waiter in 0..1000 {
        assert!(matches!(site.wait("/", "", waiter, 1), Lookup::Hit(_)));
    }
    let now = site.statistics();
    assert_eq!((now.misses, now.waits, now.hits, now.stores), (1, 1000, 1000, 1));
    assert_eq!((now.waiting, now.fills, now.buffered_bytes), (0, 0, 0));
}

#[test]
fn who_waits_for_what_is_not_stored_goes_at_once() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    for waiter in 0..3 {
        assert!(matches!(site.wait("/", "", waiter, 0), Lookup::Wait(_)));
    }
    // The head says so: nobody waits for the body.
    let head = format!("{OK}Cache-Control: private\r\n");
    assert_eq!(site.answer(lead, &head, "x"), Err(NotStored::Private));
    assert_eq!(site.woken(), woken(0..3, Then::Go));
    // "Hit for miss": the next ones do not wait for each other.
    for _ in 0..3 {
        assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    }
    assert_eq!(site.statistics().not_stored(NotStored::Private), 1);
    // After a while one finds out whether that is still so; still nobody waits.
    site.advance(5.0);
    let lead = site.lead("/", "");
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    assert_eq!(site.answer(lead, &head, "x"), Err(NotStored::Private));
    site.advance(4.9);
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    site.advance(0.1);
    let lead = site.lead("/", "");
    site.answer(lead, OK, "x").expect("stored");
    assert!(site.body("/", "").is_some());
    // Now it is as if it had never been otherwise.
    site.advance(10.0);
    site.lead("/", "");
    assert!(matches!(site.get("/", ""), Lookup::Wait(_)));
}

#[test]
fn what_is_too_large_is_not_waited_for() {
    let mut site = Site::new(Settings { max_entry_bytes: 1000, ..settings() });
    let known = site.lead("/known", "");
    assert!(matches!(site.wait("/known", "", 1, 0), Lookup::Wait(_)));
    let head = format!("{OK}{DATE}Content-Length: 1000\r\n");
    assert_eq!(site.answer(known, &head, "x"), Err(NotStored::TooLarge));
    assert_eq!(site.woken(), woken([1], Then::Go));
    let streamed = site.lead("/streamed", "");
    assert!(matches!(site.wait("/streamed", "", 2, 0), Lookup::Wait(_)));
    let (now, wall) = (site.now, site.wall);
    let head = format!("{OK}{DATE}");
    let response = millrace_cache::Response { head: head.as_bytes(), duration: None };
    site.cache.begin(streamed, now, wall, &response).expect("it may be stored so far");
    assert_eq!(site.cache.append(streamed, now, &[0; 600]), Ok(()));
    assert!(site.statistics().buffered_bytes >= 600);
    assert_eq!(site.cache.append(streamed, now, &[0; 600]), Err(NotStored::TooLarge));
    assert_eq!(site.woken(), woken([2], Then::Go));
    assert_eq!(site.cache.append(streamed, now, &[0; 600]), Err(NotStored::Unknown));
    assert_eq!(site.cache.finish(streamed, now), Err(NotStored::Unknown));
    assert_eq!((site.statistics().buffered_bytes, site.statistics().entries), (0, 0));
}

#[test]
fn a_lead_whose_client_left_is_followed_by_another() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    for waiter in 0..3 {
        assert!(matches!(site.wait("/", "", waiter, 0), Lookup::Wait(_)));
    }
    site.cache.abandon(lead, site.now, NotStored::Aborted);
    assert_eq!(site.woken(), woken(0..3, Then::LookUp));
    let Lookup::Fill(lead) = site.wait("/", "", 0, 1) else { panic!("the first leads") };
    assert!(matches!(site.wait("/", "", 1, 1), Lookup::Wait(_)));
    // Nobody waits for ever.
    site.cache.abandon(lead, site.now, NotStored::Aborted);
    assert_eq!(site.woken(), woken([1], Then::LookUp));
    site.lead("/", "");
    assert!(matches!(site.wait("/", "", 1, 2), Lookup::Pass(Pass::Waited)));
}

#[test]
fn an_application_that_fails_is_not_waited_for() {
    for why in [NotStored::Failed, NotStored::Trailers] {
        let mut site = Site::new(settings());
        let lead = site.lead("/", "");
        assert!(matches!(site.wait("/", "", 7, 0), Lookup::Wait(_)));
        site.cache.abandon(lead, site.now, why);
        assert_eq!(site.woken(), woken([7], Then::Go));
        assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
        assert_eq!(site.statistics().not_stored(why), 1);
    }
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    assert_eq!(site.answer(lead, "HTTP/1.1 500 X\r\n", ""), Err(NotStored::Status));
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
}

#[test]
fn who_has_waited_as_long_as_may_be_is_sent_on() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    assert_eq!(site.cache.next_deadline(), None, "nobody waits");
    site.advance(3.0);
    assert!(matches!(site.wait("/", "", 1, 0), Lookup::Wait(_)));
    let deadline = site.now + seconds(5.0);
    site.advance(1.0);
    assert!(matches!(site.wait("/", "", 2, 0), Lookup::Wait(_)));
    assert_eq!(site.cache.next_deadline(), Some(deadline), "of the first");
    site.advance(3.9);
    site.cache.expire(site.now);
    assert!(site.woken().is_empty());
    site.advance(0.1);
    site.cache.expire(site.now);
    assert_eq!(site.woken(), woken([1, 2], Then::Go));
    assert_eq!((site.cache.next_deadline(), site.statistics().late), (None, 1));
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    // It comes late, but it comes.
    site.answer(lead, OK, "x").expect("stored");
    assert!(site.body("/", "").is_some());
    assert_eq!(site.statistics().fills, 0);
}

#[test]
fn what_comes_late_is_not_stored_if_it_was_invalidated() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    assert!(matches!(site.wait("/", "", 1, 0), Lookup::Wait(_)));
    site.advance(5.0);
    site.cache.expire(site.now);
    site.cache.clear();
    assert_eq!(site.answer(lead, OK, "old"), Err(NotStored::Invalidated));
}

/// A response that was under way elsewhere grows older on its way here.
#[test]
fn what_the_application_took_counts_for_what_has_an_age() {
    let mut site = Site::new(settings());
    for (target, fields, age) in [("/a", "Age: 4\r\n", 7), ("/b", "", 0)] {
        let lead = site.lead(target, "");
        site.advance(3.0);
        let date = millrace_cache::fields::date::render(site.wall);
        site.answer(lead, &format!("{OK}Date: {date}\r\n{fields}"), "x").expect("stored");
        let Lookup::Hit(hit) = site.get(target, "") else { panic!("a hit") };
        assert_eq!(hit.age, age, "{target}");
    }
}

#[test]
fn who_waits_may_leave() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    let Lookup::Wait(flight) = site.wait("/", "", 1, 0) else { panic!("it waits") };
    assert!(matches!(site.wait("/", "", 2, 0), Lookup::Wait(_)));
    site.cache.leave(flight, 1);
    site.cache.leave(flight, 1);
    assert_eq!(site.statistics().waiting, 1);
    site.cache.leave(flight, 2);
    assert_eq!((site.statistics().waiting, site.cache.next_deadline()), (0, None));
    site.answer(lead, OK, "x").expect("stored");
    assert!(site.woken().is_empty());
    site.cache.leave(flight, 1);
    assert_eq!(site.statistics().waiting, 0);
}

#[test]
fn so_many_wait_and_no_more() {
    let mut site = Site::new(Settings { max_waiters: 2, ..settings() });
    site.lead("/a", "");
    site.lead("/b", "");
    assert!(matches!(site.get("/a", ""), Lookup::Wait(_)));
    assert!(matches!(site.get("/b", ""), Lookup::Wait(_)));
    assert!(matches!(site.get("/a", ""), Lookup::Pass(Pass::Waiters)));
}

/// What is personal slows nobody else down.
#[test]
fn requests_with_credentials_wait_for_their_like() {
    let all =
        ["", "Cookie: a=b\r\n", "Authorization: x\r\n", "Cookie: a=b\r\nAuthorization: x\r\n"];
    let mut site = Site::new(settings());
    let leads = all.map(|fields| site.lead("/", fields));
    for fields in all {
        assert!(matches!(site.get("/", fields), Lookup::Wait(_)), "{fields:?}");
    }
    // No word of the application: the response is for those without.
    for (fields, lead) in all.iter().zip(leads) {
        let result = site.answer(lead, OK, "x");
        assert_eq!(result.is_ok(), fields.is_empty(), "{fields:?}");
    }
    assert!(site.body("/", "").is_some());
    // Each in a cache of its own: two marks may have the same place, which is the newer one's then.
    for fields in &all[1..] {
        let mut site = Site::new(settings());
        let lead = site.lead("/", fields);
        site.answer(lead, OK, "x").expect_err("not for others");
        assert!(matches!(site.get("/", fields), Lookup::Pass(Pass::Uncacheable)), "{fields:?}");
    }
    // What is for all is for all, whoever asked.
    let mut site = Site::new(settings());
    site.store("/", all[3], "Cache-Control: public\r\n", "x");
    for fields in all {
        assert!(site.body("/", fields).is_some(), "{fields:?}");
    }
    // With a word for cookies, they are served, and `Authorization` is not.
    let mut site = Site::new(settings());
    let lead = site.lead("/", all[1]);
    site.answer_with(lead, OK, Some(seconds(9.0)), "x").expect("stored");
    assert!(site.body("/", "").is_some() && site.body("/", all[1]).is_some());
    assert!(site.body("/", all[2]).is_none() && site.body("/", all[3]).is_none());
}

/// Once it is known what a resource varies by, variants are asked for side by side.
#[test]
fn variants_fly_side_by_side_once_known() {
    let (gzip, br) = ("Accept-Encoding: gzip\r\n", "Accept-Encoding: br\r\n");
    let head = format!("{OK}Vary: Accept-Encoding\r\n");
    let mut site = Site::new(settings());
    let lead = site.lead("/", gzip);
    assert!(matches!(site.wait("/", br, 1, 0), Lookup::Wait(_)));
    assert!(matches!(site.wait("/", gzip, 2, 0), Lookup::Wait(_)));
    site.answer(lead, &head, "gzip").expect("stored");
    assert_eq!(site.woken(), woken([1, 2], Then::LookUp));
    let Lookup::Fill(lead) = site.wait("/", br, 1, 1) else { panic!("its own") };
    assert!(matches!(site.wait("/", gzip, 2, 1), Lookup::Hit(_)));
    site.answer(lead, &head, "br").expect("stored");
    site.advance(11.0);
    let leads = [gzip, br].map(|fields| site.lead("/", fields));
    assert!(matches!(site.wait("/", gzip, 3, 0), Lookup::Wait(_)));
    site.answer(leads[0], &head, "gzip").expect("stored");
    assert_eq!(site.woken(), woken([3], Then::LookUp));
    assert!(matches!(site.wait("/", br, 4, 0), Lookup::Wait(_)), "that one still flies");
}

#[test]
fn a_conditional_request_leads_nobody_unless_it_is_hidden() {
    let condition = "If-None-Match: \"1\"\r\n";
    let mut site = Site::new(settings());
    let lead = site.lead("/", condition);
    site.lead("/", condition);
    assert_eq!(site.answer(lead, "HTTP/1.1 304 X\r\n", ""), Err(NotStored::Status));
    site.lead("/", "");
    assert!(matches!(site.get("/", condition), Lookup::Wait(_)), "there is one who leads");
    let mut site = Site::new(Settings { hides_conditions: true, ..settings() });
    let lead = site.lead("/", condition);
    assert!(matches!(site.get("/", condition), Lookup::Wait(_)));
    site.answer(lead, &format!("{OK}ETag: \"1\"\r\n"), "x").expect("stored");
    let Lookup::Hit(hit) = site.get("/", condition) else { panic!("a hit") };
    assert_eq!(hit.answer, millrace_cache::Answer::NotModified);
}

const RENEWED: &str = "Cache-Control: max-age=10, stale-while-revalidate=10\r\n";

#[test]
fn one_renews_what_is_stale_and_the_others_are_served() {
    let mut site = Site::new(settings());
    site.store("/", "", RENEWED, "old");
    site.advance(9.9);
    assert!(matches!(site.get("/", ""), Lookup::Hit(hit) if !hit.stale));
    site.advance(0.1);
    let head_only = Request { method: millrace_http::h1::Method::Head, ..get("/", HOST) };
    assert!(matches!(site.cache.lookup(site.now, &head_only, 0), Lookup::Hit(hit) if hit.stale));
    assert!(
        matches!(site.get("/", "If-None-Match: *\r\n"), Lookup::Hit(_)),
        "brings a 304 at most"
    );
    let Lookup::Refresh(lead, hit) = site.get("/", "") else { panic!("to be renewed") };
    assert!(hit.stale && hit.age == 10 && hit.body() == b"old");
    for _ in 0..5 {
        assert!(matches!(site.get("/", ""), Lookup::Hit(hit) if hit.stale));
    }
    site.answer(lead, OK, "new").expect("stored");
    assert_eq!(site.body("/", "").as_deref(), Some("new"));
    assert_eq!((site.statistics().refreshes, site.statistics().entries), (1, 1));
}

#[test]
fn a_renewal_that_fails_leaves_the_stale_one_as_long_as_it_may_be_used() {
    let mut site = Site::new(settings());
    site.store("/", "", RENEWED, "old");
    site.advance(10.0);
    let refresh = |site: &mut Site| match site.get("/", "") {
        Lookup::Refresh(lead, _) => lead,
        other => panic!("{other:?}"),
    };
    // The client left: the next one does it.
    let lead = refresh(&mut site);
    site.cache.abandon(lead, site.now, NotStored::Aborted);
    // The application failed, or did not like that request: not at once.
    let lead = refresh(&mut site);
    assert_eq!(site.answer(lead, "HTTP/1.1 400 X\r\n", ""), Err(NotStored::Status));
    assert_eq!(site.body("/", "").as_deref(), Some("old"));
    site.advance(5.0);
    let lead = refresh(&mut site);
    site.cache.abandon(lead, site.now, NotStored::Failed);
    assert_eq!(site.body("/", "").as_deref(), Some("old"));
    site.advance(4.9);
    assert_eq!(site.body("/", "").as_deref(), Some("old"));
    site.advance(0.1);
    site.lead("/", "");
    assert!(matches!(site.get("/", ""), Lookup::Wait(_)), "its time is over");
}

#[test]
fn a_renewal_that_is_personal_leaves_the_stale_one() {
    for (request, fields) in
        [("", "Set-Cookie: a=b\r\n"), ("Cookie: a=b\r\n", ""), ("Authorization: x\r\n", "")]
    {
        let mut site = Site::new(settings());
        let all = "Cache-Control: public, max-age=10, stale-while-revalidate=10\r\n";
        site.store("/", "", all, "old");
        site.advance(10.0);
        let Lookup::Refresh(lead, _) = site.get("/", request) else { panic!("to be renewed") };
        assert!(site.answer(lead, &format!("{OK}{fields}"), "personal").is_err());
        assert_eq!(site.body("/", "").as_deref(), Some("old"));
    }
}

#[test]
fn a_renewal_that_is_lost_is_tried_again() {
    let mut site = Site::new(settings());
    site.store("/", "", RENEWED, "old");
    site.advance(10.0);
    assert!(matches!(site.get("/", ""), Lookup::Refresh(..)));
    site.advance(4.9);
    assert!(matches!(site.get("/", ""), Lookup::Hit(_)));
    site.advance(0.1);
    assert!(matches!(site.get("/", ""), Lookup::Refresh(..)));
}

#[test]
fn a_renewal_that_is_not_to_be_stored_ends_the_stale_one() {
    let mut site = Site::new(settings());
    site.store("/", "", RENEWED, "old");
    site.advance(10.0);
    let Lookup::Refresh(lead, _) = site.get("/", "") else { panic!("to be renewed") };
    let head = format!("{OK}Cache-Control: no-store\r\n");
    assert_eq!(site.answer(lead, &head, "x"), Err(NotStored::NoStore));
    assert_eq!(site.statistics().entries, 0);
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
}

#[test]
fn a_renewal_may_vary_by_something_else() {
    let mut site = Site::new(settings());
    site.store("/", "A: 1\r\n", &format!("Vary: A\r\n{RENEWED}"), "old");
    site.advance(10.0);
    let Lookup::Refresh(lead, _) = site.get("/", "A: 1\r\n") else { panic!("to be renewed") };
    site.answer(lead, &format!("{OK}Vary: B\r\n"), "new").expect("stored");
    assert_eq!(site.statistics().entries, 1);
    assert_eq!(site.body("/", "A: 1\r\n").as_deref(), Some("new"));
}

#[test]
fn an_entry_is_renewed_before_its_end() {
    let mut site = Site::new(Settings { early_refresh: true, ..settings() });
    site.store("/", "", "", "old");
    site.advance(8.9);
    assert!(matches!(site.get("/", ""), Lookup::Hit(_)));
    site.advance(0.1);
    let Lookup::Refresh(lead, hit) = site.get("/", "") else { panic!("to be renewed") };
    assert!(!hit.stale);
    assert!(matches!(site.get("/", ""), Lookup::Hit(_)));
    site.answer(lead, OK, "new").expect("stored");
    site.advance(8.0);
    assert_eq!(site.body("/", "").as_deref(), Some("new"));
}

/// A resource that is evicted, or removed, while somebody asks for it.
#[test]
fn a_lead_survives_the_entry_that_it_renews() {
    let mut site = Site::new(Settings { max_bytes: 3500, ..settings() });
    site.store("/", "", RENEWED, &"x".repeat(1000));
    site.advance(10.0);
    let Lookup::Refresh(lead, _) = site.get("/", "") else { panic!("to be renewed") };
    site.store("/other", "", "", &"y".repeat(1000));
    assert_eq!(site.statistics().entries, 1);
    site.answer(lead, OK, "new").expect("stored");
    assert_eq!(site.body("/", "").as_deref(), Some("new"));
    let lead = site.lead("/third", "");
    site.cache.set_settings(Settings { mode: Mode::Off, ..settings() });
    assert_eq!(site.answer(lead, OK, "x"), Err(NotStored::NotAsked));
}

/// The head of a response that goes on.
fn begin(site: &mut Site, lead: Fill, fields: &str) {
    let head = format!("{OK}{fields}");
    let response = millrace_cache::Response { head: head.as_bytes(), duration: None };
    site.cache.begin(lead, site.now, site.wall, &response).expect("it may be stored so far");
}

#[test]
fn who_waits_for_a_response_that_goes_on_is_sent_on_half_a_second_after_its_head() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    assert!(matches!(site.wait("/", "", 1, 0), Lookup::Wait(_)));
    site.advance(3.0);
    begin(&mut site, lead, "");
    let deadline = site.now + seconds(0.5);
    assert_eq!(site.cache.next_deadline(), Some(deadline));
    site.advance(0.4);
    assert_eq!(site.cache.append(lead, site.now, b"1"), Ok(()));
    assert!(matches!(site.wait("/", "", 2, 0), Lookup::Wait(_)));
    assert_eq!(site.cache.next_deadline(), Some(deadline), "of its head");
    site.advance(0.1);
    site.cache.expire(site.now);
    assert_eq!(site.woken(), woken([1, 2], Then::Go));
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    // What is complete in time is stored all the same.
    site.advance(2.0);
    assert_eq!(site.cache.append(lead, site.now, b"2"), Ok(()));
    site.cache.finish(lead, site.now).expect("stored");
    assert_eq!(site.body("/", "").as_deref(), Some("12"));
    assert_eq!((site.cache.next_deadline(), site.statistics().waiting), (None, 0));
}

#[test]
fn a_short_wait_does_not_become_a_longer_one_when_the_response_begins() {
    let mut site = Site::new(Settings { max_wait: seconds(0.2), ..settings() });
    let lead = site.lead("/", "");
    assert!(matches!(site.wait("/", "", 1, 0), Lookup::Wait(_)));
    let deadline = site.now + seconds(0.2);
    site.advance(0.1);
    begin(&mut site, lead, "");
    assert_eq!(site.cache.next_deadline(), Some(deadline));
}

#[test]
fn nobody_begins_to_wait_for_a_response_that_goes_on() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    begin(&mut site, lead, "");
    assert!(matches!(site.wait("/", "", 1, 0), Lookup::Wait(_)), "a page that takes a moment");
    let Lookup::Wait(flight) = site.wait("/", "", 2, 0) else { panic!("it waits, too") };
    site.cache.leave(flight, 1);
    site.cache.leave(flight, 2);
    site.advance(0.5);
    for _ in 0..2 {
        assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    }
    // Nor for the next one, when its client has left.
    site.cache.abandon(lead, site.now, NotStored::Aborted);
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    assert_eq!(site.statistics().late, 1);
}

#[test]
fn an_endless_response_is_collected_once_and_until_it_would_be_stale() {
    let mut site = Site::new(Settings { mode: Mode::All(seconds(30.0)), ..settings() });
    let lead = site.lead("/", "");
    begin(&mut site, lead, "");
    for _ in 0..59 {
        site.advance(0.5);
        assert_eq!(site.cache.append(lead, site.now, b"x"), Ok(()));
        assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    }
    assert_eq!(site.statistics().fills, 1);
    site.advance(0.5);
    assert_eq!(site.cache.append(lead, site.now, b"x"), Err(NotStored::Stale));
    let now = site.statistics();
    assert_eq!((now.fills, now.buffered_bytes, now.entries), (0, 0, 0));
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
}

/// One that has stopped in its middle keeps others from being stored no longer than it could be stored itself.
#[test]
fn a_response_that_never_ends_gives_way() {
    let mut site = Site::new(settings());
    let lead = site.lead("/", "");
    begin(&mut site, lead, "");
    site.advance(0.5);
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    site.advance(9.4);
    assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    site.advance(0.1);
    let lead = site.lead("/", "");
    site.answer(lead, OK, "x").expect("stored");
    assert_eq!(site.body("/", "").as_deref(), Some("x"));
}

#[test]
fn what_is_stale_when_it_is_complete_is_not_stored() {
    let mut site = Site::new(Settings { mode: Mode::All(seconds(0.4)), ..settings() });
    let lead = site.lead("/", "");
    assert!(matches!(site.wait("/", "", 1, 0), Lookup::Wait(_)));
    begin(&mut site, lead, "");
    site.advance(0.4);
    assert_eq!(site.cache.finish(lead, site.now), Err(NotStored::Stale));
    assert_eq!(site.woken(), woken([1], Then::Go));
    assert_eq!(site.statistics().entries, 0);
}

/// Two that were asked for one after the other, and completed in the other order.
#[test]
fn an_older_response_does_not_take_the_place_of_a_newer_one() {
    let mut site = Site::new(settings());
    let old = site.lead("/", "");
    begin(&mut site, old, "");
    site.advance(0.1);
    // It wants what is newer, so it does not wait.
    site.cache.set_settings(Settings { obey_requests: true, ..settings() });
    let new = site.lead("/", "Cache-Control: no-cache\r\n");
    site.answer(new, OK, "new").expect("stored");
    site.cache.append(old, site.now, b"old").expect("room");
    assert_eq!(site.cache.finish(old, site.now), Err(NotStored::Invalidated));
    assert_eq!(site.body("/", "").as_deref(), Some("new"));
}

#[test]
fn server_sent_events_are_waited_for_by_nobody() {
    for kind in [
        "text/event-stream",
        "Text/Event-Stream ; charset=utf-8",
        "multipart/x-mixed-replace;boundary=x",
    ] {
        let mut site = Site::new(settings());
        let lead = site.lead("/", "");
        assert!(matches!(site.wait("/", "", 1, 0), Lookup::Wait(_)));
        let head = format!("{OK}Content-Type: {kind}\r\n");
        assert_eq!(site.answer(lead, &head, "data: 1\n\n"), Err(NotStored::Endless), "{kind}");
        assert_eq!(site.woken(), woken([1], Then::Go));
        assert!(matches!(site.get("/", ""), Lookup::Pass(Pass::Uncacheable)));
    }
    // The application has said for how long.
    let mut site = Site::new(settings());
    site.store(
        "/",
        "",
        "Content-Type: text/event-stream\r\nCache-Control: max-age=5\r\n",
        "data: 1\n\n",
    );
    assert!(site.body("/", "").is_some());
}
