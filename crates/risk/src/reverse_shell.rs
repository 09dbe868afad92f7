//! A shell that is connected to another machine: what several findings mean together.

use crate::effect::Effect;
use crate::finding::Findings;
use crate::hidden_text::add;
use crate::name_lists::{SHELL_FINDINGS, SHELL_STARTS, SOCKET_FINDINGS, SOCKET_OPENS};
use crate::structural_findings;
use countersign_types::tier::Tier;

/// A shell or unknown text on one side and a raw connection on the other is a way in.
pub(crate) fn note_reverse_shell(text: &str, out: &mut Findings) {
    if out.tier() < Tier::Medium {
        return;
    }
    if names_shell_and_socket(text) {
        add(out, &structural_findings::REVERSE_SHELL, None);
        return;
    }
    let has = |codes: &[&str]| out.iter().any(|f| codes.contains(&f.code.as_ref()));
    if has(SHELL_FINDINGS) && out.effects.has(Effect::NetOut) && has(SOCKET_FINDINGS) {
        add(out, &structural_findings::REVERSE_SHELL, None);
    }
}

/// Code of any language that opens a connection and starts a shell.
fn names_shell_and_socket(text: &str) -> bool {
    // Every name of a socket holds one of these two.
    (text.contains("ocket") || text.contains("onnect"))
        && SHELL_STARTS.iter().any(|s| text.contains(s))
        && SOCKET_OPENS.iter().any(|s| text.contains(s))
}
