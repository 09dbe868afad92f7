//! One HTTP POST for collectors and witnesses that the operator named, by the channels' own client.

use std::time::Duration;

use countersign_channels::ChannelError;
use countersign_channels::post::{Target, post};

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why nothing arrived.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The address.
    #[error("{0}")]
    Address(&'static str),
    /// The way there.
    #[error("{0}")]
    Network(ChannelError),
    /// The other side did not take it.
    #[error("the other side answered {0}")]
    Answered(u16),
}

/// Posts a text; only an answer of 200 to 299 means that it arrived. The operator named the place,
/// so it may be on this machine.
pub async fn post_text(url: &str, kind: &str, body: String) -> Result<(), PostError> {
    let target = Target::parse(url).map_err(PostError::Address)?;
    let headers = [("content-type", kind)];
    let answer = post(&target, true, &headers, body, PATIENCE).await.map_err(PostError::Network)?;
    if (200..300).contains(&answer.status) {
        Ok(())
    } else {
        Err(PostError::Answered(answer.status))
    }
}
