//! HTTP requests of channels: what a failure or a status code means for a message.

use std::time::Duration;

use countersign_net::{Client, HttpReply, HttpRequest, HttpUrl, NetError};

use crate::ChannelError;

/// How every channel but Discord names itself.
pub const USER_AGENT: &str = concat!("countersign/", env!("CARGO_PKG_VERSION"));

impl From<NetError> for ChannelError {
    fn from(error: NetError) -> ChannelError {
        let problem = match error {
            NetError::PrivateAddress => format!("{error}; set `allow_private = true` to allow it"),
            _ => error.to_string(),
        };
        if error.is_permanent() {
            ChannelError::permanent(problem)
        } else {
            ChannelError::again(problem)
        }
    }
}

/// Posts a body and returns when the status has arrived; the response's body is not read.
pub async fn post(
    client: &Client,
    url: &HttpUrl,
    headers: &[(&str, &str)],
    body: Vec<u8>,
    timeout: Duration,
) -> Result<HttpReply, ChannelError> {
    let request = HttpRequest { method: "POST", url, headers, body };
    Ok(client.exchange_status(request, timeout).await?)
}

/// Turns a status into success or an error that says whether to try again. `server` names the
/// other side in the error.
pub fn check_status(reply: &HttpReply, server: &str) -> Result<(), ChannelError> {
    let status = reply.status;
    match status {
        200..=299 => Ok(()),
        300..=399 => Err(ChannelError::permanent(format!(
            "{server} answered {status}: redirects are not followed; configure the final URL"
        ))),
        408 | 409 | 425 | 429 | 500.. => Err(ChannelError {
            problem: format!("{server} answered {status}"),
            retry_after: reply.retry_after,
            permanent: false,
        }),
        _ => Err(ChannelError::permanent(format!("{server} answered {status}"))),
    }
}
