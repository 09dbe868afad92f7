//! The words of a cmd command: which of them come before the command inside.

use countersign_shell::cmd::CmdWord;

/// `npm.cmd` is `npm`.
pub(super) fn without_suffix(program: &str) -> &str {
    for suffix in [".cmd", ".bat", ".com", ".exe"] {
        let Some(at) = program.len().checked_sub(suffix.len()) else { continue };
        let (short, end) = (program.get(..at), program.get(at..));
        if let (Some(short), Some(end)) = (short, end)
            && end.eq_ignore_ascii_case(suffix)
            && crate::shell::described_program(short).is_some()
        {
            return short;
        }
    }
    program
}

/// Whether a command is `echo`, also as `echo.` and `echo:`.
pub(super) fn is_echo(name: &str) -> bool {
    name.len() == 4 || name.as_bytes().get(4).copied().is_some_and(|b| !b.is_ascii_alphanumeric())
}

/// How many words the condition of `if` takes up.
pub(super) fn condition(words: &[CmdWord]) -> usize {
    let lower = |at: usize| words.get(at).map(|w| w.text.to_ascii_lowercase()).unwrap_or_default();
    let mut at = 0;
    while matches!(lower(at).as_str(), "/i" | "not") {
        at += 1;
    }
    match lower(at).as_str() {
        "exist" | "defined" | "errorlevel" | "cmdextversion" => at + 2,
        _ => {
            let operator = lower(at + 1);
            if matches!(operator.as_str(), "equ" | "neq" | "lss" | "leq" | "gtr" | "geq" | "==") {
                return at + 3;
            }
            if lower(at).ends_with("==") || operator.starts_with("==") {
                return at + 2;
            }
            at + 1
        }
    }
}

/// How many words of `start` come before its command: a title and options.
pub(super) fn start_options(words: &[CmdWord]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let quoted = word.end - word.start >= word.text.len() + 2;
        let takes = word.text.eq_ignore_ascii_case("/d");
        if word.text.starts_with('/') {
            at += 1 + usize::from(takes);
        } else if at == 0 && quoted && words.len() > 1 {
            at += 1;
        } else {
            break;
        }
    }
    at
}
