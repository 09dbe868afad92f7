//! A question to the gate: one call, and what goes with it.

use std::fmt::Write as _;

use countersign_json as json;

use crate::error::Error;

/// One call to ask about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// The tool, or nothing for a shell command.
    tool: Option<String>,
    /// The JSON text of the arguments, or the command.
    what: String,
    /// The agent's session.
    pub session: Option<String>,
    /// Where the agent's user sits: cli, api, telegram, discord.
    pub platform: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The kind of machine; it can only be claimed for the worse.
    pub environment: Option<String>,
    /// The tier the caller claims; it can only raise.
    pub risk_level: Option<String>,
    /// The agent's own words for the person.
    pub description: Option<String>,
    /// How long to wait for an answer, in seconds; 300 if nothing is said.
    pub timeout_seconds: Option<u32>,
    /// Whether a permit is needed even if nobody has to be asked.
    pub permit: bool,
    /// The idempotency key; one is made if nothing is said.
    pub key: Option<String>,
    /// The host's own name for the call: whoever asks under it again gets the same request.
    pub call_id: Option<String>,
    /// What the tool's server says of it, as the JSON text of an object; it can only raise.
    pub annotations: Option<String>,
    /// Whether a person must be asked anew: no standing permission and no earlier yes counts.
    pub fresh: bool,
}

impl Question {
    /// About a tool with its arguments, which are sent exactly as they are written.
    pub fn tool(name: &str, arguments: &str) -> Result<Question, Error> {
        let value = json::parse(arguments).map_err(|e| Error::Input(format!("arguments: {e}")))?;
        if value.as_object().is_none() {
            return Err(Error::Input("the arguments must be a JSON object".to_owned()));
        }
        let what = arguments.trim().to_owned();
        Ok(Question { tool: Some(name.to_owned()), what, ..Question::default() })
    }

    /// About a shell command.
    pub fn command(command: &str) -> Question {
        Question { what: command.to_owned(), ..Question::default() }
    }

    /// The same question about a tool with other arguments.
    pub fn with_arguments(&self, arguments: &str) -> Result<Question, Error> {
        let name = self.tool.as_deref().unwrap_or("shell");
        let Question { tool, what, .. } = Question::tool(name, arguments)?;
        Ok(Question { tool, what, ..self.clone() })
    }

    /// The members of the call alone.
    pub(crate) fn call(&self) -> String {
        format!("{{{}}}", self.members())
    }

    /// The whole body.
    pub(crate) fn body(&self) -> String {
        let mut out = self.members();
        text(&mut out, "description", self.description.as_deref());
        if let Some(seconds) = self.timeout_seconds {
            let _ = write!(out, ",\"timeout_seconds\":{seconds}");
        }
        if self.permit {
            out.push_str(",\"permit\":true");
        }
        text(&mut out, "call_id", self.call_id.as_deref());
        if self.fresh {
            out.push_str(",\"ignore_grants\":true");
        }
        format!("{{{out}}}")
    }

    /// The whole body of a question that joins what was asked and approved before.
    pub(crate) fn joining(&self) -> String {
        let body = self.body();
        let members = body.strip_suffix('}').unwrap_or_default();
        format!("{members},\"join\":true}}")
    }

    /// The call with further members, each a JSON text.
    pub(crate) fn with(&self, more: &[(&str, Option<String>)]) -> String {
        let mut out = self.members();
        for (name, value) in more {
            if let Some(value) = value {
                let _ = write!(out, ",\"{name}\":{value}");
            }
        }
        format!("{{{out}}}")
    }

    fn members(&self) -> String {
        let mut out = match &self.tool {
            Some(name) => format!("\"tool\":{},\"arguments\":{}", quoted(name), self.what),
            None => format!("\"command\":{}", quoted(&self.what)),
        };
        text(&mut out, "session", self.session.as_deref());
        text(&mut out, "platform", self.platform.as_deref());
        text(&mut out, "cwd", self.cwd.as_deref());
        text(&mut out, "environment", self.environment.as_deref());
        text(&mut out, "risk_level", self.risk_level.as_deref());
        if let Some(annotations) = &self.annotations {
            let _ = write!(out, ",\"annotations\":{annotations}");
        }
        out
    }
}

/// A text as JSON.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn text(out: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        let _ = write!(out, ",\"{name}\":{}", quoted(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stay_as_they_were_written_and_stay_arguments() {
        let mut question = Question::tool("pay", "{\"amount\": 1.00, \"to\":\"a\"}").unwrap();
        question.description = Some("say \"hi\"".to_owned());
        assert_eq!(
            question.body(),
            "{\"tool\":\"pay\",\"arguments\":{\"amount\": 1.00, \"to\":\"a\"},\
             \"description\":\"say \\\"hi\\\"\"}"
        );
        // What would break out of its place is refused before it is sent.
        for bad in ["{}, \"risk_level\": \"low\"", "[]", "{", "", "{\"a\":1,\"a\":2}"] {
            assert!(Question::tool("pay", bad).is_err(), "{bad}");
        }
    }
}
