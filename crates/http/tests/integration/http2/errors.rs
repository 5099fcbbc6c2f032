//! Errors of the peer, each with its code: of the connection (RFC 9113, section 5.4.1), and of one stream (section 5.4.2).

use millrace_http::h2::{ErrorCode, PREFACE, Role, Settings};

use super::endpoint::{Endpoint, GET, Seen};
use super::frames::*;

const OK: [(&str, &str); 1] = [(":status", "200")];
const WITH_LENGTH: [(&str, &str); 2] = [(":status", "200"), ("content-length", "5")];

/// A client with the streams 1, 3 (HEAD) and 5 (its message goes on), after the server's settings.
fn client() -> Endpoint {
    let mut client = Endpoint::client(3, Settings::default(), 0);
    assert!(client.take(&settings(&[]), &[]));
    client
}

/// A server after the client's settings.
fn server() -> Endpoint {
    let mut server = Endpoint::new(Role::Server, Settings::default(), 0);
    assert!(server.take(&[PREFACE, &settings(&[])].concat(), &[]));
    server
}

/// The last frame is GOAWAY with this code.
#[track_caller]
fn fails(mut endpoint: Endpoint, bytes: &[u8], code: ErrorCode) {
    endpoint.out.clear();
    assert!(!endpoint.take(bytes, &[]), "accepted: {:?}", endpoint.seen);
    assert_eq!(endpoint.failure(), Some(code), "{:?}", endpoint.seen);
    let (kind, _, stream, payload) = *parse(&endpoint.out).last().unwrap();
    assert_eq!((kind, stream, &payload[4..]), (GOAWAY, 0, &code.0.to_be_bytes()[..]));
}

/// The stream is reset with this code, and the connection goes on.
#[track_caller]
fn resets(mut endpoint: Endpoint, bytes: &[u8], stream: u32, code: ErrorCode) -> &'static str {
    endpoint.out.clear();
    assert!(endpoint.take(&[bytes, &frame(PING, 0, 0, &[7; 8])].concat(), &[]));
    let malformed = endpoint.seen.iter().find_map(|seen| match seen {
        Seen::Malformed { stream, code, reason } => Some((*stream, *code, *reason)),
        _ => None,
    });
    let (number, found, reason) = malformed.unwrap_or_else(|| panic!("{:?}", endpoint.seen));
    assert_eq!((number, found), (stream, code), "{reason}");
    assert_eq!(numbers(&endpoint.out, RST_STREAM), [(stream, code.0)], "{reason}");
    let pong = (PING, ACK, 0, &[7; 8][..]);
    assert_eq!(parse(&endpoint.out).last(), Some(&pong));
    reason
}

#[test]
fn frames_of_a_wrong_size_end_the_connection() {
    let priority = [0; 5];
    for bytes in [
        data(1, 0, &[0; 16_385]),
        frame(77, 0, 0, &[0; 16_385]),
        frame(DATA, PADDED, 1, &[]),
        frame(HEADERS, END_HEADERS | PADDED, 1, &[]),
        frame(HEADERS, END_HEADERS | PRIORITIZED, 1, &priority[1..]),
        frame(HEADERS, END_HEADERS | PRIORITIZED | PADDED, 1, &[0; 5]),
        frame(PRIORITY, 0, 1, &priority[1..]),
        frame(RST_STREAM, 0, 1, &[0; 3]),
        frame(RST_STREAM, 0, 1, &[0; 5]),
        frame(SETTINGS, 0, 0, &[0; 5]),
        frame(SETTINGS, ACK, 0, &[0; 6]),
        frame(PING, 0, 0, &[0; 7]),
        frame(PING, ACK, 0, &[0; 9]),
        frame(GOAWAY, 0, 0, &[0; 7]),
        frame(WINDOW_UPDATE, 0, 0, &[0; 3]),
        frame(WINDOW_UPDATE, 0, 1, &[0; 5]),
    ] {
        fails(client(), &bytes, ErrorCode::FRAME_SIZE_ERROR);
    }
}

#[test]
fn a_frame_that_is_too_large_is_refused_by_its_head() {
    fails(client(), &data(1, 0, &[0; 16_385])[..9], ErrorCode::FRAME_SIZE_ERROR);
}

