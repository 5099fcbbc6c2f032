//! Redirections of a session: what was sent and received, as fields, and the next request, as bytes.

use millrace_http::h1::ResponseHead;

use super::receiving::is_line_ends;
use crate::metrics::kept;
use crate::redirect::{RedirectRule, parse_request, render_request};

/// Maximum bytes of a response that are kept until its end to find `Location` in its head.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// Follows the redirections of the present request of one connection.
#[derive(Debug)]
pub(super) struct RedirectFollower {
    rule: RedirectRule,
    /// The last request, as it was sent.
    request: Vec<u8>,
    /// Number of redirections that have been followed.
    followed: u32,
    /// Status of the last redirection, while no byte of the response to the next request has arrived.
    unanswered: Option<u16>,
    /// Its first bytes.
    response: Vec<u8>,
}

impl RedirectFollower {
    pub(super) fn new(rule: RedirectRule) -> Self {
        Self { rule, request: Vec::new(), followed: 0, unanswered: None, response: Vec::new() }
    }

    /// Begins with a request of the mix.
    pub(super) fn begin(&mut self, request: &[u8]) {
        self.request.clear();
        self.request.extend_from_slice(request);
        self.followed = 0;
        self.unanswered = None;
    }

    /// Returns the next request for a response with this status, which consists of or begins with these parts; `None` if it
    /// is not followed.
    pub(super) fn next(&mut self, status: u16, response: [&[u8]; 2]) -> Option<&[u8]> {
        if !self.rule.concerns(status, self.followed) {
            return None;
        }
        let location = find_location(&response.concat())?;
        let next = self.rule.next(status, &location, parse_request(&self.request)?)?;
        self.request = render_request(&next);
        self.followed += 1;
        self.unanswered = Some(status);
        self.response.clear();
        self.response.extend(response.into_iter().flatten().take(kept::MAX_KEPT));
        Some(&self.request)
    }

    /// Records received bytes: unless they are only line ends, the response to the next request has begun.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        if self.unanswered.is_some() && !is_line_ends(bytes) {
            self.unanswered = None;
        }
    }

    /// Returns status and first bytes of the last redirection, if no byte of the response to the next request has arrived.
    pub(super) fn take_unanswered(&mut self) -> Option<(u16, Vec<u8>)> {
        Some((self.unanswered.take()?, std::mem::take(&mut self.response)))
    }
}

/// Returns the value of `Location` in the final head of a response, unfolded (RFC 9112, section 5.2).
fn find_location(mut response: &[u8]) -> Option<Vec<u8>> {
    let head = loop {
        let head = ResponseHead::parse(response).ok()??;
        let (bytes, rest) = response.split_at(head.length);
        if head.status >= 200 {
            break bytes;
        }
        response = rest;
    };
    let mut lines = head.split(|byte| *byte == b'\n').skip(1).peekable();
    let mut value = loop {
        let line = lines.next()?;
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        if line[..colon].eq_ignore_ascii_case(b"location") {
            break line[colon + 1..].trim_ascii().to_vec();
        }
    };
    while let Some(fold) = lines.next_if(|line| matches!(line, [b' ' | b'\t', ..])) {
        value.push(b' ');
        value.extend_from_slice(fold.trim_ascii());
    }
    Some(value)
}

#[cfg(test)]
mod tests;
