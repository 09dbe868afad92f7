//! A name and a passphrase: checked, throttled, and recorded when they are wrong.

use std::borrow::Cow;

use axum::http::StatusCode;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Store as _, StoredLogin, StoredPerson};
use countersign_types::time::{Clock as _, Millis};
use zeroize::Zeroizing;

use super::authenticate;
use super::problem::ApiProblem;
use super::session_key::cookie_of;
use super::state::Api;
use crate::auth::{PERSON_TOKEN, PersonIdentity, TooManyLogins};
use crate::gate::Rejection;
use crate::random;

/// How long a browser session lasts, and how long a terminal's token.
pub const WEB_TIME: Millis = Millis::from_seconds(30 * 86_400);
const TERMINAL_TIME: Millis = Millis::from_seconds(12 * 3_600);
/// The prefix of the salts of browser sessions.
const WEB_SALT: &str = "csw_";
/// The longest name or passphrase that is checked.
const MAX_BYTES: usize = 1024;

/// A name and a passphrase or code that a caller sent.
pub struct Credentials {
    /// The name.
    pub name: String,
    /// The passphrase, or a recovery code.
    pub passphrase: Zeroizing<String>,
    channel: String,
    /// The public key of a browser session.
    public_key: String,
}

impl Credentials {
    /// Credentials, if neither part is too long.
    pub fn new(
        name: String,
        passphrase: Zeroizing<String>,
        channel: &str,
    ) -> Result<Credentials, ApiProblem> {
        if name.len() > MAX_BYTES || passphrase.len() > MAX_BYTES {
            return Err(ApiProblem::bad_request(format!(
                "name and passphrase may have at most {MAX_BYTES} bytes each"
            )));
        }
        let channel = channel.to_owned();
        Ok(Credentials { name, passphrase, channel, public_key: String::new() })
    }

    /// The same for a browser with this public key.
    #[must_use]
    pub fn with_key(mut self, public_key: String) -> Credentials {
        self.public_key = public_key;
        self
    }

    /// Checks the passphrase and opens a session.
    pub async fn log_in(self, api: &Api) -> Result<(Zeroizing<String>, StoredLogin), ApiProblem> {
        let person = self.verify(api).await?;
        self.open_session(api, &person).await
    }

    /// Verifies the passphrase. An unknown name gives the same answer after the same time.
    pub async fn verify(&self, api: &Api) -> Result<StoredPerson, ApiProblem> {
        api.login_throttle.begin(&self.name, api.gate.clock().now().at)?;
        let known = api.directory.record(&self.name);
        let kept = known.as_ref().map(|person| person.passphrase.clone());
        let right = api.checks.check(self.passphrase.clone(), kept).await;
        match (right, known) {
            (Ok(true), Some(person)) => {
                api.login_throttle.record_success(&self.name);
                Ok(person)
            }
            (Ok(_), known) => Err(self.record_failure(api, known.is_some()).await),
            (Err(crowded), _) => {
                api.login_throttle.record_skipped(&self.name);
                Err(crowded.into())
            }
        }
    }

    /// Opens a session.
    async fn open_session(
        &self,
        api: &Api,
        person: &StoredPerson,
    ) -> Result<(Zeroizing<String>, StoredLogin), ApiProblem> {
        let now = api.gate.clock().now().at;
        let web = self.channel == authenticate::WEB;
        let prefix = if web { WEB_SALT } else { PERSON_TOKEN };
        let secret =
            random::secret(prefix).map_err(|_| ApiProblem::from(Rejection::EntropyUnavailable))?;
        let secret = Zeroizing::new(secret);
        let shown =
            if web { Zeroizing::new(cookie_of(&secret, &self.public_key)) } else { secret.clone() };
        let login = StoredLogin {
            secret: Digest::of(shown.as_bytes()),
            person: person.name.clone(),
            channel: self.channel.clone(),
            made: now,
            expires: now.plus(if web { WEB_TIME } else { TERMINAL_TIME }),
            ended: None,
        };
        api.gate.store().save_login(login.clone(), api.gate.note()).await.map_err(|error| {
            // The person was revoked a moment ago: the same answer as for wrong credentials.
            if matches!(error, countersign_store::StoreError::NotFound(_)) {
                wrong_credentials()
            } else {
                error.into()
            }
        })?;
        api.directory.reload(api.gate.store()).await?;
        // The passphrase may have been changed during the check.
        let still = api.directory.record(&person.name);
        if still.is_none_or(|still| still.passphrase != person.passphrase) {
            end_session(api, login).await?;
            return Err(wrong_credentials());
        }
        Ok((secret, login))
    }

