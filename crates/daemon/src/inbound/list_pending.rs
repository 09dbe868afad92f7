//! The pending requests, as a person who asks for them in a channel is told.

use countersign_risk::word_pair::word_pair;
use countersign_text::humanize;
use countersign_text::sanitize::sanitize_within;

use super::responder::Responder;
use crate::current_call::as_asked;

/// The maximum number of pending requests in a list.
const MAX_LISTED: usize = 5;
/// The maximum length of a summary.
const MAX_SUMMARY: usize = 120;

impl Responder<'_> {
    pub async fn list_pending(&self) -> String {
        let waiting = match self.pending_requests().await {
            Ok(waiting) => waiting,
            Err(problem) => return problem,
        };
        if waiting.is_empty() {
            return "No pending requests.".to_owned();
        }
        let now = self.context.now();
        let mut lines = vec![match waiting.len() {
            1 => "1 pending request:".to_owned(),
            many => format!("{many} pending requests:"),
        }];
        for stored in waiting.iter().take(MAX_LISTED).map(as_asked) {
            let request = &stored.request;
            let (emoji, tier) = (request.tier.emoji(), request.tier.label());
            let brief = sanitize_within(&stored.brief, MAX_SUMMARY).text;
            let left = humanize::duration(now.until(request.schedule.deadline).0 / 1000);
            let phrase = word_pair(&request.digest.canonical);
            lines.push(format!("{emoji} {tier} {phrase} ({left} left): {brief}"));
        }
        if waiting.len() > MAX_LISTED {
            let link = &self.context.gate.rules().inbox;
            lines.push(format!("{} more in the inbox: {link}", waiting.len() - MAX_LISTED));
        }
        lines.join("\n")
    }
}
