//! A call: one proposed tool call, parsed once, when it arrives.

use std::borrow::Cow;
use std::sync::Arc;

use crate::context::Context;
use crate::facts::CallFacts;
use crate::facts::snapshot_claim::ClaimedCall;
use countersign_json::Value;
use countersign_types::tier::Tier;

mod read;

#[cfg(test)]
mod tests;

pub use read::CallError;

/// What an MCP server says about its tool. May raise a risk, never lower it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Annotations {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
    /// `idempotentHint`
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    pub open_world: Option<bool>,
}

/// One proposed tool call.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The tool's name as the agent wrote it.
    pub tool: Cow<'a, str>,
    /// Its arguments; an object for every tool we know.
    pub arguments: Value<'a>,
    /// Which agent asks.
    pub agent: Option<Cow<'a, str>>,
    /// In which session.
    pub session: Option<Cow<'a, str>>,
    /// Where it would happen.
    pub context: Context<'a>,
    /// What the tool's server claims.
    pub annotations: Annotations,
    /// What the caller claims; may only raise.
    pub claimed: Option<Tier>,
    /// What was found on the machine where it would run. With facts, the assessment also lists
    /// the questions that they do not answer.
    pub facts: Option<Arc<CallFacts>>,
}

impl<'a> Call<'a> {
    /// The call as a claim about its snapshot names it.
    pub fn claimed(&self) -> ClaimedCall<'_> {
        ClaimedCall {
            tool: &self.tool,
            arguments: self.arguments.to_json(),
            cwd: self.context.cwd,
            project: self.context.project,
            session: self.session.as_deref(),
        }
    }

    /// A shell command as a call of the tool `shell`.
    pub fn shell(command: &'a str) -> Call<'a> {
        Call {
            tool: Cow::Borrowed("shell"),
            arguments: Value::Object(vec![(
                Cow::Borrowed("command"),
                Value::String(Cow::Borrowed(command)),
            )]),
            agent: None,
            session: None,
            context: Context::default(),
            annotations: Annotations::default(),
            claimed: None,
            facts: None,
        }
    }
}
