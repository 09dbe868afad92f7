//! Patterns → one automaton over word classes, as flat static tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::pattern::{Atom, Fit, Node};
use super::table;

/// The class of the end of a sentence.
pub const EDGE: u16 = 0;
/// Any word.
pub const ANY: u16 = 1;
/// Any word or end.
pub const ANY_ACROSS: u16 = 2;
/// Not a class: a state that consumes nothing.
const SPLIT: u16 = u16::MAX;
/// Not a class: a match.
const ACCEPT: u16 = u16::MAX - 1;

/// The automaton under construction.
#[derive(Default)]
pub struct Automaton {
    classes: BTreeMap<BTreeSet<Atom>, u16>,
    class: Vec<u16>,
    next: Vec<Vec<u16>>,
    /// For every consuming state that may begin a match: its class, state and key
    /// classes, whether the match may cross the end of a sentence, whether it is a sign.
    first: Vec<(u16, u16, [u16; 3], [bool; 2])>,
    /// States already made, by class and what follows.
    known: BTreeMap<(u16, Vec<u16>), u16>,
}

impl Automaton {
    fn class_of(&mut self, atoms: &BTreeSet<Atom>) -> Result<u16, String> {
        let fresh = u16::try_from(self.classes.len() + 3).map_err(|_| "too many classes")?;
        Ok(*self.classes.entry(atoms.clone()).or_insert(fresh))
    }

    fn state(&mut self, class: u16, next: Vec<u16>) -> Result<u16, String> {
        if let Some(known) = self.known.get(&(class, next.clone())) {
            return Ok(*known);
        }
        let id = u16::try_from(self.class.len()).map_err(|_| "too many states")?;
        self.known.insert((class, next.clone()), id);
        self.class.push(class);
        self.next.push(next);
        Ok(id)
    }

    /// A state from which `node` and then `to` can be reached.
    fn build(&mut self, node: &Node, to: u16) -> Result<u16, String> {
        match node {
            Node::Class(atoms) => {
                let class = self.class_of(atoms)?;
                self.state(class, vec![to])
            }
            Node::Edge => self.state(EDGE, vec![to]),
            Node::Gap(n, across) => {
                let class = if *across { ANY_ACROSS } else { ANY };
                let mut at = to;
                for _ in 0..*n {
                    let eat = self.state(class, vec![at])?;
                    at = self.state(SPLIT, vec![eat, to])?;
                }
                Ok(at)
            }
            Node::Seq(list) => list.iter().rev().try_fold(to, |to, node| self.build(node, to)),
            Node::Alt(list) => {
                let ways = list.iter().map(|n| self.build(n, to)).collect::<Result<Vec<_>, _>>()?;
                self.state(SPLIT, ways)
            }
            Node::Opt(inner) => {
                let way = self.build(inner, to)?;
                self.state(SPLIT, vec![way, to])
            }
        }
    }

    /// Adds a pattern of rule `rule`; it needs a word of each of `keys`.
    pub fn add(
        &mut self,
        node: &Node,
        keys: &[BTreeSet<Atom>],
        (rule, sign): (u16, bool),
    ) -> Result<(), String> {
        let one = self.class_of(keys.first().ok_or("no key")?)?;
        let mut key = [one; 3];
        for (to, atoms) in key.iter_mut().zip(keys) {
            *to = self.class_of(atoms)?;
        }
        let accept = self.state(ACCEPT, vec![rule])?;
        let start = self.build(node, accept)?;
        let mut stack = vec![start];
        let mut seen = BTreeSet::new();
        while let Some(state) = stack.pop() {
            if !seen.insert(state) {
                continue;
            }
            match self.class.get(usize::from(state)).copied() {
                Some(SPLIT) => {
                    stack.extend(self.next.get(usize::from(state)).into_iter().flatten());
                }
                Some(ACCEPT) | None => return Err("a pattern matches nothing at all".into()),
                Some(ANY | ANY_ACROSS) => return Err("a pattern begins with a gap".into()),
                Some(class) => self.first.push((class, state, key, [crosses(node), sign])),
            }
        }
        Ok(())
    }

