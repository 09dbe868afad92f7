//! The two reasons to change a client's message: a person changed the call, or a state is ours.

use std::borrow::Cow;

use countersign_json as json;
use countersign_json::canonical::canonical;

use super::looks::is_look;
use super::park::{Carried, Parking};
use super::scan;

/// An approved message as the server gets it: untouched, unless a person wrote other arguments
/// or it carries a state that we gave: then the server gets back what the call brought for it.
pub fn released<'a>(
    line: &'a str,
    edited: Option<&str>,
    carried: Option<&Carried>,
) -> Option<Cow<'a, str>> {
    let params = scan::member(line, "params")?;
    let state = scan::member(params, "requestState").and_then(scan::plain);
    let ours = state.is_some_and(|state| Parking::is_ours(&state));
    let mut changes = Vec::new();
    if ours {
        let state = carried.and_then(|carried| carried.state.as_deref());
        let responses = carried.and_then(|carried| carried.responses.as_deref());
        changes.push(("requestState", state));
        changes.push(("inputResponses", responses));
    }
    // A person who edits what is looked at writes another address.
    let looks = scan::member(line, "method").and_then(scan::plain).is_some_and(|m| is_look(&m));
    let (member, edited) = match edited {
        Some(edited) if looks => ("uri", Some(scan::member(edited, "uri")?)),
        edited => ("arguments", edited),
    };
    // A hook may have put the edited arguments in already.
    let differs = |edited: &&str| {
        let said = scan::member(params, member).unwrap_or("{}");
        match (json::parse(said), json::parse(edited)) {
            (Ok(said), Ok(edited)) => canonical(&said) != canonical(&edited),
            _ => true,
        }
    };
    let edited = edited.filter(differs);
    if edited.is_some() {
        changes.push((member, edited));
    }
    if changes.is_empty() {
        return Some(Cow::Borrowed(line));
    }
    let params = scan::with(params, &changes)?;
    let mut line = scan::with(line, &[("params", Some(&params))])?;
    line.push('\n');
    Some(Cow::Owned(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_changed_only_where_it_must_be() {
        let line = "{\"id\":1, \"params\":{\"name\":\"a\",\"arguments\":{\"n\":1e2}},\"z\":1.0}\n";
        assert!(matches!(released(line, None, None), Some(Cow::Borrowed(same)) if same == line));
        let edited = released(line, Some("{\"n\":5}"), None).unwrap();
        let expected = "{\"id\":1,\"params\":{\"name\":\"a\",\"arguments\":{\"n\":5}},\"z\":1.0}\n";
        assert_eq!(edited, expected);
        let put_in = released(line, Some("{\"n\":100}"), None);
        assert!(matches!(put_in, Some(Cow::Borrowed(same)) if same == line));
        let theirs = "{\"params\":{\"name\":\"a\",\"requestState\":\"x\",\"inputResponses\":{}}}\n";
        assert_eq!(released(theirs, None, None).unwrap(), theirs);
        let ours = "{\"params\":{\"name\":\"a\",\"requestState\":\"countersign:1.1.x\"}}\n";
        assert_eq!(released(ours, None, None).unwrap(), "{\"params\":{\"name\":\"a\"}}\n");
        let carried =
            Carried { state: Some("\"s\\u0031\"".to_owned()), responses: Some("{ }".to_owned()) };
        let expected =
            "{\"params\":{\"name\":\"a\",\"requestState\":\"s\\u0031\",\"inputResponses\":{ }}}\n";
        assert_eq!(released(ours, None, Some(&carried)).unwrap(), expected);
        assert_eq!(released(theirs, None, Some(&carried)).unwrap(), theirs);
        let look = "{\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///a\"}}\n";
        let edited = released(look, Some("{\"uri\":\"file:///b\"}"), None).unwrap();
        assert_eq!(edited, look.replace("///a", "///b"));
        assert_eq!(released(look, Some("{}"), None), None);
        assert_eq!(released("{}", Some("{}"), None), None);
    }
}
