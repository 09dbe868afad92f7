//! What policy rules demand beside an answer: who is told, and how certain an approver's identity
//! must be. It is stored with the request.

use countersign_risk::assess::Assessment;
use countersign_store::StoredRequest;
use countersign_workflow::assurance::Assurance;
use serde_json::{Value, json};

/// The member of the stored data.
pub(super) const MEMBER: &str = "policy";

/// The demands of policy rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyDemands {
    /// Channels and rotas that are told beside the usual ones.
    pub route: Vec<String>,
    /// How certain the identity of an approver must be at least.
    pub assurance: Option<Assurance>,
}

impl PolicyDemands {
    /// Of the rules that decided about a call.
    pub fn of(seen: &Assessment) -> PolicyDemands {
        let Some(ruling) = &seen.policy else { return PolicyDemands::default() };
        let assurance = ruling.assurance.map(parse);
        PolicyDemands { route: ruling.route.clone(), assurance }
    }

    /// As they are stored; none if there are none.
    pub(super) fn to_json(&self) -> Option<Value> {
        let assurance = self.assurance.map(Assurance::label);
        let demands = json!({ "route": self.route, "assurance": assurance });
        (*self != PolicyDemands::default()).then_some(demands)
    }

    /// Of a stored request.
    pub fn of_request(stored: &StoredRequest) -> PolicyDemands {
        // Most requests have none, and need not be parsed.
        if !stored.detail.contains("\"policy\"") {
            return PolicyDemands::default();
        }
        let detail: Value = serde_json::from_str(&stored.detail).unwrap_or_default();
        let Some(demands) = detail.get(MEMBER) else { return PolicyDemands::default() };
        let route = demands.get("route").and_then(Value::as_array);
        let route = route.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        let assurance = demands.get("assurance").filter(|assurance| !assurance.is_null());
        let assurance = assurance.map(|label| parse(label.as_str().unwrap_or_default()));
        PolicyDemands { route: route.collect(), assurance }
    }
}

/// A label that this version does not know counts as the strictest.
fn parse(label: &str) -> Assurance {
    Assurance::parse(label).unwrap_or(Assurance::Passkey)
}

/// Whether one of these requests is announced to channels that rules name.
pub(super) fn has_project_routes(pending: &[StoredRequest]) -> bool {
    pending.iter().any(|stored| !PolicyDemands::of_request(stored).route.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_label_is_the_strictest() {
        assert_eq!(parse("login"), Assurance::Login);
        assert_eq!(parse("retina"), Assurance::Passkey);
        assert_eq!(PolicyDemands::default().to_json(), None);
    }
}
