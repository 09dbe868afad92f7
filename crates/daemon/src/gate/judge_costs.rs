//! What the questions to the model judge cost.

use std::time::Duration;

use super::state::Gate;
use crate::judge::ModelJudge;

impl Gate {
    /// Counts a question with this result, and what it cost.
    pub(super) fn count_question(
        &self,
        judge: &ModelJudge,
        result: &'static str,
        tokens: (u64, u64),
        took: Option<Duration>,
    ) {
        let (input, output) = judge.config().prices;
        let cost = price(tokens.0, input) + price(tokens.1, output);
        self.metrics.judge(result, tokens, cost, took);
    }
}

/// The price of tokens in millionths, given the price of a million.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "prices are bounded and not negative; tokens are far below 2^52"
)]
fn price(tokens: u64, of_a_million: f64) -> u64 {
    (tokens as f64 * of_a_million).round() as u64
}
