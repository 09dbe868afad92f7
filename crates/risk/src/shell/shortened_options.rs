//! Shortened long options (`sort --outp=FILE`): most programs take any beginning of a name that
//! fits only one option. They are read as given and as every option that they may stand for.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::program::Known;
use crate::command_tables::Spec;
use crate::finding::Span;
use crate::flow::Flow;
use crate::name_lists::WHOLE_OPTIONS;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Assesses a command as if its shortened options were written out. What is found that way
    /// counts besides what is found in the words as they are.
    pub(super) fn with_full_options(
        &mut self,
        known: Known,
        args: &[Arg<'t>],
        stdin: &Flow,
        span: Span,
    ) {
        let (spec, ..) = known;
        let options = || options(spec, args);
        let readings = options().map(|(_, arg)| meanings(spec, &arg.text).len()).max();
        for turn in 0..readings.unwrap_or(0) {
            let mut full = args.to_vec();
            for (at, arg) in options() {
                let names = meanings(spec, &arg.text);
                let Some(name) = names.get(turn).or(names.last()) else { continue };
                let value = arg.text.find('=').and_then(|equals| arg.text.get(equals..));
                let text = format!("{name}{}", value.unwrap_or_default());
                if let Some(place) = full.get_mut(at) {
                    *place = Arg { text: Cow::Owned(text), ..arg.clone() };
                }
            }
            self.maybe(|w| w.known(known, &full, stdin, span));
        }
    }
}

/// The words that are long options of this program, with their place.
fn options<'a, 't>(
    spec: &'static Spec,
    args: &'a [Arg<'t>],
) -> impl Iterator<Item = (usize, &'a Arg<'t>)> {
    // Where options end at the first operand, the word behind an option may be its value.
    let mut may_be_value = false;
    let own = args.iter().enumerate().skip(1).take_while(move |(_, arg)| {
        let is_option = arg.text.starts_with('-');
        let is_own = arg.text != "--" && (!spec.posix || is_option || may_be_value);
        may_be_value = is_option && !arg.text.contains('=');
        is_own
    });
    own.filter(|(_, arg)| arg.text.len() > 2 && arg.text.starts_with("--"))
}

/// The options that a shortened one may stand for; none if it is written out or not known.
fn meanings(spec: &'static Spec, option: &str) -> &'static [&'static str] {
    let name = option.split('=').next().unwrap_or(option);
    let names: &'static [&'static str] = spec.long_names.values();
    let from = names.partition_point(|known| *known < name);
    let rest = names.get(from..).unwrap_or_default();
    if rest.first().is_none_or(|first| *first == name) || WHOLE_OPTIONS.contains(&name) {
        return &[];
    }
    let count = rest.iter().take_while(|known| known.starts_with(name)).count();
    rest.get(..count).unwrap_or_default()
}
