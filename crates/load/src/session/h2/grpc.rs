//! gRPC over HTTP/2: the status of a call, and the messages in its response.

use millrace_http::h2::FieldList;

/// The status of a success.
pub(super) const OK: u16 = 0;
/// The statuses of gRPC are 0 to 16.
const MAX_STATUS: u16 = 16;
/// For what names no status, or one that does not exist.
const UNKNOWN: u16 = 2;

/// Length of what comes before each message: a flag and the length.
const PREFIX: usize = 5;

/// Whether a head is that of a response of gRPC: others, as of a proxy in between, have the status of HTTP alone.
pub(super) fn is_response(head: &FieldList) -> bool {
    let has_type =
        find(head, b"content-type").is_some_and(|it| it.starts_with(b"application/grpc"));
    has_type || find(head, b"grpc-status").is_some()
}

/// How a call ends whose response is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// With this status, of gRPC or of HTTP.
    Status(u16),
    /// The response breaks the protocol: why.
    Broken(&'static str),
}

/// Returns how a call ends. `last` are the trailers, or the head of a response without content; `None`: there are none.
/// The status of HTTP counts where the response has none of gRPC, as the mapping of gRPC's documentation has it.
pub(super) fn end_call(http_status: u16, last: Option<&FieldList>, messages: &Messages) -> CallEnd {
    match last.and_then(|fields| find(fields, b"grpc-status")) {
        Some(_) if messages.is_within_one() => {
            CallEnd::Broken("the response of gRPC ended within a message")
        }
        Some(value) => CallEnd::Status(read_status(value)),
        None if http_status != 200 => CallEnd::Status(http_status),
        None => {
            CallEnd::Broken("the response of gRPC has no grpc-status: it ended without trailers")
        }
    }
}

/// Reads a status; one that does not exist is unknown.
fn read_status(value: &[u8]) -> u16 {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.filter(|status| *status <= MAX_STATUS).unwrap_or(UNKNOWN)
}

fn find<'f>(fields: &'f FieldList, name: &[u8]) -> Option<&'f [u8]> {
    fields.iter().find(|(it, _)| *it == name).map(|(_, value)| value)
}

/// Finds the messages in the content of a response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Messages {
    prefix: [u8; PREFIX],
    /// Number of bytes of the prefix that have come.
    prefix_length: usize,
    /// Bytes of the present message that are still to come.
    left: usize,
}

impl Messages {
    /// Whether a message has begun and is not complete.
    fn is_within_one(&self) -> bool {
        self.prefix_length > 0
    }

    /// Takes content; returns how many messages it completes.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> u64 {
        let mut complete = 0;
        while !bytes.is_empty() {
            if self.prefix_length < PREFIX {
                let (taken, rest) = bytes.split_at(bytes.len().min(PREFIX - self.prefix_length));
                self.prefix[self.prefix_length..][..taken.len()].copy_from_slice(taken);
                self.prefix_length += taken.len();
                bytes = rest;
                if self.prefix_length < PREFIX {
                    break;
                }
                let [_, length @ ..] = self.prefix;
                self.left = u32::from_be_bytes(length) as usize;
            }
            let taken = bytes.len().min(self.left);
            self.left -= taken;
            bytes = &bytes[taken..];
            if self.left == 0 {
                complete += 1;
                self.prefix_length = 0;
            }
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_however_they_are_split() {
        let bytes = [&[0, 0, 0, 0, 3, 1, 2, 3][..], &[0, 0, 0, 0, 0], &[1, 0, 0, 0, 1, 9]].concat();
        for size in 1..=bytes.len() {
            let mut messages = Messages::default();
            let count: u64 = bytes.chunks(size).map(|part| messages.take(part)).sum();
            assert_eq!(count, 3, "in parts of {size}");
        }
    }

    fn fields(list: &[(&str, &str)]) -> FieldList {
        let mut fields = FieldList::default();
        for (name, value) in list {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    #[test]
    fn a_status_that_does_not_exist_is_unknown() {
        for (value, status) in [("0", 0), ("16", 16), ("17", 2), ("x", 2), ("", 2)] {
            let fields = fields(&[("grpc-status", value)]);
            let end = end_call(200, Some(&fields), &Messages::default());
            assert_eq!(end, CallEnd::Status(status), "{value}");
        }
    }

    #[test]
    fn the_status_of_http_counts_where_there_is_none_of_grpc() {
        let [with, without] = [fields(&[("grpc-status", "14")]), fields(&[("x", "1")])];
        let whole = Messages::default();
        assert_eq!(end_call(503, Some(&with), &whole), CallEnd::Status(14));
        assert_eq!(end_call(503, Some(&without), &whole), CallEnd::Status(503));
        assert_eq!(end_call(503, None, &whole), CallEnd::Status(503));
        assert!(matches!(end_call(200, Some(&without), &whole), CallEnd::Broken(_)));
        assert!(matches!(end_call(200, None, &whole), CallEnd::Broken(_)));
    }

    #[test]
    fn a_response_that_ends_within_a_message_is_broken() {
        let ok = fields(&[("grpc-status", "0")]);
        let bytes = [0, 0, 0, 0, 2, 7, 7];
        for length in 0..=bytes.len() {
            let mut messages = Messages::default();
            messages.take(&bytes[..length]);
            let end = end_call(200, Some(&ok), &messages);
            let is_whole = length == 0 || length == bytes.len();
            assert_eq!(end == CallEnd::Status(OK), is_whole, "{length} bytes: {end:?}");
        }
    }

    #[test]
    fn the_type_of_the_content_says_whether_a_response_is_one_of_grpc() {
        for (value, expected) in
            [("application/grpc", true), ("application/grpc+proto", true), ("text/html", false)]
        {
            let mut head = FieldList::default();
            head.push(b"content-type", value.as_bytes());
            assert_eq!(is_response(&head), expected, "{value}");
        }
        assert!(!is_response(&FieldList::default()));
        assert!(is_response(&fields(&[("grpc-status", "14")])));
    }
}
