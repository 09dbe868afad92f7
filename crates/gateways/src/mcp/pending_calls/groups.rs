//! Calls that came together: asked about as one group.

use std::sync::Arc;

use countersign_client::CallRequest;

use super::open_questions::OpenQuestion;
use super::queue::{MAX_QUESTIONS, PendingCalls};
use super::waiter::CallWaiter;
use crate::mcp::approval::{self, ApprovalResult};
use crate::mcp::plan::CallQuestion;
use crate::mcp::threads::start;

impl PendingCalls {
    /// Clients wait for calls that came together: new questions are asked as one group.
    pub fn add_batch(self: &Arc<Self>, calls: Vec<(CallQuestion, CallWaiter)>) {
        let mut state = self.lock();
        // A hook may have asked about a call with a call id; the others may be open already.
        let (single, group): (Vec<_>, Vec<_>) = calls.into_iter().partition(|(call, _)| {
            call.question.call_id.is_some() || state.has_same(&call.identity)
        });
        if group.len() < 2 || state.by_number.len() + group.len() > MAX_QUESTIONS {
            drop(state);
            for (call, waiter) in single.into_iter().chain(group) {
                self.add(call, waiter, None);
            }
            return;
        }
        let questions: Vec<CallRequest> =
            group.iter().map(|(call, _)| call.question.clone()).collect();
        let insert = |(call, waiter)| state.insert(OpenQuestion::new(call, waiter, 0));
        let numbers: Vec<u64> = group.into_iter().map(insert).collect();
        drop(state);
        let (calls, of_group) = (Arc::clone(self), numbers.clone());
        if let Err(error) = start(move || calls.ask_group(&of_group, &questions)) {
            for number in numbers {
                self.refuse(number, &error);
            }
        }
        for (call, waiter) in single {
            self.add(call, waiter, None);
        }
    }

    fn ask_group(self: &Arc<Self>, numbers: &[u64], questions: &[CallRequest]) {
        let submissions = approval::submit_group(&self.agent, questions);
        for ((number, question), submission) in numbers.iter().zip(questions).zip(submissions) {
            let (calls, number, question) = (Arc::clone(self), *number, question.clone());
            let started = start(move || {
                let result = match submission {
                    Ok(submission) => calls.ask(number, &question, &submission),
                    Err(refusal) => ApprovalResult::Refused(refusal),
                };
                calls.decided(number, result);
            });
            if let Err(error) = started {
                self.refuse(number, &error);
            }
        }
    }
}
