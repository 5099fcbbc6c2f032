//! What a hit costs. Run by hand:
//!
//! ```text
//! cargo test --release -p millrace-cache --test integration -- speed --ignored --nocapture
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::origin::{Site, get, settings};
use millrace_cache::{Lookup, Settings};

const HEADS: [(&str, &str); 4] = [
    ("smallest", "Host: a.example\r\n"),
    ("load tester", "Host: a.example\r\nAccept: */*\r\nConnection: keep-alive\r\n"),
    (
        "browser",
        "Host: a.example\r\nConnection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\n\
         User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
         Chrome/124.0.0.0 Safari/537.36\r\nAccept: text/html,application/xhtml+xml,\
         application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\nSec-Fetch-Site: none\r\n\
         Sec-Fetch-Mode: navigate\r\nReferer: https://www.example.com/\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9,de;q=0.8\r\n",
    ),
    (
        "proxy",
        "Host: a.example\r\nX-Request-Id: 4bf92f3577b34da6a3ce929d0e0e4736\r\n\
         X-Real-IP: 192.0.2.7\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: a.example\r\n\
         X-Forwarded-Port: 443\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Scheme: https\r\n\
         X-Scheme: https\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n",
    ),
];

#[test]
#[ignore = "measures"]
#[expect(clippy::print_stderr, reason = "a measurement for the reader")]
fn nanoseconds_per_hit() {
    eprintln!("{:12} {:>6} {:>6} {:>9} {:>9}", "request", "vary", "keys", "lookup ns", "+ 1 KiB");
    for keys in [1, 1000] {
        for vary in ["", "Vary: Accept-Encoding\r\n"] {
            for (name, lines) in HEADS {
                let [lookup, whole] = measure_hits(keys, vary, lines);
                let varies = if vary.is_empty() { "no" } else { "yes" };
                eprintln!("{name:12} {varies:>6} {keys:6} {lookup:9.1} {whole:9.1}");
            }
        }
    }
}

/// Looking up alone, and with the response written.
fn measure_hits(keys: usize, vary: &str, lines: &str) -> [f64; 2] {
    let mut site = Site::new(Settings { max_bytes: 1 << 30, ..settings() });
    let targets: Vec<String> = (0..keys).map(|n| format!("/api/items?page={n}")).collect();
    let (_, fields) = lines.split_once("\r\n").unwrap_or_default();
    for target in &targets {
        let head = format!("Content-Type: text/html; charset=utf-8\r\nETag: \"1\"\r\n{vary}");
        site.store(target, fields, &head, &"x".repeat(1024));
    }
    let mut out = Vec::with_capacity(4096);
    let now = site.now;
    let mut next = targets.iter().cycle();
    let mut run = |write: bool| {
        let Some(target) = next.next() else { return };
        let request = get(black_box(target), black_box(lines));
        let Lookup::Hit(hit) = site.cache.lookup(now, &request, 0) else { panic!("a hit") };
        if write {
            out.clear();
            hit.write(b"Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n", &mut out);
            black_box(&out);
        } else {
            black_box(hit);
        }
    };
    [measure(|| run(false)), measure(|| run(true))]
}

/// Of many short rounds the best, in nanoseconds: the machine may be shared.
#[expect(clippy::disallowed_methods, reason = "a measurement of the machine")]
fn measure(mut run: impl FnMut()) -> f64 {
    const RUNS: u32 = 1000;
    let round = |_| {
        let start = Instant::now();
        (0..RUNS).for_each(|_| run());
        start.elapsed()
    };
    (0..300).map(round).min().unwrap_or(Duration::ZERO).as_nanos() as f64 / f64::from(RUNS)
}
