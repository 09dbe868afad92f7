//! Calls: planned, then forwarded, answered by the proxy, or held until the daemon has decided.

use std::sync::Arc;
use std::time::Duration;

use countersign_client::ReportStatus;
use hyper::body::Bytes;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::decisions::Decision;
use super::observer::{ExpectedResponse, ResponseWatch};
use super::state::{Engine, HeldCall};
use super::transport::{Forward, ProgressFloor, ProxyClient as _, Transport};
use crate::mcp::approval::ApprovedCall;
use crate::mcp::client_limits;
use crate::mcp::known_tools::ToolStatus;
use crate::mcp::message::{RequestId, ToolCall};
use crate::mcp::pending_calls::{CallWaiter, Update};
use crate::mcp::plan::{CallPlace, CallPlan, CallQuestion, plan_call};
use crate::mcp::raw_json;
use crate::mcp::replies::{self, CallRefusal};
use crate::mcp::reporter::RunningCall;
use crate::mcp::resume_token::ResumeTokens;
use crate::mcp::rewrite::rewrite_approved;

/// How often a held connection shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(8);

/// What happens next to a call.
pub(super) enum Step {
    Forward(ResponseWatch),
    Reply(String),
    Hold(Box<CallQuestion>),
}

impl<T: Transport> Engine<T> {
    /// Plans a call whose tool was looked up.
    pub(super) fn plan(&self, call: &ToolCall<'_>, written_id: &str) -> Step {
        if !call.is_read
            && let Some(running) = self.knowledge.take_continuation(call)
        {
            return Step::Forward(self.knowledge.watch_outcome(running));
        }
        match self.plan_only(call) {
            CallPlan::Pass => Step::Forward(ResponseWatch::Nothing),
            CallPlan::Ask(question) => Step::Hold(question),
            CallPlan::Refuse(refusal) => {
                let (is_modern, is_read) = (call.meta.is_modern(), call.is_read);
                Step::Reply(replies::refusal(written_id, &refusal, is_modern, is_read))
            }
        }
    }

    pub(super) fn plan_only(&self, call: &ToolCall<'_>) -> CallPlan {
        let status =
            if call.is_read { ToolStatus::default() } else { self.knowledge.status(call.name) };
        let place = CallPlace { server: &self.settings.server, project: self.project() };
        let mut plan = plan_call(&place, call, &status, &self.knowledge.reporter);
        if let CallPlan::Ask(question) = &mut plan {
            question.question.host =
                self.client_name(&call.meta).filter(|name| client_limits::is_label(name));
        }
        plan
    }

    /// Does what was planned.
    pub(super) async fn run_step(
        self: &Arc<Self>,
        client: &T::Client,
        (id, written_id): (&RequestId, &str),
        call: &ToolCall<'_>,
        message: Bytes,
        step: Step,
    ) {
        let mut question = match step {
            Step::Forward(watch) => {
                return self.pass(client, Some((id, written_id, watch)), message).await;
            }
            Step::Reply(text) => return client.reply(Some(id), text).await,
            Step::Hold(question) => question,
        };
        let time_limit = self.time_limit(&call.meta);
        question.question.timeout_seconds = Some(client_limits::deadline());
        let token = call.state.and_then(raw_json::unquote);
        let token = token.filter(|token| ResumeTokens::is_ours(token));
        let (key, ids) = (CallWaiter::new_key(), (id, written_id));
        let held = HeldCall::new(client, ids, message, call, (key, time_limit));
        let may_be_task = call.meta.is_modern() && call.meta.tasks && !call.is_read;
        if may_be_task && token.is_none() && self.has_room_for_task() {
            let engine = Arc::clone(self);
            self.spawn(async move { engine.hold_as_task(held, *question, time_limit).await });
            return;
        }
        let (waiter, updates) = waiter(&held, id);
        self.pending.add(*question, waiter, token.as_deref());
        self.spawn(Arc::clone(self).follow(held, updates));
    }

    /// Waits for the decision on a held call and does what it says.
    pub(super) async fn follow(
        self: Arc<Self>,
        held: HeldCall<T>,
        updates: UnboundedReceiver<Update>,
    ) {
        held.client.hold();
        let decision = keep_alive(&held.client, self.decision(&held, updates)).await;
        match decision {
            Decision::Run(approved, floor) => self.run(held, &approved, floor).await,
            Decision::Answer(text) => held.client.reply(Some(&held.id), text).await,
            Decision::Withdrawn => {
                let text = replies::error(&held.written_id, -32603, "the call was withdrawn");
                held.client.withdrawn(text).await;
            }
        }
    }

    /// Runs an approved call; the server's response goes to the client.
    async fn run(&self, held: HeldCall<T>, approved: &ApprovedCall, floor: Option<ProgressFloor>) {
        let Some((message, watch)) = self.start_approved(&held, approved) else {
            let refusal = CallRefusal::new("unavailable", UNWRITABLE);
            let (is_modern, is_read) = (held.is_modern, held.is_read);
            let text = replies::refusal(&held.written_id, &refusal, is_modern, is_read);
            return held.client.reply(Some(&held.id), text).await;
        };
        let forward = Forward {
            message,
            expected: vec![ExpectedResponse { id: held.id, watch }],
            written_id: held.written_id,
            progress_floor: floor,
            // In older versions a connection may break without a meaning.
            leaving_cancels: held.is_modern,
        };
        self.transport.forward(&held.client, forward).await;
    }

    /// The message of an approved call as the server gets it, and the watch for its outcome.
    pub(super) fn start_approved(
        &self,
        held: &HeldCall<T>,
        approved: &ApprovedCall,
    ) -> Option<(Bytes, ResponseWatch)> {
        let call = RunningCall {
            request: approved.request.clone(),
            tier: approved.tier.clone(),
            identity: held.identity.clone(),
            since: std::time::Instant::now(),
        };
        let text = std::str::from_utf8(&held.message).unwrap_or_default();
        let state = approved.server_state.as_ref();
        let Some(text) = rewrite_approved(text, approved.edited.as_deref(), state) else {
            self.knowledge.reporter.report_outcome(&call, ReportStatus::Skipped, UNWRITABLE);
            return None;
        };
        let message = match text {
            std::borrow::Cow::Borrowed(_) => held.message.clone(),
            std::borrow::Cow::Owned(text) => Bytes::from(text),
        };
        Some((message, self.knowledge.watch_outcome(call)))
    }
}

const UNWRITABLE: &str = "Not run: the approved call could not be written.";

/// A waiter for a held call, and where it gets its update.
pub(super) fn waiter<T: Transport>(
    held: &HeldCall<T>,
    request_id: &RequestId,
) -> (CallWaiter, UnboundedReceiver<Update>) {
    let (updates, receiver) = mpsc::unbounded_channel();
    let waiter = CallWaiter {
        key: held.key,
        scope: held.client.scope(),
        request_id: request_id.clone(),
        written_id: held.written_id.clone(),
        is_modern: held.is_modern,
        is_read: held.is_read,
        round: 0,
        updates,
    };
    (waiter, receiver)
}

/// Shows a client that the connection is alive while something is awaited.
pub(super) async fn keep_alive<C, R>(client: &C, work: impl Future<Output = R>) -> R
where
    C: super::transport::ProxyClient,
{
    let mut beat = tokio::time::interval(KEEP_ALIVE);
    tokio::pin!(work);
    loop {
        tokio::select! {
            result = &mut work => return result,
            _ = beat.tick() => client.keep_alive().await,
        }
    }
}
