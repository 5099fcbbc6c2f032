//! What a client sends: messages of many kinds, and what has to be told of each.

use std::fmt::Write as _;
use std::ops::Range;

use fastrand::Rng;
use millrace_stack::batch::FallbackReason;

/// What scripts are made of.
#[derive(Clone, Debug)]
pub(crate) struct Taste {
    /// Heads from here on are left to the host's parser.
    pub(crate) head_limit: usize,
    /// Of ten messages, so many ask for what may be in the cache: one of so many resources.
    pub(crate) cached: u8,
    pub(crate) resources: u8,
    /// Each server has resources of its own.
    pub(crate) first_resource: u8,
    /// Of a hundred messages, so many are unusual.
    pub(crate) unusual: u8,
    /// Bytes of a body at most.
    pub(crate) body: usize,
}

/// Where somebody else has to judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unusual {
    /// From this byte of the script on.
    pub(crate) at: usize,
    pub(crate) reason: FallbackReason,
}

#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Where it begins in the script, empty lines included.
    pub(crate) start: usize,
    pub(crate) head: Range<usize>,
    pub(crate) end: usize,
    pub(crate) method: &'static str,
    /// A resource that may be cached.
    pub(crate) resource: Option<u8>,
    pub(crate) keep_alive: bool,
    pub(crate) has_body: bool,
    pub(crate) expects: bool,
    pub(crate) body: Vec<u8>,
    /// Where in the script the bytes of the body are.
    pub(crate) places: Vec<Range<usize>>,
    pub(crate) trailers: Vec<u8>,
    pub(crate) unusual: Option<Unusual>,
}

impl Message {
    /// A response to it has no body.
    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// The cache or an overloaded server may answer it.
    pub(crate) fn is_simple(&self) -> bool {
        !self.has_body && self.unusual.is_none()
    }

    /// Bytes of the body within the first `sent` of the script.
    pub(crate) fn body_within(&self, sent: usize) -> usize {
        let within = |place: &Range<usize>| sent.clamp(place.start, place.end) - place.start;
        self.places.iter().map(within).sum()
    }
}

/// A client's bytes, and the messages in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// Whose it is, if `Host` says so.
    pub(crate) client: Option<usize>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) messages: Vec<Message>,
}

/// Bytes that differ from their neighbors and from those of other messages.
pub(crate) fn filling(number: usize, length: usize) -> impl Iterator<Item = u8> {
    (0..length).map(move |at| b'a' + ((at * 7 + number * 11) % 26) as u8)
}

impl Script {
    /// The value of `Host`.
    fn host(&self, number: usize) -> String {
        self.client.map_or_else(|| "a".to_owned(), |client| format!("{client}.{number}"))
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, chance: &mut Rng, taste: &Taste) {
        let start = self.bytes.len();
        if chance.u8(..20) == 0 {
            self.bytes.extend_from_slice(b"\r\n");
        }
        let begin = self.bytes.len();
        let number = self.messages.len();
        let is_unusual = chance.u8(..100) < taste.unusual;
        let mut message = Message {
            start,
            head: begin..begin,
            end: begin,
            method: "GET",
            resource: None,
            keep_alive: true,
            has_body: false,
            expects: false,
            body: Vec::new(),
            places: Vec::new(),
            trailers: Vec::new(),
            unusual: None,
        };
        match chance.u8(..10) {
            _ if is_unusual => self.add_unusual(chance, taste, number, &mut message),
            few if few < taste.cached => {
                let delete = chance.u8(..10) == 0;
                let safe = *chance.choice(&["GET", "GET", "GET", "HEAD"]).unwrap();
                message.method = if delete { "DELETE" } else { safe };
                message.resource = Some(taste.first_resource + chance.u8(..taste.resources));
                self.add_head(chance, number, &mut message, "");
            }
            0..6 => {
                message.method = *chance.choice(&["GET", "GET", "HEAD", "OPTIONS"]).unwrap();
                self.add_head(chance, number, &mut message, "");
            }
            6..8 => {
                let length = chance.usize(..=taste.body);
                message.method = "POST";
                message.has_body = length > 0;
                message.expects = chance.u8(..8) == 0;
                self.add_head(
                    chance,
                    number,
                    &mut message,
                    &format!("Content-Length: {length}\r\n"),
                );
                self.add_data(number, length, &mut message);
            }
            _ => {
                (message.method, message.has_body) = ("PUT", true);
                self.add_head(chance, number, &mut message, "Transfer-Encoding: chunked\r\n");
                self.add_chunks(chance, taste, number, &mut message);
                self.add_last_chunk(chance, &mut message);
            }
        }
        message.end = self.bytes.len();
        if message.head.end - message.start >= taste.head_limit {
            message.unusual = Some(Unusual { at: message.start, reason: FallbackReason::Head });
        }
        self.messages.push(message);
    }

