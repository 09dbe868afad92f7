//! The plain rules of `countersign.toml`, which become Cedar rules.

use std::fmt::Write as _;

use countersign_risk::context::Environment;
use countersign_types::tier::Tier;
use serde::Deserialize;

use crate::annotations::is_name;
use crate::rule_text::{
    above, allowed_command, any_of, command_words, host, list, one_of, path, quoted, recipient,
};
use crate::source::{PolicyProblem, PolicySource};

/// `[policy]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySection {
    /// The highest tier that a rule may let pass: LOW (the default) or MEDIUM.
    pub permit_up_to: Option<String>,
    /// The rules.
    pub rule: Vec<RuleSection>,
    /// Calls, and what the rules must say about them.
    pub test: Vec<TestSection>,
}

/// `[[policy.rule]]`: all that is given must hold; of a list, one entry.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleSection {
    /// The name.
    pub name: String,
    /// allow, ask or deny.
    pub decision: String,
    /// The sentence for people.
    pub reason: Option<String>,
    /// How many people must approve at least.
    pub quorum: Option<u8>,
    /// Channels, and `@rota`, that are told beside the usual ones.
    pub route: Vec<String>,
    /// How certain the identity of an approver must be: reached, linked, login or passkey.
    pub assurance: Option<String>,
    /// Agents.
    pub agents: Vec<String>,
    /// Tools.
    pub tools: Vec<String>,
    /// Commands by their first words.
    pub commands: Vec<String>,
    /// Whole commands, which a rule may allow although they are HIGH.
    pub exact_commands: Vec<String>,
    /// Files and folders.
    pub paths: Vec<String>,
    /// Hosts and domains.
    pub hosts: Vec<String>,
    /// Recipients, and `@domain`.
    pub recipients: Vec<String>,
    /// workstation, production, ci, container.
    pub environments: Vec<String>,
}

/// `[[policy.test]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestSection {
    /// A shell command, or a call as a table.
    pub call: toml::Value,
    /// allow, ask or deny.
    pub expect: String,
    /// The rule that must decide.
    pub rule: Option<String>,
}

/// The highest tier that rules may let pass.
pub fn permit_up_to(
    file: &str,
    section: &PolicySection,
    problems: &mut Vec<PolicyProblem>,
) -> Tier {
    match section.permit_up_to.as_deref().map(str::to_ascii_uppercase).as_deref() {
        None | Some("LOW") => Tier::Low,
        Some("MEDIUM") => Tier::Medium,
        Some(other) => {
            let message = format!("policy.permit_up_to: `{other}` is not LOW or MEDIUM");
            problems.push(PolicyProblem::new(file, None, message));
            Tier::Low
        }
    }
}

/// The rules as Cedar text, if there are any.
pub fn cedar_text(
    file: &str,
    section: &PolicySection,
    problems: &mut Vec<PolicyProblem>,
) -> Option<PolicySource> {
    let mut text = String::new();
    for (number, rule) in section.rule.iter().enumerate() {
        match rule.to_cedar() {
            Ok(cedar) => text.push_str(&cedar),
            Err(message) => {
                let unnamed = format!("number {}", number + 1);
                let name = if rule.name.is_empty() { &unnamed } else { &rule.name };
                problems.push(PolicyProblem::new(file, Some(name), message));
            }
        }
    }
    (!text.is_empty()).then(|| PolicySource { file: file.to_owned(), text })
}

impl RuleSection {
    /// The rule as Cedar text.
    fn to_cedar(&self) -> Result<String, String> {
        if !is_name(&self.name) {
            return Err("`name` must consist of letters, digits, `-`, `_` and `.`".to_owned());
        }
        let demands = [
            ("quorum", self.quorum.is_some()),
            ("route", !self.route.is_empty()),
            ("assurance", self.assurance.is_some()),
        ];
        let demand = demands.iter().find(|(_, is_set)| *is_set && self.decision != "ask");
        if let Some((name, _)) = demand {
            return Err(format!("`{name}` needs decision = \"ask\""));
        }
        match self.decision.as_str() {
            "allow" => self.permit(),
            "ask" => self.forbid("@decision(\"ask\")\n"),
            "deny" => self.forbid(""),
            "" => Err("`decision` is missing; write allow, ask or deny".to_owned()),
            other => Err(format!("decision: `{other}` is not allow, ask or deny")),
        }
    }

