//! The people's side: log in, see what waits, answer, and keep house.

use std::fmt::Write as _;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::agent::{parse_json, segment};
use crate::endpoint::Endpoint;
use crate::error::{Error, Problem};
use crate::events::Events;
use crate::http::{self, Exchange};
use crate::records::{
    AgentRecord, Crisis, Entries, GrantRecord, LedgerKey, Me, NewAgent, NewGrant, PersonRecord,
    Proof, SessionRecord,
};
use crate::request::{Drill, Request, State};
use crate::time::Time;

const USUAL: Duration = Duration::from_secs(30);

/// A person of a daemon.
#[derive(Debug, Clone)]
pub struct People {
    endpoint: Endpoint,
    token: String,
    passphrase: Option<Passphrase>,
}

/// What confirms changes. It is never printed.
#[derive(Clone)]
struct Passphrase(String);

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// A login that was made.
#[derive(Clone, Deserialize)]
pub struct Login {
    /// The token: whoever has it is this person.
    pub token: String,
    /// Whose.
    pub person: String,
    /// What they may do.
    pub role: String,
    /// Until when.
    pub expires: Time,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// It may run, once.
    Approve,
    /// It may not.
    Deny,
}

/// A standing permission that is given with an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrantWish {
    /// `exact` or `action`.
    pub shape: &'static str,
    /// `session` or `until`.
    pub scope: &'static str,
    /// How long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
}

/// What became of one of several answers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Decided {
    /// Which request.
    pub id: String,
    /// How it stands now; nothing if the answer was not taken.
    pub state: Option<State>,
    /// Why it was not.
    #[serde(default)]
    pub problem: Option<Problem>,
    /// What is said of it if it was a drill.
    #[serde(default)]
    pub drill: Option<Drill>,
}

/// What is looked for. All parts must fit.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// In this state.
    pub state: Option<State>,
    /// By this agent.
    pub agent: Option<String>,
    /// In this session.
    pub session: Option<String>,
    /// In this batch.
    pub group: Option<String>,
    /// With this text.
    pub q: Option<String>,
    /// Older than this one.
    pub before: Option<String>,
    /// At most so many.
    pub limit: Option<u32>,
}

/// A page of requests, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The requests.
    pub requests: Vec<Request>,
    /// Where the next page begins.
    pub next: Option<String>,
    /// The search stopped at its limit; `next` continues it.
    #[serde(default)]
    pub truncated: bool,
}

impl People {
    /// With a token that was made before.
    pub fn new(endpoint: Endpoint, token: String) -> People {
        People { endpoint, token, passphrase: None }
    }

    /// The same, confirming each change with this passphrase. A token alone changes nothing that
    /// gives or takes power: the daemon answers with the problem `step-up-required`.
    #[must_use]
    pub fn confirmed_with(mut self, passphrase: &str) -> People {
        self.passphrase = Some(Passphrase(passphrase.to_owned()));
        self
    }

    /// Whether changes are confirmed with a passphrase.
    pub fn is_confirmed(&self) -> bool {
        self.passphrase.is_some()
    }

    /// A new passphrase for a person with a recovery code; it is told once.
    pub fn recover(endpoint: &Endpoint, name: &str, code: &str) -> Result<String, Error> {
        let body = serde_json::json!({ "name": name, "code": code }).to_string();
        let exchange = Exchange {
            method: "POST",
            path: "/v1/recover",
            token: None,
            key: None,
            step_up: None,
            body: Some(&body),
            accept: "application/json",
            patience: USUAL,
        };
        let made: Secret = parse_json(&http::whole(endpoint, &exchange)?.1)?;
        made.passphrase.ok_or_else(no_secret)
    }

    /// Logs in with a passphrase, from a terminal.
    pub fn login(endpoint: &Endpoint, name: &str, passphrase: &str) -> Result<Login, Error> {
        let body = serde_json::json!({
            "channel": "terminal", "name": name, "passphrase": passphrase,
        })
        .to_string();
        let exchange = Exchange {
            method: "POST",
            path: "/v1/login",
            token: None,
            key: None,
            step_up: None,
            body: Some(&body),
            accept: "application/json",
            patience: USUAL,
        };
        parse_json(&http::whole(endpoint, &exchange)?.1)
    }

    /// Ends this login.
    pub fn logout(&self) -> Result<(), Error> {
        self.text("DELETE", "/v1/login", None).map(|_| ())
    }

    /// Who this is.
    pub fn me(&self) -> Result<Me, Error> {
        self.read("/v1/me")
    }

    /// Tells that this person is there: what would ring a phone waits a little.
    pub fn here(&self) -> Result<(), Error> {
        self.text("POST", "/v1/me", None).map(|_| ())
    }

