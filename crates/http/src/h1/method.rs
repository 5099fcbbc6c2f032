//! The methods that a received request may have.

macro_rules! methods {
    ($($variant:ident = $id:literal $name:literal,)+) => {
        /// A method that every llhttp since 8.1 takes for HTTP. Its number is llhttp's, which is what
        /// Node's parser gives to JavaScript. CONNECT, PRI, SOURCE and RTSP's speak other protocols;
        /// QUERY came later.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Method {
            $(#[doc = $name] $variant = $id,)+
        }

        impl Method {
            /// Every one, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name as it stands in a request line.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

methods! {
    Delete = 0 "DELETE",
    Get = 1 "GET",
    Head = 2 "HEAD",
    Post = 3 "POST",
    Put = 4 "PUT",
    Options = 6 "OPTIONS",
    Trace = 7 "TRACE",
    Copy = 8 "COPY",
    Lock = 9 "LOCK",
    Mkcol = 10 "MKCOL",
    Move = 11 "MOVE",
    Propfind = 12 "PROPFIND",
    Proppatch = 13 "PROPPATCH",
    Search = 14 "SEARCH",
    Unlock = 15 "UNLOCK",
    Bind = 16 "BIND",
    Rebind = 17 "REBIND",
    Unbind = 18 "UNBIND",
    Acl = 19 "ACL",
    Report = 20 "REPORT",
    Mkactivity = 21 "MKACTIVITY",
    Checkout = 22 "CHECKOUT",
    Merge = 23 "MERGE",
    MSearch = 24 "M-SEARCH",
    Notify = 25 "NOTIFY",
    Subscribe = 26 "SUBSCRIBE",
    Unsubscribe = 27 "UNSUBSCRIBE",
    Patch = 28 "PATCH",
    Purge = 29 "PURGE",
    Mkcalendar = 30 "MKCALENDAR",
    Link = 31 "LINK",
    Unlink = 32 "UNLINK",
}

impl Method {
    /// The number that llhttp gives it.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The method that `line` begins with, a space behind it.
    pub(crate) fn at_start_of(line: &[u8]) -> Option<Self> {
        match line {
            [b'G', b'E', b'T', b' ', ..] => Some(Self::Get),
            [b'P', b'O', b'S', b'T', b' ', ..] => Some(Self::Post),
            _ => Self::ALL.iter().copied().find(|method| {
                line.strip_prefix(method.as_str().as_bytes())
                    .is_some_and(|rest| rest.first() == Some(&b' '))
            }),
        }
    }

    /// `start` may become a method, or CONNECT, with a space behind it.
    pub(crate) fn may_start_with(start: &[u8]) -> bool {
        let mut names = Self::ALL.iter().map(|method| method.as_str()).chain(["CONNECT"]);
        names.any(|name| name.as_bytes().starts_with(start))
    }
}
