//! The corpus, line by line: what is shell, and which commands are in it.

use std::collections::BTreeMap;

use countersign_risk::shell;

use crate::exceptions::{self, Known};
use crate::{Names, bash, brush, corpus, shuck, sitter};

/// Differences, known and not.
#[derive(Default)]
struct Differences {
    known: usize,
    wrong: Vec<String>,
}

impl Differences {
    fn add(&mut self, text: &str, lists: &[&[Known]], what: &str) {
        if let Some(why) = exceptions::reason(lists, text) {
            println!("known, {why}: {text:?}: {what}");
            self.known += 1;
        } else {
            self.wrong.push(format!("{text:?}: {what}"));
        }
    }

    fn none_unknown(&self) {
        let list = self.wrong.join("\n");
        assert!(self.wrong.is_empty(), "{} disagreements:\n{list}", self.wrong.len());
    }
}

#[test]
fn bash_and_we_agree_on_what_is_shell() {
    if bash::missing() {
        return;
    }
    let texts = corpus::all();
    let accepted = bash::accepts_all(&texts);
    let (mut read, mut missed) = (0usize, 0usize);
    let mut differences = Differences::default();
    for (text, accepted) in texts.iter().zip(accepted) {
        match (accepted, shell::readable(text)) {
            (true, Ok(())) => read += 1,
            (true, Err(problem)) => {
                let before = differences.known;
                let lists = [exceptions::OURS_STRICTER, exceptions::OPEN];
                differences.add(text, &lists, &format!("bash reads it, we say {problem:?}"));
                missed += usize::from(differences.known == before);
            }
            (false, Ok(())) => {
                let lists = [exceptions::OURS_LAXER, exceptions::OPEN];
                differences.add(text, &lists, "bash refuses it, we read it");
            }
            (false, Err(_)) => {}
        }
    }
    println!("{} texts; of what bash reads we read {read} and miss {missed}", texts.len());
    assert!(missed * 1000 <= read + missed, "{missed} of what bash reads is not read");
    // Beyond our own corpus, only the share counts: the lines are not ours to list.
    if !corpus::is_extended() {
        differences.none_unknown();
    }
    differences.wrong.iter().for_each(|line| println!("{line}"));
}

#[test]
fn tree_sitter_and_we_find_the_same_commands() {
    names_agree("tree-sitter", exceptions::TREE_SITTER, sitter::names);
}

#[test]
fn shuck_and_we_find_the_same_commands() {
    names_agree("shuck", exceptions::SHUCK, shuck::names);
}

fn names_agree(who: &str, known: &[Known], names: impl Fn(&str) -> Option<Names>) {
    let (mut same, mut unread) = (0usize, 0usize);
    let mut differences = Differences::default();
    for text in bash_reads() {
        let Some(theirs) = names(&text) else {
            println!("{who} does not read {text:?}");
            unread += 1;
            continue;
        };
        let ours = shell::commands(&text);
        if alike(&ours, &theirs) {
            same += 1;
        } else {
            let what = format!("ours [{}], {who} [{}]", shown(&ours), shown(&theirs));
            differences.add(&text, &[known, exceptions::OPEN], &what);
        }
    }
    let differ = differences.known + differences.wrong.len();
    println!("{who}: {same} alike, {unread} not read by it, {differ} differ");
    if !corpus::is_extended() {
        differences.none_unknown();
    }
    differences.wrong.iter().for_each(|line| println!("{line}"));
}

#[test]
fn brush_reads_what_bash_reads() {
    let (mut read, mut refused, mut silent) = (0usize, 0usize, 0usize);
    for text in bash_reads() {
        match brush::reads(&text) {
            Some(true) => read += 1,
            Some(false) => {
                println!("brush does not read {text:?}");
                refused += 1;
            }
            None => silent += 1,
        }
    }
    println!("brush: {read} read, {refused} refused, {silent} not asked or no answer");
}

/// What bash accepts and we read.
fn bash_reads() -> Vec<String> {
    if bash::missing() {
        return Vec::new();
    }
    let texts = corpus::all();
    let accepted = bash::accepts_all(&texts);
    let both = |(text, accepted): &(String, bool)| *accepted && shell::readable(text).is_ok();
    texts.into_iter().zip(accepted).filter(both).map(|(text, _)| text).collect()
}

/// Whether two lists hold the same names, in any order. A name that one side cannot tell may be
/// any name on the other.
fn alike(ours: &Names, theirs: &Names) -> bool {
    let mut balance: BTreeMap<&str, isize> = BTreeMap::new();
    ours.iter().flatten().for_each(|n| *balance.entry(n).or_default() += 1);
    theirs.iter().flatten().for_each(|n| *balance.entry(n).or_default() -= 1);
    let unknown = |names: &Names| names.iter().filter(|n| n.is_none()).count();
    let more: usize = balance.values().map(|b| b.max(&0).unsigned_abs()).sum();
    let less: usize = balance.values().map(|b| b.min(&0).unsigned_abs()).sum();
    ours.len() == theirs.len() && more <= unknown(theirs) && less <= unknown(ours)
}

fn shown(names: &Names) -> String {
    let names: Vec<&str> = names.iter().map(|n| n.as_deref().unwrap_or("?")).collect();
    names.join(" ")
}