    fn forbid(&self, decision: &str) -> Result<String, String> {
        if !self.exact_commands.is_empty() {
            let use_instead = "use `commands`, which also finds commands inside of others";
            return Err(format!("`exact_commands` needs decision = \"allow\"; {use_instead}"));
        }
        let mut conditions = self.common()?;
        let tools: Vec<String> = self.tools.iter().map(|tool| tool.to_lowercase()).collect();
        conditions.extend(any_of("tool_names", &tools));
        let commands = list("commands", &self.commands, command_words)?;
        let paths = list("paths", &self.paths, path)?;
        let hosts = list("hosts", &self.hosts, host)?;
        let recipients = list("recipients", &self.recipients, recipient)?;
        let subjects = [
            ("commands", &commands),
            ("paths", &paths),
            ("hosts", &hosts),
            ("recipients", &recipients),
        ];
        let mut all = conditions.clone();
        all.extend(subjects.iter().filter_map(|(fact, values)| any_of(fact, values)));
        let mut text = self.rule("", decision, "forbid", &all)?;
        // What the rule is about may be hidden: then a person decides.
        let mut unclear: Vec<String> = subjects
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(fact, _)| format!("context.unclear.contains({})", quoted(fact)))
            .collect();
        let open: Vec<String> = commands.iter().flat_map(|one| above(one)).collect();
        unclear.extend(any_of("open_commands", &open));
        if !unclear.is_empty() {
            conditions.push(format!("({})", unclear.join(" || ")));
            text.push_str(&self.rule(".unclear", "@decision(\"ask\")\n", "forbid", &conditions)?);
        }
        Ok(text)
    }

    fn permit(&self) -> Result<String, String> {
        let mut all = self.common()?;
        all.extend(one_of("tool", &self.tools));
        let commands = list("commands", &self.commands, allowed_command)?;
        all.extend(any_of("command", &commands));
        let exact = list("exact_commands", &self.exact_commands, command_words)?;
        all.extend(one_of("exact_command", &exact));
        all.extend(any_of("paths_within", &list("paths", &self.paths, path)?));
        all.extend(any_of("hosts_within", &list("hosts", &self.hosts, host)?));
        all.extend(any_of("recipients_within", &list("recipients", &self.recipients, recipient)?));
        let exact = if exact.is_empty() { "" } else { "@exact\n" };
        self.rule("", exact, "permit", &all)
    }

    /// The conditions that all kinds of rules have in common.
    fn common(&self) -> Result<Vec<String>, String> {
        let mut all: Vec<String> = one_of("agent", &self.agents).into_iter().collect();
        let environments = list("environments", &self.environments, |text| {
            let known = Environment::parse(text).map(|known| known.label().to_owned());
            known.ok_or("is not workstation, production, ci or container")
        })?;
        if !environments.is_empty() {
            let named: Vec<String> =
                environments.iter().map(|name| format!("Environment::{}", quoted(name))).collect();
            all.push(format!("[{}].contains(context.environment)", named.join(", ")));
        }
        Ok(all)
    }

    fn rule(
        &self,
        suffix: &str,
        annotations: &str,
        effect: &str,
        conditions: &[String],
    ) -> Result<String, String> {
        if conditions.is_empty() {
            return Err("the rule says nothing about which calls it is for; add agents, tools, \
                        commands, paths, hosts, recipients or environments"
                .to_owned());
        }
        let mut text = format!("@id({})\n{annotations}", quoted(&format!("{}{suffix}", self.name)));
        if let Some(reason) = &self.reason {
            let _ = writeln!(text, "@reason({})", quoted(reason));
        }
        if let Some(quorum) = self.quorum.filter(|_| effect == "forbid") {
            let _ = writeln!(text, "@quorum(\"{quorum}\")");
        }
        if !self.route.is_empty() {
            let _ = writeln!(text, "@route({})", quoted(&self.route.join(", ")));
        }
        if let Some(assurance) = &self.assurance {
            let _ = writeln!(text, "@assurance({})", quoted(assurance));
        }
        let _ = write!(
            text,
            "{effect} (principal, action, resource)\nwhen {{\n  {}\n}};\n\n",
            conditions.join(" &&\n  ")
        );
        Ok(text)
    }
}
