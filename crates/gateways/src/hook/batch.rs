//! All calls of one turn: planned once, asked about as one group, answered one by one.

use std::time::{Duration, Instant};

use countersign_client::{AgentClient, Batch, BatchItem, CallRequest, Outcome, RequestStatus};

use super::local_decision::LocalGate;
use super::stages::{in_order, stages};
use super::{ask, messages};
use crate::agents::{HookAnswer, ProposedCall};
use crate::machine_look::MachineLook;

/// The length of one long poll, in seconds.
const POLL_SECONDS: u64 = 20;

/// Answers every call of a turn and says which of them may run in parallel.
pub fn answer(
    local: &LocalGate,
    daemon: impl Fn() -> Result<AgentClient, String>,
    calls: &[ProposedCall],
    look: &MachineLook,
    end: Instant,
) -> HookAnswer {
    let mut answers: Vec<Option<HookAnswer>> =
        calls.iter().map(|call| local.passes(call).then_some(HookAnswer::Pass)).collect();
    let open: Vec<usize> =
        answers.iter().enumerate().filter(|(_, a)| a.is_none()).map(|(at, _)| at).collect();
    let asked: Vec<&ProposedCall> = open.iter().filter_map(|at| calls.get(*at)).collect();
    let decided = match (asked.as_slice(), daemon) {
        ([], _) => Vec::new(),
        (asked, daemon) => match (asked, daemon()) {
            (_, Err(why)) => vec![HookAnswer::Denied(messages::unreachable(&why)); asked.len()],
            // A group of one is an ordinary request.
            ([only], Ok(daemon)) => {
                let answer = ask::ask(&daemon, only, look, None, end);
                local.spool.send_if_stale();
                vec![answer]
            }
            (_, Ok(daemon)) => ask_group(&daemon, asked, &look.raising_only(), end),
        },
    };
    for (at, answer) in open.iter().zip(decided) {
        if let Some(slot) = answers.get_mut(*at) {
            *slot = Some(answer);
        }
    }
    let missing = || {
        let why = "Countersign: this call of the batch got no answer, so it was not run.";
        HookAnswer::Denied(why.to_owned())
    };
    let answers = answers.into_iter().map(|answer| answer.unwrap_or_else(missing)).collect();
    let stages = stages(local.engine.assess, calls).unwrap_or_else(|| in_order(calls));
    HookAnswer::Planned { stages, answers }
}

/// Asks about all calls as one group, and waits for each.
///
/// The calls of a group may change each other's files, so facts can only raise them.
fn ask_group(
    daemon: &AgentClient,
    calls: &[&ProposedCall],
    look: &MachineLook,
    end: Instant,
) -> Vec<HookAnswer> {
    let questions: Result<Vec<CallRequest>, _> =
        calls.iter().map(|call| ask::question(call, look)).collect();
    let asked = questions.and_then(|list| daemon.batch(&list, None).map(|batch| (list, batch)));
    let (questions, mut batch) = match asked {
        Ok(asked) => asked,
        Err(error) => return vec![HookAnswer::Denied(messages::failed(&error)); calls.len()],
    };
    while batch.requests.iter().any(is_pending) {
        let left = end.saturating_duration_since(Instant::now());
        // A poll takes at least a second and must not outlast the end.
        let in_time = left >= Duration::from_secs(1);
        let Some(group) = batch.group.as_deref().filter(|_| in_time) else { break };
        // After a failed poll the requests stay pending, and pending is not approved.
        match daemon.wait_batch(group, left.as_secs().clamp(1, POLL_SECONDS)) {
            Ok(newer) if newer.requests.len() == batch.requests.len() => merge(&mut batch, newer),
            _ => break,
        }
    }
    let items = batch.requests.into_iter().zip(calls).zip(&questions);
    items.map(|((item, call), question)| decided(daemon, item, call, question, look)).collect()
}

fn is_pending(item: &BatchItem) -> bool {
    matches!(item, BatchItem::Request(request) if request.state == RequestStatus::Pending)
}

/// Takes newer states; a poll does not repeat items that were answered at once.
fn merge(batch: &mut Batch, newer: Batch) {
    for (old, new) in batch.requests.iter_mut().zip(newer.requests) {
        if let (BatchItem::Request(before), BatchItem::Request(after)) = (&*old, &new)
            && before.id == after.id
            && before.digest == after.digest
        {
            *old = new;
        }
    }
}

fn decided(
    daemon: &AgentClient,
    item: BatchItem,
    call: &ProposedCall,
    question: &CallRequest,
    look: &MachineLook,
) -> HookAnswer {
    let request = match item {
        BatchItem::Request(request) => request,
        BatchItem::Problem { problem } => {
            return HookAnswer::Denied(format!(
                "Countersign: {problem}, so this call was not run."
            ));
        }
        BatchItem::Answered => return HookAnswer::Denied(messages::invalid_answer()),
    };
    if request.state == RequestStatus::Pending {
        return HookAnswer::Denied(messages::pending(&request));
    }
    match Outcome::of(*request) {
        Ok(Some(ended)) => ask::redeem(daemon, &ended, call, question, look).unwrap_or_else(|| {
            let why = "Countersign: this approval was already used. Propose the call again.";
            HookAnswer::Denied(why.to_owned())
        }),
        Ok(None) => HookAnswer::Denied(messages::invalid_answer()),
        Err(error) => HookAnswer::Denied(messages::failed(&error)),
    }
}
