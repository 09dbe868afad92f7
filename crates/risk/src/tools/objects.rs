//! What a tool acts on, by the rows of `rules/headlines.toml`.

use super::name;
use super::subject::Subject;
use crate::finding::Findings;
use crate::headline::{Headline, Part, Row, TOOLS, fill, object};
use crate::impact::CountedList;
use countersign_json::Value;
use countersign_text::glob;
use countersign_types::tier::Tier;

/// Notes the headline of a finding about this tool.
pub(super) fn note(code: &'static str, tier: Tier, subject: &Subject<'_>, out: &mut Findings) {
    if tier > Tier::Safe {
        let parts = headline(code, subject).unwrap_or_default();
        out.headline(Headline { code: code.into(), tier, span: None, parts });
    }
}

fn headline(code: &str, subject: &Subject<'_>) -> Option<Vec<Part>> {
    let words = name::words(name::parts(subject.name).tool);
    TOOLS.iter().find_map(|row| {
        let star = star(row, code, &words)?;
        fill(row.headline, &|placeholder| match placeholder {
            "*" => object([star]),
            _ => placeholder.split('|').find_map(|key| argument(key, subject.arguments)),
        })
    })
}

/// What the star of a row stands for, where the row fits. A row without a star also fits a name
/// that ends with its words: `GitHubDeleteRepository`.
fn star<'w>(row: &Row, code: &str, words: &'w str) -> Option<&'w str> {
    if !row.rules.is_empty() && !row.rules.iter().any(|rule| glob::matches(rule, code)) {
        return None;
    }
    row.words.iter().find_map(|pattern| {
        if let Some(head) = pattern.strip_suffix('*') {
            return words.strip_prefix(head).filter(|star| !star.is_empty());
        }
        let before = words.strip_suffix(pattern)?;
        (before.is_empty() || before.ends_with(' ')).then_some("")
    })
}

/// The value of an argument; a star stands for the beginning of its name.
fn argument(key: &str, arguments: &Value<'_>) -> Option<CountedList> {
    let members = arguments.as_object()?;
    let (_, value) = members.iter().find(|(name, _)| glob::matches(key, &name::compact(name)))?;
    let text = |value: &Value<'_>| match value {
        Value::String(text) | Value::Number(text) => Some(text.to_string()),
        _ => None,
    };
    let texts: Vec<String> = match value {
        Value::Array(list) => list.iter().map(text).collect::<Option<_>>()?,
        other => vec![text(other)?],
    };
    object(texts.iter().map(String::as_str))
}
