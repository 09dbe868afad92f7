//! A shell that is connected to another machine: what several findings mean together.

use crate::effect::Effect;
use crate::finding::Findings;
use crate::hidden_text::add;
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
    let shell = [
        "shell.session",
        "shell.unseen-code",
        "shell.dynamic-program",
        "shell.remote-code.unprotected",
    ];
    if has(&shell)
        && out.effects.has(Effect::NetOut)
        && has(&["exfiltration.raw-socket", "network.raw", "credentials.openssl.pipe"])
    {
        add(out, &structural_findings::REVERSE_SHELL, None);
    }
}

/// Code of any language that opens a connection and starts a shell.
fn names_shell_and_socket(text: &str) -> bool {
    let shell = ["/bin/sh", "/bin/bash", "cmd.exe", "exec $c", "readline(sock)"];
    let socket = [
        "Socket(",
        "socket.socket",
        "[socket ",
        "net.connect",
        "connect(\"",
        "syscall.Socket",
        "new Socket",
    ];
    // Every name of a socket holds one of these two.
    (text.contains("ocket") || text.contains("onnect"))
        && shell.iter().any(|s| text.contains(s))
        && socket.iter().any(|s| text.contains(s))
}
