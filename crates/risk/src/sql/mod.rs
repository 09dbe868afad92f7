//! SQL read for what it would change; Redis and the Mongo shell likewise.

mod clauses;
mod functions;
mod objects;
mod split;
#[cfg(test)]
mod tests;

use crate::context::{Context, Environment};
use crate::effect::Effect;
use crate::finding::{Finding, Findings, Span};
use crate::headline::SQL as SQL_ROWS;
use clauses::{effective, last_part, narrowed, tables};
use countersign_types::tier::Tier;
pub use functions::unknown_function;
use split::{T, Tok, begins, tokens};

/// Whether a condition narrows a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    Any,
    Absent,
    Present,
}

/// A rule about statements.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) id: &'static str,
    pub(crate) tier: Tier,
    pub(crate) production: Tier,
    effects: &'static [Effect],
    pub(crate) message: &'static str,
    pub(crate) suggestion: &'static str,
    starts: &'static [&'static [&'static str]],
    /// The first letters of `starts`, one bit each, as `initial` counts them.
    initials: u32,
    has: &'static [&'static str],
    filter: Filter,
    many: bool,
    tables: bool,
}

include!(concat!(env!("OUT_DIR"), "/sql.rs"));

/// The code of a statement that no rule knows.
pub(crate) const UNKNOWN_STATEMENT: &str = "sql.unknown";

