//! Administration through the people API: grants, crises, people, agents, sessions, the ledger.

use std::time::Duration;

use serde::Deserialize;

use crate::encoding::{parse_json, path_segment};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::grant_records::{
    ExactGrant, GrantRecord, GrantSuggestionList, NewCommandGrant, NewGrant, ShapeProposals,
};
use crate::http::{self, Exchange};
use crate::people::{PeopleClient, query};
use crate::records::{
    AgentRecord, CrisisRecord, Entries, FreezeRecord, LedgerKey, LedgerRows, MerkleProof, NewAgent,
    PersonRecord, QuarantineRecord, SessionRecord,
};

impl PeopleClient {
    /// Grants; also inactive ones if `all`.
    pub fn grants(&self, all: bool) -> Result<Vec<GrantRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            grants: Vec<GrantRecord>,
        }
        let path = if all { "/v1/grants?all=true" } else { "/v1/grants" };
        self.read::<List>(path).map(|list| list.grants)
    }

    /// Creates a grant.
    pub fn create_grant(&self, grant: &NewGrant) -> Result<serde_json::Value, Error> {
        self.change("/v1/grants", grant)
    }

    /// Calls that people approved at least so often in a row.
    pub fn grant_suggestions(&self, approvals: u32) -> Result<GrantSuggestionList, Error> {
        self.read(&format!("/v1/grants/suggestions?approvals={approvals}"))
    }

    /// Creates a grant for exactly one call.
    pub fn create_exact_grant(&self, grant: &ExactGrant) -> Result<serde_json::Value, Error> {
        self.change("/v1/grants", grant)
    }

    /// The grants that can be given for a request, or what this pattern would have covered.
    pub fn grant_shapes(&self, id: &str, pattern: Option<&str>) -> Result<ShapeProposals, Error> {
        let path = format!("/v1/requests/{}/grants", path_segment(id)?);
        self.read(&query(&path, &[("pattern", pattern)]))
    }

    /// Creates a grant for commands of one form.
    pub fn create_command_grant(
        &self,
        grant: &NewCommandGrant,
    ) -> Result<serde_json::Value, Error> {
        self.change("/v1/grants", grant)
    }

    /// Revokes a grant.
    pub fn revoke_grant(&self, id: &str) -> Result<(), Error> {
        self.delete(&format!("/v1/grants/{}", path_segment(id)?))
    }

    /// Sessions in crisis.
    pub fn crises(&self) -> Result<Vec<CrisisRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            crises: Vec<CrisisRecord>,
        }
        self.read::<List>("/v1/crises").map(|list| list.crises)
    }

    /// Takes over a conversation in a crisis, and writes to its user if there is a message.
    pub fn take_over_crisis(
        &self,
        agent: &str,
        session: &str,
        message: Option<&str>,
    ) -> Result<(), Error> {
        let body = serde_json::json!({ "agent": agent, "session": session, "message": message });
        let _: serde_json::Value = self.change("/v1/crises/take-over", &body)?;
        Ok(())
    }

    /// Resolves a crisis.
    pub fn resolve_crisis(&self, agent: &str, session: &str, reason: &str) -> Result<(), Error> {
        let body = serde_json::json!({ "agent": agent, "session": session, "reason": reason });
        self.change::<serde_json::Value>("/v1/crises/lift", &body).map(|_| ())
    }

    /// The agents in quarantine.
    pub fn quarantines(&self) -> Result<Vec<QuarantineRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            quarantines: Vec<QuarantineRecord>,
        }
        self.read::<List>("/v1/quarantines").map(|list| list.quarantines)
    }

    /// Ends the quarantine of an agent.
    pub fn lift_quarantine(&self, agent: &str) -> Result<(), Error> {
        let body = serde_json::json!({ "agent": agent });
        self.change::<serde_json::Value>("/v1/quarantines/lift", &body).map(|_| ())
    }

    /// Stops every call. A token is enough.
    pub fn freeze(&self) -> Result<FreezeRecord, Error> {
        self.change("/v1/freeze", &serde_json::json!({}))
    }

    /// Ends a stage of the freeze: `people`, then `grants`.
    pub fn thaw(&self, resume: &str) -> Result<FreezeRecord, Error> {
        self.change("/v1/thaw", &serde_json::json!({ "resume": resume }))
    }

    /// Replaces a passphrase with a recovery code. Returns the new one, which is shown only once.
    pub fn recover(endpoint: &Endpoint, name: &str, code: &str) -> Result<String, Error> {
        let body = serde_json::json!({ "name": name, "code": code }).to_string();
        let exchange = Exchange {
            method: "POST",
            path: "/v1/recover",
            token: None,
            key: None,
            step_up: None,
            nonce: None,
            body: Some(&body),
            accept: "application/json",
            timeout: Duration::from_secs(30),
        };
        let made: Secret = parse_json(&http::whole(endpoint, &exchange)?.text)?;
        made.passphrase.ok_or_else(no_secret)
    }

    /// Everybody who may decide.
    pub fn people(&self) -> Result<Vec<PersonRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            people: Vec<PersonRecord>,
        }
        self.read::<List>("/v1/people").map(|list| list.people)
    }

    /// Adds a person. Returns the passphrase, which is shown only once.
    pub fn add_person(&self, name: &str, role: &str) -> Result<String, Error> {
        let made: Secret =
            self.change("/v1/people", &serde_json::json!({ "name": name, "role": role }))?;
        made.passphrase.ok_or_else(no_secret)
    }

    /// Revokes a person's rights.
    pub fn revoke_person(&self, name: &str) -> Result<(), Error> {
        self.delete(&format!("/v1/people/{}", path_segment(name)?))
    }

    /// Changes a person's role.
    pub fn change_role(&self, name: &str, role: &str) -> Result<(), Error> {
        let path = format!("/v1/people/{}/role", path_segment(name)?);
        let body = serde_json::json!({ "role": role });
        self.change::<serde_json::Value>(&path, &body).map(|_| ())
    }

    /// The person's own sessions.
    pub fn sessions(&self) -> Result<Vec<SessionRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            sessions: Vec<SessionRecord>,
        }
        self.read::<List>("/v1/sessions").map(|list| list.sessions)
    }

    /// Ends one of the person's own sessions.
    pub fn end_session(&self, id: &str) -> Result<(), Error> {
        self.text("DELETE", &format!("/v1/sessions/{}", path_segment(id)?), None).map(|_| ())
    }

    /// Creates a new passphrase for a person.
    pub fn new_passphrase(&self, name: &str) -> Result<String, Error> {
        let path = format!("/v1/people/{}/passphrase", path_segment(name)?);
        let made: Secret = self.change(&path, &serde_json::json!({}))?;
        made.passphrase.ok_or_else(no_secret)
    }

    /// Sends a recovery code to a linked account of a person; returns the channel.
    pub fn send_recovery_code(&self, name: &str) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Sent {
            channel: String,
        }
        let path = format!("/v1/people/{}/recovery", path_segment(name)?);
        let sent: Sent = self.change(&path, &serde_json::json!({}))?;
        Ok(sent.channel)
    }

    /// All agents.
    pub fn agents(&self) -> Result<Vec<AgentRecord>, Error> {
        #[derive(Deserialize)]
        struct List {
            agents: Vec<AgentRecord>,
        }
        self.read::<List>("/v1/agents").map(|list| list.agents)
    }

    /// Adds an agent. Returns its token, which is shown only once.
    pub fn add_agent(&self, agent: &NewAgent) -> Result<String, Error> {
        let made: Secret = self.change("/v1/agents", agent)?;
        made.token.ok_or_else(no_secret)
    }

    /// Revokes an agent.
    pub fn revoke_agent(&self, name: &str) -> Result<(), Error> {
        self.delete(&format!("/v1/agents/{}", path_segment(name)?))
    }

    /// Creates a new token for an agent.
    pub fn new_token(&self, name: &str) -> Result<String, Error> {
        let path = format!("/v1/agents/{}/token", path_segment(name)?);
        let made: Secret = self.change(&path, &serde_json::json!({}))?;
        made.token.ok_or_else(no_secret)
    }

    /// Entries of the ledger from an index on.
    pub fn entries(&self, from: u64, limit: u32) -> Result<Entries, Error> {
        let text =
            self.text("GET", &format!("/v1/ledger/entries?from={from}&limit={limit}"), None)?;
        Entries::read(&text, from)
    }

    /// The newest signed checkpoint, as a note.
    pub fn checkpoint(&self) -> Result<String, Error> {
        self.text("GET", "/v1/ledger/checkpoint", None)
    }

    /// The keys that verify checkpoints and permits.
    pub fn ledger_key(&self) -> Result<LedgerKey, Error> {
        self.read("/v1/ledger/key")
    }

    /// Accepts a store that was rolled back or replaced; returns the fault.
    pub fn acknowledge_ledger(&self, reason: &str) -> Result<String, Error> {
        #[derive(serde::Deserialize)]
        struct Acknowledged {
            acknowledged: String,
        }
        let body = serde_json::json!({ "reason": reason });
        let done: Acknowledged = self.change("/v1/ledger/acknowledge", &body)?;
        Ok(done.acknowledged)
    }

    /// Sets the time of the ledger back to the daemon's system clock, which must say `time`;
    /// returns the time. The daemon stops afterwards.
    pub fn rebase_clock(&self, time: &str, reason: &str) -> Result<String, Error> {
        #[derive(serde::Deserialize)]
        struct Rebased {
            time: String,
        }
        let body = serde_json::json!({ "time": time, "reason": reason });
        let done: Rebased = self.change("/v1/ledger/clock", &body)?;
        Ok(done.time)
    }

    /// Confirms the weaker mode that the configuration asks for; returns the mode in force.
    pub fn confirm_mode(&self, mode: &str) -> Result<String, Error> {
        #[derive(serde::Deserialize)]
        struct Confirmed {
            mode: String,
        }
        let done: Confirmed = self.change("/v1/mode", &serde_json::json!({ "mode": mode }))?;
        Ok(done.mode)
    }

    /// The requests compared with the ledger entries about them.
    pub fn ledger_rows(&self) -> Result<LedgerRows, Error> {
        self.read("/v1/ledger/rows")
    }

    /// The proof that an entry is in the tree of this size.
    pub fn inclusion(&self, index: u64, size: u64) -> Result<MerkleProof, Error> {
        self.read(&format!("/v1/ledger/inclusion?index={index}&size={size}"))
    }

    /// The proof that the tree of one size is a prefix of the tree of another.
    pub fn consistency(&self, old: u64, new: u64) -> Result<MerkleProof, Error> {
        self.read(&format!("/v1/ledger/consistency?old={old}&new={new}"))
    }

    /// The state of the model judge and its agreement with people.
    pub fn judge(&self) -> Result<serde_json::Value, Error> {
        self.read("/v1/judge")
    }

    /// What the model judge was asked about a request, and what it answered.
    pub fn judge_exchange(&self, id: &str) -> Result<serde_json::Value, Error> {
        self.read(&format!("/v1/requests/{}/judge", path_segment(id)?))
    }

    /// Counts and durations.
    pub fn stats(&self) -> Result<serde_json::Value, Error> {
        self.read("/v1/stats")
    }
}

/// A secret that is shown only once.
#[derive(Deserialize)]
struct Secret {
    #[serde(default)]
    passphrase: Option<String>,
    #[serde(default)]
    token: Option<String>,
}

fn no_secret() -> Error {
    Error::Unexpected("the response contains no secret".to_owned())
}