#[test]
fn frames_on_the_wrong_stream_end_the_connection() {
    let get = frame(HEADERS, END_HEADERS, 2, GET);
    for bytes in [
        data(0, 0, b"x"),
        headers(0, 0, &OK),
        frame(PRIORITY, 0, 0, &[0; 5]),
        number(RST_STREAM, 0, 0),
        frame(SETTINGS, 0, 1, &[]),
        frame(PING, 0, 1, &[0; 8]),
        frame(GOAWAY, 0, 1, &[0; 8]),
        // Streams that have not been opened.
        data(7, 0, b"x"),
        headers(7, 0, &OK),
        headers(2, 0, &OK),
        number(RST_STREAM, 7, 0),
        number(WINDOW_UPDATE, 7, 1),
        number(WINDOW_UPDATE, 2, 1),
        // Pushes are disabled.
        frame(PUSH_PROMISE, END_HEADERS, 1, &[&[0, 0, 0, 2][..], GET].concat()),
    ] {
        fails(client(), &bytes, ErrorCode::PROTOCOL_ERROR);
    }
    for bytes in [get, data(1, 0, b"x"), number(RST_STREAM, 1, 0), number(WINDOW_UPDATE, 1, 1)] {
        fails(server(), &bytes, ErrorCode::PROTOCOL_ERROR);
    }
}

#[test]
fn more_padding_than_there_is_room_for_ends_the_connection() {
    for bytes in [
        frame(DATA, PADDED, 1, &[1]),
        frame(DATA, PADDED, 1, &[3, 0, 0]),
        frame(HEADERS, PADDED | END_HEADERS, 1, &[2, 0x88]),
        frame(HEADERS, PADDED | PRIORITIZED | END_HEADERS, 1, &[2, 0, 0, 0, 0, 0, 0x88]),
    ] {
        fails(client(), &bytes, ErrorCode::PROTOCOL_ERROR);
    }
    for bytes in [
        [frame(HEADERS, PADDED | END_HEADERS, 1, &padded(&[0x88], 9)), data(1, 1, b"x")].concat(),
        [headers(1, 0, &OK), frame(DATA, PADDED, 1, &padded(b"", 255)), data(1, 1, b"x")].concat(),
    ] {
        let mut client = client();
        assert!(client.take(&bytes, &[]));
        let expected = Seen::Data { stream: 1, bytes: b"x".to_vec(), ends: true };
        assert_eq!(client.seen.last(), Some(&expected));
    }
}

#[test]
fn settings_of_a_wrong_value_end_the_connection() {
    const ENABLE_PUSH: u16 = 2;
    for (setting, code) in [
        ((ENABLE_PUSH, 2), ErrorCode::PROTOCOL_ERROR),
        // A server cannot push less than not at all.
        ((ENABLE_PUSH, 1), ErrorCode::PROTOCOL_ERROR),
        ((INITIAL_WINDOW_SIZE, 1 << 31), ErrorCode::FLOW_CONTROL_ERROR),
        ((MAX_FRAME_SIZE, 16_383), ErrorCode::PROTOCOL_ERROR),
        ((MAX_FRAME_SIZE, 1 << 24), ErrorCode::PROTOCOL_ERROR),
    ] {
        fails(client(), &settings(&[setting]), code);
    }
    assert!(server().take(&settings(&[(ENABLE_PUSH, 1)]), &[]));
    assert!(client().take(&settings(&[(ENABLE_PUSH, 0)]), &[]));
}

