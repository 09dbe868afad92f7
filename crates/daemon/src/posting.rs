//! One HTTP POST to a collector or a witness that the operator configured.

use std::sync::LazyLock;
use std::time::Duration;

use countersign_net::{Client, HttpRequest, HttpUrl, NetError};

/// How long one POST may take in all.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why a POST did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The URL cannot be used.
    #[error("the configured URL cannot be used: {0}")]
    Url(&'static str),
    /// The connection or the exchange failed.
    #[error("{0}")]
    Network(#[from] NetError),
    /// The server answered with another status than 200 to 299.
    #[error("the server answered {0}")]
    Status(u16),
}

/// Posts a text over http or https; success is a status from 200 to 299. The operator configured
/// the URL, so it may be on this machine or in a private network.
pub async fn post_text(url: &str, content_type: &str, body: String) -> Result<(), PostError> {
    static CLIENT: LazyLock<Client> = LazyLock::new(|| Client::new(true));
    let url = HttpUrl::parse(url).map_err(PostError::Url)?;
    let headers = [("content-type", content_type)];
    let body = body.into_bytes();
    let request = HttpRequest { method: "POST", url: &url, headers: &headers, body };
    match CLIENT.exchange_status(request, TIMEOUT).await?.status {
        200..=299 => Ok(()),
        status => Err(PostError::Status(status)),
    }
}
