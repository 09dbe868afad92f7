//! Streamable HTTP: each message of a client is one request to the server.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use countersign_json::Value;
use hyper::body::Bytes;

use super::client::HttpClient;
use super::headers;
use super::relay::Relay;
use super::upstream::Upstream;
use crate::mcp::engine::observer::ServerKnowledge;
use crate::mcp::engine::transport::{
    Forward, ProxyClient as _, Released, RequestError, ServerRequest, Transport,
};
use crate::mcp::message::{self, BATCH_VERSION, ClientMessage, InvalidMessage, RequestId};
use crate::mcp::raw_json;

/// How long a server may take for an approved call whose client left.
const OUTCOME_TIMEOUT: Duration = Duration::from_mins(10);

/// The server behind the proxy.
pub struct HttpTransport {
    upstream: Upstream,
    knowledge: Arc<ServerKnowledge>,
}

impl HttpTransport {
    /// Before this server.
    pub fn new(upstream: Upstream, knowledge: Arc<ServerKnowledge>) -> HttpTransport {
        HttpTransport { upstream, knowledge }
    }

    fn relay<'a>(&'a self, client: &'a HttpClient) -> Relay<'a> {
        Relay { upstream: &self.upstream, knowledge: &self.knowledge, client }
    }
}

impl Transport for HttpTransport {
    type Client = HttpClient;
    const IS_ORDERED: bool = false;
    const TASK_DELAY: Duration = Duration::from_secs(2);

    fn parse<'a>(&self, text: &'a str) -> Result<ClientMessage<'a>, InvalidMessage> {
        message::parse(text)
    }

    /// Such as a request for a token.
    fn is_other_protocol(&self, client: &HttpClient, text: &str) -> bool {
        let parts = client.parts();
        if parts.uri.path() == self.upstream.path() {
            return false;
        }
        let is_form = headers::content_type(&parts.headers) == "application/x-www-form-urlencoded";
        let is_json = text.trim_start().starts_with(['{', '[']);
        let members = raw_json::members(text).unwrap_or_default();
        let is_method = |(key, _): &(Cow<'_, str>, &str)| key.eq_ignore_ascii_case("method");
        is_form && !is_json || !members.is_empty() && !members.iter().any(is_method)
    }

    fn check(&self, client: &HttpClient, method: &str, params: &Value<'_>) -> Result<(), String> {
        headers::check(&client.parts().headers, method, params)
    }

    fn allows_batches(&self, client: &HttpClient, _: Option<&str>) -> bool {
        // The version with batches had no header for it.
        let version = client.parts().headers.get("mcp-protocol-version");
        version.is_none_or(|version| version == BATCH_VERSION)
    }

    fn may_list(&self, _: bool) -> bool {
        true
    }

    fn reserve(&self, _: &HttpClient, _: &RequestId) -> bool {
        true
    }

    fn is_reserved(&self, _: &HttpClient, _: &RequestId) -> bool {
        true
    }

    fn release(&self, _: &HttpClient, _: &RequestId) -> Released {
        Released::Unknown
    }

    fn request_of_task(
        &self,
        _: &HttpClient,
        (id, message): (&RequestId, &Bytes),
        _: &str,
    ) -> Option<(RequestId, Bytes)> {
        Some((id.clone(), message.clone()))
    }

    async fn forward(&self, client: &HttpClient, forward: Forward) {
        let has_outcome = forward.expected.iter().any(|one| one.watch.has_outcome());
        let time_limit = if has_outcome && !forward.leaving_cancels {
            OUTCOME_TIMEOUT
        } else {
            // The server sees that the connection is closed: in modern versions that cancels.
            Duration::ZERO
        };
        let leaving = async {
            client.left().await;
            tokio::time::sleep(time_limit).await;
        };
        let relay = self.relay(client);
        tokio::select! {
            () = relay.forward(forward) => {}
            () = leaving => {}
        }
    }

    async fn send(&self, client: &HttpClient, message: Bytes) {
        let request = headers::request_for_server(client.parts(), message, None);
        // The message needs no response.
        drop(self.upstream.send(request).await);
    }

    async fn request(
        &self,
        client: &HttpClient,
        request: ServerRequest,
    ) -> Result<String, RequestError> {
        self.relay(client).request(request).await.map_err(RequestError::Failed)
    }
}
