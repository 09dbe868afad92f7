//! How sensitive a path is. One function, to be replaced by the shared path classes.

use crate::tier::Tier;

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Delete,
}

/// Why a path is sensitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sensitive {
    pub code: &'static str,
    pub tier: Tier,
    pub say: &'static str,
    pub secret: bool,
    pub own: bool,
}

const fn about(code: &'static str, tier: Tier, say: &'static str) -> Sensitive {
    Sensitive { code, tier, say, secret: false, own: false }
}

const fn secret(tier: Tier, say: &'static str) -> Sensitive {
    Sensitive { code: "path.credentials", tier, say, secret: true, own: false }
}

const fn own(code: &'static str, tier: Tier, say: &'static str) -> Sensitive {
    Sensitive { code, tier, say, secret: false, own: true }
}

/// What reading, writing or deleting this path costs beyond the tool itself.
pub(super) fn sensitive(path: &str, access: Access) -> Option<Sensitive> {
    let clean = tidy(path);
    let p = clean.as_str();
    let file = p.rsplit('/').next().unwrap_or(p);
    if access == Access::Read {
        return read(p, file);
    }
    let settings = ["/.config/countersign", "/etc/countersign", "/var/lib/countersign"];
    if has(p, ".countersign")
        || settings.iter().any(|s| p.contains(s))
        || file == "countersign.toml"
    {
        return Some(own(
            "self.firewall",
            Tier::Critical,
            "This changes Countersign itself: its rules, hooks, keys or records.",
        ));
    }
    changed(p, file).or_else(|| (access == Access::Delete).then(|| deleted(p)).flatten())
}

fn read(p: &str, file: &str) -> Option<Sensitive> {
    let keys = (has(p, ".ssh") && file.starts_with("id_") && !ends(file, ".pub"))
        || ends(file, ".pem")
        || ends(file, ".key")
        || ends(file, ".p12")
        || ends(file, ".kdbx")
        || p.ends_with("/etc/shadow")
        || p.ends_with("/etc/gshadow")
        || p.ends_with("/.aws/credentials")
        || p.ends_with("/.kube/config")
        || p.ends_with("/.docker/config.json")
        || has(p, ".gnupg")
        || (p.starts_with("/proc/") && file == "environ")
        || matches!(file, ".netrc" | ".pgpass" | ".npmrc" | ".pypirc" | ".git-credentials");
    if keys {
        return Some(secret(Tier::High, "This file holds passwords or private keys."));
    }
    let env = file == ".env"
        || (file.starts_with(".env.") && !ends(file, ".example") && !ends(file, ".sample"));
    if env {
        return Some(secret(Tier::Medium, "This file usually holds passwords or tokens."));
    }
    None
}

fn changed(p: &str, file: &str) -> Option<Sensitive> {
    let start_up = [".bashrc", ".zshrc", ".profile", ".bash_profile", ".zprofile", ".zshenv"];
    if file == "authorized_keys"
        || p.ends_with("/etc/sudoers")
        || p.contains("/etc/sudoers.d/")
        || p.ends_with("/etc/passwd")
        || p.ends_with("/etc/shadow")
        || p.contains("/etc/cron")
        || p.contains("/var/spool/cron")
        || p.contains("/systemd/") && (ends(file, ".service") || ends(file, ".timer"))
    {
        return Some(about(
            "path.keys_of_the_house",
            Tier::Critical,
            "This file decides who gets in or what runs by itself.",
        ));
    }
    if let Some(found) = agent(p, file) {
        return Some(found);
    }
    if has(p, ".ssh") || read(p, file).is_some_and(|s| s.tier >= Tier::High) {
        return Some(secret(Tier::High, "This changes a file that holds keys or passwords."));
    }
    if start_up.contains(&file) || p.contains("/.config/autostart/") || p.contains("/LaunchAgents/")
    {
        return Some(about("path.start_up", Tier::High, "This runs at every new login or shell."));
    }
    if p.contains(".git/hooks/") || has(p, ".husky") {
        return Some(about(
            "path.git_hook",
            Tier::High,
            "This runs by itself with every git command.",
        ));
    }
    if p.ends_with(".git/config") {
        return Some(about("path.git_config", Tier::High, "Git settings can run programs."));
    }
    let roots =
        ["/etc/", "/usr/", "/boot/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/dev/", "/sys/"];
    if roots.iter().any(|r| p.starts_with(r))
        && !p.starts_with("/usr/local/src/")
        && p != "/dev/null"
    {
        return Some(about("path.system", Tier::High, "This changes the system, not the project."));
    }
    if lower(p).starts_with("c:/windows") || lower(p).starts_with("c:/program files") {
        return Some(about("path.system", Tier::High, "This changes the system, not the project."));
    }
    read(p, file)
}

