//! What holds for every stream of bytes, and for every way in which it arrives.

use millrace_http::h2::{PREFACE, Role, Settings};
use proptest::prelude::*;
use proptest::sample::select;

use super::endpoint::{Endpoint, Seen};
use super::frames::*;

/// Sizes of the pieces in which a stream arrives; the rest comes at once.
fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        prop::collection::vec(1..40usize, 0..200),
        (1..4usize).prop_map(|size| vec![size; 5000]),
    ]
}

/// Rarely one that is not open.
fn streams() -> impl Strategy<Value = u32> {
    prop_oneof![
        60 => select(vec![1u32, 3, 5, 7, 9]),
        1 => select(vec![0u32, 2, 11, 13, 201, u32::MAX]),
    ]
}

/// Header blocks for a role, or what looks like one. Some use and change the dynamic table: an insertion, its use, sizes.
fn blocks(role: Role) -> impl Strategy<Value = Vec<u8>> {
    let of_responses: Vec<Vec<u8>> = vec![
        block(&[(":status", "200")]),
        block(&[(":status", "200"), ("content-length", "5"), ("server", "x")]),
        block(&[(":status", "204")]),
        block(&[(":status", "103"), ("link", "</x>")]),
        block(&[(":status", "200"), ("x-cancel", "")]),
        vec![0x88, 0x40, 1, b'a', 1, b'b'],
        vec![0x88, 0xbe],
        vec![0x20, 0x88],
        vec![0x3f, 0xe1, 0x1f, 0x88],
    ];
    let of_requests: Vec<Vec<u8>> = vec![
        block(&[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")]),
        block(&[(":method", "POST"), (":scheme", "http"), (":path", "/"), ("content-length", "5")]),
        block(&[(":method", "GET"), (":scheme", "http"), (":path", "/x"), ("x-cancel", "1")]),
        vec![0x82, 0x86, 0x84, 0x40, 1, b'a', 1, b'b'],
        vec![0x82, 0x86, 0x84, 0xbe],
    ];
    let of_role = if role == Role::Client { of_responses } else { of_requests };
    let trailers = vec![block(&[("grpc-status", "0"), ("x", "y")]), block(&[])];
    let wrong = vec![block(&[("x", "y"), (":status", "200")]), vec![0x88, 0x80], vec![0x88, 0, 1]];
    prop_oneof![
        60 => select(of_role),
        20 => select(trailers),
        1 => select(wrong),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ]
}

/// Content, often of the length that a head announces.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![3 => Just(5usize), 3 => 0..30usize, 1 => 16_000..16_385usize];
    size.prop_map(|size| vec![b'c'; size])
}

/// A payload that is padded, or, rarely, wrongly said to be.
fn padding(payload: Vec<u8>) -> impl Strategy<Value = (u8, Vec<u8>)> {
    (0..80u8, 0..40u8).prop_map(move |(how, length)| match how {
        0 => (PADDED, payload.clone()),
        1..20 => (PADDED, padded(&payload, length)),
        _ => (0, payload.clone()),
    })
}

/// A frame of a message.
fn message(role: Role) -> impl Strategy<Value = Vec<u8>> {
    let flags = || select(vec![0u8, 0, END_STREAM]);
    let data = (streams(), content().prop_flat_map(padding), flags())
        .prop_map(|(stream, (padded, payload), ends)| frame(DATA, ends | padded, stream, &payload));
    let head = (streams(), blocks(role).prop_flat_map(padding), flags()).prop_map(
        |(stream, (padded, payload), ends)| {
            frame(HEADERS, END_HEADERS | ends | padded, stream, &payload)
        },
    );
    let cut = any::<prop::sample::Index>();
    let in_parts = (streams(), blocks(role), flags(), cut, 0..40u8).prop_map(
        |(stream, block, ends, at, fault)| {
            let (first, rest) = block.split_at(at.index(block.len() + 1));
            let begin = frame(HEADERS, ends, stream, first);
            let between = if fault == 0 { frame(PING, 0, 0, &[0; 8]) } else { Vec::new() };
            let empty = frame(CONTINUATION, 0, stream, &[]);
            let last = frame(CONTINUATION, END_HEADERS, stream, rest);
            [begin, between, empty, last].concat()
        },
    );
    prop_oneof![4 => data, 4 => head, 2 => in_parts]
}

/// A frame of the connection, or one that changes a stream.
fn control() -> impl Strategy<Value = Vec<u8>> {
    let reset = (streams(), 0..14u32).prop_map(|(stream, code)| number(RST_STREAM, stream, code));
    let window = (streams(), select(vec![0, 1, 70_000, (1 << 31) - 1]))
        .prop_map(|(stream, increment)| number(WINDOW_UPDATE, stream, increment));
    let of_connection = select(vec![1, 70_000]).prop_map(|by| number(WINDOW_UPDATE, 0, by));
    let setting =
        select(vec![(1, 0), (1, 100), (1, 4096), (3, 0), (4, 0), (4, 70_000), (5, 20_000), (9, 9)]);
    let settings = prop::collection::vec(setting, 0..3).prop_map(|list| settings(&list));
    let others = select(vec![
        frame(SETTINGS, ACK, 0, &[]),
        frame(PING, 0, 0, b"12345678"),
        frame(PING, ACK, 0, b"12345678"),
        frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 200]),
        frame(GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0, b'!']),
        frame(77, 0xff, 9, &[7; 300]),
    ]);
    prop_oneof![3 => reset, 3 => window, 2 => of_connection, 3 => settings, 6 => others]
}

