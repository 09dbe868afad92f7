//! How sensitive a path in an argument is, by the path classes all readers share.

use std::borrow::Cow;

use crate::context::Context;
use crate::paths::windows_path;
use crate::paths::workspace::Workspace;
use crate::paths::{PathAction, class_of};
use countersign_text::file_url;
use countersign_types::tier::Tier;

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Delete,
}

/// Why a path is sensitive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sensitive {
    pub code: &'static str,
    pub tier: Tier,
    pub message: Cow<'static, str>,
    pub secret: bool,
    pub own: bool,
}

/// What reading, writing or deleting this path costs beyond the tool itself.
pub(super) fn sensitive(path: &str, access: Access, ctx: &Context<'_>) -> Option<Sensitive> {
    let clean = tidy(path);
    let clean = Workspace::of(ctx).local(&clean);
    if clean.is_empty() {
        return None;
    }
    let class = class_of(&clean, None);
    // A tool that deletes a whole place takes everything in it along.
    let whole = matches!(class.id, "root" | "home-whole" | "system-whole" | "project-whole");
    let (act, code, verb) = match access {
        Access::Read => (PathAction::Read, "path.read", "Reads"),
        Access::Write => (PathAction::Write, "path.write", "Changes"),
        Access::Delete if whole || class.id == "git-store" => {
            (PathAction::DeleteTree, "path.delete-tree", "Deletes everything in")
        }
        Access::Delete => (PathAction::Delete, "path.delete", "Deletes"),
    };
    let mut tier = class.cost(act);
    if access == Access::Delete && clean.contains('*') {
        tier = tier.max(Tier::High);
    }
    let own = matches!(class.id, "countersign" | "agent-control" | "agent-instructions")
        && access != Access::Read;
    if tier < Tier::Medium && !own {
        return None;
    }
    let secret = class.cost(PathAction::Read) >= Tier::Medium;
    let message = format!("{verb} {}.", class.name);
    Some(Sensitive { code, tier, message: Cow::Owned(message), secret, own })
}

/// Backslashes turned, addresses of files read; the shared classes do the rest.
pub(super) fn tidy(path: &str) -> String {
    let path = path.trim();
    let path =
        file_url::file(path).or_else(|| file_url::hostless(path)).unwrap_or(Cow::Borrowed(path));
    if windows_path::has_drive(&path) {
        return windows_path::normalize(&path, None).into_owned();
    }
    path.replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_as_sensitive_as_what_it_leads_to() {
        let tier = |path, access| sensitive(path, access, &Context::default()).map(|s| s.tier);
        assert_eq!(tier("src/main.rs", Access::Write), None);
        assert_eq!(tier("/home/x/../../etc/passwd", Access::Write), Some(Tier::Critical));
        assert_eq!(tier("~/.ssh/id_ed25519", Access::Read), Some(Tier::High));
        assert_eq!(tier("~/.ssh/id_ed25519.pub", Access::Read), None);
        assert_eq!(tier("/srv/.countersign/policy.toml", Access::Write), Some(Tier::Critical));
        assert_eq!(tier(".claude/settings.json", Access::Write), Some(Tier::High));
        assert_eq!(tier(".env.example", Access::Read), None);
        assert_eq!(tier("/home", Access::Delete), Some(Tier::Critical));
        assert_eq!(tier("C:\\Windows\\System32\\x.dll", Access::Write), Some(Tier::High));
        let startup = "AppData\\Roaming\\Microsoft\\Windows\\Start Menu\\Programs\\Startup\\x.bat";
        let startup = format!("C:\\Users\\me\\{startup}");
        assert!(tier(&startup, Access::Write) >= Some(Tier::Medium));
        assert_eq!(tier("", Access::Delete), None);
    }
}
