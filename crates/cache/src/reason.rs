//! Why a request is not answered from the cache, and why a response is not stored.

macro_rules! reasons {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name in statistics.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

reasons! {
    /// Why a request goes to the application as if there were no cache. Its response is not stored.
    Pass {
        /// The cache is off.
        Off = "off",
        /// Neither GET nor HEAD, or a field names another method.
        Method = "method",
        /// The request has a body.
        Body = "body",
        /// `Range` or `If-Range`: no parts are stored, and none are cut.
        Range = "range",
        /// `Expect`.
        Expect = "expect",
        /// `Upgrade`.
        Upgrade = "upgrade",
        /// `If-Match` or `If-Unmodified-Since`, which are the origin's to judge (RFC 9111, section 4.3.2).
        Precondition = "precondition",
        /// `Host` is missing, given twice or not in the one form that keys have.
        Authority = "authority",
        /// The request-target is neither in origin-form nor an absolute URI of this scheme and `Host`.
        Target = "target",
        /// `Forwarded` is in a form that parsers may take apart differently.
        Forwarded = "forwarded",
        /// The client has shown a certificate.
        Certificate = "certificate",
        /// NTLM or Negotiate has authenticated the connection.
        Authenticated = "authenticated",
        /// The TLS handshake named another server than `Host`.
        ServerName = "server-name",
        /// The request says `no-store`, and the cache obeys directives of requests.
        NoStore = "no-store",
        /// A HEAD whose GET is not stored.
        Head = "head",
        /// The last response to this could not be stored ("hit for miss"), or takes long.
        Uncacheable = "uncacheable",
        /// The request has waited the maximum number of times.
        Waited = "waited",
        /// The maximum number of requests wait already.
        Waiters = "waiters",
        /// Too many variants of the resource are awaited.
        Variants = "variants",
        /// Responses to earlier requests on its connection are outstanding, so that the beginning of its own is uncertain.
        Pipelined = "pipelined",
    }
}

reasons! {
    /// Why a response is not stored.
    NotStored {
        /// It does not say how long it is fresh, and only those that do are stored.
        NotAsked = "not-asked",
        /// Its status is never stored, or only where the response says how long it is fresh.
        Status = "status",
        /// `Cache-Control: no-store`.
        NoStore = "no-store",
        /// `Cache-Control: private`, with field names or without.
        Private = "private",
        /// `Cache-Control: no-cache`, with field names or without.
        NoCache = "no-cache",
        /// It sets a cookie.
        SetCookie = "set-cookie",
        /// `Vary: *`, or a `Vary` that is no list of names.
        Vary = "vary",
        /// The request has `Authorization` or another field that says who asks, and the response does not permit it (RFC 9111, section 3.5).
        Authorization = "authorization",
        /// The request has `Cookie`, and the response does not say that it is for everybody.
        Cookie = "cookie",
        /// It is stale on arrival, or stale by the time it is complete.
        Stale = "stale",
        /// Of a type whose responses have no end, as server-sent events, and it does not say how long it is fresh.
        Endless = "endless",
        /// It has trailers, or announces some.
        Trailers = "trailers",
        /// A transfer coding other than chunked.
        Coding = "coding",
        /// Larger than one entry may be.
        TooLarge = "too-large",
        /// The responses that are being received leave no room.
        NoRoom = "no-room",
        /// The head is malformed.
        Malformed = "malformed",
        /// The body is not as long as the head says, or there was no response.
        Incomplete = "incomplete",
        /// The client went away, and with it the request.
        Aborted = "aborted",
        /// The application failed to answer.
        Failed = "failed",
        /// The key was invalidated in the meantime, or a later response was stored.
        Invalidated = "invalidated",
        /// There is no such fill: it has ended before.
        Unknown = "unknown",
    }
}
