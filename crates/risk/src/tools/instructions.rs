//! Instructions for another agent: nobody can tell from words what it will do, but the commands,
//! files and orders in them count as if they were calls of their own.

use super::arguments::Reader;
use super::table::{self, Class, Strength};
use super::{name, text};
use crate::command_tables;
use crate::finding::{Finding, Findings};
use crate::limit::Limit;
use countersign_types::tier::Tier;

/// How many commands and paths of a text are read.
const PARTS: Limit = Limit::new("commands and paths in a task", 200);

/// Words that mean something else in the tasks of programmers.
const NOT_ORDERS: [&str; 1] = ["checkout"];

/// What may stand before a command or path in a sentence.
const OPENERS: [char; 8] = ['`', '"', '\'', '(', '[', '<', '$', '*'];

impl Reader<'_, '_> {
    /// Reads a text that another agent acts on. It can only raise the tier.
    pub(super) fn instructions(&mut self, text: &str) {
        if self.outward {
            self.leak(text);
        }
        self.orders(text);
        let (mut count, mut tier) = (0, Tier::Safe);
        for line in text.lines() {
            if text::looks_like_sql(line) {
                let mut seen = Findings::default();
                crate::sql::read(line, 0, &self.ctx, &mut seen);
                tier = tier.max(seen.tier());
            }
            let mut rest = line.trim_start();
            while let Some(word) = rest.split_whitespace().next() {
                if let Some(command) = command_at(rest, word) {
                    count += 1;
                    if !PARTS.admits(count, self.out, None) {
                        return;
                    }
                    let mut seen = Findings::default();
                    crate::command_text::read(&command, &self.ctx, &mut seen);
                    tier = tier.max(seen.tier());
                }
                rest = rest.get(word.len()..).unwrap_or_default().trim_start();
            }
        }
        if tier >= Tier::High {
            let message = "The task contains a dangerous command, or a file that must stay secret.";
            self.out.add(Finding::pattern("tool.command_in_task", tier, message));
        }
    }

    /// Words that order what no agent should do unasked: to pay, to delete, to give access.
    fn orders(&mut self, text: &str) {
        let words = text.split_whitespace().map(name::words).collect::<Vec<_>>().join(" ");
        for word in words.split(' ').filter(|word| !NOT_ORDERS.contains(word)) {
            let Some((verb, Strength::Strong)) = table::verb(word) else { continue };
            if matches!(verb.class, Class::Money | Class::Delete | Class::Grant) {
                for effect in verb.effects {
                    self.out.effect(*effect);
                }
                self.out.add(Finding::pattern(verb.code, verb.tier, verb.message));
            }
        }
    }
}

/// The command that begins with this word of a sentence, or one that reads the file that it names.
fn command_at(rest: &str, word: &str) -> Option<String> {
    let bare = word.trim_start_matches(OPENERS);
    let command = rest.get(word.len() - bare.len()..)?;
    let command = command.split('`').next().unwrap_or_default();
    let ends = |c: char| !(c.is_ascii_alphanumeric() || "/._-+~@".contains(c));
    let bare = bare.split(ends).next().unwrap_or_default().trim_end_matches('.');
    if bare.starts_with(['/', '~', '.']) && bare.len() > 1 {
        return Some(format!("cat {bare}"));
    }
    let is_technical = command.contains(|c: char| "/|;&$<>~".contains(c))
        || command.split_whitespace().any(|word| word.starts_with('-'));
    let program = bare.to_ascii_lowercase();
    (is_technical && command_tables::spec(&program).is_some()).then(|| command.to_owned())
}