fn agent(p: &str, file: &str) -> Option<Sensitive> {
    let homes = [
        ".claude",
        ".codex",
        ".gemini",
        ".cursor",
        ".copilot",
        ".openclaw",
        ".hermes",
        ".opencode",
    ];
    let inside = homes.iter().any(|h| has(p, h)) || p.contains("/.config/opencode/");
    let rules = [
        "settings.json",
        "settings.local.json",
        "config.toml",
        "hooks.json",
        "config.yaml",
        "managed-settings.json",
        "openclaw.json",
        "opencode.json",
        "plugin.yaml",
        "config.json",
    ];
    let servers = matches!(file, ".mcp.json" | "mcp.json" | "mcp_settings.json" | ".claude.json")
        || file == "claude_desktop_config.json";
    let parts = p.contains("/hooks/") || p.contains("/plugins/") || p.contains("/plugin/");
    if servers || inside && (rules.contains(&file) || parts) {
        return Some(own(
            "self.agent_settings",
            Tier::High,
            "This changes what an agent may do or which tools it has.",
        ));
    }
    if matches!(file, "AGENTS.md" | "CLAUDE.md" | "GEMINI.md" | "SOUL.md" | ".cursorrules") {
        return Some(own(
            "self.agent_instructions",
            Tier::Low,
            "This changes the instructions an agent works by.",
        ));
    }
    None
}

fn deleted(p: &str) -> Option<Sensitive> {
    let whole = matches!(p, "/" | "~" | "~/" | "." | "./" | "*" | "/*" | "~/*" | "$HOME");
    if whole || p.split('/').filter(|s| !s.is_empty()).count() == 1 && p.starts_with('/') {
        return Some(about(
            "path.everything",
            Tier::Critical,
            "This deletes everything in one go.",
        ));
    }
    if p.contains('*') {
        return Some(about("path.wildcard", Tier::High, "This deletes many files in one go."));
    }
    if has(p, ".git") {
        return Some(about("path.git_history", Tier::High, "This deletes the project's history."));
    }
    None
}

/// Backslashes turned, `.` and `..` worked out, `file://` taken off.
pub(super) fn tidy(path: &str) -> String {
    let path = path.trim().strip_prefix("file://").unwrap_or(path.trim()).replace('\\', "/");
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if kept.last().is_some_and(|k| *k != "..") => {
                kept.pop();
            }
            ".." if rooted => {}
            _ => kept.push(part),
        }
    }
    let joined = kept.join("/");
    if rooted {
        format!("/{joined}")
    } else if joined.is_empty() {
        path
    } else {
        joined
    }
}

/// Whether a part of the path has this name.
fn has(path: &str, part: &str) -> bool {
    path.split('/').any(|p| p == part)
}

fn ends(file: &str, ending: &str) -> bool {
    file.len() >= ending.len() && lower(file).ends_with(ending)
}

fn lower(text: &str) -> String {
    text.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_as_sensitive_as_what_it_leads_to() {
        let tier = |path, access| sensitive(path, access).map(|s| s.tier);
        assert_eq!(tier("src/main.rs", Access::Write), None);
        assert_eq!(tier("a/../../etc/passwd", Access::Write), Some(Tier::Critical));
        assert_eq!(tier("/home/x/../../etc/passwd", Access::Write), Some(Tier::Critical));
        assert_eq!(tier("~/.ssh/id_ed25519", Access::Read), Some(Tier::High));
        assert_eq!(tier("~/.ssh/id_ed25519.pub", Access::Read), None);
        assert_eq!(tier("/work/.countersign/policy.toml", Access::Write), Some(Tier::Critical));
        assert_eq!(tier(".claude/settings.json", Access::Write), Some(Tier::High));
        assert_eq!(tier("CLAUDE.md", Access::Write), Some(Tier::Low));
        assert_eq!(tier(".env.example", Access::Read), None);
        assert_eq!(tier("/home", Access::Delete), Some(Tier::Critical));
        assert_eq!(tier("", Access::Delete), None);
    }
}
