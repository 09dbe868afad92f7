//! The pattern language of the crisis rules: words, sets, alternatives, gaps.

use std::collections::{BTreeMap, BTreeSet};

use countersign_text::words::split_words;

/// How a word is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    Whole,
    Prefix,
    Suffix,
}

/// One word of a rule.
pub type Atom = (Fit, String);

/// A parsed pattern.
#[derive(Debug, Clone)]
pub enum Node {
    /// One word out of a set.
    Class(BTreeSet<Atom>),
    /// The edge of a sentence.
    Edge,
    /// Up to so many words; `true` also crosses the ends of sentences.
    Gap(u8, bool),
    Seq(Vec<Node>),
    Alt(Vec<Node>),
    Opt(Box<Node>),
}

/// The named sets of one language.
pub type Sets = BTreeMap<String, String>;

/// Parses `text`: `word`, `pre*`, `*post`, `@set`, `(a|b c)`, `x?`, `..3`, `~5`, `^` and `$`.
pub fn parse(text: &str, sets: &Sets) -> Result<Node, String> {
    parse_at(text, sets, 0)
}

fn parse_at(text: &str, sets: &Sets, depth: u8) -> Result<Node, String> {
    if depth > 8 {
        return Err(format!("sets refer to each other: {text}"));
    }
    let mut parser = Parser { rest: text.chars().collect(), sets, depth };
    parser.rest.reverse();
    let node = parser.alternatives()?;
    if parser.rest.is_empty() { Ok(node) } else { Err(format!("cannot read the end of: {text}")) }
}

struct Parser<'a> {
    /// Characters still to read, last first.
    rest: Vec<char>,
    sets: &'a Sets,
    depth: u8,
}

impl Parser<'_> {
    fn alternatives(&mut self) -> Result<Node, String> {
        let mut list = vec![self.sequence()?];
        while self.rest.last() == Some(&'|') {
            self.rest.pop();
            list.push(self.sequence()?);
        }
        Ok(join(list))
    }

    fn sequence(&mut self) -> Result<Node, String> {
        let mut list = Vec::new();
        loop {
            while self.rest.last().is_some_and(|c| c.is_whitespace()) {
                self.rest.pop();
            }
            match self.rest.last() {
                None | Some('|' | ')') => break,
                Some(_) => list.push(self.element()?),
            }
        }
        match list.len() {
            0 => Err("empty alternative".into()),
            1 => list.pop().ok_or_else(String::new),
            _ => Ok(Node::Seq(list)),
        }
    }

    fn element(&mut self) -> Result<Node, String> {
        let node = if self.rest.last() == Some(&'(') {
            self.rest.pop();
            let inner = self.alternatives()?;
            if self.rest.pop() != Some(')') {
                return Err("missing )".into());
            }
            inner
        } else {
            let word = self.word();
            return match word.strip_suffix('?') {
                Some(word) => Ok(Node::Opt(Box::new(self.named(word)?))),
                None => self.named(&word),
            };
        };
        if self.rest.last() == Some(&'?') {
            self.rest.pop();
            return Ok(Node::Opt(Box::new(node)));
        }
        Ok(node)
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.last().copied() {
            if c.is_whitespace() || matches!(c, '|' | '(' | ')') {
                break;
            }
            word.push(c);
            self.rest.pop();
        }
        word
    }

    fn named(&self, word: &str) -> Result<Node, String> {
        let gap = |n: &str| n.parse::<u8>().map_err(|_| format!("bad gap: {word}"));
        if word == "^" || word == "$" {
            return Ok(Node::Edge);
        }
        if let Some(n) = word.strip_prefix("..") {
            return Ok(Node::Gap(gap(n)?, false));
        }
        if let Some(n) = word.strip_prefix('~') {
            return Ok(Node::Gap(gap(n)?, true));
        }
        if let Some(name) = word.strip_prefix('@') {
            let set = self.sets.get(name).ok_or_else(|| format!("no set @{name}"))?;
            return parse_at(set, self.sets, self.depth + 1);
        }
        literal(word)
    }
}

