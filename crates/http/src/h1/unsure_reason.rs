//! Why the parser of requests leaves a request to Node's own parser.

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $id:literal,)+) => {
        /// The first thing in a request that is invalid, or that not all of llhttp 8.1 to 9.4 read alike.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum UnsureReason {
            $($(#[$doc])* $variant,)+
        }

        impl UnsureReason {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its id in statistics.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $id,)+
                }
            }
        }
    };
}

reasons! {
    /// A line that ends with LF alone.
    BareLf = "bare-lf",
    /// A CR without LF.
    BareCr = "bare-cr",
    /// No [`Method`](super::Method) and not CONNECT, such as QUERY, or bytes of another protocol.
    Method = "method",
    /// CONNECT.
    Connect = "connect",
    /// Not the origin-form, nor the asterisk-form of OPTIONS (RFC 9112, section 3.2).
    TargetForm = "target-form",
    /// A byte in the request-target that is not visible ASCII.
    TargetByte = "target-byte",
    /// Something else than HTTP/1.0 or HTTP/1.1 between target and line end, or nothing.
    Version = "version",
    /// A line that begins with white space (RFC 9112, section 5.2).
    LineFolding = "line-folding",
    /// A field line without a name, without a colon, or with a byte in the name that is not of a token.
    FieldName = "field-name",
    /// A control character in a value, a tab in `Connection`, or an empty `Upgrade`.
    FieldValue = "field-value",
    /// More fields than [`HeadLimits::fields`](super::HeadLimits::fields).
    FieldCount = "field-count",
    /// No end of the head within [`HeadLimits::bytes`](super::HeadLimits::bytes).
    HeadSize = "head-size",
    /// A `Content-Length` that is not a number of at most 15 digits.
    ContentLength = "content-length",
    /// A transfer coding other than `chunked`, or any in HTTP/1.0.
    TransferEncoding = "transfer-encoding",
    /// More than one field that frames the body: `Content-Length`, `Transfer-Encoding`.
    MultipleFraming = "multiple-framing",
    /// More than one `Host`.
    MultipleHost = "multiple-host",
    /// `Proxy-Connection`, which is as good as `Connection` to llhttp.
    ProxyConnection = "proxy-connection",
    /// A chunk's size that is not a hexadecimal number of at most 16 digits, up to 2^53, with CRLF or an extension behind it.
    ChunkSize = "chunk-size",
    /// A chunk extension that is not `;name` or `;name=value` with tokens, or more than 512 bytes of extensions in a body.
    ChunkExtension = "chunk-extension",
    /// Something else than CRLF behind a chunk's data.
    ChunkEnd = "chunk-end",
    /// A field in a trailer section that is special to the parser, such as `Content-Length`.
    TrailerField = "trailer-field",
    /// No end of the trailer section within 16 KiB or [`HeadLimits::bytes`](super::HeadLimits::bytes).
    TrailerSize = "trailer-size",
}
