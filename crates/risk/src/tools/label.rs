//! Labels of tools: how a person's label changes the reading of a tool's name.

use super::subject::Subject;
use super::table::{Class, Noun, Verb};
use crate::tool_label::ToolLabel;
use countersign_types::tier::Tier;

/// The class of a tool that a person labelled and whose name says nothing more severe. None if the
/// name decides: a label does not take away what is HIGH by its name.
pub(super) fn class(
    subject: &Subject<'_>,
    verbs: &[&'static Verb],
    nouns: &[&'static Noun],
) -> Option<Class> {
    let label = subject.context.label?;
    let is_grave = |verb: &&'static Verb| {
        let noun = nouns.iter().filter_map(|noun| noun.tier(verb.class)).max();
        verb.tier.max(noun.unwrap_or(Tier::Safe)) >= Tier::High || verb.decides
    };
    match label {
        ToolLabel::Reads if verbs.iter().any(is_grave) => None,
        ToolLabel::Reads => Some(Class::Read),
        _ if !verbs.is_empty() => None,
        ToolLabel::Changes => Some(Class::Manage),
        ToolLabel::Sends => Some(Class::Send),
        ToolLabel::Runs => Some(Class::Exec),
    }
}
