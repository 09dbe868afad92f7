//! Every way to decide, with every credential that is not a person's: none of them decides.

use proofs::house::{House, OPEN_HOUSE};
use proofs::http::Client;
use serde_json::{Value, json};

use crate::setting::{Setting, alone, risky, say};

/// Routes that may answer without or with an agent's credential, as the API is meant to be: what
/// is asked and read by agents. Everything else is for people.
const FOR_AGENTS: [&str; 28] = [
    "GET /health",
    "GET /ready",
    "GET /openapi.json",
    "GET /.well-known/jwks.json",
    "GET /.well-known/authzen-configuration",
    "POST /confirm",
    "GET /pending",
    "POST /v1/assess",
    "POST /v1/requests",
    "GET /v1/requests",
    "GET /v1/requests/{id}",
    "GET /v1/requests/{id}/wait",
    "POST /v1/requests/{id}/cancel",
    "POST /v1/requests/{id}/outcome",
    "POST /v1/outcomes",
    "POST /v1/passes",
    "POST /v1/batches",
    "GET /v1/batches/{group}/wait",
    "POST /v1/permits/redeem",
    "POST /v1/permits/verify",
    "POST /v1/screen",
    "GET /v1/events",
    "POST /access/v1/evaluation",
    "POST /access/v1/evaluations",
    "POST /access/v1/requests",
    "GET /access/v1/requests/{id}",
    "POST /access/v1/requests/{id}/cancel",
    "POST /v1/login",
];

/// What only people may do: known even where the daemon's own document does not say so.
const FOR_PEOPLE: [&str; 24] = [
    "POST /respond",
    "DELETE /v1/login",
    "GET /v1/me",
    "POST /v1/requests/{id}/decision",
    "POST /v1/decisions",
    "GET /v1/grants",
    "POST /v1/grants",
    "DELETE /v1/grants/{id}",
    "GET /v1/crises",
    "POST /v1/crises/lift",
    "GET /v1/people",
    "POST /v1/people",
    "DELETE /v1/people/{name}",
    "POST /v1/people/{name}/passphrase",
    "GET /v1/agents",
    "POST /v1/agents",
    "DELETE /v1/agents/{name}",
    "POST /v1/agents/{name}/token",
    "GET /v1/ledger/entries",
    "GET /v1/ledger/checkpoint",
    "GET /v1/ledger/inclusion",
    "GET /v1/stats",
    "GET /metrics",
    "POST /v1/shutdown",
];

#[test]
fn no_route_lets_an_agent_decide() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), OPEN_HOUSE).unwrap());
    let asked = setting.asks().post("/v1/requests", &risky(1)).unwrap();
    let (id, digest) = (asked.text("id").to_owned(), asked.text("digest").to_owned());
    let other = setting.gate.agent(&setting.owner, "other").unwrap();
    let made_up = format!("csp_{}", "a".repeat(43));
    let tokens =
        [None, Some(&*setting.agent), Some(&*other), Some(&*made_up), Some("csp_"), Some("")];
    let routes = routes(&setting);
    let (mut tried, mut absent) = (0, 0);
    for route in &routes {
        let (method, path) = route.split_once(' ').unwrap();
        let path = path.replace("{id}", &id).replace("{name}", "owner").replace("{group}", &id);
        let body = body(&id, &digest);
        let body = (method != "GET").then_some(body.as_str());
        for token in tokens {
            for door in [setting.gate.agents, setting.gate.people] {
                let mut client = token.map_or_else(|| Client::new(door), |t| Client::with(door, t));
                let reply = client.send(method, &path, &[], body).unwrap();
                tried += 1;
                absent += usize::from(matches!(reply.status, 404 | 405));
                let refused = matches!(reply.status, 401 | 403 | 404 | 405);
                assert!(refused, "{route} with {token:?}: {} {}", reply.status, reply.body);
            }
        }
    }
    let stands = setting.asks().get(&format!("/v1/requests/{id}")).unwrap();
    assert_eq!(stands.text("state"), "pending", "somebody decided");
    // The owner's own credential does decide, so the refusals above mean something.
    let said = json!({ "choice": "approve", "digest": digest, "reason": "as planned" });
    let path = format!("/v1/requests/{id}/decision");
    assert_eq!(setting.decides().post(&path, &said).unwrap().text("state"), "approved");
    say(&format!(
        "agent cannot decide: {} people's routes x {} credentials x 2 doors = {tried}, 0 let in \
         ({absent} not there at that door)",
        routes.len(),
        tokens.len()
    ));
}

/// A body that every deciding route could take.
fn body(id: &str, digest: &str) -> String {
    let said = json!({
        "choice": "approve", "digest": digest, "reason": "as planned", "request_id": id,
        "approved": true, "decided_by": "owner", "requests": [{ "id": id, "digest": digest }],
        "name": "mallory", "role": "administrator",
    });
    said.to_string()
}

/// What people may do: by our own list, and whatever else the daemon's document names.
fn routes(setting: &Setting) -> Vec<String> {
    let mut routes: Vec<String> = FOR_PEOPLE.map(ToOwned::to_owned).to_vec();
    for door in [setting.gate.agents, setting.gate.people] {
        let document = Client::new(door).get("/openapi.json").unwrap();
        let none = serde_json::Map::new();
        let paths = document.body.get("paths").and_then(Value::as_object).unwrap_or(&none);
        for (path, methods) in paths {
            for method in methods.as_object().unwrap_or(&none).keys() {
                let route = format!("{} {path}", method.to_uppercase());
                let verb = ["GET", "POST", "PUT", "PATCH", "DELETE"];
                let known = routes.contains(&route) || FOR_AGENTS.contains(&&*route);
                if verb.iter().any(|verb| route.starts_with(verb)) && !known {
                    routes.push(route);
                }
            }
        }
    }
    routes
}
