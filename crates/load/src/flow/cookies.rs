//! The cookies of a user (RFC 6265).

use cookie_store::CookieStore;
use url::Url;

use super::response::Response;

/// A user's cookies; takes memory only once one is set.
#[derive(Debug, Default)]
pub(super) struct Cookies(Option<Box<CookieStore>>);

impl Cookies {
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    /// Keeps the cookies that a response to a request for this target sets; `server` is the server's root.
    pub(super) fn keep(&mut self, response: &Response, server: &Url, target: &str) {
        let mut url = None;
        for field in response.values("set-cookie") {
            let url = url.get_or_insert_with(|| at(server, target));
            // One that is malformed, or of another host, is ignored (section 5.2).
            let _ = self.0.get_or_insert_default().parse(&field, url);
        }
    }

    /// Returns the value of the field `Cookie` for a request; `None` if there are none for it.
    pub(super) fn field(&self, server: &Url, target: &str) -> Option<String> {
        let store = self.0.as_deref()?;
        let mut field = String::new();
        // Those with longer paths come first (section 5.4); the store does not know which is older.
        let mut cookies = store.matches(&at(server, target));
        let path =
            |cookie: &cookie_store::Cookie<'_>| std::cmp::Reverse(cookie.path.as_ref().len());
        cookies.sort_by(|one, other| (path(one), one.name()).cmp(&(path(other), other.name())));
        for (name, value) in cookies.iter().map(|cookie| cookie.name_value()) {
            if !field.is_empty() {
                field.push_str("; ");
            }
            field.extend([name, "=", value]);
        }
        (!field.is_empty()).then_some(field)
    }
}

/// The URL of a target; only its path matters to cookies.
fn at(server: &Url, target: &str) -> Url {
    let mut url = server.clone();
    url.set_path(target.split('?').next().unwrap_or("/"));
    url
}

/// Adds a field `Cookie` to a request that begins at `start`, or to the one that it has (section 5.4: at most one).
pub(super) fn add_cookies(request: &mut Vec<u8>, start: usize, cookies: &str) {
    let mut at = start;
    let mut first_end = None;
    loop {
        let Some(length) = request[at..].iter().position(|byte| *byte == b'\n') else { return };
        let line = &request[at..at + length];
        if line == b"\r" {
            break;
        }
        if line.get(..7).is_some_and(|name| name.eq_ignore_ascii_case(b"cookie:")) {
            let end = at + length - 1;
            request.splice(end..end, format!("; {cookies}").into_bytes());
            return;
        }
        at += length + 1;
        first_end.get_or_insert(at);
    }
    let at = first_end.unwrap_or(at);
    request.splice(at..at, format!("Cookie: {cookies}\r\n").into_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(cookies: &[&str]) -> Response {
        let fields: String = cookies.iter().map(|it| format!("Set-Cookie: {it}\r\n")).collect();
        let text = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n");
        Response::parse(text.as_bytes(), false, false, 100).unwrap()
    }

    fn sorted(field: Option<String>) -> Vec<String> {
        let field = field.unwrap_or_default();
        let mut cookies: Vec<_> = field.split("; ").map(str::to_owned).collect();
        cookies.sort();
        cookies
    }

    #[test]
    fn cookies_go_where_they_belong() {
        let (server, other) =
            (Url::parse("http://a.example:81/").unwrap(), Url::parse("http://b.example/").unwrap());
        let mut cookies = Cookies::default();
        assert_eq!(cookies.field(&server, "/"), None);
        let set = [
            "sid=1; Path=/",
            "deep=2; Path=/x/y",
            "s=3; Secure; Path=/",
            "sid2=\"q\"; HttpOnly",
            "wide=4; Domain=example",
            "no=5; Domain=c.example",
            "=",
            "gone=6; Max-Age=0",
        ];
        cookies.keep(&response(&set), &server, "/x/y?z=/w");
        assert_eq!(sorted(cookies.field(&server, "/")), ["sid=1"]);
        let field = cookies.field(&server, "/x/y/z?a").unwrap();
        assert!(field.starts_with("deep=2; ") && field.ends_with("; sid=1"), "{field}");
        let all = sorted(Some(field));
        assert_eq!(all, ["deep=2", "sid2=\"q\"", "sid=1", "wide=4"]);
        assert_eq!(sorted(cookies.field(&other, "/x")), ["wide=4"]);
        cookies.keep(&response(&["sid=7; Path=/", "deep=; Path=/x/y; Max-Age=0"]), &server, "/");
        let left = sorted(cookies.field(&server, "/x/y/"));
        assert_eq!(left, ["sid2=\"q\"", "sid=7", "wide=4"]);
        cookies.clear();
        assert_eq!(cookies.field(&server, "/"), None);
    }

    #[test]
    fn a_request_has_one_field_with_all_cookies() {
        let add = |request: &str| {
            let mut bytes = request.as_bytes().to_vec();
            add_cookies(&mut bytes, 2, "a=1; b=2");
            String::from_utf8(bytes).unwrap()
        };
        let plain = add("..GET / HTTP/1.1\r\nHost: x\r\n\r\ncookie: body\r\n");
        assert_eq!(
            plain,
            "..GET / HTTP/1.1\r\nCookie: a=1; b=2\r\nHost: x\r\n\r\ncookie: body\r\n"
        );
        let own = add("..GET / HTTP/1.1\r\ncookie: c=3\r\nHost: x\r\n\r\n");
        assert_eq!(own, "..GET / HTTP/1.1\r\ncookie: c=3; a=1; b=2\r\nHost: x\r\n\r\n");
    }
}
