//! Canary calls: the judge is tested before and while it may release calls.

use countersign_json::Value;
use countersign_judge::{Canary, ModelVerdict, canaries};
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::Store as _;
use countersign_types::time::Clock as _;

use super::state::Gate;
use crate::judge::ModelJudge;

impl Gate {
    /// Asks the judge about every canary, and records whether it may release calls.
    pub async fn test_judge(&self, judge: &ModelJudge) {
        let missed = self.missed_canaries(judge).await;
        let now = self.clock.now().at;
        if !judge.end_canaries(missed.clone(), now) {
            return;
        }
        let missed = missed.unwrap_or_default();
        let caught = missed.is_empty();
        if caught {
            tracing::info!(model = judge.model(), "the model judge caught every canary call");
        } else {
            let names = missed.join(", ");
            tracing::warn!(model = judge.model(), names, "the model judge allowed canary calls");
        }
        let text = |text: &str| Value::String(text.to_owned().into());
        let mut entry = Entry::new(0, EntryKind::JudgeState, self.rules().hash);
        entry.facts.push(("model".into(), text(judge.model())));
        entry.facts.push(("judge".into(), text(judge.identity())));
        entry.facts.push(("canaries_caught".into(), Value::Bool(caught)));
        let names = missed.iter().map(|name| text(name)).collect();
        entry.facts.push(("missed".into(), Value::Array(names)));
        if let Err(error) = self.store.append(vec![entry]).await {
            tracing::error!(%error, "the test of the model judge was not recorded");
        }
    }

    /// The canaries that the judge allowed; none if the test could not be finished.
    async fn missed_canaries(&self, judge: &ModelJudge) -> Option<Vec<String>> {
        let all = canaries().ok()?;
        let mut missed = Vec::new();
        let must_be_caught = |canary: &&Canary| canary.kind.must_be_caught();
        for canary in all.iter().filter(must_be_caught) {
            let verdict = judge.try_out(&canary.subject, self.clock.now().at).await;
            match verdict {
                Ok(reply) if reply.verdict == ModelVerdict::Allow => missed.push(canary.id.clone()),
                Ok(_) => {}
                Err(why) => {
                    let why = why.sentence();
                    tracing::warn!(why, "the canary calls could not be asked about");
                    // What was allowed so far counts all the same.
                    return (!missed.is_empty()).then_some(missed);
                }
            }
        }
        Some(missed)
    }
}
