//! The recipe of a makefile's target and of the targets that it needs.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use countersign_json::canonical::Digest;
use countersign_risk::facts::{ScriptFact, UnknownReason};

use crate::files;
use crate::local_look::LocalLook;

/// The names that `make` looks for, in its order.
const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Lines after which the file says more than its rules.
const DIRECTIVES: [&str; 12] = [
    "include", "-include", "sinclude", "define", "endef", "ifeq", "ifneq", "ifdef", "ifndef",
    "else", "endif", "load",
];
/// How many targets are followed.
const MAX_TARGETS: usize = 64;

/// The recipes in the order in which they would run. Variables are not expanded.
pub fn target(
    look: &LocalLook<'_>,
    folder: &Path,
    file: Option<&str>,
    target: Option<&str>,
) -> Result<ScriptFact, UnknownReason> {
    let limit = look.budget.limits.script_bytes;
    let names: Vec<&str> = file.map_or_else(|| NAMES.to_vec(), |file| vec![file]);
    for name in names {
        let path = folder.join(name);
        match files::read_text(&path, limit) {
            Ok(text) => {
                let rules = MakeRules::read(&text);
                let (recipe, is_complete) = rules.recipe(target).ok_or(UnknownReason::Missing)?;
                return Ok(ScriptFact {
                    file: path.display().to_string(),
                    text: recipe,
                    is_complete,
                    digest: Some(Digest::of(text.as_bytes())),
                });
            }
            Err(UnknownReason::Missing) => {}
            Err(reason) => return Err(reason),
        }
    }
    Err(UnknownReason::Missing)
}

/// A rule: what it needs and what it runs.
#[derive(Debug, Default)]
struct MakeRule<'t> {
    needs: Vec<&'t str>,
    recipe: Vec<&'t str>,
}

/// The explicit rules of a makefile.
#[derive(Debug, Default)]
struct MakeRules<'t> {
    rules: BTreeMap<&'t str, MakeRule<'t>>,
    first: Option<&'t str>,
    /// Whether everything was understood: no included files, no computed or pattern rules.
    is_complete: bool,
}

impl<'t> MakeRules<'t> {
    fn read(text: &'t str) -> MakeRules<'t> {
        let mut rules = MakeRules { is_complete: true, ..MakeRules::default() };
        let mut current: Vec<&str> = Vec::new();
        // A variable's value can be a command that `make` itself runs.
        if ["$(shell", "$(eval", "$(file", "${shell", "${eval", "${file", "!="]
            .iter()
            .any(|computed| text.contains(computed))
        {
            rules.is_complete = false;
        }
        let mut is_continued = false;
        for line in text.lines() {
            let continues = line.ends_with('\\');
            if line.starts_with('\t') || is_continued && !current.is_empty() {
                // `@`, `-` and `+` before a command are for `make`.
                let marks: &[char] = if is_continued { &[] } else { &['@', '-', '+', ' '] };
                let command = line.trim_start().trim_start_matches(marks);
                for target in &current {
                    rules.rules.entry(target).or_default().recipe.push(command);
                }
            } else if !is_continued {
                rules.read_line(line.split('#').next().unwrap_or_default(), &mut current);
            } else {
                rules.is_complete = false;
            }
            is_continued = continues;
        }
        rules
    }

    fn read_line(&mut self, line: &'t str, current: &mut Vec<&'t str>) {
        let line = line.trim();
        let first_word = line.split_whitespace().next().unwrap_or_default();
        if line.is_empty() {
            return;
        }
        if DIRECTIVES.contains(&first_word) {
            self.is_complete = false;
            current.clear();
            return;
        }
        let Some((targets, rest)) = line.split_once(':') else {
            current.clear();
            return;
        };
        // `NAME = a:b`, `NAME := value`
        if targets.contains('=') || rest.trim_start_matches(':').starts_with('=') {
            current.clear();
            return;
        }
        if targets.contains(['%', '$']) || rest.contains(['%', '$']) || rest.starts_with(':') {
            self.is_complete = false;
        }
        let (needs, inline) = rest.split_once(';').unwrap_or((rest, ""));
        *current = targets.split_whitespace().collect();
        for target in current.iter() {
            if self.first.is_none() && !target.starts_with('.') {
                self.first = Some(target);
            }
            let rule = self.rules.entry(target).or_default();
            rule.needs.extend(needs.split_whitespace().filter(|word| *word != "|"));
            if !inline.trim().is_empty() {
                rule.recipe.push(inline.trim().trim_start_matches(['@', '-', '+', ' ']));
            }
        }
    }

    /// The recipe of a target behind the recipes of what it needs, and whether that is all.
    fn recipe(&self, target: Option<&str>) -> Option<(String, bool)> {
        let target = target.or(self.first)?;
        self.rules.get(target)?;
        let (mut seen, mut order) = (HashSet::new(), Vec::new());
        let is_bounded = self.follow(target, &mut seen, &mut order);
        let lines: Vec<&str> = order.iter().flat_map(|rule| rule.recipe.iter().copied()).collect();
        Some((lines.join("\n"), self.is_complete && is_bounded))
    }

    fn follow<'s>(
        &'s self,
        target: &'s str,
        seen: &mut HashSet<&'s str>,
        order: &mut Vec<&'s MakeRule<'t>>,
    ) -> bool {
        if !seen.insert(target) {
            return true;
        }
        // A file without a rule needs nothing; a built-in rule may still make it.
        let Some(rule) = self.rules.get(target) else { return true };
        if seen.len() > MAX_TARGETS {
            return false;
        }
        let is_bounded = rule.needs.iter().all(|need| self.follow(need, seen, order));
        order.push(rule);
        is_bounded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(text: &str, target: Option<&str>) -> Option<(String, bool)> {
        MakeRules::read(text).recipe(target)
    }

    #[test]
    fn a_target_runs_what_it_needs_first() {
        let text = ".PHONY: all clean\nCC := gcc\nall: build test # both\n\t@echo done\n\nbuild:\n\
                    \tcc x.c \\\n\t  -o x\ntest: build | x; ./x\nclean:\n\t-rm -rf build\n";
        let all = "cc x.c \\\n-o x\n./x\necho done".to_owned();
        assert_eq!(recipe(text, None), Some((all, true)));
        assert_eq!(recipe(text, Some("clean")), Some(("rm -rf build".to_owned(), true)));
        assert_eq!(recipe(text, Some("deploy")), None);
        assert_eq!(recipe("", None), None);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for text in [
            "include other.mk\nall:\n\techo\n",
            "all: $(FILES)\n\techo\n",
            "%.o: %.c\n\tcc\nall: x.o\n\techo\n",
            "X := $(shell rm -rf /)\nall:\n\techo\n",
            "ifdef X\nall:\n\techo\nendif\n",
            "X != rm -rf /\nall:\n\techo\n",
        ] {
            let found = recipe(text, Some("all")).map(|(_, is_complete)| is_complete);
            assert_eq!(found, Some(false), "{text}");
        }
    }

    #[test]
    fn circles_and_long_chains_end() {
        assert_eq!(recipe("a: b\n\techo a\nb: a\n\techo b\n", None).unwrap().0, "echo b\necho a");
        let chain: Vec<String> =
            (0..1000).map(|n| format!("t{n}: t{}\n\techo {n}\n", n + 1)).collect();
        let chain = chain.concat();
        assert!(!recipe(&chain, None).unwrap().1);
    }
}
