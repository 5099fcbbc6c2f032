//! Flow control: what this side lets the peer send, and what it may send itself.

use millrace_http::h2::{ErrorCode, PREFACE, Role, Settings};

use super::endpoint::{Endpoint, Seen};
use super::frames::*;

const OK: [(&str, &str); 1] = [(":status", "200")];

fn with_window(initial_window_size: u32) -> Settings {
    Settings { initial_window_size, ..Settings::default() }
}

/// WINDOW_UPDATE frames that the client has written: streams and increments.
fn updates(client: &mut Endpoint) -> Vec<(u32, u32)> {
    let updates = numbers(&client.out, WINDOW_UPDATE);
    client.out.clear();
    updates
}

/// A client with so many streams, which has read the server's settings and the acknowledgement of its own.
fn client(streams: u32, window: u32) -> Endpoint {
    let mut client = Endpoint::client(streams, with_window(window), 0);
    let begin = [settings(&[]), frame(SETTINGS, ACK, 0, &[])].concat();
    assert!(client.take(&begin, &[]));
    client.out.clear();
    client
}

/// Something else happens, so that the endpoint releases what it holds.
fn pause() -> Vec<u8> {
    settings(&[])
}

#[test]
fn a_window_is_opened_when_half_of_it_has_been_released() {
    let mut client = client(1, 100);
    let half = [headers(1, 0, &OK), data(1, 0, &[0; 50]), pause()].concat();
    assert!(client.take(&half, &[]));
    assert_eq!(updates(&mut client), []);
    assert!(client.take(&[data(1, 0, &[0; 1]), pause()].concat(), &[]));
    assert_eq!(updates(&mut client), [(1, 51)]);
}

/// The padding counts, and its length; nobody has to release them.
#[test]
fn padding_is_released_by_itself() {
    let mut client = client(1, 100);
    let padding = frame(DATA, PADDED, 1, &padded(b"", 99));
    assert!(client.take(&[headers(1, 0, &OK), padding].concat(), &[]));
    assert_eq!(updates(&mut client), [(1, 100)]);
}

/// A server that has not read the settings goes by 65,535 bytes, and one that has goes by what they say. Both go on.
#[test]
fn a_stream_that_begins_before_the_settings_are_acknowledged_does_not_stand_still() {
    let mut client = Endpoint::client(1, with_window(100), 0);
    client.out.clear();
    let whole_window = [settings(&[]), headers(1, 0, &OK), data(1, 0, &[0; 100]), pause()];
    assert!(client.take(&whole_window.concat(), &[]));
    assert_eq!(updates(&mut client), [(1, 100)]);
    let more = [&data(1, 0, &[0; 10_000])[..], &pause()].concat();
    assert!(client.take(&more, &[]));
    assert_eq!(client.failure(), None);
    assert!(!client.seen.iter().any(|seen| matches!(seen, Seen::Malformed { .. })));
}

#[test]
fn a_stream_whose_message_has_ended_gets_no_window() {
    let mut client = client(1, 100);
    let whole = [headers(1, 0, &OK), data(1, END_STREAM, &[0; 100])].concat();
    assert!(client.take(&whole, &[]));
    assert_eq!(updates(&mut client), []);
}

/// Half of the connection's window and more comes for a stream that ends without being read.
#[test]
fn what_a_stream_holds_is_released_to_the_connection_when_it_ends() {
    let cancelled = headers(1, 0, &[(":status", "200"), ("x-cancel", "")]);
    let reset = number(RST_STREAM, 1, ErrorCode::CANCEL.0);
    let malformed = headers(1, 0, &OK);
    let content = data(1, 0, &[0; 16_000]).repeat(3);
    let half = content.len() as u32 - 27;
    for (begin, end) in [(&cancelled, &reset), (&malformed, &reset), (&malformed, &malformed)] {
        let mut client = client(1, 65_535);
        assert!(client.take(&[&begin[..], &content, end].concat(), &[]));
        let opened = updates(&mut client).into_iter().filter(|(stream, _)| *stream == 0);
        assert_eq!(opened.map(|(_, increment)| increment).sum::<u32>(), half);
    }
}

/// All but the first byte of a frame comes after its stream has been given up.
#[test]
fn the_rest_of_a_frame_whose_stream_ends_is_released() {
    let mut client = client(1, 65_535);
    let content = data(1, 0, &[0; 16_000]).repeat(3);
    let bytes = [&headers(1, 0, &OK)[..], &content].concat();
    let (begin, rest) = bytes.split_at(bytes.len() - 15_999);
    assert!(client.take(begin, &[]));
    let key = client.connection.first().unwrap();
    client.connection.remove(key, ErrorCode::CANCEL, &mut client.out);
    assert!(client.take(&[rest, &pause()].concat(), &[]));
    assert_eq!(numbers(&client.out, RST_STREAM), [(1, ErrorCode::CANCEL.0)]);
    let opened = updates(&mut client).into_iter().filter(|(stream, _)| *stream == 0);
    assert_eq!(opened.map(|(_, increment)| increment).sum::<u32>(), 48_000);
}