/// Reads a text in one of the languages here.
pub(crate) type Reader = fn(&str, usize, &Context<'_>, &mut Findings);

/// All rules with the reader that holds them.
pub(crate) fn rules() -> [(&'static [Statement], Reader); 3] {
    [(SQL, read), (REDIS, read_redis), (MONGO, read_mongo)]
}

/// Reads SQL and adds what it would change. `base` is where the text starts in its argument.
pub fn read(text: &str, base: usize, ctx: &Context<'_>, out: &mut Findings) {
    read_dialect(text, true, base, ctx, out);
    if text.contains("\\'") {
        read_dialect(text, false, base, ctx, out);
    }
}

fn read_dialect(text: &str, backslash: bool, base: usize, ctx: &Context<'_>, out: &mut Findings) {
    let all = tokens(text, backslash);
    for statement in all.split(|t| t.t == T::Mark(b';')) {
        let statement = effective(statement);
        let Some(first) = statement.first() else { continue };
        let names = tables(statement);
        let narrowed = narrowed(statement);
        let mut known = false;
        let initial = initial(first);
        // Most statements call nothing.
        let calls = called(statement).next().is_some();
        for rule in SQL {
            let excluded = match rule.filter {
                Filter::Any => false,
                Filter::Absent => narrowed,
                Filter::Present => !narrowed,
            };
            if excluded || rule.many && names.len() < 2 {
                continue;
            }
            let may_begin = rule.initials & initial != 0;
            let starts = || rule.starts.iter().any(|phrase| begins(statement, phrase));
            if !(calls && is_called(rule, statement)) && !(may_begin && starts()) {
                continue;
            }
            known = true;
            if let Some((tier, span)) = add(rule, first.start, text, base, ctx, out) {
                objects::note(SQL_ROWS, (rule.id, tier), statement, span, out);
            }
            if rule.tables {
                for name in &names {
                    out.impact.rows.add(name);
                }
            }
        }
        if !known {
            let message = "Runs a database statement that is not understood.";
            let span = Span::new(base + first.start, base + text.len());
            out.effect(Effect::Remote);
            out.add(Finding::pattern(UNKNOWN_STATEMENT, Tier::Low, message).at(span));
        }
    }
}

/// The names that a statement calls as functions.
fn called<'a>(statement: &'a [Tok<'_>]) -> impl Iterator<Item = &'a str> {
    statement.windows(2).filter_map(|pair| match pair {
        [name, next] if name.t == T::Word => {
            matches!(next.t, T::Mark(b'(') | T::Text | T::Name).then_some(name.text)
        }
        _ => None,
    })
}

fn is_called(rule: &Statement, statement: &[Tok<'_>]) -> bool {
    let is_listed = |name: &str| rule.has.iter().any(|h| last_part(name).eq_ignore_ascii_case(h));
    !rule.has.is_empty() && called(statement).any(is_listed)
}

/// The bit of a token's first letter, the same in small and capital; other bytes share one.
fn initial(token: &Tok<'_>) -> u32 {
    match token.text.bytes().next() {
        Some(letter) if letter.is_ascii_alphabetic() => 1 << (letter & 31),
        _ => 1,
    }
}

/// Reads Redis commands, one to a line.
pub fn read_redis(text: &str, base: usize, ctx: &Context<'_>, out: &mut Findings) {
    let mut start = 0;
    for line in text.split_inclusive(['\n', ';']) {
        let words = tokens(line, true);
        let known: Vec<&Statement> = REDIS
            .iter()
            .filter(|rule| rule.starts.iter().any(|phrase| begins(&words, phrase)))
            .collect();
        for rule in &known {
            if let Some((tier, span)) = add(rule, start, text, base, ctx, out) {
                objects::note_redis((rule.id, tier), line, span, out);
            }
        }
        if known.is_empty() && words.first().is_some_and(|w| w.t == T::Word) {
            let message = "Runs a Redis command that is not understood.";
            let span = Span::new(base + start, base + start + line.len());
            out.effect(Effect::Remote);
            out.add(Finding::pattern("redis.unknown", Tier::Low, message).at(span));
        }
        start += line.len();
    }
}

/// Reads a script of the Mongo shell.
pub fn read_mongo(text: &str, base: usize, ctx: &Context<'_>, out: &mut Findings) {
    let all = tokens(text, true);
    let mut rest = all.as_slice();
    let mut follows_dot = false;
    while let Some((tok, after)) = rest.split_first() {
        rest = after;
        // `db.getCollection("a").drop()`: a method of what another one returned.
        let is_method = std::mem::replace(&mut follows_dot, tok.t == T::Mark(b'.'));
        let opens = after.first().is_some_and(|t| t.t == T::Mark(b'('));
        if tok.t != T::Word || !opens || !is_method && !tok.text.contains('.') {
            continue;
        }
        let method = last_part(tok.text);
        let mark = |at: usize| after.get(at).map(|t| t.t);
        let empty = mark(1) == Some(T::Mark(b')'))
            || mark(1) == Some(T::Mark(b'{')) && mark(2) == Some(T::Mark(b'}'));
        for rule in MONGO {
            let fits = match rule.filter {
                Filter::Any => true,
                Filter::Absent => empty,
                Filter::Present => !empty,
            };
            if fits && rule.starts.iter().any(|p| p.first() == Some(&method)) {
                let added = add(rule, tok.start, text, base, ctx, out);
                let collection = tok.text.split('.').nth(1).filter(|c| *c != method);
                if let Some((tier, span)) = added {
                    objects::note_mongo((rule.id, tier), (method, collection), span, out);
                }
                if let Some(collection) = collection {
                    out.impact.rows.add(collection);
                }
            }
        }
    }
    out.effect(Effect::Read);
}

/// Whether a bare text is SQL: it starts with a verb of SQL and goes on like SQL.
pub fn looks_like_sql(text: &str) -> bool {
    let head = text.trim_start();
    let first = head.bytes().take_while(u8::is_ascii_alphabetic).count();
    let verb = head.get(..first).unwrap_or_default();
    // A statement goes on after its verb; most commands end the check here.
    let goes_on = head.as_bytes().get(first).is_some_and(|b| b.is_ascii_whitespace() || *b == b'(');
    let next = head.get(first..).unwrap_or_default().trim_start().bytes().next();
    let worded = next.is_some_and(|b| b.is_ascii_alphanumeric() || b"*(\"'`@/-".contains(&b));
    let option =
        next == Some(b'-') && !head.get(first..).is_some_and(|r| r.trim_start().starts_with("--"));
    if (!goes_on || !worded || option) && !head.starts_with("--") && !head.starts_with("/*") {
        return false;
    }
    if !VERBS.iter().any(|word| word.eq_ignore_ascii_case(verb))
        && !head.starts_with("--")
        && !head.starts_with("/*")
    {
        return false;
    }
    let all = tokens(text, true);
    let shaped = |statement: &[Tok<'_>]| {
        let long = |phrase: &[&str]| statement.len() > phrase.len().min(2);
        SHAPES.iter().any(|phrase| begins(statement, phrase) && long(phrase))
    };
    // Any statement: `SELECT 1; DROP TABLE users` begins with one that could be anything.
    all.split(|t| t.t == T::Mark(b';')).any(shaped)
}

/// Adds the finding of a rule; its tier and place, unless it weighs nothing.
fn add(
    rule: &'static Statement,
    start: usize,
    text: &str,
    base: usize,
    ctx: &Context<'_>,
    out: &mut Findings,
) -> Option<(Tier, Span)> {
    for &effect in rule.effects {
        out.effect(effect);
    }
    if rule.effects.contains(&Effect::Delete) {
        out.irreversible();
    }
    let production = ctx.environment == Environment::Production;
    let tier = if production { rule.production } else { rule.tier };
    if tier == Tier::Safe {
        return None;
    }
    let rest = text.get(start..).unwrap_or_default();
    let end = start + rest.find([';', '\n']).unwrap_or(rest.len());
    let mut finding = Finding::pattern(rule.id, tier, rule.message);
    if !rule.suggestion.is_empty() {
        finding.suggestion = Some(rule.suggestion.into());
    }
    let span = Span::new(base + start, base + end);
    out.add(finding.at(span));
    Some((tier, span))
}
