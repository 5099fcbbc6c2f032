//! Requests as header blocks. What is known of a request is its text, as HTTP/1.1 has it.

use millrace_http::h2::hpack::{Encoder, Indexing};
use millrace_http::h2::is_connection_field;

/// Requests of the mix whose blocks a connection keeps: the first ones.
const MAX_KEPT: usize = 64;

/// The blocks of requests that are the same each time. Such a block is a few bytes once its fields are in the table, and
/// stays the same while the table does.
#[derive(Debug, Default)]
pub(super) struct RequestBlocks {
    kept: Vec<Option<KeptBlock>>,
    name: Vec<u8>,
}

#[derive(Debug)]
struct KeptBlock {
    generation: u64,
    bytes: Box<[u8]>,
    /// Where the body begins in the text.
    body: usize,
}

/// A request that consists of a head and a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestText<'a> {
    /// As HTTP/1.1 has it.
    pub(super) text: &'a [u8],
    pub(super) scheme: &'static str,
    /// Whether its fields come again.
    pub(super) is_repeated: bool,
}

impl RequestBlocks {
    /// Forgets what a connection knew.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }

    /// Encodes the request of this index in the mix, whose text is the same each time, to `block`. Returns where its body
    /// begins in the text.
    pub(super) fn encode_repeated(
        &mut self,
        index: usize,
        request: RequestText<'_>,
        encoder: &mut Encoder,
        block: &mut Vec<u8>,
    ) -> usize {
        let kept = self.kept.get(index).and_then(Option::as_ref);
        if let Some(kept) = kept
            && kept.generation == encoder.generation()
        {
            block.clear();
            block.extend_from_slice(&kept.bytes);
            return kept.body;
        }
        let before = encoder.generation();
        let body = self.encode(request, encoder, block);
        if before == encoder.generation() && index < MAX_KEPT {
            if self.kept.len() <= index {
                self.kept.resize_with(index + 1, || None);
            }
            let bytes = block[..].into();
            self.kept[index] = Some(KeptBlock { generation: before, bytes, body });
        }
        body
    }

    /// Encodes a request to `block`. Returns where its body begins in the text.
    pub(super) fn encode(
        &mut self,
        request: RequestText<'_>,
        encoder: &mut Encoder,
        block: &mut Vec<u8>,
    ) -> usize {
        let RequestText { text, scheme, is_repeated } = request;
        block.clear();
        encoder.begin(block);
        let mut lines = Lines { text, at: 0 };
        let (method, target) = split_request_line(lines.next().unwrap_or_default());
        let once = if is_repeated { Indexing::IfRoom } else { Indexing::Without };
        encoder.encode(b":method", method, Indexing::IfRoom, block);
        encoder.encode(b":scheme", scheme.as_bytes(), Indexing::IfRoom, block);
        encoder.encode(b":path", target, once, block);
        let mut host = Lines { text, at: lines.at };
        if let Some((_, value)) = host.fields().find(|(name, _)| name.eq_ignore_ascii_case(b"host"))
        {
            encoder.encode(b":authority", value, Indexing::IfRoom, block);
        }
        for (name, value) in lines.fields() {
            self.name.clear();
            self.name.extend(name.iter().map(u8::to_ascii_lowercase));
            let indexing = match &self.name[..] {
                b"host" => continue,
                b"te" if !value.eq_ignore_ascii_case(b"trailers") => continue,
                name if is_connection_field(name) => continue,
                b"content-length" | b"traceparent" => once,
                _ => Indexing::IfRoom,
            };
            encoder.encode(&self.name, value, indexing, block);
        }
        lines.at
    }
}

/// Returns method and target.
fn split_request_line(line: &[u8]) -> (&[u8], &[u8]) {
    let mut words = line.split(|byte| *byte == b' ');
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// The lines of a head; behind the empty line that ends it comes the body.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.at..)?;
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        self.at += end + 2;
        Some(&rest[..end])
    }

    /// Names and values up to the empty line.
    fn fields(&mut self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        std::iter::from_fn(|| {
            let line = self.next().filter(|line| !line.is_empty())?;
            let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
            let value = line.get(colon + 1..).unwrap_or_default();
            Some((&line[..colon], value.trim_ascii()))
        })
    }
}

#[cfg(test)]
mod tests {
    use millrace_http::h2::FieldList;
    use millrace_http::h2::hpack::Decoder;

    use super::*;

    const TEXT: &[u8] =
        b"POST /a?b HTTP/1.1\r\nAccept: */*\r\nHost: a.example:1\r\nConnection: close\r\n\
        TE: gzip\r\nX-Key: Value \r\nContent-Length: 2\r\n\r\nhi";

    fn decode(decoder: &mut Decoder, block: &[u8]) -> Vec<String> {
        let mut list = FieldList::default();
        decoder.decode(block, &mut list, usize::MAX).expect("it is a block");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        list.iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect()
    }

    #[test]
    fn a_request_is_the_same_with_and_without_a_kept_block() {
        let request = RequestText { text: TEXT, scheme: "https", is_repeated: true };
        let expected = [
            ":method=POST",
            ":scheme=https",
            ":path=/a?b",
            ":authority=a.example:1",
            "accept=*/*",
            "x-key=Value",
            "content-length=2",
        ];
        let (mut blocks, mut encoder) = (RequestBlocks::default(), Encoder::new());
        let (mut decoder, mut block) = (Decoder::new(4096), Vec::new());
        let mut lengths = Vec::new();
        for _ in 0..4 {
            let body = blocks.encode_repeated(2, request, &mut encoder, &mut block);
            assert_eq!(&TEXT[body..], b"hi");
            assert_eq!(decode(&mut decoder, &block), expected);
            lengths.push(block.len());
        }
        assert!(lengths[0] > 30 && lengths[1] == 7 && lengths[3] == 7, "{lengths:?}");
        assert!(blocks.kept[2].is_some());
        // A smaller table makes the kept block invalid.
        encoder.set_max_table_size(0);
        for _ in 0..2 {
            blocks.encode_repeated(2, request, &mut encoder, &mut block);
            assert_eq!(decode(&mut decoder, &block), expected);
        }
        assert!(block.len() > 30);
    }
}
