//! A client and a server that speak with each other: every message arrives as it was sent, whatever the windows, the sizes of
//! frames and the pieces in which bytes arrive, and whoever gives up on other messages meanwhile.

use std::collections::HashMap;

use millrace_http::h2::hpack::Indexing;
use millrace_http::h2::{Connection, ErrorCode, Event, PREFACE, Role, Settings, StreamKey};
use proptest::prelude::*;
use proptest::sample::select;

use super::frames::*;

/// Random numbers from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// A message: fields that change from one to the next, content, maybe trailers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    fields: Vec<(String, String)>,
    content: Vec<u8>,
    trailers: Option<Vec<(String, String)>>,
}

impl Message {
    fn random(number: u32, largest: usize, random: &mut Random) -> Self {
        let size = match random.below(4) {
            0 => 0,
            1 => random.below(100),
            _ => random.below(largest),
        };
        let content = (0..size).map(|at| (at as u32 ^ number) as u8).collect();
        let mut fields = vec![("x-number".to_owned(), number.to_string())];
        for name in 0..random.below(4) {
            let value = "v".repeat(random.below(50)) + &random.below(3).to_string();
            fields.push((format!("x-{name}"), value));
        }
        // More than a frame holds.
        if random.one_in(8) {
            fields.push(("x-long".into(), "\u{7f}".repeat(20_000)));
        }
        if random.one_in(2) {
            fields.push(("content-length".into(), size.to_string()));
        }
        let trailers = random.one_in(3).then(|| vec![("x-end".to_owned(), number.to_string())]);
        Self { fields, content, trailers }
    }
}

/// What a side sends on a stream, and how far it is.
#[derive(Debug, Default)]
struct Sending {
    message: Option<Message>,
    head_sent: bool,
    at: usize,
    is_done: bool,
}

/// A stream, as one side has it.
#[derive(Debug, Default)]
struct Stream {
    /// The number of its message in the record.
    number: u32,
    sending: Sending,
    received: Option<Message>,
    has_ended: bool,
    /// Bytes that have not been released.
    held: usize,
}

/// One side, with what it is to send.
struct Side {
    role: Role,
    connection: Connection<Stream>,
    /// What it has said and the other one has not read.
    out: Vec<u8>,
    /// Messages that it has received as a whole.
    record: HashMap<u32, Message>,
    resets: usize,
    /// All that it has said before.
    said: Vec<u8>,
    /// The connection's window for what it receives.
    window: i64,
}

impl Side {
    fn new(role: Role, local: Settings, window: u32) -> Self {
        let mut connection = Connection::new(role, local, window);
        let mut out = Vec::new();
        connection.begin(&mut out);
        let (record, resets, said) = (HashMap::new(), 0, Vec::new());
        Self { role, connection, out, record, resets, said, window: window.max(65_535).into() }
    }

    fn keys(&self) -> Vec<StreamKey> {
        std::iter::successors(self.connection.first(), |key| self.connection.after(*key)).collect()
    }

    /// Sends a head, trailers, or some content.
    fn send(&mut self, key: StreamKey, most: usize) {
        let stream = self.connection.get_mut(key).unwrap();
        let sending = &mut stream.sending;
        let Some(message) = sending.message.clone().filter(|_| !sending.is_done) else { return };
        let has_content = !message.content.is_empty();
        if !sending.head_sent {
            sending.head_sent = true;
            let ends = !has_content && message.trailers.is_none();
            sending.is_done = ends;
            let start: &[(&str, &str)] = match self.role {
                Role::Client => &[(":method", "POST"), (":scheme", "http"), (":path", "/")],
                Role::Server => &[(":status", "200")],
            };
            let own = message.fields.iter().map(|(name, value)| (&name[..], &value[..]));
            let fields: Vec<_> = start.iter().copied().chain(own).collect();
            return self.send_fields(key, &fields, ends);
        }
        let left = message.content.len() - sending.at;
        if left > 0 {
            let count = left.min(most);
            let ends = count == left && message.trailers.is_none();
            let piece = &message.content[sending.at..][..count];
            let taken = self.connection.send_data(key, piece, ends, &mut self.out);
            let sending = &mut self.connection.get_mut(key).unwrap().sending;
            sending.at += taken;
            sending.is_done = ends && taken == count;
        } else if let Some(trailers) = &message.trailers {
            sending.is_done = true;
            let fields: Vec<_> =
                trailers.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            self.send_fields(key, &fields, true);
        }
    }

