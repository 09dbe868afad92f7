//! When the memo is used, and when an assessment is kept in it.

use super::counters::Totals;
use super::eval_state::EvalState;
use super::memo::Now;
use crate::effect::Effect;
use crate::flow::Flow;
use crate::shell::arg::Arg;

/// The counters before a command is assessed.
pub(crate) struct MemoGuard {
    totals: Totals,
    reveals: bool,
    file_uses: u32,
}

impl EvalState<'_, '_> {
    /// Whether assessments are looked up and kept: only where a command may well come by again, and
    /// where it reads no process substitution.
    pub fn uses_memo(&self) -> bool {
        let walks_again =
            self.budget.walks_again() || self.functions.depth() > 0 || self.variables.has_former();
        walks_again && self.processes.is_empty() && memo_is_on()
    }

    fn now(&self) -> Now<'_> {
        Now {
            folders: self.folders.current(),
            links: self.folders.link_version(),
            content_changes: self.files.content_changes(),
            rights: self.rights,
            guessing: self.budget.is_guessing(),
            depth: self.budget.depth(),
            facts_hold: self.facts_hold,
        }
    }

    /// What the same command wrote when it was assessed before.
    pub fn find_in_memo(&self, args: &[Arg<'_>], stdin: &Flow) -> Option<Flow> {
        let known = self.memo.find(args, stdin, &self.now()).cloned();
        #[cfg(test)]
        tests::HITS.set(tests::HITS.get() + u32::from(known.is_some()));
        known
    }

    /// Begins to assess a command.
    pub fn begin_assessment(&self) -> MemoGuard {
        MemoGuard {
            totals: self.totals(),
            reveals: self.out.effects.has(Effect::Secret),
            file_uses: self.files.uses(),
        }
    }

    /// Keeps an assessment if nothing happened while it was made.
    pub fn end_assessment(
        &mut self,
        guard: &MemoGuard,
        args: &[Arg<'_>],
        stdin: &Flow,
        flow: &Flow,
    ) {
        let quiet = self.totals() == guard.totals
            && self.out.effects.has(Effect::Secret) == guard.reveals
            && !self.folders.has_failed();
        if quiet && self.memo.has_room() {
            let used_files = self.files.uses() != guard.file_uses;
            let mut memo = std::mem::take(&mut self.memo);
            memo.keep(args, stdin, &self.now(), used_files, flow);
            self.memo = memo;
        }
    }
}

#[cfg(not(test))]
const fn memo_is_on() -> bool {
    true
}

#[cfg(test)]
fn memo_is_on() -> bool {
    !tests::MEMO_OFF.get()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::context::Context;
    use crate::finding::{Doubt, Finding, Findings};
    use crate::readers::read_shell;

    thread_local! {
        /// Assesses every command again, to compare.
        pub(super) static MEMO_OFF: Cell<bool> = const { Cell::new(false) };
        /// How often an assessment was not made again.
        pub(super) static HITS: Cell<u32> = const { Cell::new(0) };
    }

    /// Commands that set, write, enter, read or run something, and commands that depend on it.
    const COMMANDS: [&str; 44] = [
        "x=1",
        "x=rm",
        "x=/etc",
        "x=\"$x a\"",
        "unset x",
        "read x",
        "y=$x",
        "declare -i n=1",
        "export HOME=/tmp/h",
        "HOME=/tmp/h git pull",
        "cd /",
        "cd /tmp",
        "cd -",
        "cd \"$x\"",
        "env -C / rm -rf a",
        "exit",
        "ls",
        "git push",
        "git push $x",
        "rm a.txt",
        "rm -rf $x",
        "rm -rf l",
        "$x -rf /tmp/a",
        "sudo $x",
        "sudo ls",
        "r? -rf b",
        "cat ~/.ssh/id_rsa",
        "cat < <(echo a)",
        "echo a > a.sh",
        "echo 'rm -rf /' > a.sh",
        "echo $x >> a.sh",
        "cat a.sh",
        "cat a.sh | sh",
        "sh a.sh",
        "./a.sh",
        "cp a.sh b.sh",
        "ln -s / l",
        "npm install",
        "curl -o a.sh http://example.com/a",
        "curl -T a.sh https://example.com",
        "python3 -c 'print(1)'",
        "powershell -c 'Remove-Item a.sh'",
        "f() { $x; cat a.sh; }",
        "f b",
    ];

    const SHAPES: [&str; 9] = [
        "A; B; C",
        "A && B || C",
        "A | B; C",
        "for i in 1 2 /; do A; B; done; C",
        "while read l; do A; B; done; C",
        "if [ -f a ]; then A; else B; fi; C",
        "(A; B); C",
        "g() { A; B; }; g; C; g",
        "A; bash -c 'B'; C",
    ];

    /// A pseudo-random text of such commands; the same number gives the same text.
    fn text(number: &mut u64, depth: u8) -> String {
        let mut next = |most: usize| {
            *number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(*number >> 33).unwrap_or(0) % most
        };
        if depth == 0 {
            return COMMANDS[next(COMMANDS.len())].to_owned();
        }
        let shape = SHAPES[next(SHAPES.len())];
        let parts = ["A", "B", "C"].map(|part| (part, text(number, depth - 1)));
        let mut whole = String::new();
        for word in shape.split_inclusive(|c: char| !c.is_ascii_uppercase()) {
            let part = parts.iter().find(|(part, _)| word.starts_with(part));
            match part {
                Some((part, text)) => whole.push_str(&word.replacen(part, text, 1)),
                None => whole.push_str(word),
            }
        }
        whole
    }

    fn found(text: &str, memo: bool) -> Findings {
        MEMO_OFF.set(!memo);
        let mut findings = Findings::default();
        read_shell(text, 0, &Context::default(), 0, &mut findings);
        MEMO_OFF.set(false);
        findings
    }

    /// Everything that decides: all findings, each once, and what is noted besides them. The same
    /// command at a further place is not assessed again, so only the place of a finding may be
    /// lost.
    fn assessment(mut findings: Findings) -> String {
        let mut once: Vec<Finding> = Vec::new();
        for finding in &findings {
            let bare = Finding { span: None, ..finding.clone() };
            if !once.contains(&bare) {
                once.push(bare);
            }
        }
        let doubts = Doubt::ALL.map(|doubt| findings.has_doubt(doubt));
        let objects: Vec<_> = findings.take_headlines().into_iter().map(|h| h.parts).collect();
        let other = (findings.effects, findings.is_irreversible(), findings.nearest_human());
        format!("{once:?} {doubts:?} {objects:?} {other:?} {:?}", findings.impact)
    }

    #[test]
    fn the_memo_never_changes_a_assessment() {
        let (mut compared, mut number) = (0, 7);
        for case in 0..400 {
            let text = text(&mut number, 1 + u8::from(case % 2 == 0));
            let (with, without) = (found(&text, true), found(&text, false));
            // Without the memo more commands are walked, and the bound on them is reached earlier.
            if without.iter().any(|f| f.code == "shell.too-many" || f.code == "shell.limit-reached")
            {
                continue;
            }
            compared += 1;
            assert_eq!(assessment(with), assessment(without), "{text}");
        }
        assert!(compared > 300, "only {compared} texts were compared");
        assert!(HITS.get() > 300, "only {} assessments were found in the memo", HITS.get());
    }
}
