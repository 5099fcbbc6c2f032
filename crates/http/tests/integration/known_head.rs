//! A head that is recognized is the head that would have been parsed.

use millrace_http::h1::{Decoded, Error, KnownHead, ResponseDecoder};
use proptest::prelude::*;

/// Responses that share heads, have heads that begin like another's, and break in the middle.
fn response() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n0123456789012345678901",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\n",
    ])
    .prop_map(<[u8]>::to_vec)
}

/// What comes of a stream that arrives in pieces of these sizes.
fn decode(
    stream: &[u8],
    sizes: &[usize],
    mut known: Option<KnownHead>,
) -> Vec<Result<Decoded, Error>> {
    let mut decoder = ResponseDecoder::default();
    let (mut events, mut pending, mut at) = (Vec::new(), Vec::new(), 0);
    for size in sizes.iter().copied().cycle() {
        if at == stream.len() {
            break;
        }
        let end = (at + size).min(stream.len());
        pending.extend_from_slice(&stream[at..end]);
        at = end;
        loop {
            let event = match &mut known {
                Some(known) => decoder.decode_with(known, &pending, false),
                None => decoder.decode(&pending, false),
            };
            events.push(event);
            match event {
                Ok(Decoded::More { consumed }) => {
                    pending.drain(..consumed);
                    break;
                }
                Ok(Decoded::Complete { consumed, .. }) => pending.drain(..consumed),
                Err(_) => return events,
            };
        }
    }
    events
}

proptest! {
    #[test]
    fn recognizing_changes_nothing(
        responses in prop::collection::vec(response(), 1..12),
        sizes in prop::collection::vec(1usize..60, 1..6),
    ) {
        let stream = responses.concat();
        let parsed = decode(&stream, &sizes, None);
        let recognized = decode(&stream, &sizes, Some(KnownHead::default()));
        prop_assert_eq!(parsed, recognized);
    }
}
