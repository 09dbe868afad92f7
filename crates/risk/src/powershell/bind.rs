//! The parameters of a cmdlet: abbreviated names, positions, switches, input through the pipe.

use crate::command_tables::Spec;
use crate::finding::Span;
use crate::flow::Flow;
use crate::paths::windows_path;
use crate::shell::CommandWord;
use countersign_shell::UNKNOWN;

/// Parameters with a value that every cmdlet has.
const COMMON_VALUES: [&str; 20] = [
    "-erroraction",
    "-ea",
    "-warningaction",
    "-wa",
    "-informationaction",
    "-infa",
    "-progressaction",
    "-proga",
    "-errorvariable",
    "-ev",
    "-warningvariable",
    "-wv",
    "-informationvariable",
    "-iv",
    "-outvariable",
    "-ov",
    "-outbuffer",
    "-ob",
    "-pipelinevariable",
    "-pv",
];
/// Parameters without a value that every cmdlet has.
const COMMON_SWITCHES: [&str; 8] =
    ["-verbose", "-vb", "-debug", "-db", "-whatif", "-wi", "-confirm", "-cf"];

/// How many items of a list are assessed one by one.
pub const MAX_EACH: usize = 64;

/// One argument of a command: a parameter's name, or a value.
#[derive(Debug, Clone)]
pub struct Argument {
    /// The words of a value; a parameter has none.
    pub words: Vec<CommandWord>,
    /// The name of a parameter in lower case, with its dash.
    pub parameter: Option<String>,
    /// A value that belongs to the parameter before it: `-Name:value`.
    pub attached: bool,
    /// Its place.
    pub span: Span,
}

/// A parameter as a cmdlet knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// Takes no value.
    Switch(&'static str),
    /// Takes a value.
    Value(&'static str),
    /// Takes the value of a position.
    Position(usize, &'static str),
}

/// The parameter that a name or its beginning stands for.
pub fn parameter(spec: &Spec, name: &str) -> Option<Parameter> {
    let positions = || {
        spec.positions
            .iter()
            .enumerate()
            .flat_map(|(i, names)| names.split('|').map(move |n| (n, Parameter::Position(i, n))))
    };
    let switches = || spec.switches.iter().map(|n| (*n, Parameter::Switch(n)));
    let values = || spec.values.iter().map(|n| (*n, Parameter::Value(n)));
    let common = || {
        let switches = COMMON_SWITCHES.iter().map(|n| (*n, Parameter::Switch(n)));
        switches.chain(COMMON_VALUES.iter().map(|n| (*n, Parameter::Value(n))))
    };
    let own = || switches().chain(positions()).chain(values());
    let exact = |(n, _): &(&str, Parameter)| *n == name;
    let begins = |(n, _): &(&str, Parameter)| n.starts_with(name);
    let found = own().find(exact).or_else(|| common().find(exact));
    let found = found.or_else(|| own().find(begins)).or_else(|| common().find(begins));
    found.map(|(_, parameter)| parameter)
}

/// What the words of a cmdlet were bound to.
#[derive(Debug, Default)]
pub struct Bound {
    /// Switches and options with their values: `-force`, `-uri=x`.
    pub options: Vec<CommandWord>,
    /// The values of each position.
    pub positions: Vec<Vec<CommandWord>>,
    /// Values beyond the positions.
    pub extra: Vec<CommandWord>,
}

impl Bound {
    /// The values of an option.
    pub fn option(&self, name: &str) -> Vec<&str> {
        let value = |word: &'_ CommandWord| -> Option<usize> {
            let rest = word.text.strip_prefix(name)?;
            rest.starts_with('=').then_some(name.len() + 1)
        };
        self.options.iter().filter_map(|w| value(w).and_then(|at| w.text.get(at..))).collect()
    }

    /// The values of a position.
    pub fn position(&self, at: usize) -> &[CommandWord] {
        self.positions.get(at).map_or(&[], Vec::as_slice)
    }
}

/// Binds the arguments of a cmdlet.
pub fn bind(spec: &'static Spec, arguments: &[Argument], cwd: Option<&str>) -> Bound {
    let mut bound = Bound { positions: vec![Vec::new(); spec.positions.len()], ..Bound::default() };
    let mut named = vec![false; spec.positions.len()];
    let mut loose: Vec<&Argument> = Vec::new();
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        at += 1;
        let Some(name) = &argument.parameter else {
            loose.push(argument);
            continue;
        };
        let next = arguments.get(at).filter(|a| a.parameter.is_none());
        let attached = next.filter(|a| a.attached);
        match parameter(spec, name) {
            Some(Parameter::Switch(full)) => {
                let off = attached.is_some_and(|a| a.words.iter().any(|w| w.text == "False"));
                if !off {
                    bound.options.push(CommandWord::new(full, argument.span));
                }
                at += usize::from(attached.is_some());
            }
            Some(Parameter::Value(full)) => {
                for word in next.map(|a| a.words.as_slice()).unwrap_or_default() {
                    bound.options.push(option(full, word, cwd));
                }
                at += usize::from(next.is_some());
            }
            Some(Parameter::Position(index, _)) => {
                if let (Some(slot), Some(next)) = (bound.positions.get_mut(index), next) {
                    slot.extend(next.words.iter().map(|w| operand(w, cwd)));
                    if let Some(flag) = named.get_mut(index) {
                        *flag = true;
                    }
                    at += 1;
                }
            }
            None => match attached {
                Some(value) => {
                    for word in &value.words {
                        bound.options.push(option(name, word, cwd));
                    }
                    at += 1;
                }
                None => bound.options.push(CommandWord::new(name.as_str(), argument.span)),
            },
        }
    }
    bind_positions(&mut bound, &loose, &named, cwd);
    bound
}

