//! Values inside a JSON text, by JSON pointer (RFC 6901).

use std::borrow::Cow;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A parsed pointer.
#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    tokens: Vec<String>,
}

impl Pointer {
    /// Parses a pointer; `None` if it neither is empty nor begins with `/`, or has a `~` without `0` or `1`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self { tokens: Vec::new() });
        }
        let tokens = text.strip_prefix('/')?.split('/').map(unescape).collect::<Option<_>>()?;
        Some(Self { tokens })
    }

    /// Returns the value in a JSON text; `None` if the pointer finds nothing.
    pub(crate) fn find<'json>(
        &self,
        json: &'json [u8],
    ) -> Result<Option<&'json RawValue>, serde_json::Error> {
        // A byte order mark is not part of the text (RFC 8259, section 8.1).
        let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let found = Rest(&self.tokens).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(found)
    }
}

/// `~1` is `/`, `~0` is `~` (section 4).
fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (first, rest) = part.split_at_checked(1)?;
        text.push(match first {
            "0" => '~',
            "1" => '/',
            _ => return None,
        });
        text.push_str(rest);
    }
    Some(text)
}

/// The tokens that are still to be followed.
struct Rest<'a>(&'a [String]);

impl<'de> DeserializeSeed<'de> for Rest<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0.split_first() {
            None => <&RawValue>::deserialize(deserializer).map(Some),
            Some((token, rest)) => deserializer.deserialize_any(Descent { token, rest }),
        }
    }
}

/// Finds a token in the value, and follows the rest.
struct Descent<'a> {
    token: &'a str,
    rest: &'a [String],
}

impl<'de> Visitor<'de> for Descent<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a JSON value")
    }

    // Of members with the same name the last one counts, as in JavaScript.
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = members.next_key::<Name<'de>>()? {
            if name.0 == self.token {
                found = members.next_value_seed(Rest(self.rest))?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let wanted = parse_index(self.token);
        let mut found = None;
        for index in 0_usize.. {
            if wanted == Some(index) {
                match elements.next_element_seed(Rest(self.rest))? {
                    Some(element) => found = element,
                    None => break,
                }
            } else if elements.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A member's name, borrowed where it has no escapes.
struct Name<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

/// An index has no sign and no leading zeros (section 4).
fn parse_index(token: &str) -> Option<usize> {
    let is_plain = token.bytes().all(|byte| byte.is_ascii_digit());
    let is_index = is_plain && (token == "0" || !token.starts_with('0'));
    if is_index { token.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6901, section 5, and arrays.
    const EXAMPLE: &[u8] =
        br#"{"foo": ["bar", {"baz": [1, 2.50]}], "": 0, "a/b": 1, "c%d": 2, "e^f": 3,
        "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8, "twice": 1, "twice": {"x": null}}"#;

    #[test]
    fn the_examples_of_the_standard_are_found() {
        let cases = [
            ("/foo/0", "\"bar\""),
            ("/foo/1/baz/1", "2.50"),
            ("/", "0"),
            ("/a~1b", "1"),
            ("/c%d", "2"),
            ("/e^f", "3"),
            ("/g|h", "4"),
            ("/i\\j", "5"),
            ("/k\"l", "6"),
            ("/ ", "7"),
            ("/m~0n", "8"),
            ("/twice/x", "null"),
        ];
        for (pointer, value) in cases {
            let found = Pointer::parse(pointer).unwrap().find(EXAMPLE).unwrap();
            assert_eq!(found.map(RawValue::get), Some(value), "{pointer}");
        }
        let whole = Pointer::parse("").unwrap().find(b" [1] ").unwrap();
        assert_eq!(whole.map(RawValue::get), Some("[1]"));
        let marked = Pointer::parse("/a").unwrap().find(b"\xef\xbb\xbf{\"a\":1}").unwrap();
        assert_eq!(marked.map(RawValue::get), Some("1"));
    }

    #[test]
    fn nothing_is_found_where_nothing_is() {
        for pointer in ["/bar", "/foo/2", "/foo/00", "/foo/-", "/foo/x", "/foo/0/0", "/a~1b/c"] {
            let found = Pointer::parse(pointer).unwrap().find(EXAMPLE).unwrap();
            assert!(found.is_none(), "{pointer}");
        }
    }

    #[test]
    fn what_is_no_json_or_no_pointer_is_refused() {
        for json in ["", "{", "[1] 2", "nul", "{\"a\":1,}"] {
            assert!(Pointer::parse("/a").unwrap().find(json.as_bytes()).is_err(), "{json}");
        }
        for pointer in ["a", "/~", "/~2", "/a~"] {
            assert!(Pointer::parse(pointer).is_none(), "{pointer}");
        }
    }
}