    /// Which classes each word belongs to.
    fn atoms(&self) -> BTreeMap<Atom, Vec<u16>> {
        let mut out: BTreeMap<Atom, Vec<u16>> = BTreeMap::new();
        for (atoms, class) in &self.classes {
            for atom in atoms {
                out.entry(atom.clone()).or_default().push(*class);
            }
        }
        for list in out.values_mut() {
            list.sort_unstable();
        }
        out
    }

    /// Writes the tables; `hints` are the common words of each language, `typos` the words that
    /// are also known misspelt.
    pub fn write(
        mut self,
        hints: &BTreeMap<String, u16>,
        typos: &[&str],
        out: &mut String,
    ) -> Result<(), String> {
        let mut offsets = vec![0_usize];
        for next in &self.next {
            offsets.push(offsets.last().unwrap_or(&0) + next.len());
        }
        put(out, "STATE_CLASS", "u16", &self.class);
        put(out, "STATE_NEXT_AT", "u32", &offsets);
        put(out, "STATE_NEXT", "u16", &self.next.concat());
        self.first.sort_unstable();
        let classes = self.classes.len() + 3;
        let mut starts = vec![0_usize; classes + 1];
        for (class, at) in starts.iter_mut().enumerate() {
            *at = self.first.partition_point(|(c, _, _, _)| usize::from(*c) < class);
        }
        put(out, "FIRST_AT", "u32", &starts);
        let first: Vec<_> = self.first.iter().map(|(_, s, k, x)| (*s, *k, *x)).collect();
        put(out, "FIRST", "First", &first);
        let mut keys: Vec<u16> = self.first.iter().map(|(_, _, k, _)| k[0]).collect();
        keys.sort_unstable();
        keys.dedup();
        let is_key: Vec<bool> =
            (0..classes).map(|c| keys.iter().any(|k| usize::from(*k) == c)).collect();
        put(out, "IS_KEY", "bool", &is_key);
        let atoms = self.atoms();
        for (fit, name) in [(Fit::Whole, "WHOLE"), (Fit::Prefix, "PREFIX"), (Fit::Suffix, "SUFFIX")]
        {
            let mut words: BTreeMap<String, (Vec<u16>, u16)> = BTreeMap::new();
            for ((f, word), classes) in &atoms {
                if *f == fit {
                    words.insert(word.clone(), (classes.clone(), 0));
                }
            }
            if fit == Fit::Whole {
                misspell(&mut words, typos);
                for (word, langs) in hints {
                    words.entry(word.clone()).or_default().1 = *langs;
                }
            }
            table::write(name, &words, out)?;
        }
        Ok(())
    }
}

/// Whether a pattern may cross the end of a sentence.
fn crosses(node: &Node) -> bool {
    match node {
        Node::Gap(_, across) => *across,
        Node::Class(_) | Node::Edge => false,
        Node::Seq(list) | Node::Alt(list) => list.iter().any(crosses),
        Node::Opt(inner) => crosses(inner),
    }
}

/// Gives misspelt forms of some words the classes of the word meant, unless they are words.
fn misspell(words: &mut BTreeMap<String, (Vec<u16>, u16)>, typos: &[&str]) {
    for word in typos {
        let Some(classes) = words.get(*word).map(|w| w.0.clone()) else { continue };
        let letters: Vec<char> = word.chars().collect();
        let mut forms: Vec<Vec<char>> = Vec::new();
        for at in 1..letters.len() {
            let mut missing = letters.clone();
            missing.remove(at);
            let mut swapped = letters.clone();
            swapped.swap(at - 1, at);
            forms.extend([missing, swapped]);
        }
        for form in forms {
            let form: String = form.into_iter().collect();
            if form.len() > 2 && !HONEST.contains(&form.as_str()) {
                words.entry(form).or_insert_with(|| (classes.clone(), 0));
            }
        }
    }
}

/// Words in their own right that a slip of `life`, `kill` or `living` would also give.
const HONEST: [&str; 8] = ["lie", "kil", "kit", "ill", "lif", "file", "lving", "lief"];

fn put<T: std::fmt::Debug>(out: &mut String, name: &str, of: &str, list: &[T]) {
    let _ = writeln!(out, "static {name}: &[{of}] = &{list:?};");
}
