//! The budget: how many requests and tokens the model may take.

use countersign_types::time::Timestamp;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// The limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Requests in an hour.
    pub requests_per_hour: u32,
    /// Tokens of prompts and replies in a day.
    pub tokens_per_day: u64,
}

/// What was used in the current hour and day. Counting starts again when the daemon does.
#[derive(Debug, Clone, Default)]
pub struct ModelBudget {
    hour: i64,
    requests: u32,
    day: i64,
    tokens: u64,
}

impl ModelBudget {
    /// Takes one request from the budget; false if the budget is used up.
    pub fn take(&mut self, limits: &BudgetLimits, now: Timestamp) -> bool {
        self.advance(now);
        if self.requests >= limits.requests_per_hour || self.tokens >= limits.tokens_per_day {
            return false;
        }
        self.requests += 1;
        true
    }

    /// Adds the tokens of a request.
    pub fn spend(&mut self, tokens: u64, now: Timestamp) {
        self.advance(now);
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// Tokens used today.
    pub fn tokens_today(&mut self, now: Timestamp) -> u64 {
        self.advance(now);
        self.tokens
    }

    /// A clock that goes back does not refill the budget.
    fn advance(&mut self, now: Timestamp) {
        let (hour, day) = (now.0.div_euclid(HOUR), now.0.div_euclid(DAY));
        if hour > self.hour {
            (self.hour, self.requests) = (hour, 0);
        }
        if day > self.day {
            (self.day, self.tokens) = (day, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_and_days_are_counted_and_a_clock_set_back_refills_nothing() {
        let limits = BudgetLimits { requests_per_hour: 2, tokens_per_day: 100 };
        let mut budget = ModelBudget::default();
        let at = |hour: i64| Timestamp(DAY * 3 + hour * HOUR);
        assert!(budget.take(&limits, at(0)) && budget.take(&limits, at(0)));
        assert!(!budget.take(&limits, at(0)));
        assert!(!budget.take(&limits, at(-30)), "the clock went back");
        assert!(budget.take(&limits, at(1)));
        budget.spend(100, at(1));
        assert!(!budget.take(&limits, at(2)), "no tokens are left today");
        assert!(budget.take(&limits, at(24)));
    }
}
