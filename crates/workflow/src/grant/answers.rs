//! Approvals for the rest of a session or for a repository: which of them cover a call together.

use countersign_json::canonical::Digest;
use countersign_risk::session_answer::is_covered;
use countersign_types::id::Id;
use countersign_types::time::Moment;

use super::{Grant, GrantQuery, GrantShape};

/// The approvals of this agent's session and repository that together cover a call, each once; none
/// if a part of the call was not approved.
pub fn covering_answers<'g>(
    given: impl IntoIterator<Item = &'g Grant>,
    asked: &GrantQuery<'_>,
    now: Moment,
) -> Option<Vec<Id>> {
    if asked.crisis || asked.session.is_empty() || asked.is_decided_by_policy() || !now.reliable {
        return None;
    }
    let answers = given.into_iter().filter_map(|grant| {
        let keys = keys_for(grant, asked)?;
        let ours = grant.agent.as_deref() == Some(asked.agent);
        (ours && grant.is_active(now.at)).then_some((grant.id, keys))
    });
    let answers: Vec<(Id, &[Digest])> = answers.collect();
    let mut used = Vec::new();
    let known = |key: &Digest| {
        let found = answers.iter().find(|(_, keys)| keys.contains(key));
        if let Some((id, _)) = found.filter(|(id, _)| !used.contains(id)) {
            used.push(*id);
        }
        found.is_some()
    };
    let covered = !answers.is_empty() && is_covered(asked.assessment, asked.digest, known);
    covered.then_some(used)
}

/// The keys of an approval for this call's session or repository.
fn keys_for<'g>(grant: &'g Grant, asked: &GrantQuery<'_>) -> Option<&'g [Digest]> {
    match &grant.shape {
        GrantShape::SameQuestion { keys } => {
            (grant.session.as_deref() == Some(asked.session)).then_some(keys)
        }
        GrantShape::SameProgram { repository, keys } => {
            (asked.repository == Some(repository.as_str())).then_some(keys)
        }
        GrantShape::Part(part) if part.is_for_session() => {
            (grant.session.as_deref() == Some(asked.session)).then_some(&part.keys)
        }
        GrantShape::Part(_)
        | GrantShape::Exact { .. }
        | GrantShape::Action { .. }
        | GrantShape::Targets { .. }
        | GrantShape::Command(_)
        | GrantShape::ToolCall(_)
        | GrantShape::ToSelf { .. } => None,
    }
}
