//! Several calls of one turn: planned once, asked about as one group, answered one by one.

use std::time::{Duration, Instant};

use countersign_client::{Agent, Batch, BatchItem, Outcome, Question, State};
use countersign_json as json;
use countersign_risk::batch::plan;
use countersign_risk::call::Call;
use countersign_risk::verdict::Policy;

use super::{Hook, ask};
use crate::agents::{Answer, Proposed};

/// How long one long poll waits.
const POLL: u64 = 20;

impl Hook {
    /// Answers every call of a turn, and says which of them may run side by side.
    pub(super) fn batch(&self, calls: &[Proposed], end: Instant) -> Answer {
        let mut answers: Vec<Option<Answer>> =
            calls.iter().map(|call| self.alone.passes(call).then_some(Answer::Pass)).collect();
        let open: Vec<usize> =
            answers.iter().enumerate().filter(|(_, a)| a.is_none()).map(|(at, _)| at).collect();
        // A group of one is no group.
        if let [only] = open.as_slice() {
            if let (Some(call), Some(place)) = (calls.get(*only), answers.get_mut(*only)) {
                *place = Some(self.before(call, end));
            }
        } else if !open.is_empty() {
            let asked: Vec<&Proposed> = open.iter().filter_map(|at| calls.get(*at)).collect();
            let told = match (self.daemon)() {
                Ok(daemon) => group(&daemon, &asked, end),
                Err(why) => vec![Answer::Denied(ask::absent(&why)); asked.len()],
            };
            for (at, answer) in open.iter().zip(told) {
                if let Some(place) = answers.get_mut(*at) {
                    *place = Some(answer);
                }
            }
        }
        let no = || Answer::Denied("Countersign: this call of the batch was not answered.".into());
        let answers = answers.into_iter().map(|answer| answer.unwrap_or_else(no)).collect();
        Answer::Planned { stages: stages(calls), answers }
    }
}

/// Which calls may run side by side; one after the other where that cannot be known.
pub(super) fn stages(calls: &[Proposed]) -> Vec<Vec<usize>> {
    let texts: Vec<String> = calls
        .iter()
        .map(|call| {
            let tool = serde_json::Value::from(call.tool.as_str());
            format!("{{\"tool\":{tool},\"arguments\":{}}}", call.arguments)
        })
        .collect();
    let values: Vec<_> = texts.iter().filter_map(|text| json::parse(text).ok()).collect();
    let read: Vec<_> = values.iter().filter_map(|value| Call::from_json(value).ok()).collect();
    if read.len() == calls.len() {
        plan(&read, &Policy::default()).stages
    } else {
        (0..calls.len()).map(|at| vec![at]).collect()
    }
}

/// Asks about all of them as one group, and waits for each.
fn group(daemon: &Agent, calls: &[&Proposed], end: Instant) -> Vec<Answer> {
    let questions: Result<Vec<Question>, _> =
        calls.iter().map(|call| ask::question(call)).collect();
    let asked = questions.and_then(|list| daemon.batch(&list, None).map(|batch| (list, batch)));
    let (questions, mut batch) = match asked {
        Ok(asked) => asked,
        Err(error) => return vec![Answer::Denied(ask::said(&error)); calls.len()],
    };
    while batch.requests.iter().any(is_pending) {
        let left = end.saturating_duration_since(Instant::now());
        // A look takes a second at least, and must not outlast the end.
        let in_time = left >= Duration::from_secs(1);
        let Some(group) = batch.group.as_deref().filter(|_| in_time) else { break };
        // A failed wait leaves what is known: what is pending there is not approved.
        match daemon.wait_batch(group, left.as_secs().clamp(1, POLL)) {
            Ok(newer) if newer.requests.len() == batch.requests.len() => merge(&mut batch, newer),
            _ => break,
        }
    }
    let items = batch.requests.into_iter().zip(calls).zip(&questions);
    items.map(|((item, call), question)| settled(daemon, item, call, question)).collect()
}

fn is_pending(item: &BatchItem) -> bool {
    matches!(item, BatchItem::Request(request) if request.state == State::Pending)
}

/// What was answered at once is not repeated by a wait.
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

fn settled(daemon: &Agent, item: BatchItem, call: &Proposed, question: &Question) -> Answer {
    let request = match item {
        BatchItem::Request(request) => request,
        BatchItem::Problem { problem } => {
            return Answer::Denied(format!("Countersign: {problem}, so this call was not run."));
        }
        BatchItem::Answered => {
            return Answer::Denied("Countersign: this answer was not understood.".to_owned());
        }
    };
    if request.state == State::Pending {
        return Answer::Denied(ask::still_waiting(&request));
    }
    match Outcome::of(*request) {
        Ok(Some(ended)) => ask::used(daemon, &ended, call, question).unwrap_or_else(|| {
            Answer::Denied("Countersign: this approval was used before; propose it again.".into())
        }),
        Ok(None) => Answer::Denied("Countersign: this answer was not understood.".to_owned()),
        Err(error) => Answer::Denied(ask::said(&error)),
    }
}
