//! Calls that a server asked more about: the answer to its question is no new call.

use std::collections::VecDeque;

use super::heard;
use super::message::ToolCall;
use super::reports::Ran;

/// So many are remembered.
const MOST: usize = 256;

/// Approved calls whose server wants more, each with the state to come back with.
#[derive(Debug, Default)]
pub struct Continued {
    waiting: VecDeque<(String, Ran)>,
}

impl Continued {
    /// What makes another call the same one.
    pub fn key(call: &ToolCall<'_>) -> String {
        let arguments = countersign_json::canonical::canonical(&call.arguments);
        let arguments = if arguments.exact { call.raw } else { &arguments.text };
        format!("{}\0{arguments}", call.name)
    }

    /// An approved call was answered; perhaps the server wants more.
    pub fn remember(&mut self, ran: &Ran, result: &str) {
        // What is grave is asked about at every turn: the answers may change what it does.
        if ran.tier == "CRITICAL" {
            return;
        }
        let Some(state) = heard::asks_for_more(result) else { return };
        if self.waiting.len() >= MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back((state.to_owned(), ran.clone()));
    }

    /// Whether a call only answers what its server asked; then it was approved already, once.
    pub fn take(&mut self, call: &ToolCall<'_>) -> Option<Ran> {
        let state = call.state?;
        let same = Continued::key(call);
        let fits = |(known, ran): &(String, Ran)| {
            heard::same_text(known, state) && ran.same == same && call.responses.is_some()
        };
        let at = self.waiting.iter().position(fits)?;
        self.waiting.remove(at).map(|(_, ran)| ran)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use countersign_json as json;

    use super::super::message::Meta;
    use super::*;

    fn call<'a>(raw: &'a str, state: Option<&'a str>) -> ToolCall<'a> {
        let arguments = json::parse(raw).unwrap();
        let responses = Some("{}");
        let meta = Meta::default();
        ToolCall { name: "pay", arguments, raw, meta, state, responses, is_look: false }
    }

    #[test]
    fn an_answer_to_the_server_is_no_new_call_once_and_for_the_same_arguments_only() {
        let approved = call("{\"amount\":1}", None);
        let ran = |tier: &str| Ran {
            request: None,
            tier: tier.to_owned(),
            same: Continued::key(&approved),
            since: Instant::now(),
        };
        let asks = "{\"resultType\":\"input_required\",\"requestState\":\"s1\"}";
        let mut known = Continued::default();
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
