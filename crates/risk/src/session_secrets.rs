//! Secrets that a session showed to its agent before: a later call that reaches another machine
//! could take one with it.

use countersign_redact::redact_text;
use countersign_text::sanitize::sanitize_within;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::effect::{Effect, Effects};
use crate::finding::Findings;
use crate::structural_findings::SECRET_THEN_SENT;

/// Effects by which text that the agent chooses leaves this machine.
const LEAVES: Effects = Effects::of(&[Effect::Send]);
/// How many names of secrets are remembered. One is enough to ask.
const MAX_SECRETS: usize = 32;
/// How many characters of a name are shown.
const MAX_NAME: usize = 60;

/// The secrets that a session showed to its agent, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShownSecrets {
    names: Vec<String>,
    /// It is not known whether there were others.
    unknown: bool,
}

impl ShownSecrets {
    /// Nothing is known about them.
    pub fn unknown() -> ShownSecrets {
        ShownSecrets { names: Vec::new(), unknown: true }
    }

    /// Whether the agent may know a secret.
    pub fn is_any(&self) -> bool {
        self.unknown || !self.names.is_empty()
    }

    pub fn add(&mut self, name: &str) {
        if self.names.iter().any(|known| known == name) {
            return;
        }
        if self.names.len() < MAX_SECRETS {
            self.names.push(name.to_owned());
        } else {
            self.unknown = true;
        }
    }

    pub fn redact(&mut self) {
        for name in &mut self.names {
            *name = redact_text(name).text.into_owned();
        }
    }

    pub fn shrink(&mut self) {
        self.unknown |= self.names.len() > MAX_SECRETS;
        self.names.truncate(MAX_SECRETS);
    }
}

/// Adds a finding if the session showed a secret before and this call reaches another machine.
pub(crate) fn check(call: &Call<'_>, out: &mut Findings) {
    let Some(session) = call.context.session else { return };
    let secrets = session.secrets();
    if !secrets.is_any() {
        return;
    }
    let mut hosts = out.impact.hosts.listed.clone();
    let listed = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    let unnamed = out.trace.reaches_unknown_host || out.impact.hosts.count > listed;
    if hosts.is_empty() && !unnamed && !out.effects.meets(LEAVES) {
        return;
    }
    if hosts.is_empty() || unnamed {
        hosts.push("a host that is not named".to_owned());
    }
    hosts.sort_unstable();
    let secret = secrets.names.first().map_or("a secret that is no longer known", String::as_str);
    let mut finding = SECRET_THEN_SENT.finding();
    finding.message = format!(
        "This session read {} before. This call reaches {}, so the secret could leave this machine.",
        shown(secret),
        shown(&hosts.join(", ")),
    )
    .into();
    let about = format!("secret sent to {}", hosts.join(" "));
    out.add_about(finding, Some(&about), &[]);
}

fn shown(name: &str) -> String {
    sanitize_within(&redact_text(name).text, MAX_NAME).text.into_owned()
}