/// A literal, folded exactly as text is folded.
fn literal(word: &str) -> Result<Node, String> {
    let (fit, bare) = match (word.strip_prefix('*'), word.strip_suffix('*')) {
        (Some(rest), None) => (Fit::Suffix, rest),
        (None, Some(rest)) => (Fit::Prefix, rest),
        (None, None) => (Fit::Whole, word),
        _ => return Err(format!("two stars: {word}")),
    };
    let folded = split_words(bare);
    if folded.iter().any(|w| w.text.is_empty()) || folded.is_empty() {
        return Err(format!("not a word: {word}"));
    }
    if folded.len() > 1 && fit != Fit::Whole {
        return Err(format!("a star on several words: {word}"));
    }
    let mut list: Vec<Node> =
        folded.into_iter().map(|w| Node::Class(BTreeSet::from([(fit, w.text)]))).collect();
    if list.len() == 1 { list.pop().ok_or_else(String::new) } else { Ok(Node::Seq(list)) }
}

/// Alternatives of one word each become one set.
fn join(list: Vec<Node>) -> Node {
    let mut class = BTreeSet::new();
    let mut others = Vec::new();
    for node in list {
        match node {
            Node::Class(atoms) => class.extend(atoms),
            Node::Alt(inner) => {
                for node in inner {
                    match node {
                        Node::Class(atoms) => class.extend(atoms),
                        other => others.push(other),
                    }
                }
            }
            other => others.push(other),
        }
    }
    if !class.is_empty() {
        others.push(Node::Class(class));
    }
    match (others.len(), others.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            others.push(last);
            Node::Alt(others)
        }
        (_, None) => Node::Seq(Vec::new()),
    }
}

/// The alternatives of a pattern one by one, on request: each then has its own, rarer keys.
pub fn parts(node: Node, apart: bool) -> Vec<Node> {
    match node {
        Node::Alt(list) if apart => list.into_iter().flat_map(|n| parts(n, true)).collect(),
        other => vec![other],
    }
}

/// The set of words of which every match contains at least one; `None` if a match may contain
/// anything.
pub fn key(node: &Node, common: &BTreeSet<String>) -> Option<BTreeSet<Atom>> {
    match node {
        Node::Class(atoms) => Some(atoms.clone()),
        Node::Edge | Node::Gap(..) | Node::Opt(_) => None,
        Node::Seq(list) => {
            list.iter().filter_map(|n| key(n, common)).min_by_key(|atoms| cost(atoms, common))
        }
        Node::Alt(list) => {
            let mut all = BTreeSet::new();
            for node in list {
                all.extend(key(node, common)?);
            }
            Some(all)
        }
    }
}

/// Up to three such sets, the rarest words first; a match contains a word of each.
pub fn keys(node: &Node, common: &BTreeSet<String>) -> Vec<BTreeSet<Atom>> {
    let mut all: Vec<BTreeSet<Atom>> = match node {
        Node::Seq(list) => list.iter().filter_map(|n| key(n, common)).collect(),
        other => key(other, common).into_iter().collect(),
    };
    all.sort_by_key(|atoms| cost(atoms, common));
    all.truncate(3);
    all
}

/// Common words that carry little information about a text.
const EVERYDAY: &str = "end life want need know time going take work day back out make never all \
    get got one out over now up go day find keep left like new off only first best way run is \
    last long made next note people still that them then today tonight tomorrow use very while \
    write written help tell thing things think some more most no than into before after anymore \
    please just someone somebody already really would could should people always \
    live living alive here gone done better best message word words plan place point reason";

fn cost(atoms: &BTreeSet<Atom>, common: &BTreeSet<String>) -> usize {
    let everyday = |word: &str| EVERYDAY.split_whitespace().any(|w| w == word);
    let of = |(_, word): &Atom| match word.as_str() {
        word if common.contains(word) || word.len() < 3 => 50,
        word if everyday(word) => 20,
        _ => 1,
    };
    atoms.iter().map(of).sum()
}