    fn send_fields(&mut self, key: StreamKey, fields: &[(&str, &str)], ends: bool) {
        let mut block = Vec::new();
        let encoder = self.connection.encoder();
        encoder.begin(&mut block);
        for (name, value) in fields {
            encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::Always, &mut block);
        }
        self.connection.send_head(key, &block, ends, &mut self.out);
    }

    /// Takes bytes of the other side.
    fn take(&mut self, mut input: &[u8]) {
        loop {
            let event = self.connection.next(&mut input, &mut self.out);
            let Some(event) = event.unwrap_or_else(|error| panic!("{:?}: {error}", self.role))
            else {
                return;
            };
            match event {
                Event::Head { stream: key, ends, .. } => {
                    let fields = to_fields(self.connection.head());
                    let fields = fields.into_iter().filter(|(name, _)| !name.starts_with(':'));
                    let fields: Vec<_> = fields.collect();
                    let stream = self.connection.get_mut(key).unwrap();
                    stream.number = fields[0].1.parse().unwrap();
                    let message = Message { fields, content: Vec::new(), trailers: None };
                    (stream.received, stream.has_ended) = (Some(message), ends);
                }
                Event::Data { stream: key, bytes, ends, .. } => {
                    let stream = self.connection.get_mut(key).unwrap();
                    stream.received.as_mut().unwrap().content.extend_from_slice(bytes);
                    stream.held += bytes.len();
                    stream.has_ended = ends;
                }
                Event::Trailers { stream: key, .. } => {
                    let trailers = to_fields(self.connection.trailers());
                    let stream = self.connection.get_mut(key).unwrap();
                    stream.received.as_mut().unwrap().trailers = Some(trailers);
                    stream.has_ended = true;
                }
                Event::Reset { stream: key, .. } => {
                    self.resets += 1;
                    self.connection.remove(key, ErrorCode::CANCEL, &mut self.out);
                }
                Event::Malformed { stream, error } => panic!("{stream:?}: {error:?}"),
                Event::GoAway { .. } => panic!("nobody leaves"),
                Event::HeadTooLarge { .. } => panic!("heads are small"),
                Event::Interim { .. } | Event::Settings | Event::WindowOpened => {}
            }
            // Some are removed as soon as they can be, others later.
            self.settle();
        }
    }

    /// A message that has ended is kept. A server answers it, a client's stream ends.
    fn settle(&mut self) {
        for key in self.keys() {
            let stream = self.connection.get_mut(key).unwrap();
            if !stream.has_ended {
                continue;
            }
            if let Some(message) = stream.received.take() {
                let number = stream.number;
                assert_eq!(self.record.insert(number, message), None, "{number} came twice");
            }
            let has_answered = stream.sending.is_done;
            if self.role == Role::Client || has_answered {
                self.connection.remove(key, ErrorCode::CANCEL, &mut self.out);
            }
        }
    }

    fn release(&mut self, key: StreamKey, most: usize) {
        let stream = self.connection.get_mut(key).unwrap();
        let count = stream.held.min(most);
        stream.held -= count;
        self.connection.release(key, count, &mut self.out);
    }
}

fn to_fields(list: &millrace_http::h2::FieldList) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    list.iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// Both sides, and what was sent.
struct Conversation {
    random: Random,
    client: Side,
    server: Side,
    requests: HashMap<u32, Message>,
    responses: HashMap<u32, Message>,
    largest: usize,
    /// The server's settings.
    settings: Settings,
}

impl Conversation {
    /// Some bytes of one side's arrive at the other.
    fn deliver(&mut self, to_server: bool, most: usize) {
        let (from, to) = match to_server {
            true => (&mut self.client, &mut self.server),
            false => (&mut self.server, &mut self.client),
        };
        let count = from.out.len().min(most);
        let bytes: Vec<u8> = from.out.drain(..count).collect();
        from.said.extend_from_slice(&bytes);
        to.take(&bytes);
        if from.out.is_empty() {
            from.connection.progress();
        }
    }

    /// Opens a stream if the server allows one more. A client that has not read its settings does not know.
    fn open(&mut self) {
        let client = &mut self.client;
        let most = client.connection.peer().max_concurrent_streams;
        if most.is_some_and(|most| client.connection.open_streams() >= most as usize) {
            return;
        }
        let number = self.requests.len() as u32 + 1;
        let message = Message::random(number, self.largest, &mut self.random);
        self.requests.insert(number, message.clone());
        let sending = Sending { message: Some(message), ..Sending::default() };
        let stream = Stream { number, sending, ..Stream::default() };
        let key = client.connection.open(stream, false).unwrap();
        client.send(key, 0);
    }

    /// The server has an answer to each request whose head has come, or whose end has.
    fn answer(&mut self) {
        for key in self.server.keys() {
            let has_head = |stream: &Stream| stream.received.is_some() || stream.has_ended;
            let stream = self.server.connection.get_mut(key).unwrap();
            if stream.sending.message.is_none() && has_head(stream) && self.random.one_in(2) {
                let number = stream.number;
                let message = Message::random(number, self.largest, &mut self.random);
                self.responses.insert(number, message.clone());
                stream.sending.message = Some(message);
            }
        }
    }

