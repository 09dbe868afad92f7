//! Asks the daemon about one call, waits for the decision and redeems an approval once.

use std::time::{Duration, Instant};

use countersign_client::{AgentClient, CallRequest, Error, Outcome, WaitLimits, WaitResult};
use countersign_json::canonical::Digest;

use super::looked_at::looked_at;
use super::messages;
use super::offered_snapshot::OfferedSnapshot;
use crate::agents::{CompletedCall, HookAnswer, ProposedCall};
use crate::machine_look::MachineLook;

/// How long a daemon may be away that answered before: long enough for a restart.
const MAX_ABSENCE: Duration = Duration::from_secs(30);
/// The longest deadline that the daemon knows, in seconds: seven days.
const LONGEST_DEADLINE: u32 = 7 * 24 * 3600;
/// How often an approval may turn out to be redeemed by another process.
const MAX_REDEEMED_ELSEWHERE: usize = 3;

/// Asks, and waits for a decision until `end`.
pub fn ask(
    daemon: &AgentClient,
    call: &ProposedCall,
    look: &MachineLook,
    offered: Option<&OfferedSnapshot<'_>>,
    end: Instant,
) -> HookAnswer {
    let mut question = match question(call, look) {
        Ok(question) => question,
        Err(error) => return HookAnswer::Denied(messages::failed(&error)),
    };
    question.snapshot = offered.and_then(|offered| offered.member(look, call));
    for _ in 0..MAX_REDEEMED_ELSEWHERE {
        let waiting = WaitLimits { end, gone: Some(MAX_ABSENCE) };
        let ended = match daemon.wait_until(waiting, || daemon.join(&question), |_| true) {
            Ok(WaitResult::Ended(outcome)) => outcome,
            Ok(WaitResult::Pending { request, .. }) => {
                return HookAnswer::Denied(messages::pending(&request));
            }
            Err(error) => return HookAnswer::Denied(messages::failed(&error)),
        };
        if let Some(changed) = changed_meanwhile(&ended, offered) {
            return changed;
        }
        if let Some(answer) = redeem(daemon, &ended, call, &question, look) {
            return answer;
        }
        // The same call ran twice at once and the other one redeemed the approval. Ask again, as a
        // new call.
        question.call_id = None;
        question.snapshot = None;
    }
    HookAnswer::Denied(
        "Countersign: the approval of this call was used for an identical call. Propose it again."
            .into(),
    )
}

/// A denial if the call may only run under review, and its files are not as in the snapshot.
fn changed_meanwhile(ended: &Outcome, offered: Option<&OfferedSnapshot<'_>>) -> Option<HookAnswer> {
    let Outcome::Approved(approval) = ended else { return None };
    let review = approval.request().review.as_ref()?;
    let accepted = offered.is_some_and(|offered| offered.accept(review));
    let why = "Countersign: the files changed while this call was checked, so it was not run. \
               Propose it again.";
    (!accepted).then(|| HookAnswer::Denied(why.to_owned()))
}

/// The answer for a decided request; an approval is redeemed for this call. `None` if another
/// process has redeemed it.
pub fn redeem(
    daemon: &AgentClient,
    ended: &Outcome,
    call: &ProposedCall,
    question: &CallRequest,
    look: &MachineLook,
) -> Option<HookAnswer> {
    let Outcome::Approved(approval) = ended else {
        return Some(HookAnswer::Denied(messages::denied(ended)));
    };
    let request = approval.request();
    if request.id.is_none() {
        return Some(HookAnswer::Pass);
    }
    let permit = approval.permit()?;
    let edited = request.edited_arguments.as_ref().map(ToString::to_string);
    let run = match &edited {
        // A person approved the scripts as they were; other ones make it another call.
        None => {
            let mut run = question.clone();
            look.add_facts(&mut run, &looked_at(call));
            Ok(run)
        }
        Some(text) => CallRequest::tool(&call.tool, text).map(|mut run| {
            run.cwd.clone_from(&question.cwd);
            run.project.clone_from(&question.project);
            run.host.clone_from(&question.host);
            run.session.clone_from(&question.session);
            run
        }),
    };
    match run.and_then(|run| daemon.redeem(permit, &run)) {
        // It runs before a person looks: nobody approved it, and the host may still ask.
        Ok(_) if request.review.is_some() => Some(HookAnswer::Pass),
        Ok(_) => Some(HookAnswer::Approved { edited }),
        Err(Error::Denied(problem)) if problem.why.as_deref() == Some("used") => None,
        Err(error) => Some(HookAnswer::Denied(messages::failed(&error))),
    }
}

/// The call as a question to the daemon, with what was found on this machine.
pub fn question(call: &ProposedCall, look: &MachineLook) -> Result<CallRequest, Error> {
    let mut question = CallRequest::tool(&call.tool, &call.arguments)?;
    question.session.clone_from(&call.session);
    question.cwd.clone_from(&call.cwd);
    question.project.clone_from(&call.project);
    question.host = call.host.map(ToOwned::to_owned);
    question.host_version.clone_from(&call.host_version);
    question.platform = Some("cli".to_owned());
    question.call_id.clone_from(&call.call_id);
    // A person may take hours; the daemon shortens this to what the operator allows.
    question.timeout_seconds = Some(LONGEST_DEADLINE);
    look.add_facts(&mut question, &looked_at(call));
    Ok(question)
}

/// The outcome of a call for the ledger, with a digest in place of the result.
pub fn outcome(done: &CompletedCall) -> countersign_client::RunReport {
    let digest = done.result.as_deref().map(|text| Digest::of(text.as_bytes()).to_string());
    countersign_client::RunReport {
        failed: done.failed,
        exit_code: done.exit_code,
        duration_ms: done.duration_ms,
        result_digest: digest,
        summary: None,
    }
}
