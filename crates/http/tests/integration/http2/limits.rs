//! Bounds on what a peer may cost.

use millrace_http::h2::hpack::{Encoder, Indexing};
use millrace_http::h2::{ErrorCode, PREFACE, Role, Settings};

use super::endpoint::{Endpoint, GET, Seen};
use super::frames::*;

/// Frames that carry nothing, and parts of a header block.
const MAX_IDLE: usize = 10_000;
const MAX_CONTINUATIONS: usize = 1024;

fn client() -> Endpoint {
    let mut client = Endpoint::client(3, Settings::default(), 0);
    assert!(client.take(&settings(&[]), &[]));
    client
}

fn server(max_concurrent_streams: Option<u32>) -> Endpoint {
    let local = Settings { max_concurrent_streams, ..Settings::default() };
    let mut server = Endpoint::new(Role::Server, local, 0);
    assert!(server.take(&[PREFACE, &settings(&[])].concat(), &[]));
    server
}

#[test]
fn a_header_block_has_a_bounded_number_of_parts() {
    let begin = frame(HEADERS, END_STREAM, 1, &[0x88]);
    let parts = frame(CONTINUATION, 0, 1, &[]).repeat(MAX_CONTINUATIONS - 1);
    let last = frame(CONTINUATION, END_HEADERS, 1, &[]);
    assert!(client().take(&[&begin[..], &parts, &last].concat(), &[]));
    let one_more = frame(CONTINUATION, 0, 1, &[]);
    let mut client = client();
    assert!(!client.take(&[&begin[..], &parts, &one_more, &last].concat(), &[]));
    assert_eq!(client.failure(), Some(ErrorCode::ENHANCE_YOUR_CALM));
}

#[test]
fn a_header_block_has_a_bounded_size() {
    // A field without an end.
    let begin = frame(HEADERS, 0, 1, &[0x88, 0, 1, b'x', 0x7f, 0xff, 0xff, 0xff, 0x7f]);
    let parts = frame(CONTINUATION, 0, 1, &[b'y'; 16_384]).repeat(16);
    let mut client = client();
    assert!(!client.take(&[begin, parts].concat(), &[]));
    assert_eq!(client.failure(), Some(ErrorCode::ENHANCE_YOUR_CALM));
}

/// A block of 16 KiB that names a field of 4 KiB again and again: 64 MiB.
#[test]
fn a_header_bomb_is_reset_and_the_table_stays_right() {
    let mut block = Vec::new();
    let mut encoder = Encoder::new();
    encoder.encode(b":status", b"200", Indexing::Without, &mut block);
    encoder.encode(b"x-bomb", &[b'y'; 4000], Indexing::Always, &mut block);
    block.resize(16_384, 0x80 | 62);
    // Afterwards the same field, once.
    let again = frame(HEADERS, END_HEADERS | END_STREAM, 5, &[0x88, 0x80 | 62]);
    let bytes = [frame(HEADERS, END_HEADERS | END_STREAM, 1, &block), again].concat();
    let mut client = client();
    assert!(client.take(&bytes, &[]));
    let [_, Seen::Malformed { stream: 1, code, .. }, Seen::Head { stream: 5, fields, .. }] =
        &client.seen[..]
    else {
        panic!("{:?}", client.seen)
    };
    assert_eq!(*code, ErrorCode::PROTOCOL_ERROR);
    assert_eq!(fields[1], (b"x-bomb".to_vec(), vec![b'y'; 4000]));
}

/// Feeds a frame that has to be answered until the connection ends. `None`: it does not.
fn flood(endpoint: &mut Endpoint, mut next: impl FnMut(usize) -> Vec<u8>) -> Option<usize> {
    (0..=MAX_IDLE).find(|count| !endpoint.take(&next(*count), &[]))
}

#[test]
fn a_peer_that_reads_no_answers_is_told_to_be_calm() {
    let ping = frame(PING, 0, 0, &[0; 8]);
    let changed = settings(&[(INITIAL_WINDOW_SIZE, 1)]);
    for frame in [&ping, &changed, &[&ping[..], &data(1, 0, b"")].concat()] {
        let mut client = client();
        assert!(client.take(&headers(1, 0, &[(":status", "200")]), &[]));
        let count = flood(&mut client, |_| frame.clone());
        // The first settings have been answered too.
        assert_eq!(count, Some(MAX_IDLE - 1));
        assert_eq!(client.failure(), Some(ErrorCode::ENHANCE_YOUR_CALM));
    }
    // Acknowledgements are not answered.
    let mut client = client();
    assert_eq!(flood(&mut client, |_| frame(PING, ACK, 0, &[0; 8])), None);
}

#[test]
fn a_peer_that_reads_its_answers_may_ask_for_ever() {
    let mut client = client();
    let ping = frame(PING, 0, 0, &[0; 8]);
    for _ in 0..3 {
        client.connection.progress();
        assert_eq!(
            flood(&mut client, |count| if count == 0 { vec![] } else { ping.clone() }),
            None
        );
    }
}

