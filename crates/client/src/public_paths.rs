//! Paths that need no credential and let nothing run: health, readiness, public texts.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::agent::{AgentClient, TIMEOUT};
use crate::encoding::parse_json;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::http::{self, Exchange};
use crate::records::{DaemonInstallation, Readiness};

impl AgentClient {
    /// How many requests are pending, from the health endpoint. Needs no credential.
    pub fn health(&self) -> Result<u64, Error> {
        #[derive(Deserialize)]
        struct Health {
            service: String,
            pending: u64,
        }
        let health: Health = self.read_public("/health", Duration::from_secs(3))?;
        if health.service == "countersign" {
            Ok(health.pending)
        } else {
            Err(Error::Unexpected("another service responds at this address".to_owned()))
        }
    }

    /// Whether the daemon that answers has the pinned key. Needs no credential.
    pub fn check_key(&self) -> Result<(), Error> {
        self.read::<serde_json::Value>("/health", Duration::from_secs(3)).map(drop)
    }

    /// Whether calls can be approved. Needs no credential.
    pub fn ready(&self) -> Result<Readiness, Error> {
        self.read_public("/ready", Duration::from_secs(10))
    }

    /// Who runs the daemon and where its files are.
    pub fn installation(&self) -> Result<DaemonInstallation, Error> {
        self.read_public("/v1/installation", Duration::from_secs(3))
    }

    /// A path whose response lets nothing run, so that any daemon may answer.
    fn read_public<T: DeserializeOwned>(&self, path: &str, timeout: Duration) -> Result<T, Error> {
        let token = self.token.as_deref();
        parse_json(&fetch_as(&self.endpoint, path, token, timeout)?)
    }
}

/// Fetches a public path as text, without a credential.
pub fn fetch(endpoint: &Endpoint, path: &str) -> Result<String, Error> {
    fetch_as(endpoint, path, None, TIMEOUT)
}

/// Posts a JSON text to a path that needs no credential.
pub fn post_public(endpoint: &Endpoint, path: &str, body: &str) -> Result<String, Error> {
    let exchange = Exchange {
        method: "POST",
        path,
        token: None,
        key: None,
        step_up: None,
        nonce: None,
        body: Some(body),
        accept: "application/json",
        timeout: TIMEOUT,
    };
    Ok(http::whole(endpoint, &exchange)?.text)
}

fn fetch_as(
    endpoint: &Endpoint,
    path: &str,
    token: Option<&str>,
    timeout: Duration,
) -> Result<String, Error> {
    let exchange = Exchange {
        method: "GET",
        path,
        token,
        key: None,
        step_up: None,
        nonce: None,
        body: None,
        accept: "*/*",
        timeout,
    };
    Ok(http::whole(endpoint, &exchange)?.text)
}
