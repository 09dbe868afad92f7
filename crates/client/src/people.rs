//! The client of the people API: log in, list, decide, administer.

use std::fmt::Write as _;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::encoding::{parse_json, path_segment};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::events::EventStream;
use crate::http::{self, Exchange};
use crate::people_records::{
    DecisionAnswer, DecisionChoice, DecisionResult, Filter, LoginToken, RequestPage,
};
use crate::records::CurrentPerson;
use crate::request::RequestRecord;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A client of the people API.
#[derive(Debug, Clone)]
pub struct PeopleClient {
    endpoint: Endpoint,
    token: String,
    passphrase: Option<Passphrase>,
}

/// The passphrase that confirms changes. It is never printed.
#[derive(Clone)]
struct Passphrase(String);

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

impl PeopleClient {
    /// A client with an existing token.
    pub fn new(endpoint: Endpoint, token: String) -> PeopleClient {
        PeopleClient { endpoint, token, passphrase: None }
    }

    /// The same client, confirming each change with this passphrase. A token alone cannot change
    /// rights: the daemon responds with the problem `step-up-required`.
    #[must_use]
    pub fn confirmed_with(mut self, passphrase: &str) -> PeopleClient {
        self.passphrase = Some(Passphrase(passphrase.to_owned()));
        self
    }

    /// Whether changes are confirmed with a passphrase.
    pub fn is_confirmed(&self) -> bool {
        self.passphrase.is_some()
    }

    /// Logs in with a passphrase, from a terminal.
    pub fn login(endpoint: &Endpoint, name: &str, passphrase: &str) -> Result<LoginToken, Error> {
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
            nonce: None,
            body: Some(&body),
            accept: "application/json",
            timeout: TIMEOUT,
        };
        parse_json(&http::whole(endpoint, &exchange)?.text)
    }

    /// Logs out.
    pub fn logout(&self) -> Result<(), Error> {
        self.text("DELETE", "/v1/login", None).map(|_| ())
    }

    /// The person that the token belongs to.
    pub fn me(&self) -> Result<CurrentPerson, Error> {
        self.read("/v1/me")
    }

    /// Reports that this person is present: phone notifications are delayed a little.
    pub fn report_presence(&self) -> Result<(), Error> {
        self.text("POST", "/v1/me", None).map(|_| ())
    }

    /// Requests, newest first.
    pub fn list(&self, filter: &Filter) -> Result<RequestPage, Error> {
        let state = filter.state.map(|state| state.as_str().to_owned());
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
                ("cards", filter.cards.then_some("true")),
            ],
        );
        self.read(&path)
    }

    /// One request with its card.
    pub fn show(&self, id: &str) -> Result<RequestRecord, Error> {
        let found: RequestRecord = self.read(&format!("/v1/requests/{}", path_segment(id)?))?;
        if found.id.as_deref() == Some(id) {
            Ok(found)
        } else {
            Err(Error::Unexpected("the response is for another request".to_owned()))
        }
    }

    /// Decides a request.
    pub fn decide(&self, id: &str, answer: &DecisionAnswer<'_>) -> Result<RequestRecord, Error> {
        let path = format!("/v1/requests/{}/decision", path_segment(id)?);
        // Only a grant that comes with the decision needs confirmation.
        if answer.grant.is_some() { self.change(&path, answer) } else { self.post(&path, answer) }
    }

    /// Decides several requests alike, each by its id and the digest that was shown.
    pub fn decide_batch(
        &self,
        requests: &[(String, String)],
        choice: DecisionChoice,
        reason: &str,
    ) -> Result<Vec<DecisionResult>, Error> {
        #[derive(Deserialize)]
        struct Results {
            results: Vec<DecisionResult>,
        }
        let list: Vec<_> = requests
            .iter()
            .map(|(id, digest)| serde_json::json!({ "id": id, "digest": digest }))
            .collect();
        let body = serde_json::json!({ "choice": choice, "reason": reason, "requests": list });
        let results: Results = self.post("/v1/decisions", &body)?;
        Ok(results.results)
    }

    /// All events.
    pub fn events(&self) -> Result<EventStream, Error> {
        EventStream::open(&self.endpoint, Some(&self.token))
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

    /// Sends a change, confirmed with the passphrase if there is one.
    pub(crate) fn change<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let body = serde_json::to_string(body).map_err(|error| Error::Input(error.to_string()))?;
        parse_json(&self.confirmed("POST", path, Some(&body))?)
    }

    /// Deletes something; confirmed like every change.
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
            nonce: None,
            body,
            accept: "application/json, text/plain",
            timeout: TIMEOUT,
        };
        Ok(http::whole(&self.endpoint, &exchange)?.text)
    }
}

pub(crate) fn query(path: &str, parts: &[(&str, Option<&str>)]) -> String {
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
    fn search_texts_are_encoded() {
        let path =
            query("/v1/requests", &[("q", Some("a&limit=1 é")), ("x", None), ("y", Some("1"))]);
        assert_eq!(path, "/v1/requests?q=a%26limit%3D1%20%C3%A9&y=1");
    }
}
