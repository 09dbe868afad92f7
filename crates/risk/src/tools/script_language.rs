//! What the text that a tool runs is written in.

use crate::code::Language;
use crate::name_lists::{POSIX_SHELLS, UNREAD_SHELLS};

/// What a piece of code is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptLanguage {
    Shell,
    /// The shell of a tool that is known to start bash.
    Bash,
    PowerShell,
    Cmd,
    /// A shell whose language is not read.
    UnreadShell,
    Code(Language),
}

/// The language a caller names.
pub(super) fn script_language(name: &str) -> ScriptLanguage {
    let name = name.to_ascii_lowercase();
    let name = name.rsplit(['/', '\\']).next().unwrap_or(&name);
    let name = name.strip_suffix(".exe").unwrap_or(name).to_owned();
    ScriptLanguage::Code(match name.as_str() {
        "python" | "python3" | "py" | "ipython" => Language::Python,
        "javascript" | "js" | "node" | "typescript" | "ts" | "deno" | "bun" => Language::JavaScript,
        "perl" => Language::Perl,
        "ruby" | "rb" => Language::Ruby,
        "php" => Language::Php,
        "shell" => return ScriptLanguage::Shell,
        "powershell" | "pwsh" | "ps1" => return ScriptLanguage::PowerShell,
        "cmd" | "batch" | "bat" => return ScriptLanguage::Cmd,
        name if UNREAD_SHELLS.contains(&name) => return ScriptLanguage::UnreadShell,
        name if is_shell(name) => return ScriptLanguage::Shell,
        _ => Language::Other,
    })
}

/// Whether a program is a POSIX shell, by its name or path.
pub(super) fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    POSIX_SHELLS.contains(&name)
}