#[test]
fn more_is_never_released_than_has_come() {
    let mut client = client(2, 100);
    assert!(client.take(&[headers(1, 0, &OK), data(1, 0, &[0; 60])].concat(), &[]));
    let key = client.connection.first().unwrap();
    client.connection.release(key, 1000, &mut client.out);
    client.connection.release(key, 1000, &mut client.out);
    assert_eq!(updates(&mut client), [(1, 60)]);
}

/// What this side may send: the smaller one of both windows, which settings change.
#[test]
fn content_is_sent_within_both_windows() {
    let mut client = client(0, 100);
    let mut out = Vec::new();
    let key = client.open(false, false);
    let body = vec![1; 100_000];
    let mut send = |client: &mut Endpoint, at: usize| {
        out.clear();
        let taken = client.connection.send_data(key, &body[at..], true, &mut out);
        let frames: usize = parse(&out).iter().map(|(.., payload)| payload.len()).sum();
        assert_eq!(frames, taken);
        taken
    };
    assert_eq!(send(&mut client, 0), 65_535);
    assert_eq!(send(&mut client, 65_535), 0);
    // The connection's window opens, the stream's does not.
    assert!(client.take(&number(WINDOW_UPDATE, 0, 20_000), &[]));
    assert_eq!(send(&mut client, 65_535), 0);
    // It is 10 below zero, then 20 above.
    assert!(client.take(&settings(&[(INITIAL_WINDOW_SIZE, 65_525)]), &[]));
    assert_eq!(send(&mut client, 65_535), 0);
    assert!(client.take(&number(WINDOW_UPDATE, 1, 30), &[]));
    assert_eq!(send(&mut client, 65_535), 20);
    assert_eq!(send(&mut client, 65_555), 0);
    // The stream's opens by far more than the connection's.
    assert!(client.take(&settings(&[(INITIAL_WINDOW_SIZE, 1_000_000)]), &[]));
    assert_eq!(send(&mut client, 65_555), 19_980);
    assert!(client.take(&number(WINDOW_UPDATE, 0, 1_000_000), &[]));
    assert_eq!(send(&mut client, 85_535), 14_465);
}

#[test]
fn a_body_is_cut_into_frames_of_the_size_that_the_peer_takes() {
    let most = [(MAX_FRAME_SIZE, 16_385), (INITIAL_WINDOW_SIZE, 40_000)];
    let mut client = client(0, 100);
    assert!(client.take(&settings(&most), &[]));
    let key = client.open(false, false);
    client.out.clear();
    let body = vec![1; 32_771];
    assert_eq!(client.connection.send_data(key, &body, true, &mut client.out), 32_771);
    let frames: Vec<_> = parse(&client.out)
        .into_iter()
        .map(|(_, flags, _, payload)| (flags, payload.len()))
        .collect();
    assert_eq!(frames, [(0, 16_385), (0, 16_385), (END_STREAM, 1)]);
}

/// What a server lets a client send that has not read its settings.
#[test]
fn a_server_takes_what_was_sent_before_its_settings_arrived() {
    let local = Settings { header_table_size: 0, ..with_window(0) };
    let mut server = Endpoint::new(Role::Server, local, 0);
    // With incremental indexing: `x: y` is in the dynamic table.
    let post = [0x83, 0x86, 0x84, 0x40, 1, b'x', 1, b'y'];
    let again = [0x83, 0x86, 0x84, 0xbe];
    let bytes = [
        PREFACE,
        &settings(&[]),
        &frame(HEADERS, END_HEADERS, 1, &post),
        &data(1, END_STREAM, &[0; 10_000]),
        &frame(HEADERS, END_HEADERS | END_STREAM, 3, &again),
    ];
    assert!(server.take(&bytes.concat(), &[]), "{:?}", server.seen);
    let heads = server.seen.iter().filter_map(|seen| match seen {
        Seen::Head { fields, .. } => Some(fields.last().unwrap().1.as_slice()),
        _ => None,
    });
    assert_eq!(heads.collect::<Vec<_>>(), [b"y", b"y"]);
    // From the acknowledgement on, the table has to be empty.
    let acknowledged = [frame(SETTINGS, ACK, 0, &[]), frame(HEADERS, 5, 5, &again)].concat();
    assert!(!server.take(&acknowledged, &[]));
    assert_eq!(server.failure(), Some(ErrorCode::COMPRESSION_ERROR));
}