    /// Records a failed login before it is answered. An unknown name is not recorded: it may be a
    /// passphrase typed into the wrong field.
    pub async fn record_failure(&self, api: &Api, known: bool) -> ApiProblem {
        let locked = api.login_throttle.record_failure(&self.name, api.gate.clock().now().at);
        let entry = |kind| {
            let mut entry = Entry::new(0, kind, api.gate.rules().hash);
            entry.person = known.then(|| Cow::Owned(self.name.clone()));
            entry.facts = vec![("channel".into(), text(&self.channel))];
            entry
        };
        let mut entries = vec![entry(EntryKind::LoginFailed)];
        if let Some(seconds) = locked {
            let mut entry = entry(EntryKind::LockedOut);
            let seconds = countersign_json::Value::Number(seconds.to_string().into());
            entry.facts.push(("seconds".into(), seconds));
            entries.push(entry);
            let person = if known { &self.name } else { "(unknown)" };
            tracing::warn!(person, "locked out after failed logins");
        }
        if let Err(error) = api.gate.store().append(entries).await {
            tracing::error!(%error, "a failed login was not recorded");
        }
        wrong_credentials()
    }
}

/// Verifies a person by name and passphrase for one action without a session. Failures count like
/// failed logins.
pub async fn proven(
    api: &Api,
    name: String,
    passphrase: Zeroizing<String>,
) -> Result<String, ApiProblem> {
    let credentials = Credentials::new(name, passphrase, authenticate::WEB)?;
    let working = api.clone();
    let person = tokio::spawn(async move { credentials.verify(&working).await });
    Ok(person.await.map_err(|_| ApiProblem::from(TooManyLogins))??.name)
}

/// Verifies the passphrase of a signed-in person. Failures count like failed logins.
pub async fn verify_passphrase(
    api: &Api,
    identity: &PersonIdentity,
    passphrase: Zeroizing<String>,
) -> Result<(), ApiProblem> {
    let wrong = || {
        let title = "Wrong credentials";
        ApiProblem::new(StatusCode::FORBIDDEN, "wrong", title, "wrong passphrase")
    };
    if passphrase.len() > MAX_BYTES {
        return Err(wrong());
    }
    let credentials = Credentials::new(identity.person.clone(), passphrase, &identity.channel)?;
    let working = api.clone();
    // A separate task: a client that disconnects has used its attempt all the same.
    let right = tokio::spawn(async move {
        credentials.verify(&working).await?;
        Ok(())
    });
    let right: Result<(), ApiProblem> = right.await.map_err(|_| ApiProblem::from(TooManyLogins))?;
    // Not 401, because browsers take that for a signed-out session.
    let unknown =
        |problem: ApiProblem| if problem == wrong_credentials() { wrong() } else { problem };
    right.map_err(unknown)
}

/// Ends a session: in memory at once, and in the store.
pub async fn end_session(api: &Api, mut login: StoredLogin) -> Result<(), ApiProblem> {
    api.directory.remove_login(login.secret);
    login.ended = Some(api.gate.clock().now().at);
    Ok(api.gate.store().save_login(login, api.gate.note()).await?)
}

fn text(text: &str) -> countersign_json::Value<'static> {
    countersign_json::Value::String(Cow::Owned(text.to_owned()))
}

fn wrong_credentials() -> ApiProblem {
    ApiProblem::new(
        StatusCode::UNAUTHORIZED,
        "wrong",
        "Wrong credentials",
        "wrong name or passphrase",
    )
}

impl From<TooManyLogins> for ApiProblem {
    fn from(crowded: TooManyLogins) -> ApiProblem {
        ApiProblem {
            retry_after: Some(1),
            ..ApiProblem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "crowded",
                "Too many logins",
                crowded.to_string(),
            )
        }
    }
}
