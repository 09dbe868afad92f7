//! Under which name an agent's questions are counted.
//!
//! All hooks of a user share one socket identity. They name the agent program that they run for, so
//! that one agent's denials and floods do not count against another. The name is only a label: it
//! counts below the identity that the kernel vouches for.
//!
//! A node that takes tasks of other agents asks for all of them and names the sender in the
//! session. Each sender counts for itself, and all of them together get what one agent gets.

use countersign_store::StoredRequest;

/// The name of callers of `/confirm` and `/pending` that come without a token.
pub const ANONYMOUS: &str = "anonymous";

/// The longest label.
const MAX_LABEL: usize = 32;

/// The tool of delegated tasks, and how the session of a task begins; the sender's name follows.
const DELEGATED_TOOL: &str = "delegate_task";
const SENDER_SESSION: &str = "a2a:";
/// The longest name of a sender.
const MAX_SENDER: usize = 64;

/// `a2a:NAME@AGENT` for a delegated task, else as `counted_as` says.
pub fn counted_call(agent: &str, label: Option<&str>, tool: &str, session: &str) -> String {
    let sender = session.strip_prefix(SENDER_SESSION).filter(|_| tool == DELEGATED_TOOL);
    match sender {
        Some(name)
            if label.is_none()
                && (1..=MAX_SENDER).contains(&name.len())
                && name.chars().all(is_plain) =>
        {
            format!("{SENDER_SESSION}{name}@{agent}")
        }
        _ => counted_as(agent, label),
    }
}

/// Whether a name is that of a sender of delegated tasks.
pub fn is_sender(counted: &str) -> bool {
    counted.starts_with(SENDER_SESSION) && counted.contains('@')
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.'
}

/// `NAME@uid:1000` for a labelled agent, else the agent itself. An agent that authenticated under
/// its own name needs no label.
pub fn counted_as(agent: &str, label: Option<&str>) -> String {
    let letters = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    match label {
        Some(label)
            if !label.is_empty()
                && label.len() <= MAX_LABEL
                && label.chars().all(is_plain)
                && letters(label) != letters(agent) =>
        {
            format!("{label}@{agent}")
        }
        _ => agent.to_owned(),
    }
}

/// The identity below which a name is counted.
pub fn identity_of(counted: &str) -> &str {
    counted.split_once('@').map_or(counted, |(_, identity)| identity)
}

/// The name for a stored request.
pub fn counted_for(stored: &StoredRequest) -> String {
    let (agent, label) = (stored.request.requester.name(), agent_label(stored));
    counted_call(agent, label.as_deref(), &stored.tool, &stored.session)
}

/// The name that people see: `NAME 1.2.3 (uid:1000)`, or the agent alone.
pub fn asking_name(stored: &StoredRequest) -> String {
    let name = stored.request.requester.display_name();
    let version = agent_version(stored).map(|version| format!(" {version}")).unwrap_or_default();
    match agent_label(stored).filter(|label| counted_as(name, Some(label)) != name) {
        Some(label) => format!("{label}{version} ({name})"),
        None => format!("{name}{version}"),
    }
}

/// The member of a request's detail with the version of the agent program.
pub const VERSION_DETAIL: &str = "host_version";

/// The longest version.
const MAX_VERSION: usize = 32;

/// A version that can be shown: short, and of plain characters. Anything else is no version.
pub fn version_label(text: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    let fits = text.len() <= MAX_VERSION && text.starts_with(|c: char| c.is_ascii_digit());
    (fits && text.chars().all(is_plain)).then_some(text)
}

/// The version of the agent program that a stored request names, if its name was accepted.
pub fn agent_version(stored: &StoredRequest) -> Option<String> {
    let detail: serde_json::Value = serde_json::from_str(&stored.detail).ok()?;
    detail.pointer("/place/host")?.as_str()?;
    version_label(detail.get(VERSION_DETAIL)?.as_str()?).map(ToOwned::to_owned)
}

/// The agent program that a stored request names.
pub fn agent_label(stored: &StoredRequest) -> Option<String> {
    label_in(&stored.detail)
}

/// The agent program that the detail of a request names.
pub fn label_in(detail: &str) -> Option<String> {
    let detail: serde_json::Value = serde_json::from_str(detail).ok()?;
    detail.pointer("/place/host")?.as_str().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_counts_below_its_identity_and_cannot_take_another_form() {
        assert_eq!(counted_as("uid:0", Some("claude")), "claude@uid:0");
        assert_eq!(identity_of("claude@uid:0"), "uid:0");
        assert_eq!(identity_of("coder"), "coder");
        for label in [None, Some(""), Some("a@b"), Some("a b"), Some("\u{202e}x"), Some("a\n")] {
            assert_eq!(counted_as("uid:0", label), "uid:0", "{label:?}");
        }
        assert_eq!(counted_as("Claude-Code", Some("claude_code")), "Claude-Code");
        assert_eq!(counted_as("uid:0", Some(&"x".repeat(33))), "uid:0");
    }

    #[test]
    fn a_sender_of_delegated_tasks_counts_for_itself() {
        let counted = |label, tool, session| counted_call("node", label, tool, session);
        assert_eq!(counted(None, "delegate_task", "a2a:alice"), "a2a:alice@node");
        assert_eq!(identity_of("a2a:alice@node"), "node");
        assert!(is_sender("a2a:alice@node") && !is_sender("alice@node") && !is_sender("a2a:x"));
        for (tool, session) in [
            ("shell", "a2a:alice"),
            ("delegate_task", "alice"),
            ("delegate_task", "a2a:"),
            ("delegate_task", "a2a:a@b"),
            ("delegate_task", "a2a:a b"),
        ] {
            assert_eq!(counted(None, tool, session), "node", "{tool} {session}");
        }
        assert_eq!(counted(Some("claude"), "delegate_task", "a2a:alice"), "claude@node");
    }

    #[test]
    fn a_version_is_short_and_plain() {
        assert_eq!(version_label("2.1.325"), Some("2.1.325"));
        let long = "1".repeat(33);
        for bad in ["", "latest", "1 (approved)", "1\u{202e}2", "1\n", &long] {
            assert_eq!(version_label(bad), None, "{bad:?}");
        }
    }
}
