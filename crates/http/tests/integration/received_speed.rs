//! What a head costs, beside `httparse`, which does not look into a field. Run by hand:
//!
//! ```text
//! cargo test --release -p millrace-http --test integration -- received_speed --ignored --nocapture
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use millrace_http::h1::{HeadLimits, HeadParser, Parsed};

const LIMITS: HeadLimits = HeadLimits { bytes: 16 * 1024, fields: 1000 };

const HEADS: [(&str, &[u8]); 4] = [
    ("smallest", b"GET / HTTP/1.1\r\nHost: 127.0.0.1:3000\r\n\r\n"),
    (
        "load tester",
        b"GET /api/items?page=2 HTTP/1.1\r\nHost: 127.0.0.1:3000\r\nAccept: */*\r\n\
          Connection: keep-alive\r\n\r\n",
    ),
    (
        "upload",
        b"POST /api/items HTTP/1.1\r\nHost: api.example.com\r\nContent-Type: application/json\r\n\
          Content-Length: 1024\r\nAccept: application/json\r\nUser-Agent: node\r\n\
          Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n\r\n",
    ),
    (
        "browser",
        b"GET /articles/2024/05/how-parsers-work?ref=front HTTP/1.1\r\nHost: www.example.com\r\n\
          Connection: keep-alive\r\nCache-Control: max-age=0\r\n\
          Upgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) \
          AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36\r\n\
          Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,\
          image/webp,*/*;q=0.8\r\nSec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n\
          Referer: https://www.example.com/\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\
          Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n\
          Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; seen=1\r\n\r\n",
    ),
];

#[test]
#[ignore = "measures"]
#[expect(clippy::print_stderr, reason = "a measurement for the reader")]
fn nanoseconds_per_head() {
    eprintln!("{:12} {:>6} {:>8} {:>8}", "head", "bytes", "ours ns", "httparse");
    for (name, head) in HEADS {
        let ours = measure(|| {
            let parsed = HeadParser::default().parse(black_box(head), &LIMITS);
            assert!(matches!(black_box(parsed), Parsed::Complete(_)));
        });
        let theirs = measure(|| {
            let mut fields = [httparse::EMPTY_HEADER; 32];
            let mut request = httparse::Request::new(&mut fields);
            assert!(black_box(request.parse(black_box(head))).unwrap().is_complete());
        });
        eprintln!("{name:12} {:6} {ours:8.1} {theirs:8.1}", head.len());
    }
}

/// Of many short rounds the best, in nanoseconds: the machine may be shared.
#[expect(clippy::disallowed_methods, reason = "a measurement of the machine")]
fn measure(run: impl Fn()) -> f64 {
    const RUNS: u32 = 1000;
    let round = |_| {
        let start = Instant::now();
        (0..RUNS).for_each(|_| run());
        start.elapsed()
    };
    (0..1000).map(round).min().unwrap_or(Duration::ZERO).as_nanos() as f64 / f64::from(RUNS)
}
