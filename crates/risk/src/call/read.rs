//! A call from its JSON object: what is given must have the right type, and no command is lost.

use std::borrow::Cow;
use std::fmt;

use super::{Annotations, Call};
use crate::context::{Context, Environment, Platform, TextReaders};
use countersign_json as json;
use countersign_json::{JsonError, Value};
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;

/// Fields in which a caller may claim a risk; the highest counts.
const CLAIMS: [&str; 3] = ["risk_level", "claimed_risk", "claimed"];

/// What others call `arguments`. Passed over, a call would be assessed without them.
const MISNAMED: [&str; 6] = ["args", "input", "params", "parameters", "tool_input", "kwargs"];

/// Why an object is not a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The value is no object; what it is.
    NotAnObject(&'static str),
    /// Neither a command nor a tool is named.
    Nothing,
    /// A field of the wrong type.
    Type {
        /// Which field.
        field: &'static str,
        /// What it must be.
        wanted: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A field with a word that we do not know.
    Word {
        /// Which field.
        field: &'static str,
        /// What it says.
        found: String,
        /// What it may say.
        wanted: &'static str,
    },
    /// The tool has an empty name.
    NoName,
    /// Two fields that must say the same do not.
    Disagree(&'static str, &'static str),
    /// There are no arguments, but something that looks like them under another name.
    Misnamed(&'static str),
    /// The arguments are a string that is not JSON we accept.
    Arguments(JsonError),
}

impl<'a> Call<'a> {
    /// Reads `{"command": "…"}` or `{"tool": "…", "arguments": {…}}` with the optional fields
    /// agent, session, platform, cwd, project, host, environment (or env), annotations and
    /// `risk_level`.
    ///
    /// `null` is the same as absent, and other fields are passed over. The call borrows from
    /// the value. A command alone is a call of the tool `shell`; a command beside a tool or
    /// arguments is put among the arguments, and refused where they name another one.
    pub fn from_json(value: &'a Value<'_>) -> Result<Call<'a>, CallError> {
        if value.as_object().is_none() {
            return Err(CallError::NotAnObject(value.kind()));
        }
        let tool = match text(value, "tool")? {
            Some("") => return Err(CallError::NoName),
            Some(tool) => Some(tool),
            None => None,
        };
        let command = command(value)?;
        if tool.is_none() && command.is_none() {
            return Err(CallError::Nothing);
        }
        let arguments = merge(arguments(value)?, command)?;
        Ok(Call {
            tool: Cow::Borrowed(tool.unwrap_or("shell")),
            arguments,
            agent: text(value, "agent")?.map(Cow::Borrowed),
            session: text(value, "session")?.map(Cow::Borrowed),
            context: Context {
                platform: text(value, "platform")?.map(Platform::parse).unwrap_or_default(),
                environment: environment(value)?,
                cwd: text(value, "cwd")?,
                project: text(value, "project")?,
                folders: &[],
                host: text(value, "host")?,
                session: None,
                facts: None,
                label: None,
                readers: TextReaders::default(),
            },
            annotations: annotations(value)?,
            claimed: claimed(value)?,
            facts: None,
        })
    }
}

/// A field that is there and not `null`.
fn field<'v, 'a>(value: &'v Value<'a>, name: &str) -> Option<&'v Value<'a>> {
    value.get(name).filter(|value| !value.is_null())
}

fn text<'v>(value: &'v Value<'_>, name: &'static str) -> Result<Option<&'v str>, CallError> {
    let Some(found) = field(value, name) else { return Ok(None) };
    found.as_str().map(Some).ok_or_else(|| wrong(name, "a string", found))
}

fn wrong(field: &'static str, wanted: &'static str, found: &Value<'_>) -> CallError {
    CallError::Type { field, wanted, found: found.kind() }
}

