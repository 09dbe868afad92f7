//! What a node reports about itself to the fleet's authority, where people see it on the page of
//! peers: its card, and what it accepts from each sender.

use std::sync::Arc;

use countersign_client::Endpoint;
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use crate::card::ServedCard;
use crate::fleet_files::FleetFiles;
use crate::node::A2aNode;
use crate::policy::PeerPolicies;

/// The report as JSON.
fn node_report(card: &str, policies: &PeerPolicies, max_depth: usize) -> Value {
    let peers = policies.peer.keys();
    let peers: Map<String, Value> =
        peers.map(|peer| (peer.clone(), policies.limits(peer).to_json())).collect();
    json!({
        "card": serde_json::from_str::<Value>(card).unwrap_or_default(),
        // No agent has an empty name.
        "default": policies.limits("").to_json(), "peers": peers, "max_depth": max_depth,
    })
}

/// Sends the report. A daemon that does not take it changes nothing for tasks.
pub async fn send_report(
    files: &FleetFiles,
    authority: &Endpoint,
    card: &Arc<ServedCard>,
    node: &Arc<A2aNode>,
) {
    let report = node_report(&card.current().text, &node.policies(), node.settings.max_depth);
    let (files, authority) = (files.clone(), authority.clone());
    let sent = spawn_blocking(move || files.report(&authority, &report.to_string())).await;
    match sent {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the report of this node was not taken"),
        Err(error) => tracing::error!(%error, "the report of this node was not sent"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PeerPolicy;

    #[test]
    fn a_report_has_the_effective_limits_of_each_named_peer() {
        let mut policies = PeerPolicies::default();
        policies.default.per_day = Some(5);
        let own = PeerPolicy { max_tier: Some("LOW".to_owned()), ..PeerPolicy::default() };
        policies.peer.insert("alice".to_owned(), own);
        let report = node_report(r#"{"name":"bob"}"#, &policies, 4);
        assert_eq!(report["card"]["name"], "bob");
        assert_eq!(report["peers"]["alice"]["max_tier"], "LOW");
        assert_eq!(report["peers"]["alice"]["per_day"], 5);
        assert_eq!(report["default"]["max_tier"], Value::Null);
    }
}
