/// The body of every response.
pub enum Body {
    /// So many bytes of text.
    Bytes(usize),
    /// A text of JSON.
    Json(String),
}

impl Body {
    pub fn media_type(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "text/plain",
            Self::Json(_) => "application/json",
        }
    }

    pub fn content(&self) -> Vec<u8> {
        match self {
            Self::Bytes(count) => vec![b'x'; *count],
            Self::Json(text) => text.clone().into_bytes(),
        }
    }
}
