//! Clients and callers that do anything in any order; `program` says what has to hold. The fuzz target `stack` runs the
//! same with programs that libFuzzer finds.

use proptest::prelude::*;

use crate::program;

/// Settings: heads up to so many bytes, squared and times four; fields; requests at once, from one; habits.
const USUAL: [u8; 4] = [64, 255, 7, 0];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens(settings: [u8; 4], orders in prop::collection::vec(order(), 0..120)) {
        program::run(&[&settings[..], &orders.concat()].concat());
    }
}

/// An order with what it takes; text is of the kind that gets far.
fn order() -> impl Strategy<Value = Vec<u8>> {
    let text = prop::sample::select(vec![
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        "0\r\nA: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "Connection: close\r\n\r\n",
        "Connection: upgrade\r\nUpgrade: x\r\n\r\n",
        "A: some value of some length, that many of make a long head\r\n",
        "\r\n",
        "G",
        "what is this\r\n",
        ";a=b",
    ]);
    let client = 0..4u8;
    prop_oneof![
        (0..2u8).prop_map(|order| vec![order]),
        (client.clone(), text.clone()).prop_map(|(client, text)| {
            [&[2, client, text.len() as u8], text.as_bytes()].concat()
        }),
        (client.clone(), 0..=255u8, text).prop_map(|(client, times, text)| {
            [&[6, client, times, text.len() as u8], text.as_bytes()].concat()
        }),
        Just(vec![10]),
        (client.clone(), 7..10u8).prop_map(|(client, order)| vec![order, client]),
        (14..17u8, 0..6u8).prop_map(|(order, id)| if order == 15 {
            vec![order, id]
        } else {
            vec![order]
        }),
        (17..24u8, client, 0..=255u8).prop_map(|(call, client, number)| vec![call, client, number]),
    ]
}

#[test]
fn a_head_longer_than_one_read_is_given_away() {
    let line = b"A: 0123456789012345678901234567890123456789012345678901234567\r\n";
    let begin = b"GET / HTTP/1.1\r\n";
    let length = |bytes: &[u8]| bytes.len() as u8;
    // 255 x 4 lines of 63 bytes.
    let long = [&[6, 0, 255, length(line)], &line[..]].concat();
    let orders = [&[1, 2, 0, length(begin)], &begin[..], &long, &long, &[10]].concat();
    let settings = [255, 255, 7, 0];
    program::run(&[&settings[..], &orders].concat());
}

#[test]
fn the_number_of_a_connection_that_was_given_away_and_has_ended_serves_another() {
    let text = b"what is this\r\n";
    let send = [&[2, 0, text.len() as u8], &text[..]].concat();
    let served = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let next = [&[1, 2, 1, served.len() as u8], &served[..]].concat();
    // Told as unsure and as closed in one batch, and given away at the first of these.
    for order in [8, 7] {
        let orders = [&[1][..], &[17, 0, 9], &send, &[order, 0, 10], &next].concat();
        let gives_away = [USUAL[0], USUAL[1], USUAL[2], 2];
        program::run(&[&gives_away[..], &orders].concat());
    }
}

#[test]
fn an_end_behind_more_than_a_batch_holds_waits() {
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = b"1\r\na\r\n";
    let orders = [
        &[1, 2, 0, head.len() as u8],
        &head[..],
        &[6, 0, 20, chunk.len() as u8],
        &chunk[..],
        &[7, 0, 10],
    ];
    program::run(&[&USUAL[..], &orders.concat()].concat());
}
