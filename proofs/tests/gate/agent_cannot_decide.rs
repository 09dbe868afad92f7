//! Every route for people, with every credential that is not a person's: none of them decides.
//!
//! The routes come from `openapi.json`, which the daemon's own tests hold against its routers. At
//! the API that serves a route, every attempt must be refused with 401 or 403. A 404 there would
//! only say that the route does not exist, so it fails the test.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use proofs::http::Client;
use proofs::installation::UNLIMITED;
use serde_json::{Value, json};

use crate::clock::fixture_with_clock;
use crate::fixture::{Fixture, report_figures, risky, shared};

const DOCUMENT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/daemon/openapi.json"));

/// Routes that accept an agent's credential or none. A new one must be added here on purpose.
const NOT_FOR_PEOPLE_ONLY: [&str; 36] = [
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
    "POST /v1/servers",
    "GET /v1/installation",
    "GET /v1/events",
    "POST /access/v1/evaluation",
    "POST /access/v1/evaluations",
    "POST /access/v1/requests",
    "GET /access/v1/requests/{id}",
    "POST /access/v1/requests/{id}/cancel",
    // What a person wrote to the user of the agent's own session.
    "GET /v1/takeover",
    "GET /v1/pki/authority",
    "GET /v1/pki/revocations",
    // The key of the certificate is the credential. A report of a node decides nothing.
    "POST /v1/pki/renewals",
    "POST /v1/pki/nodes",
    "POST /v1/login",
    // The recovery code in the body is the credential: `a_guessed_code_recovers_nothing` guesses.
    "POST /v1/recover",
];

/// Routes that decide or change who may: they must be in the document, or nothing would be tried.
const DECIDING: [&str; 30] = [
    "POST /respond",
    "POST /v1/requests/{id}/decision",
    "POST /v1/requests/{id}/challenge",
    "POST /v1/decisions",
    "POST /v1/reviews/{id}/decision",
    "POST /v1/requests/{id}/feedback",
    "POST /v1/grants",
    "DELETE /v1/grants/{id}",
    "POST /v1/servers/{id}/labels",
    "POST /v1/quarantines/lift",
    "POST /v1/crises/lift",
    "POST /v1/crises/take-over",
    "POST /v1/ledger/acknowledge",
    "POST /v1/ledger/clock",
    "POST /v1/mode",
    "POST /v1/config",
    "POST /v1/policy",
    "POST /v1/policy/projects",
    "POST /v1/policy/projects/revoke",
    "POST /v1/policy/rules",
    "POST /v1/pki",
    "POST /v1/pki/certificates",
    "POST /v1/pki/revocations",
    "POST /v1/people",
    "DELETE /v1/people/{name}",
    "POST /v1/people/{name}/passphrase",
    "POST /v1/passkeys",
    "POST /v1/agents",
    "POST /v1/agents/{name}/token",
    "POST /hooks/{channel}",
];

/// A route for people, and the APIs that serve it.
struct Route {
    name: String,
    at_agents: bool,
    at_people: bool,
}

/// The routes of the document that accept neither an agent's credential nor none. `/hooks` is one
/// of them: its credential is the platform's signature.
fn routes_for_people() -> Vec<Route> {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let (mut routes, mut others) = (Vec::new(), BTreeSet::new());
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            // Beside the operations a path has parameters, which are a list.
            let Some(security) = operation.get("security").and_then(Value::as_array) else {
                assert!(operation.is_array(), "{method} {path} does not say who may use it");
                continue;
            };
            let name = format!("{} {path}", method.to_uppercase());
            let by_agents = security.iter().any(|one| {
                one.as_object().is_some_and(|one| one.is_empty() || one.contains_key("agentToken"))
            });
            if (by_agents || security.is_empty()) && !path.starts_with("/hooks/") {
                others.insert(name);
                continue;
            }
            let endpoint = operation["x-api"].as_str().unwrap();
            let at = |which: &str| [which, "both"].contains(&endpoint);
            routes.push(Route { name, at_agents: at("agents"), at_people: at("people") });
        }
    }
    assert_eq!(others, NOT_FOR_PEOPLE_ONLY.map(ToOwned::to_owned).into(), "who may use what");
    for needed in DECIDING {
        assert!(routes.iter().any(|route| route.name == needed), "{needed} is not in the document");
    }
    routes
}

