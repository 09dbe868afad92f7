//! What a statement acts on, by the rows of `rules/headlines.toml`.

use super::split::{T, Tok, begins};
use crate::finding::{Findings, Span};
use crate::headline::{Headline, MONGO, Part, REDIS, Row, fill, object};
use countersign_text::glob;
use countersign_types::tier::Tier;

/// Words that may stand between the phrase and the name.
const NOISE: [&str; 7] = ["IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY", "TABLE", "FROM"];

/// The id of a rule that applied, and the tier of its finding.
type Applied = (&'static str, Tier);

/// Notes the headline of a finding about this statement of SQL.
pub(super) fn note(
    rows: &'static [Row],
    applied: Applied,
    statement: &[Tok<'_>],
    span: Span,
    out: &mut Findings,
) {
    let parts = rows.iter().filter(|row| applies(row, applied)).find_map(|row| {
        let begins = |words: &&&str| begins(statement, &words.split(' ').collect::<Vec<_>>());
        let words = row.words.iter().find(begins)?;
        let names = names(statement.get(words.split(' ').count()..)?)?;
        fill(row.headline, &|_| object(names.iter().map(String::as_str)))
    });
    add(applied, parts, span, out);
}

/// Notes the headline of a finding about a line of Redis.
pub(super) fn note_redis(applied: Applied, line: &str, span: Span, out: &mut Findings) {
    let parts = REDIS.iter().filter(|row| applies(row, applied)).find_map(|row| {
        let mut words = line.trim_end_matches([';', '\n', '\r']).split_whitespace();
        let first = words.next()?;
        row.words.iter().find(|word| word.eq_ignore_ascii_case(first))?;
        let keys: Vec<&str> = words.collect();
        fill(row.headline, &|placeholder| match placeholder {
            "1" => object(keys.first().copied()),
            _ => object(keys.iter().copied()),
        })
    });
    add(applied, parts, span, out);
}

/// Notes the headline of a finding about a collection of Mongo.
pub(super) fn note_mongo(
    applied: Applied,
    (method, collection): (&str, Option<&str>),
    span: Span,
    out: &mut Findings,
) {
    let rows = MONGO.iter().filter(|row| applies(row, applied) && row.words.contains(&method));
    let parts = rows.into_iter().find_map(|row| fill(row.headline, &|_| object(collection)));
    add(applied, parts, span, out);
}

fn applies(row: &Row, (id, _): Applied) -> bool {
    row.rules.is_empty() || row.rules.iter().any(|wanted| glob::matches(wanted, id))
}

fn add((id, tier): Applied, parts: Option<Vec<Part>>, span: Span, out: &mut Findings) {
    let parts = parts.unwrap_or_default();
    out.headline(Headline { code: id.into(), tier, span: Some(span), parts });
}

/// The names that follow: `a, "b"."c"`, each with its schema. None where a name goes on in a way
/// that is not read here.
fn names(tokens: &[Tok<'_>]) -> Option<Vec<String>> {
    let is_noise =
        |t: &Tok<'_>| t.t == T::Word && NOISE.iter().any(|word| t.text.eq_ignore_ascii_case(word));
    let is_name = |t: &&Tok<'_>| matches!(t.t, T::Word | T::Name);
    let mut names: Vec<String> = Vec::new();
    let mut rest = tokens.iter().skip_while(|t| is_noise(t)).peekable();
    loop {
        let Some(tok) = rest.next_if(is_name) else { return Some(names) };
        let mut name = unquoted(tok).to_owned();
        while name.ends_with('.') || rest.next_if(|t| t.t == T::Mark(b'.')).is_some() {
            let part = rest.next_if(is_name)?;
            if !name.ends_with('.') {
                name.push('.');
            }
            name.push_str(unquoted(part));
        }
        names.push(name);
        match rest.next().map(|t| t.t) {
            Some(T::Mark(b',')) => {}
            Some(T::Mark(b'(') | T::Word) | None => return Some(names),
            Some(_) => return None,
        }
    }
}

fn unquoted<'a>(tok: &Tok<'a>) -> &'a str {
    tok.text.trim_matches(['"', '`'])
}
