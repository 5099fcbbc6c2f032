//! What a peer sends takes a bounded amount of memory, however much it is. A program of its own, because an allocator is
//! the whole program's.

mod allocated;

use millrace_http::h2::hpack::{Encoder, Indexing};
use millrace_http::h2::{Connection, ErrorCode, Event, Role, Settings};

/// More than a connection needs for the largest header block and the fields in it.
const BOUND: isize = 1024 * 1024;
/// How much a peer sends.
const FLOOD: usize = 2 * 1024 * 1024;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The most memory that a client has taken while these bytes came again and again.
fn peak(flood: &[u8]) -> isize {
    let mut connection = Connection::<()>::new(Role::Client, Settings::default(), 0);
    let mut out = Vec::with_capacity(64 * 1024);
    connection.begin(&mut out);
    let settings = frame(4, 0, 0, &[]);
    assert_eq!(connection.next(&mut &settings[..], &mut out), Ok(Some(Event::Settings)));
    for _ in 0..100 {
        let stream = connection.open((), false).unwrap();
        connection.send_head(stream, &[0x82, 0x86, 0x84], true, &mut out);
    }
    allocated::peak(|| {
        for _ in 0..FLOOD / flood.len() {
            // As they are read from a socket.
            for mut bytes in flood.chunks(5000) {
                out.clear();
                loop {
                    match connection.next(&mut bytes, &mut out) {
                        Ok(Some(Event::Malformed { stream, .. } | Event::Reset { stream, .. })) => {
                            connection.remove(stream, ErrorCode::CANCEL, &mut out);
                        }
                        Ok(Some(_)) => {}
                        Ok(None) => break,
                        // What has too many parts.
                        Err(error) => {
                            return assert_eq!(error.code, ErrorCode::ENHANCE_YOUR_CALM);
                        }
                    }
                }
            }
        }
    })
}

#[test]
fn floods_take_a_bounded_amount_of_memory() {
    let bomb = {
        let (mut encoder, mut block) = (Encoder::new(), vec![0x88]);
        encoder.encode(b"x-bomb", &[b'y'; 4000], Indexing::Always, &mut block);
        block.resize(16_384, 0x80 | 62);
        frame(1, 4, 199, &block)
    };
    let fields = {
        let (mut encoder, mut block) = (Encoder::new(), vec![0x88]);
        for field in 0..1000u32 {
            encoder.encode(b"x", &field.to_be_bytes(), Indexing::Always, &mut block);
        }
        frame(1, 4, 199, &block)
    };
    let block_in_parts = [
        frame(1, 0, 199, &[0x88, 0, 1, b'x', 0x7f, 0x81, 0xf8, 7]),
        frame(9, 0, 199, &[b'y'; 16_384]).repeat(17),
    ];
    for (what, flood) in [
        (
            "empty parts of a header block",
            [frame(1, 0, 1, &[]), frame(9, 0, 1, &[]).repeat(2000)].concat(),
        ),
        ("a header block without an end", block_in_parts.concat()),
        ("a header bomb", bomb),
        ("fields that push each other out of the table", fields),
        ("frames of an unknown kind", frame(77, 0xff, 1, &[7; 16_384])),
        ("priorities", frame(2, 0, 1, &[0; 5])),
        ("windows of closed streams", frame(8, 0, 1, &[0, 0, 0, 1])),
        ("windows of a stream", frame(8, 0, 197, &[0, 0, 0, 1])),
        ("resets", (0..100).flat_map(|at| frame(3, 0, 1 + 2 * at, &[0; 4])).collect()),
        ("empty DATA of a closed stream", [frame(3, 0, 1, &[0; 4]), frame(0, 0, 1, &[])].concat()),
        ("interim responses", frame(1, 4, 195, &[8, 3, b'1', b'0', b'3'])),
        ("settings of no meaning", frame(4, 0, 0, &[0xff; 16_380])),
        ("acknowledgements", [frame(4, 1, 0, &[]), frame(6, 1, 0, &[0; 8])].concat()),
        ("announcements of the end", frame(7, 0, 0, &[0x7f; 16_384])),
    ] {
        let peak = peak(&flood);
        assert!(peak < BOUND, "{what}: {} KiB", peak / 1024);
    }
}
