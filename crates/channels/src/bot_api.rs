//! The HTTP API of a chat platform that a bot calls: its base URL, and the token that every request
//! carries in a header.

use std::path::Path;
use std::time::Duration;

use countersign_net::{Client, HttpReply, HttpRequest, HttpUrl};

use crate::ChannelError;
use crate::secret::Token;

/// The API endpoint and the credentials.
#[derive(Debug)]
pub struct BotApi {
    base: HttpUrl,
    token: Token,
    client: Client,
    timeout: Duration,
}

impl BotApi {
    /// Reads the token.
    pub fn open(
        base_url: &str,
        allow_private: bool,
        token_file: &Path,
        timeout: Duration,
    ) -> Result<BotApi, ChannelError> {
        let base = base(base_url, allow_private)?;
        let token = read_token(token_file)?;
        Ok(BotApi { base, token, client: Client::new(allow_private), timeout })
    }

    /// Sends one request. `scheme` stands before the token in its header.
    pub async fn send(
        &self,
        (method, path): (&str, &str),
        scheme: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<HttpReply, ChannelError> {
        let token = format!("{scheme} {}", self.token.expose());
        let headers = [&[("authorization", token.as_str())], headers].concat();
        let url = self.base.join(path).map_err(ChannelError::permanent)?;
        let request = HttpRequest { method, url: &url, headers: &headers, body };
        Ok(self.client.exchange(request, self.timeout).await?)
    }
}

/// A token or secret from its file.
pub fn read_token(file: &Path) -> Result<Token, ChannelError> {
    Token::read(file).map_err(|error| ChannelError::permanent(error.to_string()))
}

/// The platform's base URL. Every request carries the token, so http is accepted only where the
/// operator allowed private networks.
fn base(url: &str, allow_private: bool) -> Result<HttpUrl, ChannelError> {
    if !url.starts_with("https://") && !allow_private {
        return Err(ChannelError::permanent(
            "base_url must begin with https://, because every request carries the bot's token",
        ));
    }
    HttpUrl::parse(url).map_err(|problem| ChannelError::permanent(format!("base_url: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_sent_in_the_clear() {
        assert!(base("http://example.org/api", false).is_err());
        assert!(base("https://example.org/api", false).is_ok());
        assert!(base("http://127.0.0.1:9/api", true).is_ok());
        assert!(base("https://a:b@example.org", false).is_err());
    }
}
