//! Runs the cases of `vectors/*.md`; `vectors/README.md` says how they are written.

mod stream;

use std::fs;
use std::path::Path;

/// Streams up to this length are split at every position.
const SHORT: usize = 4096;

struct Case {
    name: String,
    heads: Vec<bool>,
    stream: Vec<u8>,
    expected: Vec<String>,
}

#[test]
fn every_case_has_its_outcome_however_it_is_split() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut count = 0;
    let mut failures = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("README.md") {
            continue;
        }
        for case in parse(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            let failure = case.failure();
            failures.extend(failure.map(|why| format!("{}: {why}", path.display())));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count >= 150, "only {count} cases were found");
}

impl Case {
    /// The first way of splitting that gives another outcome, in words.
    fn failure(&self) -> Option<String> {
        let length = self.stream.len();
        let in_two = if length <= SHORT { 1..length } else { 0..0 };
        let ways = std::iter::once(Vec::new())
            .chain(in_two.map(|at| vec![at]))
            .chain([1, 2, 3, 7, 1000].map(|size| vec![size; length / size]));
        for pieces in ways {
            let events = stream::read(&self.stream, &pieces, &self.heads);
            let found: Vec<String> = events.iter().map(ToString::to_string).collect();
            if found != self.expected {
                let (name, expected, first) = (&self.name, &self.expected, pieces.first());
                return Some(format!("{name}: {found:?}, not {expected:?}, split at {first:?}"));
            }
        }
        None
    }
}

/// A case begins with a heading of the second level.
fn parse(text: &str) -> Vec<Case> {
    text.split("\n## ").skip(1).map(parse_case).collect()
}

fn parse_case(text: &str) -> Case {
    let name = text.lines().next().unwrap_or_default().to_owned();
    let methods = text.lines().find_map(|line| line.strip_prefix("Requests: "));
    let heads = methods.unwrap_or_default().split(' ').map(|method| method == "HEAD").collect();
    let http = block(text, "http").unwrap_or_else(|| panic!("{name}: no http block"));
    let outcome = block(text, "outcome").unwrap_or_else(|| panic!("{name}: no outcome block"));
    let stream = unescape(&http.replace('\n', ""));
    Case { name, heads, stream, expected: outcome.lines().map(str::to_owned).collect() }
}

fn block<'a>(text: &'a str, kind: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("```{kind}\n"))?;
    let end = if rest.starts_with("```") { 0 } else { rest.find("\n```")? };
    Some(&rest[..end])
}

/// `\r \n \t \\`, `\xHH`, and `\*N(text)` for a text N times.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut parts = text.split('\\');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    while let Some(part) = parts.next() {
        let mut chars = part.chars();
        match chars.next() {
            Some('r') => bytes.push(b'\r'),
            Some('n') => bytes.push(b'\n'),
            Some('t') => bytes.push(b'\t'),
            Some('x') => {
                bytes.push(u8::from_str_radix(&part[1..3], 16).unwrap());
                chars = part[3..].chars();
            }
            Some('*') => {
                let (count, rest) = part[1..].split_once('(').unwrap();
                let (repeated, after) = rest.split_once(')').unwrap();
                bytes.extend(repeated.repeat(count.parse().unwrap()).bytes());
                chars = after.chars();
            }
            // An escaped backslash: the text after it is a part of its own.
            None => {
                bytes.push(b'\\');
                chars = parts.next().unwrap_or_default().chars();
            }
            other => panic!("unknown escape {other:?}"),
        }
        bytes.extend_from_slice(chars.as_str().as_bytes());
    }
    bytes
}