/// What is no frame, or one that makes no sense.
fn fault() -> impl Strategy<Value = Vec<u8>> {
    let any_frame = (0..12u8, any::<u8>(), streams(), prop::collection::vec(any::<u8>(), 0..12))
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
    let setting = (0..8u16, select(vec![0, 1, 2, 16_383, 1 << 31]));
    let setting = setting.prop_map(|setting| settings(&[setting]));
    let junk = prop::collection::vec(any::<u8>(), 0..12);
    prop_oneof![any_frame, setting, junk]
}

/// A role, and frames for it, most of them right.
fn frames() -> impl Strategy<Value = (Role, Vec<u8>)> {
    select(vec![Role::Client, Role::Server]).prop_flat_map(|role| {
        let frame = prop_oneof![60 => message(role), 20 => control(), 1 => fault()];
        let frames = prop::collection::vec(frame, 0..30);
        (Just(role), frames.prop_map(|frames| frames.concat()))
    })
}

/// A client with streams, or a server after the preface, that has read the peer's settings.
fn endpoint(role: Role, window: u32) -> Endpoint {
    let local = Settings { initial_window_size: window, ..Settings::default() };
    let mut endpoint = match role {
        Role::Client => Endpoint::client(5, local, 0),
        Role::Server => {
            let local = Settings { max_concurrent_streams: Some(3), ..local };
            let mut server = Endpoint::new(Role::Server, local, 0);
            assert!(server.take(PREFACE, &[]));
            server
        }
    };
    assert!(endpoint.take(&settings(&[]), &[]));
    endpoint
}

/// What is seen of the bytes, and what is said to them.
fn read(role: Role, window: u32, bytes: &[u8], pieces: &[usize]) -> (Vec<Seen>, Vec<u8>) {
    let mut endpoint = endpoint(role, window);
    endpoint.take(bytes, pieces);
    (endpoint.seen, endpoint.out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Nor does what is said. A frame that has not come as a whole means nothing, but its head may be wrong.
    #[test]
    fn any_split_gives_the_same_events_and_answers(
        (role, bytes) in frames(),
        window in select(vec![40u32, 65_535]),
        pieces in pieces(),
    ) {
        let whole = read(role, window, &bytes, &[]);
        prop_assert_eq!(read(role, window, &bytes, &pieces), whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_their_answers_are_bounded(
        (role, start) in frames(),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        pieces in pieces(),
    ) {
        let bytes = [start, bytes].concat();
        let (seen, out) = read(role, 65_535, &bytes, &pieces);
        // A frame of nine bytes has at most an answer of twice its length. The others are those that open a connection.
        prop_assert!(out.len() <= 3 * bytes.len() + 400, "{} bytes for {}", out.len(), bytes.len());
        prop_assert!(seen.len() <= bytes.len() / 9 + 2);
    }
}
