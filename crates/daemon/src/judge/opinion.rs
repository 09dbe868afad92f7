//! A question to the judge and the opinion that it gave.

use countersign_judge::{InvalidReply, JudgeReply, JudgeSubject, ModelVerdict, Prompt, UserWords};
use countersign_judge_client::ModelError;
use countersign_types::id::Id;
use serde_json::{Value, json};

/// A call that the judge is asked about.
#[derive(Debug, Clone)]
pub struct JudgeQuestion {
    /// The call as the model sees it.
    pub subject: JudgeSubject,
    /// The agent.
    pub agent: String,
    /// Its session.
    pub session: String,
    /// What the user wrote.
    pub words: Vec<UserWords>,
    /// Whether a verdict could end the question; only such opinions are compared with people's.
    pub decides: bool,
}

/// Why there is no opinion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoOpinion {
    /// The model failed before; it is left alone for a while.
    BreakerOpen,
    /// The budget is used up.
    Budget,
    /// The call is too long for the model.
    TooLong,
    /// This machine gave no randomness.
    Entropy,
    /// The model gave no answer.
    Model(ModelError),
    /// The answer is not of the required form.
    Reply(InvalidReply),
}

impl NoOpinion {
    /// The stable word in metrics and records.
    pub const fn label(&self) -> &'static str {
        match self {
            NoOpinion::BreakerOpen => "breaker_open",
            NoOpinion::Budget => "budget",
            NoOpinion::TooLong => "too_long",
            NoOpinion::Entropy => "entropy",
            NoOpinion::Model(error) => error.label(),
            NoOpinion::Reply(_) => "invalid_reply",
        }
    }

    /// The reason in words.
    pub fn sentence(&self) -> String {
        match self {
            NoOpinion::BreakerOpen => "the model failed before and is left alone".to_owned(),
            NoOpinion::Budget => "the budget is used up".to_owned(),
            NoOpinion::TooLong => "the call is too long for the model".to_owned(),
            NoOpinion::Entropy => "this machine gives no randomness".to_owned(),
            NoOpinion::Model(error) => error.to_string(),
            NoOpinion::Reply(error) => error.to_string(),
        }
    }
}

/// What the judge said about a call.
#[derive(Debug, Clone)]
pub struct JudgeOpinion {
    /// The verdict, or why there is none.
    pub result: Result<JudgeReply, NoOpinion>,
    /// What was asked; none for a cached verdict.
    pub prompt: Option<Prompt>,
    /// What the model answered, word for word.
    pub reply: Option<String>,
    /// Whether the verdict is from the cache.
    pub cached: bool,
    /// The request for which the model was asked, if the verdict is from the cache.
    pub cached_from: Option<Id>,
    /// How long it took.
    pub millis: u64,
    /// Tokens of prompt and reply.
    pub tokens: (u64, u64),
}

impl JudgeOpinion {
    /// An opinion without any exchange.
    pub const fn without_exchange(result: Result<JudgeReply, NoOpinion>) -> JudgeOpinion {
        let cached = result.is_ok();
        let (prompt, reply, cached_from) = (None, None, None);
        JudgeOpinion { result, prompt, reply, cached, cached_from, millis: 0, tokens: (0, 0) }
    }

    /// The verdict, if there is one.
    pub fn verdict(&self) -> Option<ModelVerdict> {
        self.result.as_ref().ok().map(|reply| reply.verdict)
    }

    /// The ledger facts: what was asked and answered, by digests only.
    pub fn facts(&self, model: &str, judge: &str, mode: &str) -> Value {
        let (verdict, concern) = match &self.result {
            Ok(reply) => (reply.verdict.label(), reply.concern.label()),
            Err(why) => ("none", why.label()),
        };
        let digest = |text: &str| countersign_json::canonical::Digest::of(text.as_bytes());
        json!({
            "model": model, "judge": judge, "mode": mode, "verdict": verdict, "concern": concern,
            "cached": self.cached,
            "cached_from": self.cached_from.map(|request| request.to_string()), "ms": self.millis,
            "prompt": self.prompt.as_ref().map(|prompt| prompt.digest().to_string()),
            "reply": self.reply.as_deref().map(|text| digest(text).to_string()),
        })
    }
}
