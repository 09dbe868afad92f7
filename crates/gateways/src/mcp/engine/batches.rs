//! Batches: planned once, asked about as one group, answered with one response.

use std::sync::Arc;

use hyper::body::Bytes;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::calls::{keep_alive, waiter};
use super::decisions::Decision;
use super::observer::{Expected, Watch};
use super::state::{Engine, HeldCall};
use super::transport::{Client as _, Forward, ServerRequest, Transport};
use crate::mcp::batch::{self, BatchMember};
use crate::mcp::client_limits;
use crate::mcp::message::{ClientMessage, RequestId, RequestMeta, ToolCall, tool_call};
use crate::mcp::pending_calls::{Update, Waiter};
use crate::mcp::plan::{CallPlan, CallQuestion};
use crate::mcp::read_request::{self, is_read_only};
use crate::mcp::replies;

/// What happens to a request of a batch.
enum Work<T: Transport> {
    /// The proxy answers it.
    Reply(String),
    /// It goes to the server.
    Forward(HeldCall<T>, Watch),
    /// It waits for a decision.
    Wait(HeldCall<T>, UnboundedReceiver<Update>),
}

/// The requests of a batch, each with its index in the response, one stage after the other.
struct BatchPlan<T: Transport> {
    stages: Vec<Vec<(usize, Work<T>)>>,
    count: usize,
    questions: Vec<(CallQuestion, Waiter)>,
}

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
            let expected = |id: &RequestId| Expected { id: id.clone(), watch: Watch::Nothing };
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
            match keep_alive(&client, work).await {
                Some(response) => client.reply(None, response).await,
                None => {
                    let error = replies::error("null", -32603, "the batch was withdrawn");
                    client.withdrawn(error).await;
                }
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

    /// How a batch runs; nothing if it passes unchanged.
    fn plan_batch(&self, client: &T::Client, members: &[BatchMember<'_>]) -> Option<BatchPlan<T>> {
        let requests: Vec<&BatchMember<'_>> =
            members.iter().filter(|member| member.id().is_some()).collect();
        let mut work: Vec<Option<Work<T>>> = Vec::with_capacity(requests.len());
        let mut calls: Vec<(usize, ToolCall<'_>)> = Vec::new();
        let mut questions = Vec::new();
        for (at, member) in requests.iter().enumerate() {
            let ClientMessage::Request { id, written, method, params } = &member.kind else {
                continue;
            };
            let held = || held_request(client, (id, written), member.text);
            let planned = match method.as_ref() {
                "tools/call" => match tool_call(member.text, params) {
                    Ok(call) => {
                        let planned = self.plan_member(held(), &call, &mut questions);
                        calls.push((at, call));
                        planned
                    }
                    Err(why) => Work::Reply(replies::error(written, -32602, &why)),
                },
                method if is_read_only(method) => match self.reject_read(member) {
                    Some(error) => Work::Reply(error),
                    None => Work::Forward(held(), Watch::Nothing),
                },
                "tools/list" => Work::Forward(held(), Watch::List),
                _ => Work::Forward(held(), Watch::Nothing),
            };
            if matches!(planned, Work::Reply(_)) {
                self.transport.release(client, id);
            }
            work.push(Some(planned));
        }
        let passes = |work: &Option<Work<T>>| matches!(work, Some(Work::Forward(..)));
        if work.iter().all(passes) {
            return None;
        }
        let mut stages = vec![Vec::new()];
        let mut take = |at: usize| Some((at, work.get_mut(at)?.take()?));
        for stage in batch::stages(&self.settings.server, calls.iter().map(|(_, call)| call)) {
            let indexes = stage.into_iter().filter_map(|number| calls.get(number).map(|one| one.0));
            stages.push(indexes.filter_map(&mut take).collect());
        }
        // Requests that are no valid calls wait for nothing.
        if let Some(first) = stages.first_mut() {
            first.extend((0..requests.len()).filter_map(take));
        }
        Some(BatchPlan { stages, count: requests.len(), questions })
    }

    fn plan_member(
        &self,
        mut held: HeldCall<T>,
        call: &ToolCall<'_>,
        questions: &mut Vec<(CallQuestion, Waiter)>,
    ) -> Work<T> {
        match self.plan_only(call) {
            CallPlan::Pass => Work::Forward(held, Watch::Nothing),
            CallPlan::Refuse(refusal) => {
                let result = replies::refusal_result(&refusal, false);
                Work::Reply(replies::response(&held.written_id, &result))
            }
            CallPlan::Ask(mut question) => {
                let time_limit = self.time_limit(&call.meta);
                question.question.timeout_seconds = client_limits::deadline(time_limit);
                held.identity = call.identity();
                held.progress.clone_from(&call.meta.progress);
                held.end = Instant::now() + time_limit;
                let (waiter, updates) = waiter(&held, &held.id);
                questions.push((*question, waiter));
                Work::Wait(held, updates)
            }
        }
    }

    /// The error for a read that a person must be asked about, or that is invalid.
    fn reject_read(&self, member: &BatchMember<'_>) -> Option<String> {
        let ClientMessage::Request { written, method, params, .. } = &member.kind else {
            return None;
        };
        let planned = read_request::recorded_arguments(method, params).and_then(|arguments| {
            let Some(arguments) = arguments else { return Ok(CallPlan::Pass) };
            let call = read_request::as_call(method, &arguments, member.text, params)?;
            Ok(self.plan_only(&call))
        });
        match planned {
            Ok(CallPlan::Pass) => None,
            Ok(_) => {
                let why = "not read: a person must be asked about it; send it by itself";
                Some(replies::error(written, -32600, why))
            }
            Err(why) => Some(replies::error(written, -32602, &why)),
        }
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
                Decision::Run(approved, _) => match self.start_approved(&held, &approved) {
                    Some((message, watch)) => (held, message, watch),
                    None => {
                        let why = "it could not be written";
                        return Some(replies::error(&held.written_id, -32603, why));
                    }
                },
            },
        };
        if !self.transport.is_reserved(&held.client, &held.id) {
            return None;
        }
        let request = ServerRequest { id: held.id.clone(), message, watch, own_method: None };
        self.response_or_error(&held, request).await
    }
}

/// A request of a batch by itself.
fn held_request<T: Transport>(
    client: &T::Client,
    (id, written_id): (&RequestId, &str),
    text: &str,
) -> HeldCall<T> {
    HeldCall {
        client: client.clone(),
        id: id.clone(),
        written_id: written_id.to_owned(),
        message: Bytes::copy_from_slice(text.as_bytes()),
        identity: String::new(),
        is_modern: false,
        is_read: false,
        progress: None,
        key: Waiter::new_key(),
        end: Instant::now(),
    }
}
