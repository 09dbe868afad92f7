//! Secrets that a session read before: a later call that reaches another machine could take one
//! with it.

use countersign_redact::redact_text;
use countersign_text::sanitize::sanitize_within;

use crate::call::Call;
use crate::effect::{Effect, Effects};
use crate::finding::Findings;
use crate::shell::is_local;
use crate::structural_findings::SECRET_THEN_SENT;

/// Effects by which something leaves this machine.
const LEAVES: Effects =
    Effects::of(&[Effect::NetOut, Effect::Send, Effect::Publish, Effect::Remote]);
/// How many characters of a name are shown.
const MAX_NAME: usize = 60;

/// Notes the secrets that a call reads, and adds a finding if the session read one before and this
/// call reaches another machine.
pub(crate) fn check(call: &Call<'_>, out: &mut Findings) {
    let Some(session) = call.context.session else { return };
    if out.effects.has(Effect::Secret) {
        let mut names = out.impact.secrets.listed.clone();
        if names.is_empty() {
            names.push("a stored secret".to_owned());
        }
        names.into_iter().for_each(|name| out.trace.read_secret(name));
    }
    if !session.may_know_secret() {
        return;
    }
    let hosts = out.impact.hosts.listed.iter().filter(|host| !is_local(host));
    let mut hosts: Vec<String> = hosts.cloned().collect();
    let unlisted = out.impact.hosts.count > out.impact.hosts.listed.len().try_into().unwrap_or(0);
    let unnamed = out.trace.reaches_unknown_host || unlisted;
    if hosts.is_empty() && !unnamed && !out.effects.meets(LEAVES) {
        return;
    }
    if hosts.is_empty() || unnamed {
        hosts.push("a host that is not named".to_owned());
    }
    let secret = session.secrets().next().unwrap_or("a secret that is no longer known");
    let mut finding = SECRET_THEN_SENT.finding();
    finding.message = format!(
        "This session read {} before. This call reaches {}, so the secret could leave this machine.",
        shown(secret),
        shown(&hosts.join(", ")),
    )
    .into();
    hosts.sort_unstable();
    let about = format!("secret sent to {}", hosts.join(" "));
    out.add_about(finding, Some(&about), &[]);
}

fn shown(name: &str) -> String {
    sanitize_within(&redact_text(name).text, MAX_NAME).text.into_owned()
}
