//! One side of a connection, driven by the bytes of its peer: what it sees of them, and what it says to them.

use millrace_http::h2::{
    Connection, ErrorCode, Event, FieldList, FieldSection, Role, Settings, StreamKey,
};

/// Fields with their names.
pub(crate) type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// What happens on a connection, with the numbers of streams. Pieces of content that follow one another are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Settings(Settings),
    Interim { stream: u32, fields: Fields },
    Head { stream: u32, section: FieldSection, fields: Fields, length: usize, ends: bool },
    Data { stream: u32, bytes: Vec<u8>, ends: bool },
    Trailers { stream: u32, fields: Fields, length: usize },
    Reset { stream: u32, code: ErrorCode },
    HeadTooLarge { stream: u32 },
    Malformed { stream: u32, code: ErrorCode, reason: &'static str },
    WindowOpened,
    GoAway { last_stream: u32, code: ErrorCode },
    Failed { code: ErrorCode, reason: &'static str },
}

/// The block of `:method: GET`, `:scheme: http`, `:path: /`.
pub(crate) const GET: &[u8] = &[0x82, 0x86, 0x84];
/// The block of `:status: 200`.
const OK: &[u8] = &[0x88];

/// A side of a connection. A client has no streams at first; a server answers each message with an empty one. A stream whose
/// head has the field `x-cancel` is given up; content is released when something else happens.
pub(crate) struct Endpoint {
    pub(crate) connection: Connection<()>,
    pub(crate) seen: Vec<Seen>,
    /// What it has said.
    pub(crate) out: Vec<u8>,
    role: Role,
    /// Content that has not been released.
    held: Option<(StreamKey, usize)>,
}

impl Endpoint {
    pub(crate) fn new(role: Role, local: Settings, window: u32) -> Self {
        let mut connection = Connection::new(role, local, window);
        let mut out = Vec::new();
        connection.begin(&mut out);
        Self { connection, seen: Vec::new(), out, role, held: None }
    }

    /// A client with so many streams, whose requests have the numbers 1, 3, 5 ... Number 3 is a HEAD, and the message of
    /// number 5 does not end.
    pub(crate) fn client(streams: u32, local: Settings, window: u32) -> Self {
        let mut client = Self::new(Role::Client, local, window);
        for stream in 0..streams {
            client.open(stream == 1, stream != 2);
        }
        client
    }

    /// Opens a stream with a GET, or a HEAD.
    pub(crate) fn open(&mut self, is_head: bool, ends: bool) -> StreamKey {
        let key = self.connection.open((), is_head).unwrap();
        self.connection.send_head(key, GET, ends, &mut self.out);
        key
    }

    /// Takes bytes in pieces of these sizes, the rest at once. `false`: the connection has failed.
    pub(crate) fn take(&mut self, bytes: &[u8], pieces: &[usize]) -> bool {
        let mut rest = bytes;
        let sizes = pieces.iter().copied().chain(std::iter::once(usize::MAX));
        for size in sizes {
            let (mut input, after) = rest.split_at(size.min(rest.len()));
            rest = after;
            loop {
                match self.connection.next(&mut input, &mut self.out) {
                    Ok(Some(event)) => self.on_event(event),
                    Ok(None) => break,
                    Err(error) => {
                        self.seen.push(Seen::Failed { code: error.code, reason: error.reason });
                        self.connection.go_away(error.code, &mut self.out);
                        return false;
                    }
                }
            }
            assert!(input.is_empty(), "bytes are left over");
            if rest.is_empty() {
                break;
            }
        }
        true
    }

    fn on_event(&mut self, event: Event<'_>) {
        // A borrow of the connection would be in the way.
        let number = |connection: &Connection<()>, key| connection.number(key).expect("it is open");
        match event {
            Event::Data { stream: key, bytes, ends, .. } => {
                let stream = number(&self.connection, key);
                match self.seen.last_mut() {
                    Some(Seen::Data { stream: last, bytes: before, ends: has_ended })
                        if *last == stream && !*has_ended =>
                    {
                        before.extend_from_slice(bytes);
                        *has_ended = ends;
                    }
                    _ => {
                        self.release();
                        self.seen.push(Seen::Data { stream, bytes: bytes.to_vec(), ends });
                    }
                }
                let before = self.held.map_or(0, |(_, count)| count);
                self.held = Some((key, before + bytes.len()));
                if ends {
                    self.end(key);
                }
                return;
            }
            _ => self.release(),
        }
        match event {
            Event::Data { .. } => {}
            Event::Settings => self.seen.push(Seen::Settings(*self.connection.peer())),
            Event::WindowOpened => self.seen.push(Seen::WindowOpened),
            Event::GoAway { last_stream, code } => {
                self.seen.push(Seen::GoAway { last_stream, code });
            }
            Event::Interim { stream: key, .. } => {
                let fields = to_fields(self.connection.head());
                self.seen.push(Seen::Interim { stream: number(&self.connection, key), fields });
            }
            Event::Head { stream: key, section, length, ends } => {
                let fields = to_fields(self.connection.head());
                let is_cancelled = fields.iter().any(|(name, _)| name == b"x-cancel");
                let stream = number(&self.connection, key);
                self.seen.push(Seen::Head { stream, section, fields, length, ends });
                if is_cancelled {
                    self.connection.remove(key, ErrorCode::CANCEL, &mut self.out);
                } else if ends {
                    self.end(key);
                }
            }
            Event::HeadTooLarge { stream: key } => {
                self.seen.push(Seen::HeadTooLarge { stream: number(&self.connection, key) });
                self.connection.remove(key, ErrorCode::CANCEL, &mut self.out);
            }
            Event::Trailers { stream: key, length } => {
                let fields = to_fields(self.connection.trailers());
                let stream = number(&self.connection, key);
                self.seen.push(Seen::Trailers { stream, fields, length });
                self.end(key);
            }
            Event::Reset { stream: key, code } => {
                self.seen.push(Seen::Reset { stream: number(&self.connection, key), code });
                self.connection.remove(key, ErrorCode::CANCEL, &mut self.out);
            }
            Event::Malformed { stream: key, error } => {
                let (stream, code) = (number(&self.connection, key), error.code);
                self.seen.push(Seen::Malformed { stream, code, reason: error.reason });
                self.connection.remove(key, ErrorCode::CANCEL, &mut self.out);
            }
        }
    }

    /// The peer's message has ended.
    fn end(&mut self, key: StreamKey) {
        self.release();
        if self.role == Role::Server {
            self.connection.send_head(key, OK, true, &mut self.out);
        }
        self.connection.remove(key, ErrorCode::CANCEL, &mut self.out);
    }

    fn release(&mut self) {
        if let Some((key, count)) = self.held.take() {
            self.connection.release(key, count, &mut self.out);
        }
    }

    /// The code with which the connection has failed.
    pub(crate) fn failure(&self) -> Option<ErrorCode> {
        match self.seen.last() {
            Some(Seen::Failed { code, .. }) => Some(*code),
            _ => None,
        }
    }
}

fn to_fields(list: &FieldList) -> Fields {
    list.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}