    fn step(&mut self) {
        match self.random.below(12) {
            0 => self.open(),
            1 => self.answer(),
            2..6 => {
                let most = match self.random.below(3) {
                    0 => 1 + self.random.below(12),
                    1 => 1 + self.random.below(2000),
                    _ => usize::MAX,
                };
                let to_server = self.random.one_in(2);
                self.deliver(to_server, most);
            }
            _ => {
                let of_server = self.random.one_in(2);
                let most = 1 + self.random.below(30_000);
                let is_reset = self.random.one_in(60);
                let side = if of_server { &mut self.server } else { &mut self.client };
                let keys = side.keys();
                if keys.is_empty() {
                    return;
                }
                let key = keys[self.random.below(keys.len())];
                if is_reset {
                    side.resets += 1;
                    side.connection.remove(key, ErrorCode::CANCEL, &mut side.out);
                } else if self.random.one_in(2) {
                    side.send(key, most);
                } else {
                    side.release(key, most);
                }
                side.settle();
            }
        }
        self.lower();
    }

    /// The server lowers the window of its streams, or the table, for a while: it has given more than it says.
    fn lower(&mut self) {
        if self.random.one_in(200) {
            let window = self.settings.initial_window_size.min(self.random.below(20) as u32);
            let table = self.settings.header_table_size.min(50);
            let lower = [(INITIAL_WINDOW_SIZE, window), (HEADER_TABLE_SIZE, table)];
            self.server.out.extend(settings(&lower[self.random.below(2)..]));
        }
    }

    /// All is sent, read and released, until nothing happens any more.
    fn drain(&mut self) {
        let window = self.settings.initial_window_size;
        self.server.out.extend(settings(&[(INITIAL_WINDOW_SIZE, window)]));
        let mut is_quiet = 0;
        while is_quiet < 3 {
            is_quiet += 1;
            self.answer();
            for to_server in [true, false] {
                let side = if to_server { &mut self.client } else { &mut self.server };
                for key in side.keys() {
                    side.release(key, usize::MAX);
                    side.send(key, usize::MAX);
                }
                side.settle();
                if !side.out.is_empty() {
                    is_quiet = 0;
                }
                self.deliver(to_server, usize::MAX);
            }
            let has_unanswered = |key: &StreamKey| {
                self.server.connection.get(*key).is_some_and(|it| it.sending.message.is_none())
            };
            if self.server.keys().iter().any(has_unanswered) {
                is_quiet = 0;
            }
        }
    }
}

/// What is left of the window of the connection for what `sender` sends.
fn window_left(sender: &Side, receiver: &Side) -> i64 {
    let preface = if receiver.role == Role::Client { PREFACE.len() } else { 0 };
    let opened = numbers(&receiver.said[preface..], WINDOW_UPDATE).into_iter();
    let opened = opened.filter(|(stream, _)| *stream == 0).map(|(_, count)| i64::from(count));
    let preface = PREFACE.len() - preface;
    let sent = parse(&sender.said[preface..]).into_iter().filter(|frame| frame.0 == DATA);
    65_535 + opened.sum::<i64>() - sent.map(|(.., payload)| payload.len() as i64).sum::<i64>()
}

fn settings_of_a_side() -> impl Strategy<Value = (Settings, u32)> {
    let window = select(vec![1u32, 10, 1000, 65_535, 100_000]);
    let sizes = (select(vec![16_384u32, 20_000]), select(vec![0u32, 64, 4096, 10_000]));
    let streams = select(vec![None, Some(1u32), Some(3)]);
    (window, sizes, streams, select(vec![0u32, 70_000])).prop_map(
        |(initial_window_size, (max_frame_size, header_table_size), streams, window)| {
            let settings = Settings {
                initial_window_size,
                max_frame_size,
                header_table_size,
                max_concurrent_streams: streams,
                ..Settings::default()
            };
            (settings, window)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_message_arrives_as_it_was_sent(
        seed in any::<u64>(),
        (of_client, client_window) in settings_of_a_side(),
        (of_server, server_window) in settings_of_a_side(),
    ) {
        let smallest = of_client.initial_window_size.min(of_server.initial_window_size);
        let mut conversation = Conversation {
            random: Random(seed),
            client: Side::new(Role::Client, of_client, client_window),
            server: Side::new(Role::Server, of_server, server_window),
            requests: HashMap::new(),
            responses: HashMap::new(),
            // As many windows, so that a small one does not take for ever.
            largest: (smallest as usize * 500).min(60_000),
            settings: of_server,
        };
        for _ in 0..1500 {
            conversation.step();
        }
        conversation.drain();
        let Conversation { client, server, requests, responses, .. } = &conversation;
        prop_assert_eq!(client.connection.open_streams(), 0);
        prop_assert_eq!(server.connection.open_streams(), 0);
        for (number, message) in &server.record {
            prop_assert_eq!(Some(message), requests.get(number));
        }
        for (number, message) in &client.record {
            prop_assert_eq!(Some(message), responses.get(number));
        }
        // Those that are missing were reset by one side or the other.
        let missing = requests.len() - client.record.len();
        prop_assert!(missing <= client.resets, "{missing} missing, {} reset", client.resets);
        // Nothing is lost of the connections' windows, whatever was given up, and nothing is given twice.
        for (sender, receiver) in [(client, server), (server, client)] {
            let left = window_left(sender, receiver);
            prop_assert!(left <= receiver.window && left >= receiver.window / 2, "{left}");
        }
    }
}
