//! Fields that applications behind a proxy, and their frameworks, look at without naming them in `Vary`.

use crate::origin::{DATE, HOST, Site, get, settings};
use millrace_cache::{
    Lookup, NotStored, Pass, Request, Selection, Target, authenticates_connection,
};
use millrace_http::h1::Method;

/// What becomes of a request with these fields, if the response to one with others is stored.
#[derive(Debug, PartialEq, Eq)]
enum Is {
    Hit,
    Fill,
    Pass(Pass),
}

fn after(stored: &str, fields: &str) -> Is {
    let mut site = Site::new(settings());
    site.store("/", stored, "", "stored");
    match site.get("/", fields) {
        Lookup::Hit(_) => Is::Hit,
        Lookup::Fill(_) => Is::Fill,
        Lookup::Pass(why) => Is::Pass(why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_that_belong_to_the_key() {
    let names = [
        "Accept-Version",
        "CF-Visitor",
        "CloudFront-Forwarded-Proto",
        "Front-End-Https",
        "Origin",
        "X-ARR-SSL",
        "X-Envoy-Original-Path",
        "X-Forwarded-Host",
        "X-Forwarded-Path",
        "X-Forwarded-Port",
        "X-Forwarded-Prefix",
        "X-Forwarded-Proto",
        "X-Forwarded-Protocol",
        "X-Forwarded-Scheme",
        "X-Forwarded-Server",
        "X-Forwarded-Ssl",
        "X-Forwarded-Uri",
        "X-Host",
        "X-HTTP-Host-Override",
        "X-Original-Host",
        "X-Original-URI",
        "X-Original-URL",
        "X-Replaced-Path",
        "X-Requested-With",
        "X-Rewrite-URL",
        "X-Scheme",
        "X-Script-Name",
        "X-Url",
        "X-Url-Scheme",
    ];
    for name in names {
        let [one, two, empty] = ["1", "2", ""].map(|value| format!("{name}: {value}\r\n"));
        for (stored, asked) in
            [("", &*one), (&*one, ""), (&one, &two), (&one, &empty), ("", &empty)]
        {
            assert_eq!(after(stored, asked), Is::Fill, "{stored:?} {asked:?}");
        }
        let shouted = one.to_ascii_uppercase();
        assert_eq!(after(&one, &shouted), Is::Hit, "{name}");
        // In several lines they are not what they are in one.
        assert_eq!(after(&one, &format!("{one}{two}")), Is::Fill, "{name}");
    }
}

/// They differ with each client or request, as the address of a connection does.
#[test]
fn fields_that_do_not_belong_to_the_key() {
    let names = [
        "Accept",
        "traceparent",
        "Via",
        "X-Amzn-Trace-Id",
        "X-Client-IP",
        "X-Correlation-ID",
        "X-Forwarded-For",
        "X-Forwarded-Client-IP",
        "X-Original-Forwarded-For",
        "X-Real-IP",
        "X-Request-ID",
    ];
    for name in names {
        let [one, two] = ["1", "2"].map(|value| format!("{name}: {value}\r\n"));
        assert_eq!(after(&one, &two), Is::Hit, "{name}");
        assert_eq!(after("", &two), Is::Hit, "{name}");
    }
}

#[test]
fn no_two_different_requests_share_a_key() {
    let rows = [
        (
            "X-Forwarded-Host: a\r\nX-Forwarded-Proto: b\r\n",
            "X-Forwarded-Host: b\r\nX-Forwarded-Proto: a\r\n",
        ),
        ("X-Forwarded-Host: a\r\nX-Host: b\r\n", "X-Forwarded-Host: a X-Host:b\r\n"),
        ("X-Host: a:b\r\n", "X-Host: a\r\n"),
        ("X-Host: a\r\nX-Host: b\r\n", "X-Host: b\r\nX-Host: a\r\n"),
    ];
    for (stored, asked) in rows {
        assert_eq!(after(stored, asked), Is::Fill, "{stored:?} {asked:?}");
        assert_eq!(after(asked, stored), Is::Fill, "{stored:?} {asked:?}");
        assert_eq!(after(stored, stored), Is::Hit, "{stored:?}");
    }
}

/// RFC 7239: all of it but the addresses, unless a parser might see something else in them.
#[test]
fn forwarded_belongs_to_the_key_without_addresses() {
    let rows = [
        ("for=192.0.2.1;proto=https", "for=192.0.2.2;proto=https", Is::Hit),
        ("for=\"[2001:db8::1]:80\"", "For=_hidden;by=unknown", Is::Fill),
        ("for=\"[2001:db8::1]:80\"", "FOR=unknown", Is::Hit),
        ("by=a;host=a;for=b", "by=c;host=a;for=d", Is::Hit),
        ("for=a, for=b;proto=http", "for=c, for=d;proto=http", Is::Hit),
        ("proto=https", "proto=http", Is::Fill),
        ("for=a;host=x", "for=a;host=y", Is::Fill),
        ("for=a;host=x", "for=a", Is::Fill),
        ("host=a, host=b", "host=a;host=b", Is::Fill),
        ("for=a%", "for=b%", Is::Fill),
        ("fore=a", "fore=b", Is::Fill),
        ("", ",", Is::Fill),
        ("host=a", "for=\"a;host=b\"", Is::Pass(Pass::Forwarded)),
        ("host=a", "host=\"a,for=b,c\"", Is::Pass(Pass::Forwarded)),
        ("host=a", "host=\"a\\\";for=b;c=\"", Is::Pass(Pass::Forwarded)),
        ("host=a", "host=\"a", Is::Pass(Pass::Forwarded)),
        ("host=a", "for = a", Is::Pass(Pass::Forwarded)),
        ("host=a", "for", Is::Pass(Pass::Forwarded)),
        ("host=a", "=a", Is::Pass(Pass::Forwarded)),
    ];
    for (stored, asked, expected) in rows {
        let [stored, asked] = [stored, asked].map(|value| format!("Forwarded: {value}\r\n"));
        assert_eq!(after(&stored, &asked), expected, "{stored:?} {asked:?}");
    }
    let lines = "Forwarded: host=a\r\nForwarded: host=\"\r\n";
    assert_eq!(after("", lines), Is::Pass(Pass::Forwarded), "one of several lines");
}

#[test]
fn a_method_in_a_field_is_not_for_the_cache() {
    for name in ["X-HTTP-Method", "X-HTTP-Method-Override", "x-method-override"] {
        assert_eq!(after("", &format!("{name}: DELETE\r\n")), Is::Pass(Pass::Method), "{name}");
    }
}

/// Keys, tokens, and users that a proxy has authenticated count as `Authorization` does (RFC 9111, section 3.5).
#[test]
fn fields_that_are_credentials() {
    let names = [
        "Api-Key",
        "apikey",
        "api_key",
        "Api-Token",
        "Authorization",
        "CF-Access-Client-Secret",
        "CF-Access-Jwt-Assertion",
        "Client-Cert",
        "DPoP",
        "Ocp-Apim-Subscription-Key",
        "Private-Token",
        "Proxy-Authorization",
        "Remote-User",
        "Remote-Name",
        "X-Userinfo",
        "X-Consumer-ID",
        "X-SSL-Client-CN",
        "Session-Token",
        "Signature",
        "Tailscale-User-Login",
        "Token",
        "X-Access-Token",
        "X-Amz-Security-Token",
        "X-Amzn-Oidc-Data",
        "X-API-Key",
        "X-ApiKey",
        "X-ARR-ClientCert",
        "X-Auth-Key",
        "X-Auth-Request-Email",
        "X-Auth-Token",
        "X-Authenticated-UserId",
        "X-Authorization",
        "X-Forwarded-Access-Token",
        "X-Forwarded-Client-Cert",
        "X-Forwarded-Email",
        "X-Forwarded-Groups",
        "X-Forwarded-Preferred-Username",
        "X-Forwarded-Tls-Client-Cert-Info",
        "X-Forwarded-User",
        "X-Functions-Key",
        "X-Goog-Api-Key",
        "X-Goog-Authenticated-User-Email",
        "X-JWT",
        "X-MS-Client-Principal",
        "X-Remote-User",
        "X-Session-Id",
        "X-Shopify-Access-Token",
        "X-SSL-Client-S-DN",
        "X-User-Id",
        "X-Vault-Token",
        "X-WebAuth-User",
    ];
    for name in names {
        let field = format!("{name}: 1\r\n");
        // Neither is what is stored for others for it, nor its response for others.
        let mut site = Site::new(settings());
        site.store("/", "", "", "everybody's");
        assert_eq!(site.body("/", &field), None, "{name}");
        let mut site = Site::new(settings());
        let fill = site.lead("/", &field);
        // And none waits for it.
        assert!(!matches!(site.wait("/", "", 1, 0), Lookup::Wait(_)), "{name}");
        let answer = site.answer(fill, &format!("HTTP/1.1 200 OK\r\n{DATE}"), "one's");
        assert_eq!(answer, Err(NotStored::Authorization), "{name}");
        // Unless the response says so.
        let mut site = Site::new(settings());
        site.store("/", "", "Cache-Control: public\r\n", "public");
        assert_eq!(site.body("/", &field).as_deref(), Some("public"), "{name}");
    }
    let others = [
        "Sec-Fetch-User: ?1",
        "User-Agent: a",
        "X-Device-User-Agent: a",
        "Sec-CH-UA: a",
        "Keep-Alive: 1",
        "Priority: u=1",
        "X-Monkeys: a",
        "X-Author: a",
        "Sec-GPC: 1",
        "DNT: 1",
    ];
    for field in others {
        assert_eq!(after("", &format!("{field}\r\n")), Is::Hit, "{field}");
    }
}

#[test]
fn an_authenticated_connection_bypasses_the_cache() {
    let rows = [
        ("Authorization: NTLM TlRMTVNTUAAD\r\n", true),
        ("authorization: ntlm TlRM\r\n", true),
        ("Authorization:   Negotiate YII=\r\n", true),
        ("Authorization: Negotiate\r\n", true),
        ("Authorization: Basic YTpi\r\nAuthorization: NEGOTIATE\tYII=\r\n", true),
        ("Proxy-Authorization: Negotiate YII=\r\n", true),
        ("Authorization: Basic YTpi\r\n", false),
        ("Authorization: Bearer NTLM\r\n", false),
        ("Authorization: NTLMv2 a\r\n", false),
        ("X-Scheme: NTLM\r\n", false),
    ];
    for (lines, expected) in rows {
        assert_eq!(authenticates_connection(lines.as_bytes()), expected, "{lines:?}");
        let mut site = Site::new(settings());
        site.store("/", "", "Cache-Control: public\r\n", "stored");
        let found = site.get("/", lines);
        let passes = matches!(found, Lookup::Pass(Pass::Authenticated));
        assert_eq!(passes, expected, "{lines:?}: {found:?}");
    }
    let mut site = Site::new(settings());
    site.store("/", "", "Cache-Control: public\r\n", "stored");
    let later = Request { authenticated: true, ..get("/", HOST) };
    let found = site.cache.lookup(site.now, &later, 0);
    assert!(matches!(found, Lookup::Pass(Pass::Authenticated)), "{found:?}");
}

/// Frameworks redirect back to where a client came from, and do not say that the response varies.
#[test]
fn redirections_depend_on_the_page_that_the_client_came_from() {
    for name in ["Referer", "Referrer"] {
        for (status, shared) in [("301 Moved", false), ("308 Moved", false), ("200 OK", true)] {
            let mut site = Site::new(settings());
            let fill = site.lead("/", &format!("{name}: http://a.example/1\r\n"));
            let head = format!("HTTP/1.1 {status}\r\n{DATE}Location: /1\r\nVary: Accept\r\n");
            site.answer(fill, &head, "").expect("stored");
            for other in [String::new(), format!("{name}: http://a.example/2\r\n")] {
                assert_eq!(site.body("/", &other).is_some(), shared, "{status} {other:?}");
            }
            let same = format!("{name}: http://a.example/1\r\n");
            assert!(site.body("/", &same).is_some(), "{status}");
            assert_eq!(site.body("/", &format!("{same}Accept: a\r\n")), None, "{status}");
        }
    }
}

/// An unsafe method outdates a URI for all, whatever proxies tell of it.
#[test]
fn invalidation_does_not_look_at_fields_of_the_key() {
    let all =
        ["", "X-Forwarded-Proto: https\r\n", "X-Forwarded-Host: b.example\r\nX-Scheme: a\r\n"];
    let filled = || {
        let mut site = Site::new(settings());
        for target in ["/a", "/b"] {
            for fields in all {
                site.store(target, fields, "", "x");
            }
        }
        site
    };
    for fields in all {
        let mut site = filled();
        let lines = format!("{HOST}{fields}");
        let request = Request { method: Method::Post, ..get("/a", &lines) };
        assert_eq!(site.cache.invalidate(&request, 200, b""), 3, "{fields:?}");
        assert!(all.iter().all(|fields| site.body("/a", fields).is_none()));
        assert!(all.iter().all(|fields| site.body("/b", fields).is_some()));
        // What was removed is found no more, and what comes in its place is.
        assert_eq!(site.cache.invalidate(&request, 200, b""), 0);
        site.store("/a", all[1], "", "new");
        assert_eq!(site.cache.invalidate(&request, 200, b"Location: /b\r\n"), 4);
        assert_eq!(site.statistics().entries, 0);
    }
    let mut site = filled();
    let target = Target::Exact(b"/a");
    let exact = Selection { secure: Some(false), authority: Some(b"a.example"), target };
    assert_eq!(site.cache.delete(&exact), 3);
    let mut fields: Vec<&[u8]> = site.cache.inspect(site.now).map(|entry| entry.fields).collect();
    fields.sort_unstable();
    let written: [&[u8]; 3] =
        [b"", b"\nx-forwarded-host:b.example\nx-scheme:a", b"\nx-forwarded-proto:https"];
    assert_eq!(fields, written);
}
