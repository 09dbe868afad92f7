//! The review lane on the path of a call: whether it may run before a person looks at it.
//!
//! Everything that is not certain means that a person is asked first.

use std::path::PathBuf;

use countersign_json::canonical::CallDigest;
use countersign_judge::JudgeSubject;
use countersign_risk::assess::Assessment;
use countersign_risk::card::Card;
use countersign_risk::facts::snapshot_claim::{ClaimedCall, SnapshotClaim, SnapshotMoment};
use countersign_risk::file_changes::{ChangedFile, file_changes};
use countersign_risk::impact::HumanImpact;
use countersign_risk::policy_ruling::PolicyRuling;
use countersign_risk::verdict::Mode;
use countersign_store::{NewReview, Store as _};
use countersign_types::time::{Clock as _, Timestamp};

use super::caller::Caller;
use super::persist::quorum;
use super::review_snapshot::{self, ClaimedFiles};
use super::state::Gate;
use super::submission::CallSubmission;
use crate::config::{DaemonRules, ReviewConfig};
use crate::random;

/// Why a person is asked first.
type AskFirst = &'static str;

impl Gate {
    /// The review under which a call may run first; none if a person is asked.
    pub(super) async fn review_of(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        assessed: (&Assessment, CallDigest, bool),
    ) -> Option<NewReview> {
        let (Some(allowed), Some(claim)) = (&rules.review, &submission.snapshot) else {
            return None;
        };
        let found = self.find_review(rules, submission, caller, assessed, (allowed, claim)).await;
        found
            .inspect_err(|why| {
                tracing::info!(agent = caller.agent, why, "a call cannot run before it is asked");
            })
            .ok()
    }

    async fn find_review(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        assessed: (&Assessment, CallDigest, bool),
        (allowed, claim): (&ReviewConfig, &SnapshotClaim),
    ) -> Result<NewReview, AskFirst> {
        self.check_lane(rules, submission, caller, assessed)?;
        let (seen, digest, crisis) = assessed;
        let card = Card::new(&submission.call, seen, &digest);
        check_call(allowed, submission, seen, &card, crisis)?;
        let key = self.facts_key.get().ok_or("there is no key of the hook")?;
        let call = submission.call.claimed();
        if !claim.is_proven(key, SnapshotMoment::Before, &call) {
            return Err("the hook did not take this snapshot for this call");
        }
        let changed = file_changes(&submission.call, seen).filter(|list| !list.is_empty());
        let changed = changed.ok_or("not all files are known that the call changes")?;
        self.check_history(allowed, caller, seen, &card.tool).await?;
        let (files, bytes) = self.check_snapshot(allowed, claim, &call, changed).await?;
        Ok(NewReview {
            snapshot: claim.id.clone(),
            folder: claim.folder.clone(),
            before: claim.digest,
            files,
            bytes,
            window: allowed.window,
        })
    }

    /// Whether anything may run first now, for this caller and in this session.
    fn check_lane(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        (seen, _, crisis): (&Assessment, CallDigest, bool),
    ) -> Result<(), AskFirst> {
        let session = submission.call.session.as_deref();
        if rules.mode != Mode::Enforce || self.freeze.suspends_grants() {
            return Err("the gate does not let calls run first now");
        }
        if self.check_automatic_decision(self.clock.now()).is_err() {
            return Err("nothing is approved without a person now");
        }
        if crisis || self.crises.holds(&caller.agent, session) {
            return Err("the session is in a crisis");
        }
        let needs_person = seen.policy.as_ref().is_some_and(PolicyRuling::needs_person);
        if needs_person || submission.join.ignore_grants || submission.group.is_some() {
            return Err("a person must decide");
        }
        if quorum(rules, seen, crisis).approve > 1 {
            return Err("several people must decide");
        }
        Ok(())
    }

    /// Whether people rejected nothing like it, and have not too much to look at already.
    async fn check_history(
        &self,
        allowed: &ReviewConfig,
        caller: &Caller,
        seen: &Assessment,
        tool: &str,
    ) -> Result<(), AskFirst> {
        let failed = "the store could not be read";
        let now = self.clock.now().at;
        let window = i64::try_from(allowed.window.0).unwrap_or(i64::MAX);
        let since = Timestamp(now.0.saturating_sub(window));
        let open = self.store.reviews(None).await.map_err(|_| failed)?;
        let open = open.iter().filter(|review| review.agent == caller.agent).count();
        if open >= usize::try_from(allowed.max_open).unwrap_or(usize::MAX) {
            return Err("too many calls of this agent wait for their review");
        }
        let recent = self.store.reviews(Some(since)).await.map_err(|_| failed)?;
        let mut own = recent.iter().filter(|review| review.agent == caller.agent);
        if own.any(|review| review.state.is_rejected()) {
            return Err("a person rolled back a call of this agent");
        }
        let regretted = self.store.regretted().await.map_err(|_| failed)?;
        if regretted.iter().any(|call| call.agent == caller.agent && call.at >= since) {
            return Err("a person regretted a call of this agent");
        }
        let newest = random::id(now).map_err(|_| "there is no randomness")?;
        let kind = (tool.to_owned(), seen.tier);
        let similar = self.store.similar_calls(caller.agent.clone(), kind, newest, since).await;
        match similar {
            Ok(similar) if similar.denied == 0 => Ok(()),
            Ok(_) => Err("a person denied such a call"),
            Err(_) => Err(failed),
        }
    }

    async fn check_snapshot(
        &self,
        allowed: &ReviewConfig,
        claim: &SnapshotClaim,
        call: &ClaimedCall<'_>,
        changed: Vec<ChangedFile>,
    ) -> Result<(u32, u64), AskFirst> {
        let project = call.project.filter(|project| project.starts_with('/'));
        let claimed = ClaimedFiles {
            folder: PathBuf::from(&claim.folder),
            id: claim.id.clone(),
            digest: claim.digest,
            project: PathBuf::from(project.ok_or("the project is not known")?),
            changed,
            allowed: allowed.clone(),
            now_ms: u64::try_from(self.clock.now().at.0).unwrap_or(0),
        };
        let checked = tokio::task::spawn_blocking(move || review_snapshot::check(&claimed)).await;
        checked.unwrap_or(Err("the snapshot could not be read"))
    }
}

/// Whether the call is one of those that may run first: a low tier, only changes of files that the
/// operator allows, and nothing that must never run without a person.
fn check_call(
    allowed: &ReviewConfig,
    submission: &CallSubmission<'_>,
    seen: &Assessment,
    card: &Card,
    crisis: bool,
) -> Result<(), AskFirst> {
    if seen.tier > allowed.max_tier {
        return Err("the tier is too high");
    }
    if JudgeSubject::new(card, seen, crisis, false).limit.is_some() {
        return Err("only people decide about such calls");
    }
    if seen.human_impact != HumanImpact::None || !seen.doubts.is_empty() {
        return Err("the call may do more than change files");
    }
    let others = seen.effects.without(allowed.effects);
    if !others.is_empty() || seen.effects.only_reads() {
        return Err("the call does more than change files");
    }
    if !allowed.has_tool(&submission.call.tool) {
        return Err("the operator allows no review of this tool");
    }
    Ok(())
}
