//! The model judge: asks a language model about calls that a person would be asked about.
//!
//! Below the gate: it gives opinions and says whether it may release calls. The gate decides what
//! an opinion changes, by the table in `countersign_judge`.

mod bounded_set;
mod consult;
mod evidence;
mod exchange_log;
mod model_judge;
mod opinion;
#[cfg(test)]
pub mod scripted_model_tests;
mod shown_opinion;
mod slot;

pub use consult::ModelExchange;
pub use evidence::choice_of;
pub use exchange_log::{ExchangeLog, JudgeExchange};
pub use model_judge::{JudgeStatus, ModelJudge};
pub use opinion::{JudgeOpinion, JudgeQuestion, NoOpinion};
pub use shown_opinion::ShownOpinion;
pub use slot::{JudgeSlot, OpinionJob};