    /// Requests, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Page, Error> {
        let state = filter.state.map(|state| state.word().to_owned());
        let limit = filter.limit.map(|limit| limit.to_string());
        let path = query(
            "/v1/requests",
            &[
                ("state", state.as_deref()),
                ("agent", filter.agent.as_deref()),
                ("session", filter.session.as_deref()),
                ("group", filter.group.as_deref()),
                ("q", filter.q.as_deref()),
                ("before", filter.before.as_deref()),
                ("limit", limit.as_deref()),
            ],
        );
        self.read(&path)
    }

    /// One request with its card.
    pub fn show(&self, id: &str) -> Result<Request, Error> {
        let found: Request = self.read(&format!("/v1/requests/{}", segment(id)?))?;
        if found.id.as_deref() == Some(id) {
            Ok(found)
        } else {
            Err(Error::Unexpected("the answer is about another request".to_owned()))
        }
    }

    /// Answers a request. `digest` is that of the call the person was shown.
    pub fn decide(
        &self,
        id: &str,
        digest: &str,
        choice: Choice,
        reason: &str,
        grant: Option<&GrantWish>,
    ) -> Result<Request, Error> {
        let mut body = serde_json::json!({ "choice": choice, "digest": digest, "reason": reason });
        if let (Some(grant), Some(members)) = (grant, body.as_object_mut()) {
            members.insert("grant".to_owned(), serde_json::json!(grant));
        }
        let path = format!("/v1/requests/{}/decision", segment(id)?);
        // Only a grant that comes with the answer is a change that has to be confirmed.
        if grant.is_some() { self.change(&path, &body) } else { self.post(&path, &body) }
    }

    /// Answers several requests alike: each by its id and the digest that was shown.
    pub fn decide_several(
        &self,
        requests: &[(String, String)],
        choice: Choice,
        reason: &str,
    ) -> Result<Vec<Decided>, Error> {
        #[derive(Deserialize)]
        struct Results {
            results: Vec<Decided>,
        }
        let list: Vec<_> = requests
            .iter()
            .map(|(id, digest)| serde_json::json!({ "id": id, "digest": digest }))
            .collect();
        let body = serde_json::json!({ "choice": choice, "reason": reason, "requests": list });
        let results: Results = self.post("/v1/decisions", &body)?;
        Ok(results.results)
    }

    /// Grants; those that are over as well if `all`.
    pub fn grants(&self, all: bool) -> Result<Vec<GrantRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            grants: Vec<GrantRecord>,
        }
        let path = if all { "/v1/grants?all=true" } else { "/v1/grants" };
        self.read::<List>(path).map(|list| list.grants)
    }

    /// Gives a grant.
    pub fn give(&self, grant: &NewGrant) -> Result<serde_json::Value, Error> {
        self.change("/v1/grants", grant)
    }

    /// Takes a grant back.
    pub fn revoke_grant(&self, id: &str) -> Result<(), Error> {
        self.delete(&format!("/v1/grants/{}", segment(id)?))
    }

    /// Sessions in crisis.
    pub fn crises(&self) -> Result<Vec<Crisis>, Error> {
        #[derive(Deserialize)]
        struct List {
            crises: Vec<Crisis>,
        }
        self.read::<List>("/v1/crises").map(|list| list.crises)
    }

    /// Lifts a crisis.
    pub fn lift_crisis(&self, agent: &str, session: &str, reason: &str) -> Result<(), Error> {
        let body = serde_json::json!({ "agent": agent, "session": session, "reason": reason });
        self.change::<serde_json::Value>("/v1/crises/lift", &body).map(|_| ())
    }

    /// Everybody who may answer.
    pub fn people(&self) -> Result<Vec<PersonRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            people: Vec<PersonRecord>,
        }
        self.read::<List>("/v1/people").map(|list| list.people)
    }

    /// Adds a person; the passphrase is told once.
    pub fn add_person(&self, name: &str, role: &str) -> Result<String, Error> {
        let made: Secret =
            self.change("/v1/people", &serde_json::json!({ "name": name, "role": role }))?;
        made.passphrase.ok_or_else(no_secret)
    }

    /// Takes a person's rights away.
    pub fn revoke_person(&self, name: &str) -> Result<(), Error> {
        self.delete(&format!("/v1/people/{}", segment(name)?))
    }

    /// Gives a person another role.
    pub fn change_role(&self, name: &str, role: &str) -> Result<(), Error> {
        let path = format!("/v1/people/{}/role", segment(name)?);
        let body = serde_json::json!({ "role": role });
        self.change::<serde_json::Value>(&path, &body).map(|_| ())
    }

    /// One's own sessions.
    pub fn sessions(&self) -> Result<Vec<SessionRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            sessions: Vec<SessionRecord>,
        }
        self.read::<List>("/v1/sessions").map(|list| list.sessions)
    }

    /// Ends one of one's own sessions.
    pub fn end_session(&self, id: &str) -> Result<(), Error> {
        self.text("DELETE", &format!("/v1/sessions/{}", segment(id)?), None).map(|_| ())
    }

    /// A new passphrase for oneself.
    pub fn new_passphrase(&self, name: &str) -> Result<String, Error> {
        let path = format!("/v1/people/{}/passphrase", segment(name)?);
        let made: Secret = self.change(&path, &serde_json::json!({}))?;
        made.passphrase.ok_or_else(no_secret)
    }

    /// Every agent that is known.
    pub fn agents(&self) -> Result<Vec<AgentRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            agents: Vec<AgentRecord>,
        }
        self.read::<List>("/v1/agents").map(|list| list.agents)
    }

    /// Adds an agent; its token is told once.
    pub fn add_agent(&self, agent: &NewAgent) -> Result<String, Error> {
        let made: Secret = self.change("/v1/agents", agent)?;
        made.token.ok_or_else(no_secret)
    }

    /// Ends an agent.
    pub fn revoke_agent(&self, name: &str) -> Result<(), Error> {
        self.delete(&format!("/v1/agents/{}", segment(name)?))
    }

    /// A new token for an agent.
    pub fn new_token(&self, name: &str) -> Result<String, Error> {
        let path = format!("/v1/agents/{}/token", segment(name)?);
        let made: Secret = self.change(&path, &serde_json::json!({}))?;
        made.token.ok_or_else(no_secret)
    }

    /// Entries of the ledger from a place on.
    pub fn entries(&self, from: u64, limit: u32) -> Result<Entries, Error> {
        let text =
            self.text("GET", &format!("/v1/ledger/entries?from={from}&limit={limit}"), None)?;
        Entries::read(&text, from)
    }

    /// The newest signed checkpoint, as a note.
    pub fn checkpoint(&self) -> Result<String, Error> {
        self.text("GET", "/v1/ledger/checkpoint", None)
    }

    /// The keys that check checkpoints and permits.
    pub fn ledger_key(&self) -> Result<LedgerKey, Error> {
        self.read("/v1/ledger/key")
    }

    /// The proof that an entry stands in the tree of this size.
    pub fn inclusion(&self, index: u64, size: u64) -> Result<Proof, Error> {
        self.read(&format!("/v1/ledger/inclusion?index={index}&size={size}"))
    }

    /// The proof that the tree of one size begins with the tree of another.
    pub fn consistency(&self, old: u64, new: u64) -> Result<Proof, Error> {
        self.read(&format!("/v1/ledger/consistency?old={old}&new={new}"))
    }

    /// Counts and times.
    pub fn stats(&self) -> Result<serde_json::Value, Error> {
        self.read("/v1/stats")
    }

    /// What happens, as it happens.
    pub fn events(&self) -> Result<Events, Error> {
        Events::open(&self.endpoint, Some(&self.token))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        parse_json(&self.text("GET", path, None)?)
    }

    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let body = serde_json::to_string(body).map_err(|error| Error::Input(error.to_string()))?;
        parse_json(&self.text("POST", path, Some(&body))?)
    }

    /// A change: confirmed with the passphrase, where there is one.
    pub(crate) fn change<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let body = serde_json::to_string(body).map_err(|error| Error::Input(error.to_string()))?;
        parse_json(&self.confirmed("POST", path, Some(&body))?)
    }

    /// Takes something away: a change like any other.
    pub(crate) fn delete(&self, path: &str) -> Result<(), Error> {
        self.confirmed("DELETE", path, None).map(|_| ())
    }

    pub(crate) fn text(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&str>,
    ) -> Result<String, Error> {
        self.exchange(method, path, body, None)
    }

    fn confirmed(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&str>,
    ) -> Result<String, Error> {
        let passphrase = self.passphrase.as_ref().map(|passphrase| passphrase.0.as_str());
        self.exchange(method, path, body, passphrase)
    }

    fn exchange(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&str>,
        step_up: Option<&str>,
    ) -> Result<String, Error> {
        let exchange = Exchange {
            method,
            path,
            token: Some(&self.token),
            key: None,
            step_up,
            body,
            accept: "application/json, text/plain",
            patience: USUAL,
        };
        Ok(http::whole(&self.endpoint, &exchange)?.1)
    }
}

/// What is told once.
#[derive(Deserialize)]
struct Secret {
    #[serde(default)]
    passphrase: Option<String>,
    #[serde(default)]
    token: Option<String>,
}

fn no_secret() -> Error {
    Error::Unexpected("the secret is missing from it".to_owned())
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("person", &self.person).finish_non_exhaustive()
    }
}

fn query(path: &str, parts: &[(&str, Option<&str>)]) -> String {
    let mut out = path.to_owned();
    let given = parts.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    for (at, (name, value)) in given.enumerate() {
        out.push(if at == 0 { '?' } else { '&' });
        out.push_str(name);
        out.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                out.push(char::from(byte));
            } else {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::query;

    #[test]
    fn what_is_looked_for_stays_in_its_place() {
        let path =
            query("/v1/requests", &[("q", Some("a&limit=1 é")), ("x", None), ("y", Some("1"))]);
        assert_eq!(path, "/v1/requests?q=a%26limit%3D1%20%C3%A9&y=1");
    }
}
