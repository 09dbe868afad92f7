//! Names and what contains them: a path and its folders, a host and its domains, a command and its
//! first words. Cedar compares whole texts only, so that the facts list them all.

use std::collections::BTreeSet;

use countersign_risk::command_words::CommandWords;
use countersign_risk::effect::Effect;
use countersign_risk::paths;
use countersign_shell::UNKNOWN;

/// A path and all folders above it, without the root. None if the path is not known to the end, or
/// starts at an unknown folder.
pub fn path_and_above(path: &str, cwd: Option<&str>) -> Option<BTreeSet<String>> {
    let path = paths::normal(path, cwd);
    let rooted = path.starts_with('/') || path == "~" || path.starts_with("~/");
    if !rooted || path.contains(UNKNOWN) || path.split('/').any(|part| part == "..") {
        return None;
    }
    let mut all = BTreeSet::new();
    let mut rest: &str = &path;
    while !rest.is_empty() {
        // `/srv/*` touches what is in `/srv`.
        if !rest.contains(['*', '?', '[', '{']) {
            all.insert(rest.to_owned());
        }
        rest = rest.rsplit_once('/').map_or("", |(above, _)| above);
    }
    Some(all)
}

/// A host and the domains that it belongs to, in lower case and without its port.
pub fn host_and_domains(host: &str) -> Option<BTreeSet<String>> {
    let host = host.to_ascii_lowercase();
    let name = host.rsplit_once('@').map_or(&*host, |(_, name)| name);
    let name = match name.split_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => name,
    };
    let name = name.trim_end_matches('.');
    if name.is_empty() || name.contains(UNKNOWN) || name.contains(['*', '/', ' ']) {
        return None;
    }
    let mut all = BTreeSet::from([name.to_owned()]);
    let is_address = name.contains(':') || name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let mut rest = name;
    while let Some((_, above)) = rest.split_once('.').filter(|_| !is_address) {
        all.insert(above.to_owned());
        rest = above;
    }
    Some(all)
}

/// A recipient in lower case, and `@` with the domain of an address.
pub fn recipient_and_domain(recipient: &str) -> Option<BTreeSet<String>> {
    let whole = recipient.trim().to_lowercase();
    if whole.is_empty() || whole.contains(UNKNOWN) {
        return None;
    }
    let mut all = BTreeSet::new();
    if let Some((_, domain)) = whole.rsplit_once('@').filter(|(name, _)| !name.is_empty()) {
        all.insert(format!("@{domain}"));
    }
    all.insert(whole);
    Some(all)
}

/// The ways in which a rule may name a command that runs: its program and first operands, each
/// followed by one of its options or by none.
pub fn command_names(command: &CommandWords) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut name = String::new();
    for word in &command.words {
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(word);
        all.insert(name.clone());
        all.extend(command.options.iter().map(|option| format!("{name} {option}")));
    }
    all
}

/// The ways in which a rule may name the only command of a call to allow it: the whole command, and
/// its first words, at least two, if no option follows them and none is the last of them.
pub fn allowed_names(command: &str) -> BTreeSet<String> {
    let words: Vec<&str> = command.split_ascii_whitespace().collect();
    let mut all = BTreeSet::from([words.join(" ")]);
    let is_option = |word: &&str| word.starts_with('-');
    let behind_options = words.iter().rposition(&is_option).map_or(0, |at| at + 1);
    for length in behind_options.max(2)..words.len() {
        let named = words.get(..length).unwrap_or_default();
        if !named.last().is_some_and(is_option) {
            all.insert(named.join(" "));
        }
    }
    all
}

/// The name of an effect in rules.
pub const fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Delete => "delete",
        Effect::Exec => "exec",
        Effect::NetOut => "net_out",
        Effect::NetIn => "net_in",
        Effect::Privilege => "privilege",
        Effect::Persist => "persist",
        Effect::Publish => "publish",
        Effect::Service => "service",
        Effect::Send => "send",
        Effect::Money => "money",
        Effect::Secret => "secret",
        Effect::SelfChange => "self_change",
        Effect::Delegate => "delegate",
        Effect::Remote => "remote",
        Effect::Crisis => "crisis",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(set: Option<BTreeSet<String>>) -> Vec<String> {
        set.into_iter().flatten().collect()
    }

    #[test]
    fn a_path_has_its_folders() {
        assert_eq!(list(path_and_above("/srv/a/b", None)), ["/srv", "/srv/a", "/srv/a/b"]);
        assert_eq!(list(path_and_above("b/../c", Some("/srv"))), ["/srv", "/srv/c"]);
        assert_eq!(list(path_and_above("/srv/*", None)), ["/srv"]);
        assert_eq!(list(path_and_above("~/x", None)), ["~", "~/x"]);
        assert_eq!(path_and_above("x", None), None);
        assert_eq!(path_and_above("../x", None), None);
        assert_eq!(path_and_above("/srv/\0", None), None);
    }

    #[test]
    fn a_host_has_its_domains() {
        let expected = ["api.example.com", "com", "example.com"];
        assert_eq!(list(host_and_domains("API.Example.com.:443")), expected);
        assert_eq!(list(host_and_domains("git@127.0.0.1:22")), ["127.0.0.1"]);
        assert_eq!(host_and_domains("*.example.com"), None);
    }

    #[test]
    fn a_recipient_has_its_domain() {
        assert_eq!(
            list(recipient_and_domain("Ana@Example.com")),
            ["@example.com", "ana@example.com"]
        );
        assert_eq!(list(recipient_and_domain("#general")), ["#general"]);
    }

    #[test]
    fn an_allowed_name_leaves_no_option_unnamed() {
        let names = |command| allowed_names(command).into_iter().collect::<Vec<_>>();
        assert_eq!(names("npm publish"), ["npm publish"]);
        assert_eq!(names("npm publish a b"), ["npm publish", "npm publish a", "npm publish a b"]);
        assert_eq!(names("npm publish --tag x"), ["npm publish --tag x"]);
        assert_eq!(names("make"), ["make"]);
        assert_eq!(names("git -C x push"), ["git -C x", "git -C x push"]);
    }
}
