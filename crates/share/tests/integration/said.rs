//! What one who shares a port may say, as arbitrary bytes, and what has to hold for whatever they are.

use millrace_share::prefix::{UrlPrefix, host_and_path};

use super::message::{Message, read};

/// Takes messages as a link does, and as text what they hold and they are.
pub(crate) fn run(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some((message, length))) = read(rest) {
        // What was understood is said again, and understood as the same.
        let again = message.to_bytes().unwrap();
        assert_eq!(read(&again), Ok(Some((message, again.len()))));
        // More is known of no message that is not there yet.
        assert_eq!(read(&again[..again.len() - 1]), Ok(None));
        let (Message::Added { prefix } | Message::Removed { prefix }, _) =
            read(rest).unwrap().unwrap()
        else {
            rest = &rest[length..];
            continue;
        };
        check(&prefix);
        rest = &rest[length..];
    }
    for text in bytes.split(|&byte| byte == 0).filter_map(|text| str::from_utf8(text).ok()) {
        check(text);
    }
}

/// A prefix is what it says, and has the requests that are for just that.
fn check(text: &str) {
    let Ok(prefix) = UrlPrefix::parse(text) else { return };
    let said = prefix.to_string();
    assert_eq!(UrlPrefix::parse(&said).as_ref(), Ok(&prefix));
    assert!(!prefix.precedes(&prefix));
    let slash = said.match_indices('/').nth(2).map_or(0, |(at, _)| at);
    let (authority, path) = (&said[said.find("//").unwrap() + 2..slash], &said[slash..]);
    let (host, path) = host_and_path(path.as_bytes(), authority.as_bytes());
    assert!(prefix.covers(host, path), "{said}");
}
