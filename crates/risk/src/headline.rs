//! Headlines: an action with the name of its object, "Delete namespace prod".
//!
//! A reader that adds a finding looks for a row of `rules/headlines.toml` that fits the same
//! command, tool or statement and takes the names of the objects from it. The summary shows the
//! headline of the most severe finding. A finding without a complete headline is noted as well: a
//! headline must not name one object where the same rule applies to a second one.

use std::borrow::Cow;

use countersign_types::span::Span;

use crate::impact::CountedList;
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

/// How many headlines of a call are kept.
pub(crate) const MAX_HEADLINES: usize = 64;

/// One part of a headline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Words of the rule file.
    Text(&'static str),
    /// Names from the call: neither redacted nor sanitized.
    Object(CountedList),
}

/// The headline of one finding; without parts where no row names the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headline {
    /// The finding's code.
    pub code: Cow<'static, str>,
    /// The finding's tier.
    pub tier: Tier,
    /// The finding's place.
    pub span: Option<Span>,
    /// Texts and objects in turn.
    pub parts: Vec<Part>,
}

impl Headline {
    /// Whether it belongs to the same code and says the same.
    pub fn is_same(&self, other: &Headline) -> bool {
        self.code == other.code && self.parts == other.parts
    }
}

/// A row about a command.
pub(crate) struct CommandRow {
    /// The operands that follow, each a list of globs.
    pub words: &'static [&'static [&'static str]],
    /// Any of these flags.
    pub flags: &'static [&'static str],
    /// The headline.
    pub headline: &'static str,
}

/// A row about a tool or a statement.
pub(crate) struct Row {
    /// The words of the tool's name, or those that begin the statement; globs.
    pub words: &'static [&'static str],
    /// Globs on the code of the rule that applied; empty for every rule.
    pub rules: &'static [&'static str],
    /// The headline.
    pub headline: &'static str,
}

/// A call and its summary, to be tested.
#[cfg(test)]
pub(crate) struct Example {
    /// The call as JSON, or a command.
    pub call: &'static str,
    /// The whole summary.
    pub summary: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/headlines.rs"));

/// The rows about a program, in the order of the file.
pub(crate) fn rows_of(program: &str) -> impl Iterator<Item = &'static CommandRow> {
    let folded = program.bytes().any(|b| b.is_ascii_uppercase());
    let program: Cow<'_, str> =
        if folded { program.to_ascii_lowercase().into() } else { program.into() };
    let found = BY_PROGRAM.binary_search_by(|(name, _)| (*name).cmp(&*program));
    let rows = found.ok().and_then(|at| BY_PROGRAM.get(at)).map_or(&[][..], |(_, rows)| rows);
    rows.iter().filter_map(|at| COMMANDS.get(usize::from(*at)))
}

/// The parts of a headline, where every object outside brackets is known. A part in brackets is
/// left out where its object is not known.
pub(crate) fn fill(
    headline: &'static str,
    object: &dyn Fn(&str) -> Option<CountedList>,
) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = headline;
    while let Some(at) = rest.find('[') {
        let (head, tail) = rest.split_at_checked(at)?;
        let (optional, after) = tail.strip_prefix('[')?.split_once(']')?;
        parts.extend(fill_all(head, object)?);
        parts.extend(fill_all(optional, object).into_iter().flatten());
        rest = after;
    }
    parts.extend(fill_all(rest, object)?);
    Some(parts)
}

fn fill_all(text: &'static str, object: &dyn Fn(&str) -> Option<CountedList>) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once('{') {
        let (name, after) = tail.split_once('}')?;
        parts.push(Part::Text(head));
        parts.push(Part::Object(object(name)?));
        rest = after;
    }
    parts.push(Part::Text(rest));
    Some(parts)
}

/// The names as an object; none where there are none or one of them is not known.
pub(crate) fn object<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<CountedList> {
    let mut object = CountedList::default();
    for name in names {
        if name.trim().is_empty() || name.contains(UNKNOWN) {
            return None;
        }
        object.add(name);
    }
    (!object.is_empty()).then_some(object)
}

/// The headlines of one code as one: "Delete namespace a and b". None where an object of that code
/// is not known.
pub(crate) fn merged(all: &[Headline], code: &str) -> Option<(Vec<Part>, usize)> {
    let mut same = all.iter().filter(|headline| headline.code == code);
    let mut parts = same.next()?.parts.clone();
    let mut more = 0;
    for other in same {
        if other.parts.is_empty() {
            return None;
        }
        more += usize::from(!merge(&mut parts, &other.parts));
    }
    (!parts.is_empty()).then_some((parts, more))
}

/// Adds the only object of another headline with the same words.
fn merge(parts: &mut [Part], other: &[Part]) -> bool {
    let is_object = |part: &&Part| matches!(part, Part::Object(_));
    let same = parts.len() == other.len()
        && parts.iter().filter(is_object).count() == 1
        && parts.iter().zip(other).all(|pair| match pair {
            (Part::Text(a), Part::Text(b)) => a == b,
            (Part::Object(_), Part::Object(_)) => true,
            _ => false,
        });
    if same {
        for pair in parts.iter_mut().zip(other) {
            if let (Part::Object(mine), Part::Object(its)) = pair {
                mine.absorb(its.clone());
            }
        }
    }
    same
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::assess;
    use crate::call::Call;
    use crate::summary::{LONGEST, brief};
    use crate::verdict::Policy;
    use countersign_json::parse;

    fn summary(text: &str) -> String {
        if !text.starts_with('{') {
            let call = Call::shell(text);
            return brief(&call, &assess(&call, &Policy::default()));
        }
        let value = parse(text).unwrap();
        let call = Call::from_json(&value).unwrap();
        brief(&call, &assess(&call, &Policy::default()))
    }

    #[test]
    fn every_example_has_its_summary() {
        assert!(EXAMPLES.len() >= 60);
        let mut wrong = Vec::new();
        for example in EXAMPLES {
            let said = summary(example.call);
            if said != example.summary {
                wrong.push(format!(
                    "{}\n  expected {}\n  got {said}",
                    example.call, example.summary
                ));
            }
            let hidden = |c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!said.contains(hidden) && said.chars().count() <= LONGEST, "{said:?}");
        }
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    }
}
