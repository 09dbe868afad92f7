//! Secrets that a session showed to its agent before: a later call that reaches another machine
//! could take one with it.

use countersign_redact::redact_text;
use countersign_text::sanitize::sanitize_within;

use crate::call::Call;
use crate::effect::{Effect, Effects};
use crate::finding::Findings;
use crate::structural_findings::SECRET_THEN_SENT;

/// Effects by which text that the agent chooses leaves this machine.
const LEAVES: Effects = Effects::of(&[Effect::Send]);
/// How many characters of a name are shown.
const MAX_NAME: usize = 60;

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
    let secret = shown(secrets.first().unwrap_or("a secret that is no longer known"));
    // One answer covers a host, whatever else a call reaches.
    for host in hosts {
        let mut finding = SECRET_THEN_SENT.finding();
        finding.message = format!(
            "This session read {secret} before. This call reaches {}, so the secret could leave this \
             machine.",
            shown(&host),
        )
        .into();
        out.add_about(finding, Some(&format!("secret sent to {host}")), &[]);
    }
}

fn shown(name: &str) -> String {
    sanitize_within(&redact_text(name).text, MAX_NAME).text.into_owned()
}
