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
    find(head, b"content-type").is_some_and(|value| value.starts_with(b"application/grpc"))
}

/// Returns the status that trailers, or a head without content, give a call; `None`: there are none.
pub(super) fn find_status(fields: Option<&FieldList>) -> u16 {
    let value = fields.and_then(|fields| find(fields, b"grpc-status"));
    let number = value.and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
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

    #[test]
    fn a_status_that_does_not_exist_is_unknown() {
        for (value, status) in [("0", 0), ("16", 16), ("17", 2), ("x", 2), ("", 2)] {
            let mut fields = FieldList::default();
            fields.push(b"grpc-status", value.as_bytes());
            assert_eq!(find_status(Some(&fields)), status, "{value}");
        }
        assert_eq!(find_status(Some(&FieldList::default())), UNKNOWN);
        assert_eq!(find_status(None), UNKNOWN);
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
    }
}
