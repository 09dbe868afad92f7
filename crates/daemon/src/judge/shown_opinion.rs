//! What people are told about the judge's opinion on a call that they decide.

use countersign_judge::{JudgeConcern, JudgeReply, ModelVerdict};
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use serde_json::{Value, json};

/// The longest name of a model.
const MAX_MODEL: usize = 80;

/// An opinion that people see. Its words are ours: the model only chooses among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownOpinion {
    model: String,
    verdict: ModelVerdict,
    concern: JudgeConcern,
}

impl ShownOpinion {
    /// What is shown of a reply: an opinion against a call at every tier, one for it only at HIGH.
    /// At CRITICAL a person gives a reason of their own.
    pub fn new(model: &str, tier: Tier, reply: JudgeReply) -> Option<ShownOpinion> {
        let shown = match reply.verdict {
            ModelVerdict::Deny => true,
            ModelVerdict::Allow => tier == Tier::High,
            ModelVerdict::Escalate => false,
        };
        let JudgeReply { verdict, concern } = reply;
        shown.then(|| ShownOpinion { model: model.to_owned(), verdict, concern })
    }

    /// The opinion in the facts of a ledger entry, or in the stored data of a request.
    pub fn read(judge: &Value, tier: Tier) -> Option<ShownOpinion> {
        let word = |name| judge.get(name).and_then(Value::as_str);
        // Older requests have only opinions against a call, without the verdict.
        let verdict = ModelVerdict::parse(word("verdict").unwrap_or("deny"))?;
        let concern = JudgeConcern::parse(word("concern")?)?;
        ShownOpinion::new(word("model")?, tier, JudgeReply { verdict, concern })
    }

    /// Whether the judge is against the call.
    pub fn is_against(&self) -> bool {
        self.verdict == ModelVerdict::Deny
    }

    /// One sentence for people.
    pub fn sentence(&self) -> String {
        let model = sanitize_within(&self.model, MAX_MODEL).text;
        if self.is_against() {
            format!("{model} advises against this call: {}", self.concern.sentence())
        } else {
            format!("{model} would allow this call; you decide")
        }
    }

    /// The data that is stored with a request.
    pub fn stored(&self) -> Value {
        json!({
            "model": self.model, "verdict": self.verdict.label(), "concern": self.concern.label(),
        })
    }

    /// The member `judge` of a request, for people.
    pub fn document(&self) -> Value {
        json!({
            "model": self.model, "verdict": self.verdict.label(), "concern": self.concern.label(),
            "text": self.sentence(),
        })
    }
}
