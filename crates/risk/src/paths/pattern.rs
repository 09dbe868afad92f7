//! Patterns in a command that can mean a folder or file with a class of its own: `~/.ss?/id_*`.

use super::guard::could_be;
use crate::command_tables::{DIRS, HOME_PATHS, INNER_PATHS, NAMES, ROOT_PATHS};

/// How many paths one pattern is tried as. More of them mean that the pattern says nothing.
const MOST: usize = 48;

/// How long a part of a pattern may be: longer than any name with a class.
const LONGEST: usize = 128;

/// A pattern that is too long to be tried.
pub(super) struct TooLong;

/// How many letters must stand before a star at the end: `.env*` and `shad*` mean certain files,
/// `*.json` and `a*` mean many.
const LEAST: usize = 3;

/// Paths that this pattern may mean.
pub(super) fn candidates(path: &str) -> Result<Vec<String>, TooLong> {
    if !path.contains(['*', '?', '[']) {
        return Ok(Vec::new());
    }
    let parts: Vec<&str> = path.split('/').collect();
    let mut paths = vec![String::new()];
    let mut replaced = false;
    for (at, part) in parts.iter().enumerate() {
        let hides = hides_a_name(part, at + 1 == parts.len());
        if hides && part.len() > LONGEST {
            return Err(TooLong);
        }
        let names = if hides { names_of(part) } else { Vec::new() };
        replaced |= !names.is_empty();
        let join = if at == 0 { "" } else { "/" };
        paths = paths
            .iter()
            .flat_map(|start| {
                let whole = names.iter().copied().chain(std::iter::once(*part));
                whole.map(move |name| format!("{start}{join}{name}"))
            })
            .take(MOST)
            .collect();
    }
    Ok(if replaced { paths } else { Vec::new() })
}

fn hides_a_name(part: &str, last: bool) -> bool {
    let says = part.bytes().any(|b| !matches!(b, b'*' | b'?' | b'[' | b']'));
    let spelled = part.find('*').is_some_and(|at| at >= LEAST);
    says && (part.contains(['?', '[']) || part.contains('*') && (!last || spelled))
}

/// Names with a class of their own that a part of a path could be.
fn names_of(part: &str) -> Vec<&'static str> {
    let firsts = ROOT_PATHS.iter().chain(HOME_PATHS);
    let tables = firsts.chain(INNER_PATHS);
    let patterns = tables.flat_map(|(_, patterns)| patterns.iter());
    let inner = patterns.flat_map(|pattern| pattern.text.split('/'));
    let own = DIRS.iter().map(|(name, _)| *name).chain(NAMES.iter().map(|(_, name, _)| *name));
    let plain = |name: &&str| !name.is_empty() && !name.contains(['*', '?', '~']);
    let mut names: Vec<&'static str> =
        own.chain(inner).filter(plain).filter(|name| could_be(part, name)).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MOST);
    names
}

#[cfg(test)]
mod tests {
    use crate::paths::class_of;
    use countersign_types::tier::Tier;

    #[test]
    fn a_pattern_is_assessed_as_what_it_can_mean() {
        for path in
            ["~/.ss?/id_*", "/et[c]/shadow", "~/.s*/id_rsa", "~/.a?s/cred?ntials", "/etc/shad*"]
        {
            assert!(class_of(path, None).read >= Tier::High, "{path}");
        }
        for path in ["/e[t]c/hosts", "/et?/passwd", "~/.bash?c"] {
            assert!(class_of(path, None).write >= Tier::High, "{path}");
        }
        for path in
            ["src/*.rs", "src/*/mod.rs", "*.json", "docs/?.md", "test[0-9].txt", "a/*/b/*.c"]
        {
            assert!(class_of(path, None).write <= Tier::Low, "{path}");
            assert!(class_of(path, None).read <= Tier::Low, "{path}");
        }
    }
}
