//! Shell and code given as arguments, in one text or in pieces.

use super::arguments::Reader;
use super::place::Place;
use super::script_language::{ScriptLanguage, is_shell};
use super::table::Role;
use crate::code::Language;
use crate::finding::{Finding, Findings};
use crate::name_lists::INTERPRETER_NAMES;
use crate::structural_findings;
use countersign_json::Value;
use countersign_types::tier::Tier;

impl Reader<'_, '_> {
    /// One command: a text, or a program with its arguments.
    pub(super) fn shell(&mut self, value: &Value<'_>) {
        match value {
            Value::String(text) => self.shell_text(text),
            Value::Array(list) => {
                let words: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
                match words.as_deref() {
                    None => self.unreadable(),
                    Some([program, patch]) if is_apply_patch(program) => self.patch(patch),
                    Some([shell, flags, script])
                        if is_shell(shell) && flags.starts_with('-') && flags.ends_with('c') =>
                    {
                        self.shell_text(script);
                    }
                    // No program has a blank in its name: these are lines.
                    Some(lines @ [first, ..]) if first.contains(char::is_whitespace) => {
                        self.made_shell(&lines.join("\n"));
                    }
                    Some(words) => self.made_shell(&joined(words)),
                }
            }
            Value::Null => {}
            _ => self.unreadable(),
        }
    }

    /// One command in the language of a shell that the tool is named after.
    pub(super) fn shell_in(&mut self, language: ScriptLanguage, value: &Value<'_>) {
        let old = self.language.replace(language);
        if let Value::Array(list) = value {
            // Words of a program, or lines: both readings count.
            let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            self.made_shell(&words.join(" "));
            self.made_shell(&words.join("\n"));
        }
        self.shell(value);
        self.language = old;
    }

    /// A text in the shell that another argument or the tool's name says, else in any. A patch
    /// given to `apply_patch` in it is read as a patch.
    fn shell_text(&mut self, text: &str) {
        match self.language {
            Some(ScriptLanguage::PowerShell) => {
                self.ctx.read_text(|set| set.powershell, text, self.out);
            }
            Some(ScriptLanguage::Cmd) => {
                self.ctx.read_text(|set| set.cmd, text, self.out);
                // A tool called `cmd` need not be Windows: grave findings of a POSIX shell count.
                let mut posix = Findings::default();
                crate::command_text::read(text, &self.ctx, &mut posix);
                self.out.absorb_reading(posix, false, |f| f.weight.tier() >= Tier::High);
            }
            Some(ScriptLanguage::UnreadShell) => {
                crate::command_text::read(text, &self.ctx, self.out);
                self.out.add(structural_findings::UNREAD_LANGUAGE.finding());
            }
            Some(ScriptLanguage::Bash) => {
                crate::command_text::read_bash(text, &self.ctx, self.out);
            }
            _ => crate::command_text::read(text, &self.ctx, self.out),
        }
        if text.contains("*** Begin Patch") {
            self.patch(text);
        }
        // Terminal codes are taken out before a command is read; the shell gets them.
        if text.contains('\u{1b}') && countersign_shell::posix::check(text).is_err() {
            self.unreadable();
        }
    }

    /// Several commands, each a text or a program with its arguments.
    pub(super) fn shell_lines(&mut self, value: &Value<'_>) {
        let Value::Array(list) = value else {
            self.shell(value);
            return;
        };
        for line in list {
            self.shell(line);
        }
    }

    /// Reads shell that was put together here: its places mean nothing to the reader.
    pub(super) fn made_shell(&mut self, text: &str) {
        let outer = self.out.take();
        self.shell_text(text);
        let inner = std::mem::replace(self.out, outer);
        self.out.absorb(inner, |finding| Finding { span: None, ..finding });
    }

    /// Code or SQL: a text, or a list of lines that belong together.
    pub(super) fn matter(&mut self, role: Role, value: &Value<'_>, place: &Place<'_>) {
        match value {
            Value::String(text) => self.text(role, text),
            Value::Array(list) => {
                let lines: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
                let Some(lines) = lines else {
                    self.each(role, value, place);
                    return;
                };
                let outer = self.out.take();
                self.text(role, &lines.join("\n"));
                let inner = std::mem::replace(self.out, outer);
                self.out.absorb(inner, |finding| Finding { span: None, ..finding });
            }
            Value::Null => {}
            _ => self.unreadable(),
        }
    }

    /// Code in the language that another argument names.
    pub(super) fn code(&mut self, text: &str) {
        match self.language.unwrap_or(ScriptLanguage::Code(Language::Python)) {
            ScriptLanguage::Shell
            | ScriptLanguage::Bash
            | ScriptLanguage::PowerShell
            | ScriptLanguage::Cmd
            | ScriptLanguage::UnreadShell => {
                self.shell_text(text);
            }
            ScriptLanguage::Code(language) => {
                self.ctx.read_code(language, text, self.out);
            }
        }
    }
}

fn is_apply_patch(program: &str) -> bool {
    matches!(program, "apply_patch" | "applypatch")
}

/// Whether a text names the shell or language that runs the code, by its name or path.
pub(super) fn is_interpreter(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    super::text::is_plain_word(text) && (is_shell(name) || INTERPRETER_NAMES.contains(&name))
}

/// Words as one line of shell, quoted so that it means the same.
pub(super) fn joined(words: &[&str]) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            line.push_str(word);
        } else {
            line.push('\'');
            line.push_str(&word.replace('\'', "'\\''"));
            line.push('\'');
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_words_keep_their_meaning() {
        assert_eq!(joined(&["rm", "-rf", "a b", "it's", ""]), "rm -rf 'a b' 'it'\\''s' ''");
    }
}