/// A command line, or the words of one.
fn command<'v>(value: &'v Value<'_>) -> Result<Option<Value<'v>>, CallError> {
    let Some(found) = field(value, "command") else { return Ok(None) };
    let words = |items: &[Value<'_>]| items.iter().all(|item| item.as_str().is_some());
    if found.as_str().is_some() || found.as_array().is_some_and(words) {
        return Ok(Some(found.reborrow()));
    }
    Err(wrong("command", "a string or an array of strings", found))
}

/// The arguments as members; a string holds them as JSON of its own.
fn arguments<'v>(value: &'v Value<'_>) -> Result<Value<'v>, CallError> {
    let Some(found) = field(value, "arguments") else {
        let given = |name: &&str| field(value, name).is_some();
        return match MISNAMED.into_iter().find(given) {
            Some(name) if field(value, "tool").is_some() => Err(CallError::Misnamed(name)),
            _ => Ok(Value::Object(Vec::new())),
        };
    };
    let arguments = match found {
        // Some models send the empty string where there are none.
        Value::String(text) if text.trim().is_empty() => Value::Object(Vec::new()),
        Value::String(text) => json::parse(text).map_err(CallError::Arguments)?,
        other => other.reborrow(),
    };
    match arguments {
        Value::Object(_) => Ok(arguments),
        other => Err(wrong("arguments", "an object", &other)),
    }
}

/// Puts the command among the arguments.
fn merge<'v>(mut arguments: Value<'v>, command: Option<Value<'v>>) -> Result<Value<'v>, CallError> {
    let Some(command) = command else { return Ok(arguments) };
    if let Some(other) = arguments.get("command") {
        if *other != command {
            return Err(CallError::Disagree("command", "arguments.command"));
        }
    } else if let Value::Object(members) = &mut arguments {
        members.push((Cow::Borrowed("command"), command));
    }
    Ok(arguments)
}

fn environment(value: &Value<'_>) -> Result<Environment, CallError> {
    let (long, short) = (named(value, "environment")?, named(value, "env")?);
    match (long, short) {
        (Some(a), Some(b)) if a != b => Err(CallError::Disagree("environment", "env")),
        _ => Ok(long.or(short).unwrap_or_default()),
    }
}

fn named(value: &Value<'_>, name: &'static str) -> Result<Option<Environment>, CallError> {
    let Some(text) = text(value, name)? else { return Ok(None) };
    let wanted = "workstation, production, ci or container";
    let unknown = || CallError::Word { field: name, found: text.to_owned(), wanted };
    Environment::parse(text).map(Some).ok_or_else(unknown)
}

fn annotations(value: &Value<'_>) -> Result<Annotations, CallError> {
    let Some(found) = field(value, "annotations") else { return Ok(Annotations::default()) };
    if found.as_object().is_none() {
        return Err(wrong("annotations", "an object", found));
    }
    let hint = |name: &'static str, path: &'static str| match field(found, name) {
        None => Ok(None),
        Some(hint) => hint.as_bool().map(Some).ok_or_else(|| wrong(path, "a boolean", hint)),
    };
    Ok(Annotations {
        read_only: hint("readOnlyHint", "annotations.readOnlyHint")?,
        destructive: hint("destructiveHint", "annotations.destructiveHint")?,
        idempotent: hint("idempotentHint", "annotations.idempotentHint")?,
        open_world: hint("openWorldHint", "annotations.openWorldHint")?,
    })
}

fn claimed(value: &Value<'_>) -> Result<Option<Tier>, CallError> {
    let mut highest = None;
    for name in CLAIMS {
        let Some(text) = text(value, name)? else { continue };
        let wanted = "safe, low, medium, high or critical";
        let unknown = || CallError::Word { field: name, found: text.to_owned(), wanted };
        highest = highest.max(Some(Tier::parse(text).ok_or_else(unknown)?));
    }
    Ok(highest)
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::NotAnObject(found) => write!(f, "call is {found}, wanted an object"),
            CallError::Nothing => f.write_str("call has neither command nor tool"),
            CallError::Type { field, wanted, found } => {
                write!(f, "{field} is {found}, wanted {wanted}")
            }
            CallError::Word { field, found, wanted } => {
                let found = sanitize_within(found, 64);
                write!(f, "{field} is \"{}\", wanted {wanted}", found.text)
            }
            CallError::NoName => f.write_str("tool is empty, wanted a name"),
            CallError::Disagree(a, b) => write!(f, "{a} and {b} do not say the same"),
            CallError::Misnamed(name) => {
                write!(f, "arguments are missing but {name} is given; name it arguments")
            }
            CallError::Arguments(error) => write!(f, "arguments: {error}"),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CallError::Arguments(error) => Some(error),
            _ => None,
        }
    }
}
