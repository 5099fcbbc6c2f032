//! Trace contexts of requests (W3C Trace Context, version 00). Pure: numbers in, ids out.

use crate::engine::numbers::{Purpose, random_for};
use crate::plan::Plan;

/// The trace contexts of a run. Which requests have one, and its ids, follow from the run's seed and the number of the
/// request, or of the iteration that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceContexts {
    seed: u64,
    /// Of the requests or iterations that have one, from 0 to 1.
    share: f64,
}

/// What a request says of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(crate) trace_id: u128,
    span_id: u64,
}

impl TraceContexts {
    /// Those of a plan; `None` if its requests have none.
    pub(crate) fn of_plan(plan: &Plan) -> Option<Self> {
        Some(Self { seed: plan.seed, share: plan.traced? })
    }

    /// The context of request `number`; of a user's request that of iteration `number`, in which it is the one at `position`.
    pub(crate) fn get(&self, number: u64, position: u32) -> Option<TraceContext> {
        let mut random = random_for(self.seed, number, Purpose::Trace);
        if random.f64() >= self.share {
            return None;
        }
        // Zero is no id (sections 3.2.2.3 and 3.2.2.4).
        let trace_id = random.u128(1..);
        let first = random.u64(..);
        let span_id = fastrand::Rng::with_seed(first.wrapping_add(position.into())).u64(1..);
        Some(TraceContext { trace_id, span_id })
    }
}

impl TraceContext {
    /// Appends the field `traceparent`; the trace is sampled.
    pub(crate) fn push_field(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"traceparent: 00-");
        push_hex(&self.trace_id.to_be_bytes(), out);
        out.push(b'-');
        push_hex(&self.span_id.to_be_bytes(), out);
        out.extend_from_slice(b"-01\r\n");
    }
}

fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn contexts(seed: u64, share: f64) -> TraceContexts {
        TraceContexts { seed, share }
    }

    #[test]
    fn a_context_is_a_field_with_ids_in_hexadecimal() {
        let context = TraceContext { trace_id: 0x4bf9_2f35, span_id: 0x00f0_67aa_0ba9_02b7 };
        let mut out = Vec::new();
        context.push_field(&mut out);
        let expected: &[u8] =
            b"traceparent: 00-0000000000000000000000004bf92f35-00f067aa0ba902b7-01\r\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn a_share_of_the_numbers_has_contexts_and_the_same_ones_each_time() {
        for share in [0.01, 0.3, 1.0] {
            let has = |number: &u64| contexts(7, share).get(*number, 0).is_some();
            let count = (0..20_000).filter(has).count() as f64;
            // Five standard deviations.
            let deviation = (20_000.0 * share * (1.0 - share)).sqrt();
            assert!((count - 20_000.0 * share).abs() <= 5.0 * deviation, "{count} of {share}");
            // Who is in a smaller share is in a larger one, with the same ids.
            let smaller = |number| contexts(7, share / 2.0).get(number, 0);
            for number in (0..1000).filter(|number| smaller(*number).is_some()) {
                assert_eq!(contexts(7, share).get(number, 0), smaller(number));
            }
        }
    }

    #[test]
    fn ids_differ_by_number_and_seed_and_those_of_spans_by_position() {
        let ids = |seed| (0..5000).filter_map(move |number| contexts(seed, 1.0).get(number, 0));
        let traces: HashSet<_> = ids(1).chain(ids(2)).map(|context| context.trace_id).collect();
        assert_eq!(traces.len(), 10_000);
        let of_one = (0..5000).filter_map(|position| contexts(1, 1.0).get(3, position));
        let (traces, spans): (HashSet<_>, HashSet<_>) =
            of_one.map(|context| (context.trace_id, context.span_id)).unzip();
        assert_eq!((traces.len(), spans.len()), (1, 5000));
    }
}
