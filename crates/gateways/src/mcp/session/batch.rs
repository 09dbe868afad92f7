//! Several messages in one line, as one version of the protocol has them.

use std::sync::Arc;

use countersign_core::json::Value;

use super::{Open, Session};
use crate::mcp::judge::{Judged, judge};
use crate::mcp::message::{self, BATCHES, Kind, tool_call};
use crate::mcp::words;

impl Session {
    /// Several messages at once: passed on as they are if none of them needs a person.
    pub(super) fn batch(self: &Arc<Session>, parts: &[&str], line: &str) {
        if self.state().version.as_deref() != Some(BATCHES) {
            let why = "batches are known in protocol version 2025-03-26 only";
            return self.say(&words::error("null", -32600, why));
        }
        let mut ids = Vec::new();
        let mut answers = Vec::new();
        let mut all_pass = true;
        for part in parts {
            let passes = match message::read(part) {
                Ok(Kind::Request { id, written, method, params }) => {
                    let new = !self.state().open.contains_key(&id) && !ids.contains(&id);
                    ids.push(id);
                    let why = "not run: this batch holds a call that a person must be asked about; \
                               send the calls one by one";
                    answers.push(words::error(written, -32600, why));
                    new && (method != "tools/call" || self.passes(part, &params))
                }
                Ok(Kind::Notification { method, .. }) => method != "tools/call",
                Ok(Kind::Response) => true,
                Ok(Kind::Batch(_) | Kind::Blank) => false,
                Err(no) => {
                    answers.push(words::error(&no.id, no.code, &no.why));
                    false
                }
            };
            all_pass &= passes;
        }
        if all_pass {
            self.state().open.extend(ids.into_iter().map(|id| (id, Open::Other)));
            self.pass(line);
        } else if !answers.is_empty() {
            self.say(&format!("[{}]", answers.join(",")));
        }
    }

    fn passes(&self, part: &str, params: &Value<'_>) -> bool {
        let Ok(call) = tool_call(part, params) else { return false };
        let seen = self.tools().see(call.name);
        match judge(&self.settings.server, &call, &seen) {
            Judged::Pass { tool } => self.reports.passes(&tool, call.raw),
            Judged::Ask(_) | Judged::No(_) => false,
        }
    }
}
