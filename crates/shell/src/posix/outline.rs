//! The commands of a text by name, without assessing them: for oracles and for people.

use super::ast::{List, Node, Operation, Part, Parts, Redirect, Stage, Word};
use super::parser;
use super::word::unquoted;

/// Every simple command of a text in reading order, by its first word where that is plain text.
/// Commands inside backquotes are part of the list.
pub fn commands(text: &str) -> Vec<Option<String>> {
    let mut names = Vec::new();
    // Some shells join lines at a backslash before CR LF, some do not, and bash is one of those.
    if text.contains("\\\r\n") {
        in_list(&parser::parse(&text.replace("\\\r\n", "\n")).list, 0, &mut names);
    } else {
        in_list(&parser::parse(text).list, 0, &mut names);
    }
    names
}

fn in_list(list: &List<'_>, depth: u8, names: &mut Vec<Option<String>>) {
    for stage in list.iter().flat_map(|p| p.stages.iter()) {
        in_stage(stage, depth, names);
    }
}

fn in_stage(stage: &Stage<'_>, depth: u8, names: &mut Vec<Option<String>>) {
    match &stage.node {
        Node::Simple(simple) => {
            if let Some(first) = simple.words.first() {
                names.push(unquoted(first).map(std::borrow::Cow::into_owned));
            }
            let values = simple.assignments.iter().flat_map(|a| a.value.iter());
            values.chain(&simple.words).for_each(|w| in_word(w, depth, names));
        }
        Node::Group(_, list) => in_list(list, depth, names),
        Node::For { words, body, .. } => {
            for w in words {
                in_word(w, depth, names);
            }
            in_list(body, depth, names);
        }
        Node::Case { words, arms } => {
            for w in words {
                in_word(w, depth, names);
            }
            for list in arms {
                in_list(list, depth, names);
            }
        }
        Node::Function { body, .. } => in_stage(body, depth, names),
        Node::Test(words) => {
            for w in words {
                in_word(w, depth, names);
            }
        }
    }
    for redirection in &stage.redirections {
        match &redirection.kind {
            Redirect::Read(w)
            | Redirect::Write(w)
            | Redirect::Append(w)
            | Redirect::Both(w)
            | Redirect::Duplicate(w)
            | Redirect::Text(w)
            | Redirect::Here(w) => in_word(w, depth, names),
        }
    }
}

fn in_word(word: &Word<'_>, depth: u8, names: &mut Vec<Option<String>>) {
    if let Parts::Many(parts) = &word.parts {
        in_parts(parts, depth, names);
    }
}

fn in_parts(parts: &[Part<'_>], depth: u8, names: &mut Vec<Option<String>>) {
    for part in parts {
        match part {
            Part::Command { list, .. } | Part::Process { list, .. } => in_list(list, depth, names),
            Part::Arithmetic { parts } | Part::Aside(parts) => in_parts(parts, depth, names),
            // Each level of backquotes halves what is left to unescape; a few are plenty.
            Part::Backquote { text, .. } if depth < 8 => {
                in_list(&parser::parse(text).list, depth + 1, names);
            }
            Part::Variable { operation, .. } => match operation {
                Operation::Default(w)
                | Operation::Alternative(w)
                | Operation::Required(w)
                | Operation::Other(w)
                | Operation::Slice(_, w) => in_word(w, depth, names),
                Operation::Plain => {}
            },
            Part::Bare(_) | Part::Quoted(_) | Part::Backquote { .. } => {}
        }
    }
}