/// A channel that answers can come back through, so that `/hooks/{channel}` exists.
fn channel(folder: &Path) -> String {
    let secret = folder.join("ops.secret");
    fs::write(&secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    format!(
        "[channels.ops]\nkind = \"webhook\"\nurl = \"http://127.0.0.1:9/\"\nsecret_file = {:?}\n\
         allow_private = true\ncallback = true\n",
        secret.display().to_string()
    )
}

#[test]
fn no_route_lets_an_agent_decide() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let settings = format!("{UNLIMITED}{}", channel(folder.path()));
    let (mut fixture, clock) = fixture_with_clock(folder.path(), &settings);
    // A session that was idle for too long; the owner signs in again.
    let expired = fixture.gate.owner().unwrap();
    let me = |token: &str| Client::with(fixture.gate.people, token).get("/v1/me").unwrap().status;
    assert_eq!(me(&expired), 200);
    clock.set(3 * 3_600);
    let owner = fixture.gate.owner().unwrap();
    assert_eq!((me(&owner), me(&expired)), (200, 401));
    fixture.owner = owner;
    let (agents, people) = (fixture.gate.agents, fixture.gate.people);
    let asked = fixture.agent_client().post("/v1/requests", &risky(1)).unwrap();
    let (id, digest) = (asked.text("id").to_owned(), asked.text("digest").to_owned());
    let other = fixture.gate.agent(&fixture.owner, "other").unwrap();
    let made_up = format!("csp_{}", "a".repeat(43));
    let tokens = [
        None,
        Some(&*fixture.agent),
        Some(&*other),
        Some(&*expired),
        Some(&*made_up),
        Some("csp_"),
        Some(""),
    ];
    // A refusal below shows that the route exists only if others are answered with 404.
    for (endpoint, token) in [(agents, &fixture.agent), (people, &fixture.owner)] {
        let mut client = Client::with(endpoint, token);
        assert_eq!(client.post("/v1/no-such-route", &json!({})).unwrap().status, 404);
    }
    let routes = routes_for_people();
    let (mut refused, mut absent) = (0, 0);
    for route in &routes {
        let (method, path) = route.name.split_once(' ').unwrap();
        let path = with_values(path, &id);
        let body = body(&id, &digest);
        let body = (method != "GET").then_some(body.as_str());
        for token in tokens {
            for (endpoint, served) in [(agents, route.at_agents), (people, route.at_people)] {
                let mut client =
                    token.map_or_else(|| Client::new(endpoint), |t| Client::with(endpoint, t));
                let reply = client.send(method, &path, &[], body).unwrap();
                let expected = if served { [401, 403] } else { [404, 405] };
                let tell = || format!("{} with {token:?}: {reply:?}", route.name);
                assert!(expected.contains(&reply.status), "served: {served}, {}", tell());
                *(if served { &mut refused } else { &mut absent }) += 1;
            }
        }
    }
    a_guessed_code_recovers_nothing(&fixture);
    let stands = fixture.agent_client().get(&format!("/v1/requests/{id}")).unwrap();
    assert_eq!(stands.text("state"), "pending", "somebody decided");
    // The owner's own credential does decide, so the refusals above mean something.
    let said = json!({
        "choice": "approve", "digest": digest, "reason": "as planned",
        "word": stands.text("phrase"),
    });
    let path = format!("/v1/requests/{id}/decision");
    assert_eq!(fixture.owner_client().post(&path, &said).unwrap().text("state"), "approved");
    report_figures(&format!(
        "agent cannot decide: {} routes x {} credentials: {refused} refused where they are \
         served, {absent} not served by the other API",
        routes.len(),
        tokens.len()
    ));
}

/// `/v1/recover` takes no token: a guessed code is refused, and the agent API does not serve it.
fn a_guessed_code_recovers_nothing(fixture: &Fixture) {
    let guess = json!({ "name": "owner", "code": "a".repeat(32) });
    for (endpoint, expected) in
        [(fixture.gate.agents, [404, 405].as_slice()), (fixture.gate.people, &[403])]
    {
        for mut client in [Client::new(endpoint), Client::with(endpoint, &fixture.agent)] {
            let reply = client.post("/v1/recover", &guess).unwrap();
            assert!(expected.contains(&reply.status), "{reply:?}");
        }
    }
}

/// The path with values that exist: the request, the owner, the agent, the channel.
fn with_values(path: &str, id: &str) -> String {
    let name = if path.contains("/agents/") { "coder" } else { "owner" };
    let name = if path.contains("/channels/") { "ops" } else { name };
    let path = path.replace("{id}", id).replace("{name}", name).replace("{channel}", "ops");
    let path =
        path.replace("{credential}", "x").replace("{browser}", "x").replace("{account}", "x");
    let path = path.replace("{session}", "x");
    assert!(!path.contains('{'), "{path} has a parameter without a value");
    path
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
