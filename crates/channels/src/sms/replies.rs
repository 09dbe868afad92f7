//! Replies by SMS: a person's text parsed, and the response to Twilio.

use super::segments::{MAX_SEGMENTS, cut};
use crate::{HookResponse, ReplyContent, RequestRef};

/// The number of digits of a code.
const DIGITS: usize = 6;
/// The reply to an approval without digits.
pub(super) const NEEDS_DIGITS: &str = "Not approved. An approval by SMS needs the six digits of the message, \
                                       such as: APPROVE 482913";
/// Marks such an approval.
pub(super) const NO_DIGITS: &str = "no digits";

/// Parses a text; the second value marks an approval without digits.
pub(super) fn read(text: &str) -> (ReplyContent, &'static str) {
    let content =
        ReplyContent::parse('/', &format!("/{}", text.trim())).unwrap_or(ReplyContent::Help);
    let ReplyContent::Approve(which) = content else { return (content, "") };
    let words: Vec<&str> =
        [which.name.as_str()].into_iter().chain(which.reason.split_whitespace()).collect();
    let is_code =
        |word: &&&str| word.len() == DIGITS && word.bytes().all(|byte| byte.is_ascii_digit());
    // The agent may know the word pair; it does not know the digits.
    let Some(code) = words.iter().find(is_code) else { return (ReplyContent::Help, NO_DIGITS) };
    let reason = words.iter().filter(|word| !is_code(word)).copied().collect::<Vec<_>>().join(" ");
    (ReplyContent::Approve(RequestRef { name: (*code).to_owned(), reason }), "")
}

/// A response in `TwiML`; an empty text sends no message.
pub(super) fn twiml(reply: &str) -> HookResponse {
    let reply = cut(reply, MAX_SEGMENTS);
    let reply = reply.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let inside = if reply.is_empty() { reply } else { format!("<Message>{reply}</Message>") };
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response>{inside}</Response>");
    HookResponse { content_type: "text/xml; charset=utf-8", body }
}
