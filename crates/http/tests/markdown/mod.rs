//! Cases written in Markdown: a heading of the second level, lines `Key: value`, and blocks.

/// A case as its text.
pub(crate) struct Case<'a> {
    pub(crate) name: &'a str,
    text: &'a str,
}

pub(crate) fn cases(text: &str) -> impl Iterator<Item = Case<'_>> {
    text.split("\n## ")
        .skip(1)
        .map(|text| Case { name: text.lines().next().unwrap_or_default(), text })
}

impl<'a> Case<'a> {
    pub(crate) fn line(&self, key: &str) -> Option<&'a str> {
        self.text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
    }

    pub(crate) fn block(&self, kind: &str) -> &'a str {
        let block = self.text.split_once(&format!("```{kind}\n"));
        let end = block.and_then(|(_, rest)| rest.split_once("\n```"));
        end.unwrap_or_else(|| panic!("{}: no {kind} block", self.name)).0
    }

    /// The bytes of the `http` block: line breaks mean nothing; `\r \n \t \\`, `\xHH`, and `\*N(text)`
    /// for a text N times.
    pub(crate) fn http(&self) -> Vec<u8> {
        let text = self.block("http").replace('\n', "");
        let mut parts = text.split('\\');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        while let Some(part) = parts.next() {
            let rest = match part.as_bytes().first() {
                Some(b'r') => push(&mut bytes, b'\r', &part[1..]),
                Some(b'n') => push(&mut bytes, b'\n', &part[1..]),
                Some(b't') => push(&mut bytes, b'\t', &part[1..]),
                Some(b'x') => {
                    let byte = u8::from_str_radix(&part[1..3], 16).unwrap();
                    push(&mut bytes, byte, &part[3..])
                }
                Some(b'*') => {
                    let (count, rest) = part[1..].split_once('(').unwrap();
                    let (repeated, rest) = rest.split_once(')').unwrap();
                    bytes.extend(repeated.repeat(count.parse().unwrap()).bytes());
                    rest
                }
                // The text after an escaped backslash is a part of its own.
                None => push(&mut bytes, b'\\', parts.next().unwrap_or_default()),
                other => panic!("{}: unknown escape {other:?}", self.name),
            };
            bytes.extend_from_slice(rest.as_bytes());
        }
        bytes
    }
}

fn push<'a>(bytes: &mut Vec<u8>, byte: u8, rest: &'a str) -> &'a str {
    bytes.push(byte);
    rest
}
