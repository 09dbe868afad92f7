//! The model's reply: one JSON object of an exact form that names the call, or no verdict.

use std::fmt;

use serde::Serialize;

use countersign_json as json;
use countersign_json::Value;
use countersign_json::canonical::Digest;

/// The longest reply that is read, in bytes.
pub const MAX_REPLY: usize = 1024;

/// What the model says about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelVerdict {
    /// It is harmless and fits what the user asked for.
    Allow,
    /// It must not run.
    Deny,
    /// A person should decide.
    Escalate,
}

impl ModelVerdict {
    /// All verdicts.
    pub const ALL: [ModelVerdict; 3] =
        [ModelVerdict::Allow, ModelVerdict::Deny, ModelVerdict::Escalate];

    /// The word in a reply and in records.
    pub const fn label(self) -> &'static str {
        match self {
            ModelVerdict::Allow => "allow",
            ModelVerdict::Deny => "deny",
            ModelVerdict::Escalate => "escalate",
        }
    }

    /// Reads a word.
    pub fn parse(text: &str) -> Option<ModelVerdict> {
        ModelVerdict::ALL.into_iter().find(|verdict| verdict.label() == text)
    }
}

/// What the model is worried about: a closed list, so that no text of the model, which may repeat
/// the agent's, reaches the person who decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeConcern {
    /// Nothing.
    None,
    /// It deletes or overwrites work.
    LosesWork,
    /// It sends data to others.
    SendsData,
    /// It runs code that the call does not show.
    RunsUnknownCode,
    /// It changes who may do what.
    ChangesAccess,
    /// It affects other people.
    AffectsPeople,
    /// It is not what the user asked for.
    OutsideTask,
    /// The call contains instructions for its reader.
    Instructions,
    /// It cannot be understood.
    Unclear,
}

impl JudgeConcern {
    /// All concerns.
    pub const ALL: [JudgeConcern; 9] = [
        JudgeConcern::None,
        JudgeConcern::LosesWork,
        JudgeConcern::SendsData,
        JudgeConcern::RunsUnknownCode,
        JudgeConcern::ChangesAccess,
        JudgeConcern::AffectsPeople,
        JudgeConcern::OutsideTask,
        JudgeConcern::Instructions,
        JudgeConcern::Unclear,
    ];

    /// The word in a reply and in records.
    pub const fn label(self) -> &'static str {
        match self {
            JudgeConcern::None => "none",
            JudgeConcern::LosesWork => "loses_work",
            JudgeConcern::SendsData => "sends_data",
            JudgeConcern::RunsUnknownCode => "runs_unknown_code",
            JudgeConcern::ChangesAccess => "changes_access",
            JudgeConcern::AffectsPeople => "affects_people",
            JudgeConcern::OutsideTask => "outside_task",
            JudgeConcern::Instructions => "instructions",
            JudgeConcern::Unclear => "unclear",
        }
    }

    /// A sentence for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            JudgeConcern::None => "it names no concern",
            JudgeConcern::LosesWork => "work could be deleted or overwritten",
            JudgeConcern::SendsData => "data could be sent to others",
            JudgeConcern::RunsUnknownCode => "it runs code that the call does not show",
            JudgeConcern::ChangesAccess => "it changes who may do what",
            JudgeConcern::AffectsPeople => "it affects other people",
            JudgeConcern::OutsideTask => "it does not belong to what the user asked for",
            JudgeConcern::Instructions => "the call contains instructions for its reader",
            JudgeConcern::Unclear => "the call cannot be understood",
        }
    }

    /// Reads a word.
    pub fn parse(text: &str) -> Option<JudgeConcern> {
        JudgeConcern::ALL.into_iter().find(|concern| concern.label() == text)
    }
}

/// A reply of the exact form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgeReply {
    /// What the model says.
    pub verdict: ModelVerdict,
    /// What worries it.
    pub concern: JudgeConcern,
}

/// Why a text is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InvalidReply {
    /// Empty.
    Empty,
    /// Longer than a reply can be.
    TooLong,
    /// Not one JSON object and nothing else.
    NotJson,
    /// A member is missing, unknown or not a string.
    Members,
    /// It names another call.
    OtherCall,
    /// An unknown verdict or concern, or a verdict that contradicts its concern.
    Verdict,
}

impl InvalidReply {
    /// The stable word in records.
    pub const fn label(self) -> &'static str {
        match self {
            InvalidReply::Empty => "empty",
            InvalidReply::TooLong => "too_long",
            InvalidReply::NotJson => "not_json",
            InvalidReply::Members => "members",
            InvalidReply::OtherCall => "other_call",
            InvalidReply::Verdict => "verdict",
        }
    }
}

impl fmt::Display for InvalidReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InvalidReply::Empty => "the reply is empty",
            InvalidReply::TooLong => "the reply is longer than a verdict",
            InvalidReply::NotJson => "the reply is not one JSON object and nothing else",
            InvalidReply::Members => "the reply has other members than call, verdict and concern",
            InvalidReply::OtherCall => "the reply names another call",
            InvalidReply::Verdict => "the reply has an unknown or contradictory verdict",
        })
    }
}

impl std::error::Error for InvalidReply {}

/// Reads a reply to the question about this call.
///
/// The reply is an object with exactly the members `call`, `verdict` and `concern`, in any order,
/// with JSON's white space and no escapes: all its words are plain ASCII, so an escape would only
/// hide one.
pub fn read_reply(text: &str, call: &Digest) -> Result<JudgeReply, InvalidReply> {
    if text.len() > MAX_REPLY {
        return Err(InvalidReply::TooLong);
    }
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    if text.is_empty() {
        return Err(InvalidReply::Empty);
    }
    if text.contains('\\') {
        return Err(InvalidReply::NotJson);
    }
    let value = json::parse(text).map_err(|_| InvalidReply::NotJson)?;
    let Value::Object(members) = &value else { return Err(InvalidReply::NotJson) };
    // The parser rejects duplicate keys, so three members with these names are exactly these.
    let member = |name: &str| value.get(name).and_then(Value::as_str);
    let (Some(named), Some(verdict), Some(concern), 3) =
        (member("call"), member("verdict"), member("concern"), members.len())
    else {
        return Err(InvalidReply::Members);
    };
    if named != call.to_string() {
        return Err(InvalidReply::OtherCall);
    }
    let verdict = ModelVerdict::parse(verdict).ok_or(InvalidReply::Verdict)?;
    let concern = JudgeConcern::parse(concern).ok_or(InvalidReply::Verdict)?;
    // A model that allows a call and names a concern has not understood the question.
    if (verdict == ModelVerdict::Allow) != (concern == JudgeConcern::None) {
        return Err(InvalidReply::Verdict);
    }
    Ok(JudgeReply { verdict, concern })
}
