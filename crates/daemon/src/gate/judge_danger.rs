//! The model judge on messages that may be signs of a crisis.

use std::time::Duration;

use countersign_judge::DangerReply;
use countersign_types::time::Clock as _;

use super::state::Gate;
use crate::judge::ModelJudge;

impl Gate {
    /// Whether the judge says that the writer of a message may be in danger. No answer, and every
    /// reply of another form, is no such opinion: the concern stays as it is.
    pub async fn judge_sees_danger(&self, judge: &ModelJudge, text: &str) -> bool {
        let exchange = judge.consult_danger(text, self.clock.now().at).await;
        let result = match &exchange.result {
            Ok(DangerReply::Yes) => "danger",
            Ok(DangerReply::No) => "no_danger",
            Ok(DangerReply::Unclear) => "unclear",
            Err(why) => why.label(),
        };
        let took = exchange.asked.then_some(Duration::from_millis(exchange.millis));
        self.count_question(judge, result, exchange.tokens, took);
        exchange.result == Ok(DangerReply::Yes)
    }
}
