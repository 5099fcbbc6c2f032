//! Values of variables.

use serde_json::value::RawValue;

/// The value of a variable. A JSON string is text; other JSON values keep their JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(Box<str>),
    /// A number, a boolean, `null`, an array or an object.
    Json(Box<str>),
}

impl Value {
    pub(crate) fn from_text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// Reads a JSON value; `None` if the text is none.
    pub(crate) fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str::<&RawValue>(json).ok().map(Self::from_raw)
    }

    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => Self::Text(text.into()),
            Err(_) => Self::Json(raw.get().into()),
        }
    }

    /// Returns it as part of a text: strings as they are, other values as JSON.
    pub(crate) fn as_text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Json(text) => text,
        }
    }

    /// Returns it as a JSON text.
    pub(crate) fn to_json(&self) -> String {
        let mut json = Vec::new();
        self.push_json(&mut json);
        String::from_utf8_lossy(&json).into_owned()
    }

    /// Appends it as a JSON value.
    pub(crate) fn push_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Json(json) => out.extend_from_slice(json.as_bytes()),
            Self::Text(text) => {
                out.push(b'"');
                push_json_escaped(text, out);
                out.push(b'"');
            }
        }
    }
}

/// Appends a text as part of a JSON string (RFC 8259, section 7).
pub(crate) fn push_json_escaped(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            ..0x20 => {
                out.extend(b"\\u00");
                out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: &Value) -> String {
        let mut out = Vec::new();
        value.push_json(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_keep_their_types() {
        for text in ["1.50", "true", "null", "[1, \"a\"]", "{\"a\":{}}"] {
            let value = Value::from_json(text).unwrap();
            assert_eq!((value.as_text(), &json(&value)[..]), (text, text));
        }
        let text = Value::from_json(r#" "a\u00e9\"\\\n\u0001" "#).unwrap();
        assert_eq!(text, Value::from_text("aé\"\\\n\u{1}"));
        assert_eq!(json(&text), r#""aé\"\\\n\u0001""#);
        assert_eq!(Value::from_json("{"), None);
    }
}
