//! What is to be told of a stream, by the parsers alone.

#[path = "../../../../http/tests/integration/received_stream.rs"]
mod received_stream;

use millrace_http::h1::{HeadLimits, field_lines};
use received_stream::{Event, read};

/// What is told of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Head {
        bytes: Vec<u8>,
        target: Vec<u8>,
    },
    Data(Vec<u8>),
    End(Vec<(Vec<u8>, Vec<u8>)>),
    /// From here on somebody else has to judge.
    Unsure(usize),
}

/// Adds to what was told; however many parts a body comes in, it is one.
pub(crate) fn add(all: &mut Vec<Told>, told: Told) {
    match (all.last_mut(), told) {
        (Some(Told::Data(data)), Told::Data(more)) => data.extend(more),
        (_, told) => all.push(told),
    }
}

/// `part` is how `whole` begins.
pub(crate) fn begins(whole: &[Told], part: &[Told]) -> bool {
    let Some((last, before)) = part.split_last() else { return true };
    let Some(other) = whole.get(before.len()) else { return false };
    let last_begins = match (last, other) {
        (Told::Data(part), Told::Data(whole)) => whole.starts_with(part),
        _ => last == other,
    };
    last_begins && whole.starts_with(before)
}

pub(crate) fn trailers(bytes: &[u8]) -> Told {
    Told::End(field_lines(bytes).map(|(name, value)| (name.to_vec(), value.to_vec())).collect())
}

/// What a reactor with these limits tells of a stream.
pub(crate) fn expected(stream: &[u8], limits: HeadLimits) -> Vec<Told> {
    // The reactor gives longer heads away.
    let limits = HeadLimits { bytes: limits.bytes.min(64 * 1024), ..limits };
    let mut all = Vec::new();
    let mut at = 0;
    for event in read(stream, &[], &limits) {
        match event {
            Event::Head { at: start, head, .. } if head.upgrade => {
                all.push(Told::Unsure(start - head.start));
                return all;
            }
            Event::Head { at: start, head, target, .. } => {
                at = start + head.length;
                all.push(Told::Head { bytes: stream[start..at].to_vec(), target });
            }
            Event::Data(data) => all.push(Told::Data(data)),
            Event::End { at: end, trailers } => {
                at = end;
                all.push(Told::End(trailers));
            }
            Event::Unsure { at, .. } => all.push(Told::Unsure(at)),
            Event::Last => {
                let rest = stream[at..].iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
                all.extend(rest.map(|more| Told::Unsure(at + more)));
            }
            Event::Partial => {}
        }
    }
    all
}
