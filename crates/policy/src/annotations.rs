//! What the annotations of a rule say. They can only make a decision stricter.

use cedar_policy::{Effect, Policy};
use countersign_workflow::assurance::Assurance;

/// What a rule does when it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// Denies the call.
    Deny,
    /// A person decides.
    Ask,
    /// No question, as far as the limits allow it.
    Permit,
}

impl RuleKind {
    /// The word of the plain rules for it.
    pub const fn word(self) -> &'static str {
        match self {
            RuleKind::Deny => "deny",
            RuleKind::Ask => "ask",
            RuleKind::Permit => "allow",
        }
    }
}

/// The annotations of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleAnnotations {
    /// The name.
    pub name: String,
    /// What the rule does.
    pub kind: RuleKind,
    /// The sentence for people.
    pub reason: String,
    /// How many people must approve at least.
    pub quorum: Option<u8>,
    /// Channels and rotas that are told beside the usual ones.
    pub route: Vec<String>,
    /// How certain the identity of an approver must be at least.
    pub assurance: Option<Assurance>,
    /// Whether it names one exact command, and so may cover HIGH.
    pub exact: bool,
}

/// The longest name and the longest reason, in bytes.
const MAX_NAME: usize = 80;
const MAX_REASON: usize = 400;
/// How many channels a rule can name.
const MAX_ROUTE: usize = 16;

impl RuleAnnotations {
    /// Reads the annotations. `plain`: the rule was written in `countersign.toml`.
    pub fn read(policy: &Policy, plain: bool) -> Result<RuleAnnotations, String> {
        let name = policy.annotation("id").unwrap_or_default();
        if !is_name(name) {
            let wanted = "a rule needs a name of letters, digits, `-`, `_` and `.`";
            return Err(format!("{wanted}: write @id(\"no-force-push\") before it"));
        }
        let mut kind = match policy.effect() {
            Effect::Permit => RuleKind::Permit,
            Effect::Forbid => RuleKind::Deny,
        };
        let (mut reason, mut quorum, mut exact) = (String::new(), None, false);
        let (mut route, mut assurance) = (Vec::new(), None);
        for (key, value) in policy.annotations() {
            match key {
                "id" => {}
                "decision" => kind = decision(kind, value)?,
                "reason" if value.len() <= MAX_REASON => value.clone_into(&mut reason),
                "reason" => return Err(format!("@reason is longer than {MAX_REASON} bytes")),
                "quorum" => quorum = Some(people(value)?),
                "route" => route = channels(value)?,
                "assurance" => assurance = Some(level(value)?),
                "exact" if plain => exact = true,
                other => {
                    return Err(format!(
                        "@{other} is not supported; use @id, @decision, @reason, @quorum, @route \
                         and @assurance"
                    ));
                }
            }
        }
        let demands = [
            ("quorum", quorum.is_some()),
            ("route", !route.is_empty()),
            ("assurance", assurance.is_some()),
        ];
        if let Some((name, _)) = demands.iter().find(|(_, is_set)| *is_set && kind != RuleKind::Ask)
        {
            let rule = "a rule that asks: forbid with @decision(\"ask\")";
            return Err(format!("@{name} needs {rule}"));
        }
        let name = name.to_owned();
        Ok(RuleAnnotations { name, kind, reason, quorum, route, assurance, exact })
    }
}

/// Whether a text can be the name of a rule.
pub fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(letter)
}

fn decision(kind: RuleKind, value: &str) -> Result<RuleKind, String> {
    match (kind, value) {
        (RuleKind::Permit, _) => {
            Err("@decision belongs to a rule that forbids; a permit allows".to_owned())
        }
        (_, "ask") => Ok(RuleKind::Ask),
        (_, "deny") => Ok(RuleKind::Deny),
        (_, other) => Err(format!("@decision(\"{other}\") is not \"ask\" or \"deny\"")),
    }
}

fn people(value: &str) -> Result<u8, String> {
    let number = value.parse().ok().filter(|number| (1..=100).contains(number));
    number.ok_or_else(|| format!("@quorum(\"{value}\") is not a number from 1 to 100"))
}

/// The names in a list such as `ops, @oncall`. The configuration says which of them exist.
fn channels(value: &str) -> Result<Vec<String>, String> {
    let names: Vec<&str> = value.split(',').map(str::trim).collect();
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    let is_channel = |name: &&str| {
        let name = name.strip_prefix('@').unwrap_or(name);
        !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(plain)
    };
    if names.len() <= MAX_ROUTE && names.iter().all(is_channel) {
        Ok(names.into_iter().map(str::to_owned).collect())
    } else {
        Err(format!("@route(\"{value}\") is not a list of channels such as \"ops, @oncall\""))
    }
}

fn level(value: &str) -> Result<Assurance, String> {
    let labels = Assurance::ALL.map(Assurance::label).join(", ");
    Assurance::parse(value).ok_or_else(|| format!("@assurance(\"{value}\") is not one of {labels}"))
}