#[test]
fn a_connection_begins_with_settings() {
    let unsettled = || Endpoint::client(1, Settings::default(), 0);
    for bytes in [
        headers(1, 1, &OK),
        frame(SETTINGS, ACK, 0, &[]),
        frame(PING, 0, 0, &[0; 8]),
        frame(77, 0, 0, b"x"),
    ] {
        fails(unsettled(), &bytes, ErrorCode::PROTOCOL_ERROR);
    }
    fails(unsettled(), b"HTTP/1.1 400 Bad Request\r\n\r\n", ErrorCode::FRAME_SIZE_ERROR);
    let server = || Endpoint::new(Role::Server, Settings::default(), 0);
    fails(server(), b"GET / HTTP/1.1\r\n", ErrorCode::PROTOCOL_ERROR);
    fails(server(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\n", ErrorCode::PROTOCOL_ERROR);
    let get = frame(HEADERS, END_HEADERS, 1, GET);
    fails(server(), &[PREFACE, &get].concat(), ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn a_header_block_is_not_interrupted() {
    let begin = frame(HEADERS, 0, 1, &[0x88]);
    for other in [
        data(1, 0, b"x"),
        headers(1, 0, &OK),
        frame(PING, 0, 0, &[0; 8]),
        frame(77, 0, 1, b""),
        frame(CONTINUATION, END_HEADERS, 3, &[]),
        frame(CONTINUATION, END_HEADERS, 0, &[]),
    ] {
        fails(client(), &[&begin[..], &other].concat(), ErrorCode::PROTOCOL_ERROR);
    }
    let alone = frame(CONTINUATION, END_HEADERS, 1, &[0x88]);
    fails(client(), &alone, ErrorCode::PROTOCOL_ERROR);
    fails(client(), &[&headers(1, 0, &OK)[..], &alone].concat(), ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn a_header_block_that_cannot_be_decoded_ends_the_connection() {
    let invalid = [0x80];
    let closed = [headers(1, END_STREAM, &OK), frame(HEADERS, END_HEADERS, 1, &invalid)].concat();
    let continued =
        [frame(HEADERS, 0, 1, &[0x88]), frame(CONTINUATION, END_HEADERS, 1, &invalid)].concat();
    let trailers = [headers(1, 0, &OK), frame(HEADERS, 5, 1, &invalid)].concat();
    for bytes in [frame(HEADERS, END_HEADERS, 1, &invalid), closed, continued, trailers] {
        fails(client(), &bytes, ErrorCode::COMPRESSION_ERROR);
    }
    fails(server(), &frame(HEADERS, END_HEADERS, 1, &invalid), ErrorCode::COMPRESSION_ERROR);
}

#[test]
fn windows_that_are_too_large_end_the_connection() {
    let zero = number(WINDOW_UPDATE, 0, 0);
    fails(client(), &zero, ErrorCode::PROTOCOL_ERROR);
    let most = number(WINDOW_UPDATE, 0, (1 << 31) - 1 - 65_535);
    assert!(client().take(&most, &[]));
    let more = [&most[..], &number(WINDOW_UPDATE, 0, 1)].concat();
    fails(client(), &more, ErrorCode::FLOW_CONTROL_ERROR);
    let by_settings =
        [number(WINDOW_UPDATE, 1, 1), settings(&[(INITIAL_WINDOW_SIZE, (1 << 31) - 1)])].concat();
    fails(client(), &by_settings, ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn data_beyond_the_connections_window_ends_it() {
    let whole = data(1, 0, &[0; 16_383]);
    let four = [&headers(1, 0, &OK)[..], &whole, &whole, &whole, &whole].concat();
    // All of the 65,535 bytes, and 3 for those of the padding of a frame without content.
    assert!(client().take(&[&four[..], &data(1, 0, b"xxx")].concat(), &[]));
    let padding = frame(DATA, PADDED, 1, &padded(b"", 3));
    fails(client(), &[&four[..], &padding].concat(), ErrorCode::FLOW_CONTROL_ERROR);
    // Nobody takes what comes for a stream that has been closed, and it counts all the same until it is released.
    let cancelled = headers(1, 0, &[(":status", "200"), ("x-cancel", "")]);
    let mut client = client();
    client.out.clear();
    assert!(client.take(&[&cancelled[..], &whole, &whole, &whole].concat(), &[]));
    assert_eq!(numbers(&client.out, WINDOW_UPDATE), [(0, 49_149)]);
}

#[test]
fn a_response_that_breaks_a_rule_is_reset_alone() {
    let head = |fields| headers(1, 0, fields);
    let begun = || headers(1, 0, &OK);
    let interim = [(":status", "103")];
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (data(1, 0, b"x"), "DATA before the head"),
        ([head(&interim), data(1, 0, b"x")].concat(), "DATA before the head"),
        (head(&[("x", "y")]), "missing"),
        (head(&[(":status", "200"), ("Upper", "y")]), "upper case"),
        (head(&[(":status", "200"), ("connection", "close")]), "only HTTP/1.1"),
        (head(&[(":status", "101")]), "101"),
        (headers(1, END_STREAM, &interim), "interim"),
        ([begun(), begun()].concat(), "second head"),
        ([begun(), headers(1, 0, &[("x", "y")])].concat(), "do not end the message"),
        ([begun(), headers(1, END_STREAM, &OK)].concat(), "second head"),
        (headers(1, END_STREAM, &WITH_LENGTH), "content-length and DATA"),
        ([head(&WITH_LENGTH), data(1, END_STREAM, b"four")].concat(), "content-length and DATA"),
        ([head(&WITH_LENGTH), data(1, 0, b"sixsix")].concat(), "content-length and DATA"),
        (
            [head(&WITH_LENGTH), headers(1, END_STREAM, &[("x", "y")])].concat(),
            "content-length and DATA",
        ),
        ([head(&[(":status", "204")]), data(1, 0, b"x")].concat(), "there can be none"),
        (number(WINDOW_UPDATE, 1, 0), "WINDOW_UPDATE of 0"),
    ];
    for (bytes, reason) in cases {
        let found = resets(client(), &bytes, 1, ErrorCode::PROTOCOL_ERROR);
        assert!(found.contains(reason), "{found}: {reason}");
    }
    let content = [headers(3, 0, &OK), data(3, END_STREAM, b"x")].concat();
    resets(client(), &content, 3, ErrorCode::PROTOCOL_ERROR);
    let most = (1 << 31) - 1;
    let overflow = number(WINDOW_UPDATE, 5, most);
    resets(client(), &overflow, 5, ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn a_request_that_breaks_a_rule_is_reset_alone() {
    let get = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
    let with = |more: &[(&str, &str)]| headers(1, END_STREAM, &[&get[..], more].concat());
    for bytes in [
        headers(1, END_STREAM, &get[..2]),
        with(&[(":path", "/")]),
        with(&[(":status", "200")]),
        with(&[("te", "gzip")]),
        with(&[("transfer-encoding", "chunked")]),
        with(&[("content-length", "1")]),
        with(&[(":protocol", "websocket")]),
        headers(1, END_STREAM, &[(":method", "a b"), get[1], get[2]]),
    ] {
        resets(server(), &bytes, 1, ErrorCode::PROTOCOL_ERROR);
    }
}

#[test]
fn data_beyond_a_streams_window_resets_it() {
    let local = Settings { initial_window_size: 70_000, ..Settings::default() };
    let mut client = Endpoint::client(2, local, 100_000);
    assert!(client.take(&[settings(&[]), frame(SETTINGS, ACK, 0, &[])].concat(), &[]));
    let four = data(1, 0, &[0; 16_384]).repeat(4);
    let bytes = [&headers(1, 0, &OK)[..], &four, &data(1, 0, &[0; 4465])].concat();
    resets(client, &bytes, 1, ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn what_comes_behind_the_end_of_a_message_resets_its_stream() {
    for bytes in [data(1, 0, b"x"), headers(1, END_STREAM, &[("x", "y")])] {
        // The message of this side goes on, so that the stream is half-closed.
        let mut connection =
            millrace_http::h2::Connection::<()>::new(Role::Client, Settings::default(), 0);
        let mut out = Vec::new();
        connection.begin(&mut out);
        let key = connection.open((), false).unwrap();
        connection.send_head(key, GET, false, &mut out);
        let bytes = [settings(&[]), headers(1, END_STREAM, &OK), bytes].concat();
        let (mut input, mut last) = (&bytes[..], None);
        while let Some(event) = connection.next(&mut input, &mut out).unwrap() {
            if let millrace_http::h2::Event::Malformed { stream, error } = event {
                last = Some((stream, error.code));
            }
        }
        assert_eq!(last, Some((key, ErrorCode::STREAM_CLOSED)));
    }
}

/// Whatever they say: a head again, trailers, a field that is wrong.
#[test]
fn what_comes_behind_a_requests_end_resets_its_stream() {
    let get = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
    for bytes in [
        headers(1, END_STREAM, &get),
        headers(1, 0, &get),
        headers(1, END_STREAM, &[("x", "y")]),
        headers(1, END_STREAM, &[("X", "y")]),
        data(1, END_STREAM, b"x"),
    ] {
        let mut connection =
            millrace_http::h2::Connection::<()>::new(Role::Server, Settings::default(), 0);
        let mut out = Vec::new();
        let bytes = [PREFACE, &settings(&[]), &headers(1, END_STREAM, &get), &bytes].concat();
        let (mut input, mut codes) = (&bytes[..], Vec::new());
        while let Some(event) = connection.next(&mut input, &mut out).unwrap() {
            if let millrace_http::h2::Event::Malformed { error, .. } = event {
                codes.push(error.code);
            }
        }
        assert_eq!(codes, [ErrorCode::STREAM_CLOSED]);
    }
}

#[test]
fn frames_of_closed_streams_and_unknown_frames_are_ignored() {
    let ended = headers(1, END_STREAM, &OK);
    let late = [
        data(1, END_STREAM, b"late"),
        headers(1, END_STREAM, &[("x", "y")]),
        number(RST_STREAM, 1, 8),
        number(WINDOW_UPDATE, 1, 0),
        frame(PRIORITY, 0, 1, &[0; 5]),
        // Nor is a stream that has not been opened created by its priority.
        frame(PRIORITY, 0, 99, &[0; 5]),
        frame(77, 0xff, 1, b"unknown"),
        settings(&[(0xffff, 1)]),
    ];
    let mut client = client();
    assert!(client.take(&[ended, late.concat()].concat(), &[]));
    assert_eq!(client.seen.len(), 3, "settings, head, settings: {:?}", client.seen);
}

/// RFC 9113, section 5.4.2.
#[test]
fn a_reset_is_not_answered_by_one() {
    let mut client = client();
    client.out.clear();
    assert!(client.take(&[headers(5, 0, &OK), number(RST_STREAM, 5, 2)].concat(), &[]));
    let reset = Seen::Reset { stream: 5, code: ErrorCode::INTERNAL_ERROR };
    assert_eq!(client.seen.last(), Some(&reset));
    assert_eq!(parse(&client.out), []);
}
