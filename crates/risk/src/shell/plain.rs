//! Plain data: words of which one more changes no assessment.

use super::program::resolve;
use crate::paths::{PathAction, class_of};
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

/// Whether a word is a number or the name of an ordinary file of the project. Nothing that runs,
/// no option, no subcommand and no path that matters is one.
pub(super) fn is_plain(word: &str) -> bool {
    if !word.is_empty() && word.len() <= 9 && word.bytes().all(|b| b.is_ascii_digit()) {
        return true;
    }
    let named = word.strip_prefix("./").unwrap_or(word);
    named.len() <= 256
        && named.starts_with(|c: char| c.is_ascii_alphanumeric())
        && named.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/".contains(&b))
        // Programs and subcommands have neither.
        && named.contains(['.', '/'])
        && !named.contains("..")
        && !named.contains("/.")
        && resolve(named).is_none()
        && class_of(named, None).id == "project"
        && class_of(named, None).cost(PathAction::Read) == Tier::Safe
}

/// Whether a value is plain data, or unknown data with nothing else in it that matters: of several
/// such values one stands for all.
pub(super) fn is_like_any(value: &str) -> bool {
    let known = value.replace(UNKNOWN, "");
    let known = known.trim_matches([' ', ',', ':', '\n']);
    known.is_empty() || is_plain(known)
}

#[cfg(test)]
mod tests {
    use super::{is_like_any, is_plain};

    #[test]
    fn nothing_that_matters_is_like_any_other() {
        for value in ["", ",", "a.txt", "\0", "\0,\0", "\0,a.txt"] {
            assert!(is_like_any(value), "{value:?}");
        }
        for value in ["/etc/shadow", "\0/.ssh/id_rsa", "\0 -rf /", "rm -rf ~", "push", "/"] {
            assert!(!is_like_any(value), "{value:?}");
        }
    }

    #[test]
    fn only_numbers_and_ordinary_files_are_plain() {
        for word in ["7", "2024", "a.txt", "src/main.rs", "./docs/a-b_c.md"] {
            assert!(is_plain(word), "{word}");
        }
        for word in [
            "",
            "push",
            "reboot",
            "-rf",
            "/etc/shadow",
            "~/.ssh/id_rsa",
            ".env",
            "src/.env",
            "../x",
            "rm -rf /",
            "a.txt;rm",
            "python3.11",
            "bin/rm",
            "*.txt",
            "x=1",
            "/",
            "a/../../b",
        ] {
            assert!(!is_plain(word), "{word}");
        }
    }
}