/// Frames that a client may send and that mean nothing: to a server, they cost more than they carry.
#[test]
fn frames_without_any_effect_are_bounded_at_a_server() {
    let post = frame(HEADERS, END_HEADERS, 1, &[0x83, 0x86, 0x84]);
    for frame in [
        data(1, 0, b""),
        frame(DATA, PADDED, 1, &padded(b"", 200)),
        frame(PING, ACK, 0, &[0; 8]),
        frame(SETTINGS, ACK, 0, &[]),
        frame(PRIORITY, 0, 1, &[0; 5]),
        frame(77, 0, 0, b"unknown"),
        frame(GOAWAY, 0, 0, &[0; 8]),
        number(WINDOW_UPDATE, 0, 1),
        number(WINDOW_UPDATE, 1, 63),
    ] {
        let mut server = server(None);
        assert!(server.take(&post, &[]));
        // The first settings have been answered.
        assert_eq!(flood(&mut server, |_| frame.clone()), Some(MAX_IDLE - 1), "{frame:?}");
        assert_eq!(server.failure(), Some(ErrorCode::ENHANCE_YOUR_CALM));
        let mut client = client();
        assert!(client.take(&headers(1, 0, &[(":status", "200")]), &[]));
        assert_eq!(flood(&mut client, |_| frame.clone()), None, "a client bears them: {frame:?}");
    }
    for frame in [number(WINDOW_UPDATE, 1, 64), data(1, 0, b"x")] {
        let mut server = server(None);
        assert!(server.take(&post, &[]));
        assert_eq!(flood(&mut server, |_| frame.clone()), None, "{frame:?}");
    }
    // Windows and ends of streams that are closed.
    for frame in [number(WINDOW_UPDATE, 1, 1000), number(RST_STREAM, 1, 8)] {
        let mut server = server(None);
        assert!(server.take(&[&post[..], &number(RST_STREAM, 1, 8)].concat(), &[]));
        assert_eq!(flood(&mut server, |_| frame.clone()), Some(MAX_IDLE - 2), "{frame:?}");
    }
}

#[test]
fn frames_of_long_ago_are_forgiven() {
    let mut server = server(None);
    let priority = frame(PRIORITY, 0, 1, &[0; 5]);
    for _ in 0..MAX_IDLE {
        server.connection.forgive(2);
        assert!(server.take(&priority.repeat(2), &[]));
    }
}

/// A request's head that is larger than a server has said it accepts is told as that, and the table stays right.
#[test]
fn a_head_that_is_too_large_for_a_server_is_told() {
    let local = Settings { max_header_list_size: Some(1000), ..Settings::default() };
    let mut server = Endpoint::new(Role::Server, local, 0);
    let request = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
    let many: Vec<_> = (0..40).map(|at| format!("x{at}")).collect();
    let small_fields = many.iter().map(|name| (name.as_str(), ""));
    let large =
        headers(1, END_STREAM, &request.iter().copied().chain(small_fields).collect::<Vec<_>>());
    let fits = headers(3, END_STREAM, &request);
    assert!(server.take(&[PREFACE, &settings(&[]), &large, &fits].concat(), &[]));
    let [_, Seen::HeadTooLarge { stream: 1 }, Seen::Head { stream: 3, .. }] = &server.seen[..]
    else {
        panic!("{:?}", server.seen)
    };
}

#[test]
fn requests_that_break_rules_or_are_refused_are_bounded_too() {
    let malformed = |count: usize| frame(HEADERS, END_HEADERS, 1 + 2 * count as u32, &[0x88]);
    let mut server = server(None);
    assert_eq!(flood(&mut server, malformed), Some(MAX_IDLE - 1));
    assert_eq!(server.failure(), Some(ErrorCode::ENHANCE_YOUR_CALM));
    let refused = |count: usize| frame(HEADERS, END_HEADERS, 1 + 2 * count as u32, GET);
    let mut server = self::server(Some(0));
    assert_eq!(flood(&mut server, refused), Some(MAX_IDLE - 1));
    assert_eq!(server.failure(), Some(ErrorCode::ENHANCE_YOUR_CALM));
}

#[test]
fn streams_beyond_the_number_that_is_allowed_are_refused() {
    let mut server = server(Some(2));
    let post = |stream| frame(HEADERS, END_HEADERS, stream, &[0x83, 0x86, 0x84]);
    // What the block of a refused stream puts into the table is there.
    let indexing = [&[0x83, 0x86, 0x84, 0x40, 1, b'x', 1, b'y'][..], &[]].concat();
    let refused = frame(HEADERS, END_HEADERS, 5, &indexing);
    let late = data(5, END_STREAM, &[0; 16_384]);
    assert!(server.take(&[post(1), post(3), refused, late].concat(), &[]));
    assert_eq!(server.connection.open_streams(), 2);
    assert_eq!(numbers(&server.out, RST_STREAM), [(5, ErrorCode::REFUSED_STREAM.0)]);
    let next = frame(HEADERS, END_HEADERS | END_STREAM, 7, &[0x83, 0x86, 0x84, 0x80 | 62]);
    assert!(server.take(&[data(1, END_STREAM, b""), next].concat(), &[]));
    let Some(Seen::Head { stream: 7, fields, .. }) = server.seen.last() else {
        panic!("{:?}", server.seen)
    };
    assert_eq!(fields.last(), Some(&(b"x".to_vec(), b"y".to_vec())));
}
