//! Asks the daemon about one call, waits for the decision and redeems an approval once.

use std::time::{Duration, Instant};

use countersign_client::{AgentClient, CallRequest, Error, Outcome, WaitLimits, WaitResult};
use countersign_json::canonical::Digest;

use super::messages;
use crate::agents::{CompletedCall, HookAnswer, ProposedCall};
use crate::machine_look::{LookedAt, MachineLook};

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
    end: Instant,
) -> HookAnswer {
    let mut question = match question(call, look) {
        Ok(question) => question,
        Err(error) => return HookAnswer::Denied(messages::failed(&error)),
    };
    for _ in 0..MAX_REDEEMED_ELSEWHERE {
        let waiting = WaitLimits { end, gone: Some(MAX_ABSENCE) };
        let ended = match daemon.wait_until(waiting, || daemon.join(&question), |_| true) {
            Ok(WaitResult::Ended(outcome)) => outcome,
            Ok(WaitResult::Pending { request, .. }) => {
                return HookAnswer::Denied(messages::pending(&request));
            }
            Err(error) => return HookAnswer::Denied(messages::failed(&error)),
        };
        match redeem(daemon, &ended, call, &question, look) {
            Some(answer) => return answer,
            // The same call ran twice at once and the other one redeemed the approval. Ask again,
            // as a new call.
            None => question.call_id = None,
        }
    }
    HookAnswer::Denied(
        "Countersign: the approval of this call was used for an identical call. Propose it again."
            .into(),
    )
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
        Ok(_) => Some(HookAnswer::Approved { edited }),
        Err(Error::Denied(problem)) if problem.why.as_deref() == Some("used") => None,
        Err(error) => Some(HookAnswer::Denied(messages::failed(&error))),
    }
}

fn looked_at(call: &ProposedCall) -> LookedAt<'_> {
    LookedAt {
        tool: &call.tool,
        arguments: &call.arguments,
        cwd: call.cwd.as_deref(),
        project: call.project.as_deref(),
        host: call.host,
    }
}

/// The call as a question to the daemon, with what was found on this machine.
pub fn question(call: &ProposedCall, look: &MachineLook) -> Result<CallRequest, Error> {
    let mut question = CallRequest::tool(&call.tool, &call.arguments)?;
    question.session.clone_from(&call.session);
    question.cwd.clone_from(&call.cwd);
    question.project.clone_from(&call.project);
    question.host = call.host.map(ToOwned::to_owned);
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
