//! The variables of a text for cmd.

use crate::paths::windows_path;
use countersign_shell::UNKNOWN;
use countersign_shell::cmd::{CmdVariables, CmdWord};

/// How many values of a loop are assessed.
pub(super) const MAX_VALUES: usize = 16;

/// Variables of a text, and what could not be read.
#[derive(Debug, Default)]
pub(super) struct CmdScope {
    pub(super) variables: Vec<(String, String)>,
    /// Loop variables and their values.
    pub(super) loops: Vec<(char, Vec<String>)>,
    pub(super) unread: Option<usize>,
}

impl CmdVariables for CmdScope {
    fn value(&mut self, name: &str) -> Option<String> {
        let lower = name.to_ascii_lowercase();
        let own = self.variables.iter().rev().find(|(n, _)| *n == lower);
        if let Some((_, value)) = own {
            return Some(value.clone());
        }
        match lower.as_str() {
            "cd" | "~dp0" => Some(".".to_owned()),
            _ => windows_path::environment(&lower).map(str::to_owned),
        }
    }

    fn not_read(&mut self, at: usize) {
        self.unread.get_or_insert(at);
    }
}

impl CmdScope {
    /// The texts of a word: one for each value of a loop variable in it.
    pub(super) fn values(&self, word: &CmdWord) -> Vec<String> {
        if !word.loops {
            return vec![word.text.clone()];
        }
        let mut texts = vec![word.text.clone()];
        for (letter, values) in &self.loops {
            let mark = format!("\u{2}{letter}");
            if !word.text.contains(&mark) {
                continue;
            }
            texts = texts
                .iter()
                .flat_map(|t| values.iter().map(|v| t.replace(&mark, v)))
                .take(MAX_VALUES * MAX_VALUES)
                .collect();
        }
        let unknown = |t: &String| {
            let mut out = String::new();
            let mut chars = t.chars();
            while let Some(c) = chars.next() {
                if c == '\u{2}' {
                    chars.next();
                    out.push(UNKNOWN);
                } else {
                    out.push(c);
                }
            }
            out
        };
        texts.iter().map(unknown).collect()
    }
}
