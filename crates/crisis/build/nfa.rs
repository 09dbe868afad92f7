//! Patterns → one automaton over word classes, as flat static tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::pattern::{Atom, Fit, Node};
use super::table;

/// The class of the end of a sentence.
pub const EDGE: u16 = 0;
/// Marks a match among the states.
const ACCEPT: u32 = 1 << 31;

/// A state expects a word of its class, past at most `gap` other words.
type State = (u16, u8, bool, u32);
/// A match of a rule, which may cover this many more words.
type Accept = (u16, u8, bool);
/// A pattern: key classes, whether it crosses sentences, its rule, first and last+1 of its starts.
type Pattern = ([u16; 3], bool, u16, usize, usize);

/// The automaton under construction.
#[derive(Default)]
pub struct Automaton {
    classes: BTreeMap<BTreeSet<Atom>, u16>,
    states: Table<State>,
    accepts: Table<Accept>,
    /// What may follow a state: states and matches.
    lists: Table<Vec<u32>>,
    patterns: Vec<Pattern>,
    /// Where patterns begin: class and the list that follows it.
    starts: Vec<(u16, u32)>,
}

/// Interned values with numbers.
struct Table<T> {
    list: Vec<T>,
    known: BTreeMap<T, u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { list: Vec::new(), known: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> Table<T> {
    fn add(&mut self, thing: T) -> Result<u32, String> {
        if let Some(known) = self.known.get(&thing) {
            return Ok(*known);
        }
        let id = u32::try_from(self.list.len()).map_err(|_| "too many states")?;
        self.known.insert(thing.clone(), id);
        self.list.push(thing);
        Ok(id)
    }

    fn get(&self, id: u32) -> Result<&T, String> {
        usize::try_from(id).ok().and_then(|i| self.list.get(i)).ok_or_else(|| "no state".into())
    }
}

impl Automaton {
    fn class_of(&mut self, atoms: &BTreeSet<Atom>) -> Result<u16, String> {
        let fresh = u16::try_from(self.classes.len() + 1).map_err(|_| "too many classes")?;
        Ok(*self.classes.entry(atoms.clone()).or_insert(fresh))
    }

    fn wait(&mut self, class: u16, mut next: Vec<u32>) -> Result<Vec<u32>, String> {
        next.sort_unstable();
        next.dedup();
        let list = self.lists.add(next)?;
        Ok(vec![self.states.add((class, 0, false, list))?])
    }

    /// The targets so that `node` and then one of `to` is matched.
    fn build(&mut self, node: &Node, to: &[u32]) -> Result<Vec<u32>, String> {
        match node {
            Node::Class(atoms) => {
                let class = self.class_of(atoms)?;
                self.wait(class, to.to_vec())
            }
            Node::Edge => self.wait(EDGE, to.to_vec()),
            Node::Gap(n, across) => to.iter().map(|t| self.widen(*t, *n, *across)).collect(),
            Node::Seq(list) => {
                let last = to.to_vec();
                list.iter().rev().try_fold(last, |to, node| self.build(node, &to))
            }
            Node::Alt(list) => {
                let ways: Result<Vec<_>, _> = list.iter().map(|n| self.build(n, to)).collect();
                Ok(ways?.concat())
            }
            Node::Opt(inner) => {
                let mut ways = self.build(inner, to)?;
                ways.extend_from_slice(to);
                Ok(ways)
            }
        }
    }

    /// The same target, up to `more` words later.
    fn widen(&mut self, target: u32, more: u8, over: bool) -> Result<u32, String> {
        if target & ACCEPT != 0 {
            let (rule, gap, across) = *self.accepts.get(target & !ACCEPT)?;
            let wider = (rule, gap.saturating_add(more), across || over);
            return Ok(self.accepts.add(wider)? | ACCEPT);
        }
        let (class, gap, across, next) = *self.states.get(target)?;
        self.states.add((class, gap.saturating_add(more), across || over, next))
    }

    /// Adds a pattern of rule `rule`; it requires a word of each of `keys`.
    pub fn add(&mut self, node: &Node, keys: &[BTreeSet<Atom>], rule: u16) -> Result<(), String> {
        let one = self.class_of(keys.first().ok_or("no key")?)?;
        let mut key = [one; 3];
        for (to, atoms) in key.iter_mut().zip(keys) {
            *to = self.class_of(atoms)?;
        }
        let accept = self.accepts.add((rule, 0, false))? | ACCEPT;
        let from = self.starts.len();
        for target in self.build(node, &[accept])? {
            if target & ACCEPT != 0 {
                return Err("a pattern matches nothing at all".into());
            }
            let (class, gap, _, next) = *self.states.get(target)?;
            if gap > 0 {
                return Err("a pattern begins with a gap".into());
            }
            self.starts.push((class, next));
        }
        self.patterns.push((key, crosses(node), rule, from, self.starts.len()));
        Ok(())
    }

    /// The classes of each word.
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

    /// Writes the tables; `hints` are the common words of each language, `typos` the words that are
    /// also recognized when misspelled.
    pub fn write(
        mut self,
        hints: &BTreeMap<String, u16>,
        typos: &[&str],
        out: &mut String,
    ) -> Result<(), String> {
        put(out, "STATES", "NfaState", &self.states.list);
        put(out, "ACCEPTS", "(u16, u8, bool)", &self.accepts.list);
        put(out, "NEXT_AT", "u32", &offsets(self.lists.list.iter().map(Vec::len)));
        put(out, "NEXT", "u32", &self.lists.list.concat());
        put(out, "STARTS", "(u16, u32)", &self.starts);
        let classes = self.classes.len() + 1;
        self.patterns.sort_unstable();
        let at: Vec<usize> = (0..=classes)
            .map(|c| self.patterns.partition_point(|p| usize::from(p.0[0]) < c))
            .collect();
        put(out, "PATTERN_AT", "u32", &at);
        put(out, "PATTERNS", "NfaPattern", &self.patterns);
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

fn offsets(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut out = vec![0];
    for length in lengths {
        out.push(out.last().unwrap_or(&0) + length);
    }
    out
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

/// Gives misspelled forms of some words the classes of the word meant, unless they are words.
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

/// Real words that a typo of `life`, `kill` or `living` would also give.
const HONEST: [&str; 8] = ["lie", "kil", "kit", "ill", "lif", "file", "lving", "lief"];

fn put<T: std::fmt::Debug>(out: &mut String, name: &str, of: &str, list: &[T]) {
    let _ = writeln!(out, "static {name}: &[{of}] = &{list:?};");
}
