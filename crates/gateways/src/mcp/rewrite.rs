//! Rewrites an approved message: a person edited the call, or the client sent a resume token.

use std::borrow::Cow;

use countersign_json as json;
use countersign_json::canonical::canonical;

use super::raw_json;
use super::read_request::is_read_only;
use super::resume_token::{ResumeTokens, ServerState};

/// An approved message as the server gets it: unchanged, unless a person wrote other arguments or
/// the message has a resume token. Then the server gets what the call carried for it instead.
pub fn rewrite_approved<'a>(
    message: &'a str,
    edited: Option<&str>,
    server_state: Option<&ServerState>,
) -> Option<Cow<'a, str>> {
    let params = raw_json::member(message, "params")?;
    let state = raw_json::member(params, "requestState").and_then(raw_json::unquote);
    let is_ours = state.is_some_and(|state| ResumeTokens::is_ours(&state));
    let mut changes = Vec::new();
    if is_ours {
        let state = server_state.and_then(|carried| carried.state.as_deref());
        let responses = server_state.and_then(|carried| carried.responses.as_deref());
        changes.push(("requestState", state));
        changes.push(("inputResponses", responses));
    }
    // A person who edits a read of a resource writes another URI.
    let method = raw_json::member(message, "method").and_then(raw_json::unquote);
    let (member, edited) = match edited {
        Some(edited) if method.is_some_and(|method| is_read_only(&method)) => {
            ("uri", Some(raw_json::member(edited, "uri")?))
        }
        edited => ("arguments", edited),
    };
    // A hook may have put the edited arguments in already.
    let differs = |edited: &&str| {
        let sent = raw_json::member(params, member).unwrap_or("{}");
        match (json::parse(sent), json::parse(edited)) {
            (Ok(sent), Ok(edited)) => canonical(&sent) != canonical(&edited),
            _ => true,
        }
    };
    let edited = edited.filter(differs);
    if edited.is_some() {
        changes.push((member, edited));
    }
    if changes.is_empty() {
        return Some(Cow::Borrowed(message));
    }
    let params = raw_json::with_members(params, &changes)?;
    let mut message = raw_json::with_members(message, &[("params", Some(&params))])?;
    message.push('\n');
    Some(Cow::Owned(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_changed_only_where_it_must_be() {
        let line = "{\"id\":1, \"params\":{\"name\":\"a\",\"arguments\":{\"n\":1e2}},\"z\":1.0}\n";
        let unchanged = rewrite_approved(line, None, None);
        assert!(matches!(unchanged, Some(Cow::Borrowed(same)) if same == line));
        let edited = rewrite_approved(line, Some("{\"n\":5}"), None).unwrap();
        let expected = "{\"id\":1,\"params\":{\"name\":\"a\",\"arguments\":{\"n\":5}},\"z\":1.0}\n";
        assert_eq!(edited, expected);
        let put_in = rewrite_approved(line, Some("{\"n\":100}"), None);
        assert!(matches!(put_in, Some(Cow::Borrowed(same)) if same == line));
        let theirs = "{\"params\":{\"name\":\"a\",\"requestState\":\"x\",\"inputResponses\":{}}}\n";
        assert_eq!(rewrite_approved(theirs, None, None).unwrap(), theirs);
        let ours = "{\"params\":{\"name\":\"a\",\"requestState\":\"countersign:1.1.x\"}}\n";
        assert_eq!(rewrite_approved(ours, None, None).unwrap(), "{\"params\":{\"name\":\"a\"}}\n");
        let carried = ServerState {
            state: Some("\"s\\u0031\"".to_owned()),
            responses: Some("{ }".to_owned()),
        };
        let expected =
            "{\"params\":{\"name\":\"a\",\"requestState\":\"s\\u0031\",\"inputResponses\":{ }}}\n";
        assert_eq!(rewrite_approved(ours, None, Some(&carried)).unwrap(), expected);
        assert_eq!(rewrite_approved(theirs, None, Some(&carried)).unwrap(), theirs);
        let look = "{\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///a\"}}\n";
        let edited = rewrite_approved(look, Some("{\"uri\":\"file:///b\"}"), None).unwrap();
        assert_eq!(edited, look.replace("///a", "///b"));
        assert_eq!(rewrite_approved(look, Some("{}"), None), None);
        assert_eq!(rewrite_approved("{}", Some("{}"), None), None);
    }
}
