//! Lists the server's tools, if a client calls one that it never listed.

use std::sync::Arc;
use std::time::Duration;

use countersign_json::base64;
use hyper::body::Bytes;

use super::observer::ResponseWatch;
use super::state::Engine;
use super::transport::{ProxyClient as _, RequestError, ServerRequest, Transport};
use crate::mcp::message::{ClientMessage, RequestId, RequestMeta, ToolCall, tool_call};
use crate::mcp::raw_json;

/// How long a server may take for a page of its list.
const PAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// A longer list is rejected.
const MAX_PAGES: usize = 64;

impl<T: Transport> Engine<T> {
    /// Whether a call must wait: the tools must be listed first, or earlier calls wait for that.
    pub(super) fn must_wait_for_list(&self, call: &ToolCall<'_>) -> bool {
        self.must_list(call) || T::IS_ORDERED && self.listing.try_lock().is_err()
    }

    pub(super) fn must_list(&self, call: &ToolCall<'_>) -> bool {
        let may_list = call.meta.is_modern() || self.transport.may_list(self.is_ready());
        may_list && self.knowledge.tools.needs_listing(call.name)
    }

    /// Goes on with a call when the tools are listed.
    pub(super) async fn call_after_list(self: &Arc<Self>, client: T::Client, message: Bytes) {
        let turn = self.listing.lock().await;
        let text = std::str::from_utf8(&message).unwrap_or_default();
        // It was read before.
        let Ok(ClientMessage::Request { id, written, params, .. }) = self.transport.parse(text)
        else {
            return;
        };
        let Ok(call) = tool_call(text, &params) else { return };
        if self.must_list(&call) {
            self.list(&client, &call.meta).await;
        }
        // It may have been cancelled meanwhile.
        if client.has_left() || !self.transport.is_reserved(&client, &id) {
            return;
        }
        let step = self.plan(&call, written);
        drop(turn);
        self.run_step(&client, (&id, written), &call, message.clone(), step).await;
    }

    /// Asks the server for its tools, in the name of a client.
    pub(super) async fn list(&self, client: &T::Client, meta: &RequestMeta) {
        let result = self.list_pages(client, meta).await;
        self.knowledge.tools.finish_listing(result);
    }

    async fn list_pages(&self, client: &T::Client, meta: &RequestMeta) -> Result<(), String> {
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let request = list_request(meta, cursor)?;
            let asked = self.transport.request(client, request);
            let response = match tokio::time::timeout(PAGE_TIMEOUT, asked).await {
                Ok(Ok(response)) => response,
                Ok(Err(RequestError::Failed(why))) => return Err(why),
                Ok(Err(RequestError::Cancelled)) | Err(_) => return Err("no answer came".into()),
            };
            let result = raw_json::member(&response, "result").ok_or("it refused")?;
            cursor = self.knowledge.learn_page(result).await?;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Err(format!("it has more than {MAX_PAGES} pages"))
    }
}

fn list_request(meta: &RequestMeta, cursor: Option<String>) -> Result<ServerRequest, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| "no random bytes are available")?;
    let written = format!("\"countersign:{}\"", base64::encode_url(&bytes));
    let id = RequestId::read(&written).ok_or("it has no id")?;
    let mut params = Vec::new();
    params.extend(meta.for_own_request().map(|meta| format!("\"_meta\":{meta}")));
    params.extend(cursor.map(|next| format!("\"cursor\":{}", serde_json::Value::from(next))));
    let message = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{written},\"method\":\"tools/list\",\"params\":{{{}}}}}",
        params.join(",")
    );
    let (message, watch) = (Bytes::from(message), ResponseWatch::Nothing);
    Ok(ServerRequest { id, message, watch, own_method: Some("tools/list") })
}
