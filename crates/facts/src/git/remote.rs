//! Where a push goes.

use std::path::Path;

use countersign_risk::facts::{RemoteFact, UnknownReason};

use super::config::GitConfig;
use super::folders::GitFolders;
use crate::files;

/// The addresses that a push to a remote uses. `None` as the remote is the branch's own.
pub fn remote(folder: &Path, named: Option<&str>, limit: u64) -> Result<RemoteFact, UnknownReason> {
    let folder = files::resolved(folder).ok_or(UnknownReason::Missing)?;
    let git = GitFolders::of(&folder).ok_or(UnknownReason::Missing)?;
    let text = files::read_text(&git.common.join("config"), limit)?;
    let config = GitConfig::parse(&text);
    let own = || default_remote(&git, &config);
    let name = named.map(ToOwned::to_owned).or_else(own).unwrap_or_else(|| "origin".to_owned());
    let mut urls: Vec<&str> = config.values("remote", &name, "pushurl").collect();
    let is_for_push = !urls.is_empty();
    if urls.is_empty() {
        urls = config.values("remote", &name, "url").collect();
    }
    // A push may name an address in place of a remote.
    if urls.is_empty() && (name.contains([':', '/']) || name.starts_with('.')) {
        urls = vec![&name];
    }
    if urls.is_empty() {
        return Err(UnknownReason::Missing);
    }
    let urls = urls.into_iter().map(|url| without_password(&rewritten(&config, url, is_for_push)));
    let urls: Vec<String> = urls.collect();
    let origin = config.values("remote", "origin", "url");
    let origin = origin.map(|url| without_password(&rewritten(&config, url, false))).collect();
    let is_complete = !config.includes_files() && !has_worktree_settings(&config);
    Ok(RemoteFact { name: without_password(&name), urls, origin, is_complete })
}

fn has_worktree_settings(config: &GitConfig) -> bool {
    config.value("extensions", "", "worktreeconfig").is_some_and(|value| value != "false")
}

/// The remote that a push uses if it names none.
fn default_remote(git: &GitFolders, config: &GitConfig) -> Option<String> {
    let head = files::read_text(&git.private.join("HEAD"), 4 << 10).unwrap_or_default();
    let branch = head.trim().strip_prefix("ref: refs/heads/").unwrap_or_default();
    let found = config
        .value("branch", branch, "pushremote")
        .or_else(|| config.value("remote", "", "pushdefault"))
        .or_else(|| config.value("branch", branch, "remote"));
    found.map(ToOwned::to_owned)
}

/// The address after `url.NEW.insteadOf = OLD`; the longest match counts.
fn rewritten(config: &GitConfig, url: &str, is_for_push: bool) -> String {
    let longest = |key: &str| {
        let rules = config.with_key("url", key).filter(|(_, old)| url.starts_with(old));
        let (new, old) = rules.max_by_key(|(_, old)| old.len())?;
        Some(format!("{new}{}", url.strip_prefix(old)?))
    };
    let for_push = if is_for_push { None } else { longest("pushinsteadof") };
    for_push.or_else(|| longest("insteadof")).unwrap_or_else(|| url.to_owned())
}

/// The address without what could be a password or a token.
fn without_password(url: &str) -> String {
    let clean = match url.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            match rest.get(..end).and_then(|authority| authority.rsplit_once('@')) {
                Some((user, _)) if user != "git" => {
                    format!("{scheme}://{}", rest.get(user.len() + 1..).unwrap_or_default())
                }
                _ => url.to_owned(),
            }
        }
        None => url.to_owned(),
    };
    countersign_redact::redact_text(&clean).text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_removed_and_addresses_rewritten() {
        for (url, expected) in [
            ("https://ana:secret@git.example/x.git", "https://git.example/x.git"),
            ("https://token@git.example/x.git", "https://git.example/x.git"),
            ("ssh://git@git.example/x.git", "ssh://git@git.example/x.git"),
            ("git@git.example:x.git", "git@git.example:x.git"),
            ("../other", "../other"),
        ] {
            assert_eq!(without_password(url), expected);
        }
        let config = GitConfig::parse(
            "[url \"ssh://git@a/\"]\ninsteadOf = https://a/\n[url \"/tmp/\"]\npushInsteadOf = \
             https://a/b/\n",
        );
        assert_eq!(rewritten(&config, "https://a/x", false), "ssh://git@a/x");
        assert_eq!(rewritten(&config, "https://a/b/x", false), "/tmp/x");
        assert_eq!(rewritten(&config, "https://a/b/x", true), "ssh://git@a/b/x");
    }
}
