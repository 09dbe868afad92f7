//! Messages of clients: what each is, and where it goes.

use std::borrow::Cow;
use std::sync::Arc;

use countersign_json::Value;
use hyper::body::Bytes;

use super::observer::ResponseWatch;
use super::state::Engine;
use super::transport::{ProxyClient as _, Released, Transport};
use crate::mcp::message::{ClientMessage, RequestId, tool_call};
use crate::mcp::read_request::{self, is_read_only};
use crate::mcp::replies;

/// A request as it came.
pub(super) struct ClientRequest<'a> {
    pub id: RequestId,
    pub written: &'a str,
    pub method: Cow<'a, str>,
    pub params: Value<'a>,
    pub text: &'a str,
    pub message: &'a Bytes,
}

impl<T: Transport> Engine<T> {
    /// Handles a message of a client. Returns as soon as the next message may be handled.
    pub async fn handle(self: &Arc<Self>, client: T::Client, message: Bytes) {
        let Ok(text) = std::str::from_utf8(&message) else {
            let error = replies::error("null", -32700, "the message is not UTF-8");
            return client.reject(error).await;
        };
        let parsed = match self.transport.parse(text) {
            Ok(parsed) => parsed,
            Err(_) if self.transport.is_other_protocol(&client, text) => {
                return self.pass(&client, None, message.clone()).await;
            }
            Err(invalid) => {
                let error = replies::error(&invalid.id, invalid.code, &invalid.why);
                return client.reject(error).await;
            }
        };
        match parsed {
            ClientMessage::Response if T::IS_ORDERED && self.roots.learn(text) => {
                client.accept().await;
            }
            ClientMessage::Blank | ClientMessage::Response => {
                self.pass(&client, None, message.clone()).await;
            }
            ClientMessage::Batch(parts) => self.batch(client, &parts, &message).await,
            ClientMessage::Notification { method, params } => {
                self.notification(&client, &method, &params, &message).await;
            }
            ClientMessage::Request { id, written, method, params } => {
                let message = &message;
                let request = ClientRequest { id, written, method, params, text, message };
                self.request(&client, &request).await;
            }
        }
    }

    async fn notification(
        self: &Arc<Self>,
        client: &T::Client,
        method: &str,
        params: &Value<'_>,
        message: &Bytes,
    ) {
        match method {
            "tools/call" => {
                let error = replies::error("null", -32600, "a call without an id is not run");
                return client.reject(error).await;
            }
            "notifications/cancelled" if self.cancel(client, params) => {
                return client.accept().await;
            }
            "notifications/initialized" => self.set_ready(),
            _ => {}
        }
        self.pass(client, None, message.clone()).await;
        if ["notifications/initialized", "notifications/roots/list_changed"].contains(&method) {
            self.ask_for_roots(client).await;
        }
    }

    /// Asks the client for its roots. Only over a transport with one client: the roots of one
    /// client are not the project of another.
    pub(super) async fn ask_for_roots(&self, client: &T::Client) {
        if T::IS_ORDERED
            && let Some(question) = self.roots.question()
        {
            client.ask(question).await;
        }
    }

    /// The project of a call.
    pub(super) fn project(&self) -> Option<String> {
        self.roots.first().or_else(|| self.settings.project.clone())
    }

    /// Cancels a request. Whether the server must not hear of it, because it never got the request.
    pub(super) fn cancel(&self, client: &T::Client, params: &Value<'_>) -> bool {
        let Some(id) = params.get("requestId").and_then(RequestId::of) else { return false };
        let has_waited = self.pending.cancel(&client.scope(), &id);
        match self.transport.release(client, &id) {
            Released::Unknown => has_waited,
            Released::Reserved => true,
            Released::Sent(watch) => {
                watch.abandon("the client cancelled the call while it ran");
                false
            }
        }
    }

    async fn request(self: &Arc<Self>, client: &T::Client, request: &ClientRequest<'_>) {
        let ClientRequest { id, written, method, params, .. } = request;
        if let Err(why) = self.transport.check(client, method, params) {
            return client.reject(replies::error(written, -32020, &why)).await;
        }
        if method.starts_with("tasks/")
            && let Some(response) = self.task_request(client, method, written, params).await
        {
            return client.reply(None, response).await;
        }
        if !self.transport.reserve(client, id) {
            return client.reject(replies::error(written, -32600, "this id is in use")).await;
        }
        if method == "initialize" {
            self.set_client_name(params.pointer("/clientInfo/name").and_then(Value::as_str));
            self.roots.initialize(params);
        }
        let watch = match method.as_ref() {
            "tools/call" => return self.tool_call(client, request).await,
            method if is_read_only(method) => return self.read(client, request).await,
            "initialize" | "server/discover" => ResponseWatch::Initialize,
            "tools/list" => ResponseWatch::List,
            _ => ResponseWatch::Nothing,
        };
        self.pass(client, Some((id, written, watch)), request.message.clone()).await;
    }

    async fn tool_call(self: &Arc<Self>, client: &T::Client, request: &ClientRequest<'_>) {
        let ClientRequest { id, written, params, text, message, .. } = request;
        let call = match tool_call(text, params) {
            Ok(call) => call,
            Err(why) => {
                let error = replies::error(written, -32602, &why);
                return client.reply(Some(id), error).await;
            }
        };
        if self.must_wait_for_list(&call) {
            let (engine, client, message) = (Arc::clone(self), client.clone(), (*message).clone());
            self.spawn(async move { engine.call_after_list(client, message).await });
            return;
        }
        let step = self.plan(&call, written);
        self.run_step(client, (id, written), &call, (*message).clone(), step).await;
    }

    /// A resource or a prompt: it passes and is recorded, or it waits like a call.
    async fn read(self: &Arc<Self>, client: &T::Client, request: &ClientRequest<'_>) {
        let ClientRequest { id, written, method, params, text, message } = request;
        let arguments = read_request::recorded_arguments(method, params);
        let arguments = match arguments {
            Ok(Some(arguments)) => arguments,
            // The server says what is missing.
            Ok(None) => {
                let request = Some((id, *written, ResponseWatch::Nothing));
                return self.pass(client, request, (*message).clone()).await;
            }
            Err(why) => {
                return client.reply(Some(id), replies::error(written, -32602, &why)).await;
            }
        };
        match read_request::as_call(method, &arguments, text, params) {
            Ok(call) => {
                let step = self.plan(&call, written);
                self.run_step(client, (id, written), &call, (*message).clone(), step).await;
            }
            Err(why) => client.reply(Some(id), replies::error(written, -32602, &why)).await,
        }
    }
}
