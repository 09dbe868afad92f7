//! The model judge without its model: the prompt, the reply, what a verdict may do, and how well
//! the judge does.
//!
//! A language model gives a second opinion on calls that a person would be asked about. The agent
//! that wrote the call is the adversary, so the model is never trusted: a reply counts only if it
//! is exactly of the required form and names the call, and the table in `table` decides what a
//! verdict may change. No I/O, clock or randomness: the caller passes them in.

mod agent_record;
mod breaker;
mod budget;
mod canary;
mod comparison;
mod crisis_question;
mod defuse;
mod example;
mod prompt;
mod reply;
mod subject;
mod table;
mod user_words;
mod verdict_cache;

#[cfg(test)]
mod injection_tests;
#[cfg(test)]
mod rationale_tests;

pub use agent_record::AgentVerdicts;
pub use breaker::{Breaker, BreakerState};
pub use budget::{BudgetLimits, ModelBudget};
pub use canary::{Canary, CanaryError, CanaryKind, canaries};
pub use comparison::{Comparison, PersonChoice, Proportion, ReleaseBar};
pub use crisis_question::{DangerReply, danger_prompt, message_digest, read_danger_reply};
pub use example::{DecidedExample, MAX_EXAMPLES};
pub use prompt::{
    DEFAULT_POLICY, Delimiter, MAX_POLICY, MAX_PROMPT, Prompt, PromptTooLong, ReplyForm, prompt,
};
pub use reply::{InvalidReply, JudgeConcern, JudgeReply, MAX_REPLY, ModelVerdict, read_reply};
pub use subject::{JudgeSubject, NeverReleased};
pub use table::{JudgeAction, OpinionUse, act, use_of};
pub use user_words::{MAX_WORDS, UserWords, WordSource};
pub use verdict_cache::{CacheKey, CachedVerdict, VerdictCache};
