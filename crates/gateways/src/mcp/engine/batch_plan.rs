//! How a batch runs: what happens to each request, and in which order.

use hyper::body::Bytes;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::calls::waiter;
use super::observer::ResponseWatch;
use super::state::{Engine, HeldCall};
use super::transport::Transport;
use crate::mcp::batch::{self, BatchMember};
use crate::mcp::client_limits;
use crate::mcp::message::{ClientMessage, RequestId, ToolCall, tool_call};
use crate::mcp::pending_calls::{CallWaiter, Update};
use crate::mcp::plan::{CallPlan, CallQuestion};
use crate::mcp::read_request::{self, is_read_only};
use crate::mcp::replies;

/// What happens to a request of a batch.
pub(super) enum Work<T: Transport> {
    /// The proxy answers it.
    Reply(String),
    /// It goes to the server.
    Forward(HeldCall<T>, ResponseWatch),
    /// It waits for a decision.
    Wait(HeldCall<T>, UnboundedReceiver<Update>),
}

/// The requests of a batch, each with its index in the response, one stage after the other.
pub(super) struct BatchPlan<T: Transport> {
    pub stages: Vec<Vec<(usize, Work<T>)>>,
    pub count: usize,
    pub questions: Vec<(CallQuestion, CallWaiter)>,
}

impl<T: Transport> Engine<T> {
    /// How a batch runs; nothing if it passes unchanged.
    pub(super) fn plan_batch(
        &self,
        client: &T::Client,
        members: &[BatchMember<'_>],
    ) -> Option<BatchPlan<T>> {
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
                    None => Work::Forward(held(), ResponseWatch::Nothing),
                },
                "tools/list" => Work::Forward(held(), ResponseWatch::List),
                _ => Work::Forward(held(), ResponseWatch::Nothing),
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
        questions: &mut Vec<(CallQuestion, CallWaiter)>,
    ) -> Work<T> {
        match self.plan_only(call) {
            CallPlan::Pass => Work::Forward(held, ResponseWatch::Nothing),
            CallPlan::Refuse(refusal) => {
                let result = replies::refusal_result(&refusal, false);
                Work::Reply(replies::response(&held.written_id, &result))
            }
            CallPlan::Ask(mut question) => {
                let time_limit = self.time_limit(&call.meta);
                question.question.timeout_seconds = Some(client_limits::deadline());
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
        key: CallWaiter::new_key(),
        end: Instant::now(),
    }
}