/// Binds the values without a name to the positions that no name was given for.
fn bind_positions(bound: &mut Bound, loose: &[&Argument], named: &[bool], cwd: Option<&str>) {
    let mut free = (0..named.len()).filter(|i| named.get(*i) == Some(&false));
    for argument in loose {
        let words = argument.words.iter().map(|w| operand(w, cwd));
        match free.next().and_then(|i| bound.positions.get_mut(i)) {
            Some(slot) => slot.extend(words),
            None => bound.extra.extend(words),
        }
    }
}

fn option(name: &str, word: &CommandWord, cwd: Option<&str>) -> CommandWord {
    let text = format!("{name}={}", windows_path::normalize(&word.text, cwd));
    CommandWord { text, ..word.clone() }
}

fn operand(word: &CommandWord, cwd: Option<&str>) -> CommandWord {
    let text = windows_path::normalize(&word.text, cwd);
    let text = if text.starts_with('-') { format!("./{text}") } else { text.into_owned() };
    CommandWord { text, ..word.clone() }
}

/// The calls that a bound cmdlet stands for: one for each item where a list meets other values.
pub fn calls(
    spec: &'static Spec,
    name: &CommandWord,
    bound: &Bound,
    stdin: &Flow,
) -> Vec<Vec<CommandWord>> {
    let mut first = bound.position(0).to_vec();
    if first.is_empty() && spec.input_paths && stdin.present {
        first = piped(stdin, name.span);
    }
    let others: Vec<CommandWord> =
        bound.positions.iter().skip(1).flatten().chain(&bound.extra).cloned().collect();
    if first.is_empty() && !others.is_empty() && !spec.positions.is_empty() {
        first.push(CommandWord::new(UNKNOWN.to_string(), name.span));
    }
    let call = |operands: &[CommandWord]| {
        let mut words = vec![name.clone()];
        words.extend(bound.options.iter().cloned());
        words.extend(operands.iter().cloned());
        words.extend(others.iter().cloned());
        words
    };
    if first.len() > 1 && !others.is_empty() {
        return first.chunks(1).take(MAX_EACH).map(call).collect();
    }
    vec![call(&first)]
}

/// The paths that come through the pipe.
fn piped(stdin: &Flow, span: Span) -> Vec<CommandWord> {
    let word = |text: String, glob: bool| CommandWord { text, span, taint: stdin.taint, glob };
    match (&stdin.text, &stdin.place) {
        (Some(text), _) => {
            let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
            let mut words: Vec<CommandWord> = lines
                .take(MAX_EACH)
                .map(|l| word(windows_path::normalize(l, None).into_owned(), false))
                .collect();
            if words.len() == MAX_EACH {
                // There may be more than are followed.
                words.push(word(UNKNOWN.to_string(), true));
            }
            words
        }
        (None, Some(place)) => vec![word(super::value::below(place), true)],
        (None, None) => vec![word(UNKNOWN.to_string(), true)],
    }
}

/// Words of another shell as arguments: what begins with a dash and a letter is a parameter.
pub fn plain_arguments(words: &[CommandWord]) -> Vec<Argument> {
    let mut arguments = Vec::new();
    for word in words {
        let name =
            word.text.strip_prefix('-').filter(|n| n.starts_with(|c: char| c.is_alphabetic()));
        let Some(name) = name else {
            arguments.push(value_argument(vec![word.clone()], false, word.span));
            continue;
        };
        let (name, value) = match name.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (name, None),
        };
        arguments.push(Argument {
            words: Vec::new(),
            parameter: Some(format!("-{}", name.to_ascii_lowercase())),
            attached: false,
            span: word.span,
        });
        if let Some(value) = value {
            let value = CommandWord { text: value.to_owned(), ..word.clone() };
            arguments.push(value_argument(vec![value], true, word.span));
        }
    }
    arguments
}

/// A value as an argument.
pub fn value_argument(words: Vec<CommandWord>, attached: bool, span: Span) -> Argument {
    Argument { words, parameter: None, attached, span }
}
