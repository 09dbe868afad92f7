//! Approved calls whose server asked the client for more input: the answer is not a new call.

use std::collections::VecDeque;

use super::message::ToolCall;
use super::reporter::RunningCall;
use super::server_message;

/// How many calls are remembered.
const MAX_CALLS: usize = 256;

/// Approved calls, each with the `requestState` that the client must send back.
#[derive(Debug, Default)]
pub struct Continuations {
    waiting: VecDeque<(String, RunningCall)>,
}

impl Continuations {
    /// Remembers an approved call if its result asks for more input.
    pub fn remember(&mut self, ran: &RunningCall, result: &str) {
        // The answers may change what a call does, so a CRITICAL call is asked about in each round.
        if ran.tier == "CRITICAL" {
            return;
        }
        let Some(state) = server_message::requested_state(result) else { return };
        if self.waiting.len() >= MAX_CALLS {
            self.waiting.pop_front();
        }
        self.waiting.push_back((state.to_owned(), ran.clone()));
    }

    /// The approved call that this call continues, if it does. It can be continued once.
    pub fn take(&mut self, call: &ToolCall<'_>) -> Option<RunningCall> {
        let state = call.state?;
        let identity = call.identity();
        let fits = |(known, ran): &(String, RunningCall)| {
            server_message::is_same_string(known, state)
                && ran.identity == identity
                && call.responses.is_some()
        };
        let at = self.waiting.iter().position(fits)?;
        self.waiting.remove(at).map(|(_, ran)| ran)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use countersign_json as json;

    use super::super::message::RequestMeta;
    use super::*;

    fn call<'a>(raw: &'a str, state: Option<&'a str>) -> ToolCall<'a> {
        let arguments = json::parse(raw).unwrap();
        let responses = Some("{}");
        let meta = RequestMeta::default();
        ToolCall { name: "pay", arguments, raw, meta, state, responses, is_read: false }
    }

    #[test]
    fn a_call_is_continued_once_and_with_the_same_arguments_only() {
        let approved = call("{\"amount\":1}", None);
        let ran = |tier: &str| RunningCall {
            request: None,
            tier: tier.to_owned(),
            identity: approved.identity(),
            since: Instant::now(),
        };
        let asks = "{\"resultType\":\"input_required\",\"requestState\":\"s1\"}";
        let mut known = Continuations::default();
        known.remember(&ran("MEDIUM"), asks);
        assert!(known.take(&call("{\"amount\":2}", Some("\"s1\""))).is_none());
        assert!(known.take(&call("{\"amount\":1}", Some("\"s2\""))).is_none());
        assert!(known.take(&call("{\"amount\":1}", None)).is_none());
        assert!(known.take(&call("{\"amount\": 1}", Some("\"s1\""))).is_some());
        assert!(known.take(&call("{\"amount\":1}", Some("\"s1\""))).is_none());
        known.remember(&ran("CRITICAL"), asks);
        assert!(known.take(&call("{\"amount\":1}", Some("\"s1\""))).is_none());
    }
}
