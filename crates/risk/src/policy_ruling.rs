//! What a policy rule says about a call: plain data that goes with the assessment.

use serde::Serialize;

/// The code of the note that rules of the project wait for adoption. It is no finding.
pub const ADOPTION_NOTE: &str = "policy.project";

/// What the rules decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleDecision {
    /// A rule lets the call run without a question.
    Allowed,
    /// A rule wants a person to decide each time.
    Asked,
    /// A rule denies the call.
    Denied,
    /// A rule could not be evaluated, so a person decides.
    Failed,
}

/// The decision of the rules, and which of them decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyRuling {
    /// What they decided.
    pub decision: RuleDecision,
    /// The names of the rules that decided.
    pub rules: Vec<String>,
    /// The reason that the first of them gives, or what could not be evaluated.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How many people must approve at least, if a rule says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u8>,
    /// Channels and rotas that are told beside the usual ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// How certain the identity of an approver must be at least, by its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assurance: Option<&'static str>,
}

impl PolicyRuling {
    /// Whether a person must decide: no grant and no judge answers instead.
    pub fn needs_person(&self) -> bool {
        matches!(self.decision, RuleDecision::Asked | RuleDecision::Failed)
    }

    /// Whether a rule denies the call.
    pub fn denies(&self) -> bool {
        self.decision == RuleDecision::Denied
    }

    /// The ruling as a sentence.
    pub fn sentence(&self) -> String {
        let names = self.rules.join(", ");
        let (word, several) = match self.decision {
            RuleDecision::Allowed => ("Allowed by", self.rules.len() > 1),
            RuleDecision::Asked => ("A person must decide, by", self.rules.len() > 1),
            RuleDecision::Denied => ("Denied by", self.rules.len() > 1),
            RuleDecision::Failed => ("A person must decide: not evaluated:", self.rules.len() > 1),
        };
        let rules = if several { "rules" } else { "rule" };
        let mut text = if self.reason.is_empty() {
            format!("{word} {rules} {names}.")
        } else {
            format!("{word} {rules} {names}: {}", self.reason)
        };
        if !self.demands().is_empty() && !text.ends_with(['.', '!', '?']) {
            text.push('.');
        }
        text + &self.demands()
    }

    /// What the rules demand beside a person's answer, as sentences.
    fn demands(&self) -> String {
        let mut text = String::new();
        if let Some(assurance) = self.assurance {
            text.push_str(" An approval needs at least: ");
            text.push_str(assurance);
            text.push('.');
        }
        if !self.route.is_empty() {
            text.push_str(" Also announced to: ");
            text.push_str(&self.route.join(", "));
            text.push('.');
        }
        text
    }
}
