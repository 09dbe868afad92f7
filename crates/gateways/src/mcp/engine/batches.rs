//! Batches: planned once, asked about as one group, answered with one response.

use std::sync::Arc;

use hyper::body::Bytes;
use tokio::task::JoinSet;

use super::batch_plan::Work;
use super::calls::keep_alive;
use super::decisions::Decision;
use super::observer::{ExpectedResponse, ResponseWatch};
use super::state::Engine;
use super::transport::{Forward, ProxyClient as _, ServerRequest, Transport};
use crate::mcp::batch::{self, BatchMember};
use crate::mcp::message::{ClientMessage, RequestId, RequestMeta, tool_call};
use crate::mcp::replies;

impl<T: Transport> Engine<T> {
    /// Handles a batch.
    pub(super) async fn batch(
        self: &Arc<Self>,
        client: T::Client,
        parts: &[&str],
        message: &Bytes,
    ) {
        let version = self.knowledge.version();
        if !self.transport.allows_batches(&client, version.as_deref()) {
            let why = "batches exist in protocol version 2025-03-26 only";
            return client.reject(replies::error("null", -32600, why)).await;
        }
        let members = match batch::read(parts) {
            Ok(members) => members,
            Err(response) => return client.reject(response).await,
        };
        if !self.reserve_all(&client, &members) {
            let error = replies::error("null", -32600, "an id in it is in use");
            return client.reject(batch::rejection(&members, vec![error])).await;
        }
        let unlisted = self.unlisted(&members);
        let is_busy = T::IS_ORDERED && self.listing.try_lock().is_err();
        if unlisted.is_none() && !is_busy {
            return self.run_batch(client, &members, message).await;
        }
        let (engine, message) = (Arc::clone(self), message.clone());
        self.spawn(async move { engine.batch_after_list(client, message).await });
    }

    fn reserve_all(&self, client: &T::Client, members: &[BatchMember<'_>]) -> bool {
        let mut reserved: Vec<&RequestId> = Vec::new();
        for id in members.iter().filter_map(BatchMember::id) {
            if !self.transport.reserve(client, id) {
                for id in reserved {
                    self.transport.release(client, id);
                }
                return false;
            }
            reserved.push(id);
        }
        true
    }

    /// The metadata of a call whose tool must be listed first.
    fn unlisted(&self, members: &[BatchMember<'_>]) -> Option<RequestMeta> {
        members.iter().filter(|member| member.is_call()).find_map(|member| {
            let ClientMessage::Request { params, .. } = &member.kind else { return None };
            let call = tool_call(member.text, params).ok()?;
            self.must_list(&call).then_some(call.meta)
        })
    }

    async fn batch_after_list(self: Arc<Self>, client: T::Client, message: Bytes) {
        let turn = self.listing.lock().await;
        let text = std::str::from_utf8(&message).unwrap_or_default();
        // It was read before.
        let Ok(ClientMessage::Batch(parts)) = self.transport.parse(text) else { return };
        let Ok(members) = batch::read(&parts) else { return };
        if let Some(meta) = self.unlisted(&members) {
            self.list(&client, &meta).await;
        }
        drop(turn);
        self.run_batch(client, &members, &message).await;
    }

    async fn run_batch(
        self: &Arc<Self>,
        client: T::Client,
        members: &[BatchMember<'_>],
        message: &Bytes,
    ) {
        let Some(plan) = self.plan_batch(&client, members) else {
            let ids = members.iter().filter_map(BatchMember::id);
            let expected =
                |id: &RequestId| ExpectedResponse { id: id.clone(), watch: ResponseWatch::Nothing };
            let forward = Forward {
                message: message.clone(),
                expected: ids.map(expected).collect(),
                written_id: "null".to_owned(),
                progress_floor: None,
                leaving_cancels: true,
            };
            return self.transport.forward(&client, forward).await;
        };
        self.pending.add_batch(plan.questions);
        let others: Vec<Bytes> =
            members.iter().filter_map(|member| self.to_forward(&client, member)).collect();
        let engine = Arc::clone(self);
        self.spawn(async move {
            for message in others {
                engine.transport.send(&client, message).await;
            }
            client.hold();
            let work = engine.respond_to_batch(plan.stages, plan.count);
            if let Some(response) = keep_alive(&client, work).await {
                client.reply(None, response).await;
            } else {
                let error = replies::error("null", -32603, "the batch was withdrawn");
                client.withdrawn(error).await;
            }
        });
    }

    /// A member that needs no response, and that the server must get.
    fn to_forward(&self, client: &T::Client, member: &BatchMember<'_>) -> Option<Bytes> {
        match &member.kind {
            ClientMessage::Notification { method, params } => {
                let is_cancelled = method == "notifications/cancelled";
                if is_cancelled && self.cancel(client, params) {
                    return None;
                }
            }
            ClientMessage::Response => {}
            _ => return None,
        }
        Some(Bytes::copy_from_slice(member.text.as_bytes()))
    }

    /// The response to the batch, in its order; nothing if every request was withdrawn.
    async fn respond_to_batch(
        self: &Arc<Self>,
        stages: Vec<Vec<(usize, Work<T>)>>,
        count: usize,
    ) -> Option<String> {
        let mut responses: Vec<Option<String>> = vec![None; count];
        for stage in stages {
            let mut running = JoinSet::new();
            for (at, work) in stage {
                let engine = Arc::clone(self);
                running.spawn(async move { (at, engine.respond_to_member(work).await) });
            }
            while let Some(ended) = running.join_next().await {
                if let Ok((at, response)) = ended
                    && let Some(slot) = responses.get_mut(at)
                {
                    *slot = response;
                }
            }
        }
        let responses: Vec<String> = responses.into_iter().flatten().collect();
        (!responses.is_empty()).then(|| format!("[{}]", responses.join(",")))
    }

    /// The response to a request of a batch; nothing if it was withdrawn.
    async fn respond_to_member(&self, work: Work<T>) -> Option<String> {
        let (held, message, watch) = match work {
            Work::Reply(text) => return Some(text),
            Work::Forward(held, watch) => {
                let message = held.message.clone();
                (held, message, watch)
            }
            Work::Wait(held, updates) => match self.decision(&held, updates).await {
                Decision::Answer(text) => {
                    self.transport.release(&held.client, &held.id);
                    return Some(text);
                }
                Decision::Withdrawn => return None,
                Decision::Run(approved, _) => {
                    let Some((message, watch)) = self.start_approved(&held, &approved) else {
                        self.transport.release(&held.client, &held.id);
                        let why = "it could not be written";
                        return Some(replies::error(&held.written_id, -32603, why));
                    };
                    (held, message, watch)
                }
            },
        };
        if !self.transport.is_reserved(&held.client, &held.id) {
            return None;
        }
        let request = ServerRequest { id: held.id.clone(), message, watch, own_method: None };
        self.response_or_error(&held, request).await
    }
}
