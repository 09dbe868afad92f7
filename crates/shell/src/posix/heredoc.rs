//! Here-documents: bodies follow the line, so they are put into their redirections at the end.

use super::ast::{List, Node, Operation, Part, Parts, Redirect, Stage, Word};

/// Puts here-document bodies where their redirections wait.
pub(super) fn fill_list<'a>(list: &mut List<'a>, bodies: &mut [Option<Word<'a>>]) {
    if bodies.is_empty() {
        return;
    }
    for stage in list.iter_mut().flat_map(|p| p.stages.iter_mut()) {
        fill_stage(stage, bodies);
    }
}

fn fill_stage<'a>(stage: &mut Stage<'a>, bodies: &mut [Option<Word<'a>>]) {
    for redirection in &mut stage.redirections {
        if let Redirect::Here(word) = &mut redirection.kind
            && word.end == usize::MAX
        {
            let body = bodies.get_mut(word.start).and_then(Option::take);
            *word = body.unwrap_or(Word { parts: Parts::Plain(""), start: 0, end: 0 });
            // Bodies may hold commands with here-documents of their own.
            fill_word(word, bodies);
        }
    }
    match &mut stage.node {
        Node::Simple(simple) => {
            for word in simple
                .words
                .iter_mut()
                .chain(simple.assignments.iter_mut().flat_map(|a| a.value.iter_mut()))
            {
                fill_word(word, bodies);
            }
        }
        Node::Group(_, list) => fill_list(list, bodies),
        Node::For { words, body, .. } => {
            for w in words.iter_mut() {
                fill_word(w, bodies);
            }
            fill_list(body, bodies);
        }
        Node::Case { words, arms } => {
            for w in words.iter_mut() {
                fill_word(w, bodies);
            }
            for list in arms.iter_mut() {
                fill_list(list, bodies);
            }
        }
        Node::Function { body, .. } => fill_stage(body, bodies),
        Node::Test(words) => {
            for w in words {
                fill_word(w, bodies);
            }
        }
    }
}

pub(super) fn fill_word<'a>(word: &mut Word<'a>, bodies: &mut [Option<Word<'a>>]) {
    if let Parts::Many(parts) = &mut word.parts {
        fill_parts(parts, bodies);
    }
}

fn fill_parts<'a>(parts: &mut [Part<'a>], bodies: &mut [Option<Word<'a>>]) {
    for part in parts {
        match part {
            Part::Command { list, .. } | Part::Process { list, .. } => fill_list(list, bodies),
            Part::Arithmetic { parts } | Part::Aside(parts) => fill_parts(parts, bodies),
            Part::Variable { operation, .. } => match operation {
                Operation::Default(w)
                | Operation::Alternative(w)
                | Operation::Required(w)
                | Operation::Other(w)
                | Operation::Slice(_, w) => fill_word(w, bodies),
                Operation::Plain => {}
            },
            Part::Bare(_) | Part::Quoted(_) | Part::Backquote { .. } => {}
        }
    }
}