    fn add_head(&mut self, chance: &mut Rng, number: usize, message: &mut Message, fields: &str) {
        let target = match message.resource {
            Some(resource) => format!("/cached/{resource}"),
            None => format!("/{number}?a=b"),
        };
        let mut minor = 1;
        let mut connection = "";
        match chance.u8(..24) {
            0 => (connection, message.keep_alive) = ("Connection: close\r\n", false),
            1 if !fields.contains("chunked") => {
                minor = 0;
                message.keep_alive = chance.bool();
                if message.keep_alive {
                    connection = "Connection: keep-alive\r\n";
                }
            }
            _ => {}
        }
        let expect = if message.expects { "Expect: 100-continue\r\n" } else { "" };
        let mut head = format!(
            "{} {target} HTTP/1.{minor}\r\nHost: {}\r\nN: {number}\r\n{connection}{expect}{fields}",
            message.method,
            self.host(number)
        );
        if chance.u8(..8) == 0 {
            let longest = if chance.u8(..8) == 0 { 3000 } else { 100 };
            let text: String = filling(number, chance.usize(..longest)).map(char::from).collect();
            // A string takes all that is written.
            write!(head, "A: {text}\r\n").ok();
        }
        self.bytes.extend_from_slice(head.as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
        message.head.end = self.bytes.len();
    }

    fn add_data(&mut self, number: usize, length: usize, message: &mut Message) {
        let start = self.bytes.len();
        self.bytes.extend(filling(number + message.body.len(), length));
        message.body.extend_from_slice(&self.bytes[start..]);
        message.places.push(start..self.bytes.len());
    }

    fn add_chunks(
        &mut self,
        chance: &mut Rng,
        taste: &Taste,
        number: usize,
        message: &mut Message,
    ) {
        for _ in 0..chance.u8(..6) {
            let length = chance.usize(1..=taste.body.max(1));
            let extension = if chance.u8(..8) == 0 { ";a=b" } else { "" };
            self.bytes.extend_from_slice(format!("{length:x}{extension}\r\n").as_bytes());
            self.add_data(number, length, message);
            self.bytes.extend_from_slice(b"\r\n");
        }
    }

    fn add_last_chunk(&mut self, chance: &mut Rng, message: &mut Message) {
        self.bytes.extend_from_slice(b"0\r\n");
        if chance.u8(..4) == 0 {
            message.trailers = b"T: after all\r\n".to_vec();
            self.bytes.extend_from_slice(&message.trailers);
        }
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn add_unusual(
        &mut self,
        chance: &mut Rng,
        taste: &Taste,
        number: usize,
        message: &mut Message,
    ) {
        let heads = [
            "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n folded: x\r\n\r\n",
            "what is this\r\n\r\n",
        ];
        match chance.u8(..3) {
            0 => {
                self.bytes.extend_from_slice(chance.choice(&heads).unwrap().as_bytes());
                message.head.end = self.bytes.len();
                let at = message.start;
                message.unusual = Some(Unusual { at, reason: FallbackReason::Head });
            }
            1 => {
                let head = format!(
                    "GET /up HTTP/1.1\r\nHost: {}\r\nN: {number}\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
                    self.host(number)
                );
                self.bytes.extend_from_slice(head.as_bytes());
                message.head.end = self.bytes.len();
                let at = message.start;
                message.unusual = Some(Unusual { at, reason: FallbackReason::Upgrade });
            }
            _ => {
                (message.method, message.has_body) = ("PUT", true);
                self.add_head(chance, number, message, "Transfer-Encoding: chunked\r\n");
                self.add_chunks(chance, taste, number, message);
                let at = self.bytes.len();
                message.unusual = Some(Unusual { at, reason: FallbackReason::Body });
                // A quoted extension.
                self.bytes.extend_from_slice(b"5;a=\"b\"\r\nhello\r\n0\r\n\r\n");
            }
        }
    }
}
