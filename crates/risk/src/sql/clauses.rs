//! Parts of a SQL statement: the part that acts, its tables, its condition.

use super::split::{T, Tok};

/// The part that acts: behind `WITH …`, behind `EXPLAIN ANALYZE`.
pub(super) fn effective<'t, 'a>(statement: &'t [Tok<'a>]) -> &'t [Tok<'a>] {
    let is = |t: &Tok<'_>, w: &str| t.t == T::Word && t.text.eq_ignore_ascii_case(w);
    let Some(first) = statement.first() else { return statement };
    let acts = |t: &Tok<'_>| ["DELETE", "UPDATE", "INSERT", "MERGE"].iter().any(|w| is(t, w));
    let Some(at) = statement.iter().position(acts) else { return statement };
    let options = statement.get(..at).unwrap_or_default();
    let analyzes =
        is(first, "EXPLAIN") && options.iter().any(|t| is(t, "ANALYZE") || is(t, "ANALYSE"));
    if is(first, "WITH") || analyzes {
        return statement.get(at..).unwrap_or(statement);
    }
    statement
}

/// A name without its schema.
pub(super) fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The words between the verb of a statement and its tables.
const BEFORE_TABLES: [&str; 33] = [
    "DROP",
    "TABLE",
    "TABLES",
    "TRUNCATE",
    "DELETE",
    "FROM",
    "UPDATE",
    "INSERT",
    "INTO",
    "ALTER",
    "IF",
    "EXISTS",
    "ONLY",
    "NOT",
    "DATABASE",
    "SCHEMA",
    "REPLACE",
    "MERGE",
    "COPY",
    "KEYSPACE",
    "VIEW",
    "INDEX",
    "OR",
    "IGNORE",
    "MATERIALIZED",
    "TEMPORARY",
    "LOW_PRIORITY",
    "QUICK",
    "SEQUENCE",
    "FUNCTION",
    "TRIGGER",
    "PROCEDURE",
    "CONCURRENTLY",
];

/// The tables a changing statement names.
pub(super) fn tables<'a>(statement: &[Tok<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut expect = true;
    for tok in statement {
        match tok.t {
            T::Word if expect && BEFORE_TABLES.iter().any(|w| tok.text.eq_ignore_ascii_case(w)) => {
            }
            T::Word | T::Name if expect => {
                names.push(tok.text.trim_matches(['"', '`']));
                expect = false;
            }
            T::Mark(b',') => expect = true,
            T::Mark(b'.' | b'[' | b']') => {}
            _ => break,
        }
    }
    names
}

/// Whether a condition says which rows: `WHERE 1=1` does not.
pub(super) fn narrowed(statement: &[Tok<'_>]) -> bool {
    let is = |t: &Tok<'_>, w: &str| t.t == T::Word && t.text.eq_ignore_ascii_case(w);
    let depth = statement.first().map_or(0, |t| t.depth);
    let Some(at) = statement.iter().position(|t| is(t, "WHERE") && t.depth == depth) else {
        return false;
    };
    let condition = statement.get(at + 1..).unwrap_or_default();
    let always = |part: &[Tok<'_>]| match part {
        [] => true,
        [one] => is(one, "TRUE") || is(one, "1"),
        [a, mark, b] if mark.t == T::Mark(b'=') => a.text == b.text,
        [a, op, b] if is(op, "IS") || is(op, "LIKE") => a.text == b.text,
        _ => false,
    };
    let end = condition
        .iter()
        .position(|t| ["LIMIT", "RETURNING", "ORDER"].iter().any(|w| is(t, w)))
        .unwrap_or(condition.len());
    let condition = condition.get(..end).unwrap_or(condition);
    let condition = match condition {
        [open, inner @ .., close] if open.t == T::Mark(b'(') && close.t == T::Mark(b')') => inner,
        other => other,
    };
    let mut parts = condition.split(|t| is(t, "OR"));
    !parts.any(always)
}
