//! Stand-in until the real one lands.
/// Limits.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    /// Bytes.
    pub bytes: usize,
    /// Fields.
    pub fields: usize,
}
/// Framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFraming {
    /// No body.
    None,
    /// Bytes.
    Length(u64),
    /// Chunked.
    Chunked,
}
/// Method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method(pub u8);
/// Outcome.
#[derive(Clone, Copy, Debug)]
pub enum Parsed {
    /// More.
    Partial,
    /// Done.
    Complete(ReceivedHead),
    /// Ask.
    Unsure,
}
/// Head.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedHead {
    /// s
    pub start: usize,
    /// l
    pub length: usize,
    /// m
    pub method: Method,
    /// t
    pub target: (usize, usize),
    /// v
    pub minor: u8,
    /// f
    pub framing: RequestFraming,
    /// k
    pub keep_alive: bool,
    /// u
    pub upgrade: bool,
    /// e
    pub expect: bool,
    /// h
    pub host: bool,
    /// n
    pub fields: usize,
}
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
impl ReceivedHead {
    /// Parses.
    pub fn parse(input: &[u8], _scanned: &mut usize, limits: &HeadLimits) -> Parsed {
        let Some(end) = memchr::memmem::find(input, b"\r\n\r\n") else {
            return if input.len() > limits.bytes { Parsed::Unsure } else { Parsed::Partial };
        };
        let Ok(text) = std::str::from_utf8(&input[..end]) else { return Parsed::Unsure };
        let mut lines = text.split("\r\n");
        let Some(first) = lines.next() else { return Parsed::Unsure };
        let parts: Vec<&str> = first.split(' ').collect();
        if parts.len() != 3 { return Parsed::Unsure }
        let Some(method) = METHODS.iter().position(|m| *m == parts[0]) else { return Parsed::Unsure };
        let minor = match parts[2] { "HTTP/1.1" => 1, "HTTP/1.0" => 0, _ => return Parsed::Unsure };
        let mut head = Self { start: 0, length: end + 4, method: Method(method as u8), target: (parts[0].len() + 1, parts[0].len() + 1 + parts[1].len()), minor,
            framing: RequestFraming::None, keep_alive: minor == 1, upgrade: false, expect: false, host: false, fields: 0 };
        let mut up = (false, false);
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { return Parsed::Unsure };
            head.fields += 1;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "host" => head.host = true,
                "expect" => head.expect = true,
                "upgrade" => up.0 = true,
                "connection" => {
                    let v = value.to_ascii_lowercase();
                    if v.contains("close") { head.keep_alive = false }
                    if v.contains("keep-alive") { head.keep_alive = true }
                    if v.contains("upgrade") { up.1 = true }
                }
                "content-length" => match value.parse() { Ok(0) => {}, Ok(n) => head.framing = RequestFraming::Length(n), Err(_) => return Parsed::Unsure },
                "transfer-encoding" => if value.eq_ignore_ascii_case("chunked") { head.framing = RequestFraming::Chunked } else { return Parsed::Unsure },
                _ => {}
            }
        }
        head.upgrade = up.0 && up.1;
        Parsed::Complete(head)
    }
}
