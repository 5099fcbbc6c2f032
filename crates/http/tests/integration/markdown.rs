//! Cases written in Markdown: a heading of the second level, lines `Key: value`, and blocks.

use std::fs;
use std::path::Path;

/// Streams up to this length are split at every position.
const SHORT: usize = 4096;

/// Runs the cases of all files of a folder beside the tests, each split in many ways. `read` gives the outcome of a case
/// in pieces of these lengths (the rest is one piece), one event a line. Panics where it is not that of the case, or if
/// there are fewer than `min` cases.
pub(crate) fn run(folder: &str, min: usize, read: impl Fn(&Case<'_>, &[u8], &[usize]) -> String) {
    let mut count = 0;
    let mut failures = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("README.md") {
            continue;
        }
        for case in cases(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            let failure = find_failure(&case, &read);
            failures.extend(failure.map(|why| format!("{}: {why}", path.display())));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count >= min, "only {count} cases were found");
}

/// The first way of splitting that gives another outcome, in words.
fn find_failure(
    case: &Case<'_>,
    read: impl Fn(&Case<'_>, &[u8], &[usize]) -> String,
) -> Option<String> {
    let (stream, expected) = (case.http(), case.block("outcome"));
    let length = stream.len();
    let in_two = if length <= SHORT { 1..length } else { 0..0 };
    let ways = std::iter::once(Vec::new())
        .chain(in_two.map(|at| vec![at]))
        .chain([1, 2, 3, 7, 1000].map(|size| vec![size; length / size]));
    for pieces in ways {
        let found = read(case, &stream, &pieces);
        if found != expected {
            let (name, first) = (case.name, pieces.first());
            return Some(format!("{name}, split at {first:?}:\n{found}\nnot\n{expected}"));
        }
    }
    None
}

/// A case as its text.
pub(crate) struct Case<'a> {
    pub(crate) name: &'a str,
    text: &'a str,
}

fn cases(text: &str) -> impl Iterator<Item = Case<'_>> {
    text.split("\n## ")
        .skip(1)
        .map(|text| Case { name: text.lines().next().unwrap_or_default(), text })
}

impl<'a> Case<'a> {
    pub(crate) fn line(&self, key: &str) -> Option<&'a str> {
        self.text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
    }

    pub(crate) fn block(&self, kind: &str) -> &'a str {
        let block = self.text.split_once(&format!("```{kind}\n"));
        let text = block.and_then(|(_, rest)| match rest.starts_with("```") {
            true => Some(""),
            false => Some(rest.split_once("\n```")?.0),
        });
        text.unwrap_or_else(|| panic!("{}: no {kind} block", self.name))
    }

    /// The bytes of the `http` block: line breaks mean nothing; `\r \n \t \\`, `\xHH`, and `\*N(text)`
    /// for a text N times.
    pub(crate) fn http(&self) -> Vec<u8> {
        let text = self.block("http").replace('\n', "");
        let mut parts = text.split('\\');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        while let Some(part) = parts.next() {
            let rest = match part.as_bytes().first() {
                Some(b'r') => push(&mut bytes, b'\r', &part[1..]),
                Some(b'n') => push(&mut bytes, b'\n', &part[1..]),
                Some(b't') => push(&mut bytes, b'\t', &part[1..]),
                Some(b'x') => {
                    let byte = u8::from_str_radix(&part[1..3], 16).unwrap();
                    push(&mut bytes, byte, &part[3..])
                }
                Some(b'*') => {
                    let (count, rest) = part[1..].split_once('(').unwrap();
                    let (repeated, rest) = rest.split_once(')').unwrap();
                    bytes.extend(repeated.repeat(count.parse().unwrap()).bytes());
                    rest
                }
                // The text after an escaped backslash is a part of its own.
                None => push(&mut bytes, b'\\', parts.next().unwrap_or_default()),
                other => panic!("{}: unknown escape {other:?}", self.name),
            };
            bytes.extend_from_slice(rest.as_bytes());
        }
        bytes
    }
}

fn push<'a>(bytes: &mut Vec<u8>, byte: u8, rest: &'a str) -> &'a str {
    bytes.push(byte);
    rest
}
