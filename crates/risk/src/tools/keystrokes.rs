//! Shell text where another input is expected: keys that are typed, cells of a notebook, code.

use super::arguments::Reader;
use super::text;
use super::values::{each_text, strings};
use crate::effect::Effect;
use crate::finding::{Doubt, Finding, Findings};
use crate::structural_findings;
use countersign_json::Value;
use countersign_types::tier::Tier;

impl Reader<'_, '_> {
    /// Notebook cells run lines that begin with `!`, and whole cells under `%%bash`, in a shell.
    pub(super) fn shell_escapes(&mut self, value: &Value<'_>) {
        let lines: Vec<&str> = match value {
            Value::String(text) => text.lines().collect(),
            other => strings(other).unwrap_or_default(),
        };
        let whole = lines.first().is_some_and(|first| {
            ["%%bash", "%%sh", "%%script", "%%system", "%%!"].iter().any(|m| first.starts_with(m))
        });
        if whole {
            let rest: Vec<&str> = lines.iter().skip(1).copied().collect();
            self.made_shell(&rest.join("\n"));
        }
        for line in lines {
            let line = line.trim_start();
            let escape = ["!!", "!", "%sx ", "%system "].iter().find_map(|s| line.strip_prefix(s));
            if let Some(command) = escape {
                self.made_shell(command);
            }
        }
    }

    /// Keys for a running program, which may be a shell.
    pub(super) fn keystrokes(&mut self, value: &Value<'_>) {
        let typed = match value {
            Value::String(text) => text.to_string(),
            Value::Array(_) => match strings(value) {
                Some(keys) if keys.iter().all(|key| text::is_key(key)) => return,
                // Typed one after the other, or each ended with the enter key.
                Some(keys) => {
                    self.made_shell(&keys.join(" "));
                    keys.join("\n")
                }
                None => {
                    self.unreadable();
                    return;
                }
            },
            Value::Null => return,
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                self.unreadable();
                return;
            }
        };
        if text::is_key(&typed) {
            return;
        }
        let typed = text::without_keys(&typed);
        self.out.effect(Effect::Exec);
        let mut seen = Findings::default();
        crate::command_text::read(&typed, &self.ctx, &mut seen);
        let unclear = [Doubt::UnknownProgram, Doubt::DynamicProgram, Doubt::Unreadable];
        if unclear.iter().any(|doubt| seen.has_doubt(*doubt)) {
            self.unread();
        }
        self.made_shell(&typed);
    }

    /// Shell text where code of another language is expected.
    pub(super) fn shell_in_code(&mut self, value: &Value<'_>) {
        if self.out.tier() >= Tier::Medium {
            return;
        }
        let ctx = self.ctx;
        let grave = |text: &str| {
            let mut seen = Findings::default();
            crate::command_text::read(text, &ctx, &mut seen);
            // A word of another language is no program of the shell.
            let grave = |found: &Finding| {
                found.weight.tier() >= Tier::Medium
                    && found.code != structural_findings::UNKNOWN_PROGRAM.code
            };
            seen.iter().any(grave) && !seen.has_doubt(Doubt::Unreadable)
        };
        if !each_text(value, &|text| !grave(text)) || self.spells_danger(value) {
            self.unread();
        }
    }
}
