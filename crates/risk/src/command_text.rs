//! A command as an agent wrote it: what hides in the text, what only looks like a command, and
//! what several findings mean together.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::context::Context;
use crate::finding::{Doubt, Finding, Findings, Span};
use crate::hidden_text::{add, holds, look_alikes, without_terminal_codes};
use crate::limit::Limit;
use crate::prose::note_sentences;
use crate::reverse_shell::note_reverse_shell;
use crate::{cmd, powershell, sql, structural_findings};
use countersign_shell::posix::PosixProblem;
use countersign_types::tier::Tier;

/// How many times reading begins again in text that is no shell as a whole.
const RESTARTS: Limit = Limit::new("lines that are no shell", 200);

/// How much text is read again by that.
const READ_AGAIN: Limit = Limit::new("bytes of text that is no shell", 1 << 20);

/// How many different parts of such text are read.
const PARTS: Limit = Limit::new("different parts of text that is no shell", 400);

/// Reads a whole command: an argument that an agent wants a shell to run.
pub fn read(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    read_for(None, text, ctx, out);
}

/// The same for a tool that starts bash. What the text would do in another shell counts only where
/// it is grave, because a tool of another host may have the same name.
pub fn read_bash(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    read_for(Some(Tier::High), text, ctx, out);
}

/// `others`: the tier from which a reading for another shell counts.
fn read_for(others: Option<Tier>, text: &str, ctx: &Context<'_>, out: &mut Findings) {
    match without_terminal_codes(text, out) {
        Cow::Borrowed(_) => read_clean(others, text, ctx, out),
        Cow::Owned(clean) => {
            let mut inner = out.inner();
            read_clean(others, &clean, ctx, &mut inner);
            // Places in the cleaned text mean nothing in the one that came.
            let whole = Span::new(0, text.len());
            out.absorb(inner, |found| Finding { span: found.span.map(|_| whole), ..found });
            covered(text, ctx, out);
        }
    }
}

/// The same for a text without terminal codes.
fn read_clean(others: Option<Tier>, text: &str, ctx: &Context<'_>, out: &mut Findings) {
    look_alikes(text, out);
    if sql::looks_like_sql(text) {
        let mut statements = out.inner();
        sql::read(text, 0, ctx, &mut statements);
        let unknown = statements.iter().any(|f| f.code == sql::UNKNOWN_STATEMENT);
        out.absorb(statements, |finding| finding);
        if unknown && countersign_shell::posix::check(text).is_err() {
            // Neither SQL nor shell.
            out.doubt(Doubt::Unreadable);
            add(out, &structural_findings::UNREADABLE, None);
        }
        // Where all of it is SQL, its words name no programs.
        let (unread, program) =
            (structural_findings::UNREADABLE.code, structural_findings::UNKNOWN_PROGRAM.code);
        let except: &[&str] = if unknown { &[unread] } else { &[unread, program] };
        line_by_line(text, ctx, except, out);
        return;
    }
    if powershell::looks_like(text) || cmd::looks_like(text) {
        several_readings(others, text, ctx, out);
    } else {
        posix(text, ctx, out);
    }
}

/// Text that may be for another shell: every reading counts. Nothing that the POSIX reader found is
/// left out, because nobody said that the text is for another shell. What the other reader cannot
/// read counts only where the POSIX reader cannot read it either.
fn several_readings(others: Option<Tier>, text: &str, ctx: &Context<'_>, out: &mut Findings) {
    let mut other = out.inner();
    if powershell::looks_like(text) {
        ctx.read_text(|set| set.plain_powershell, text, &mut other);
    }
    if cmd::looks_like(text) {
        ctx.read_text(|set| set.cmd, text, &mut other);
    }
    if let Some(least) = others {
        posix(text, ctx, out);
        if other.tier() >= least {
            out.absorb_reading(other, false, |finding| finding.weight.tier() >= least);
        }
        return;
    }
    let mut own = out.inner();
    posix(text, ctx, &mut own);
    let unreadable = own.iter().any(|f| f.code == structural_findings::UNREADABLE.code);
    let understood = other.iter().all(|finding| !finding.code.ends_with(".unreadable"));
    if unreadable && understood && is_only_powershell(text) {
        out.absorb(other, |finding| finding);
        return;
    }
    out.absorb(own, |finding| finding);
    out.absorb_reading(other, unreadable, |finding| {
        unreadable || !finding.code.ends_with(".unreadable")
    });
}

/// One line that bash, dash, mksh and zsh refuse as a whole, so that none of it runs there:
/// `foreach ($x in …) { … }` and `(…) -replace …`.
fn is_only_powershell(text: &str) -> bool {
    let line = text.trim();
    if line.contains('\n') || !powershell::looks_like(line) {
        return false;
    }
    let lower = line.get(..10).unwrap_or_default().to_ascii_lowercase();
    if lower.starts_with("foreach ($") || lower.starts_with("foreach($") {
        return true;
    }
    let Some(inner) = line.strip_prefix('(') else { return false };
    let Some(end) = inner.find([')', '(', '\'', '"', '`', '$', '\\']) else { return false };
    let behind = inner.get(end..).unwrap_or_default();
    let operator = behind.strip_prefix(") -").unwrap_or_default();
    operator.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// A command in the language of POSIX shells.
fn posix(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    if holds(text, b'\r') && text.contains("\\\r\n") {
        // Some shells join such lines, some do not: both readings count.
        ctx.read_shell(&text.replace("\\\r\n", "\n"), 0, 0, out);
    }
    ctx.read_shell(text, 0, 0, out);
    if out.has_doubt(Doubt::Unreadable) && countersign_shell::posix::check(text).is_err() {
        line_by_line(text, ctx, &[structural_findings::UNREADABLE.code], out);
    }
    if !text.is_ascii()
        && let Some(ascii) = narrowed(text)
    {
        wide_letters(&ascii, ctx, out);
    }
    note_reverse_shell(text, out);
    if out.has_doubt(Doubt::UnknownProgram) {
        note_sentences(text, ctx, out);
    }
}

/// The text as it came, terminal codes and all: what cannot be read so is not read.
fn covered(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    let mut raw = Findings::default();
    ctx.read_shell(text, 0, 0, &mut raw);
    // A word with such codes is no name; the text without them was read before.
    add_grave(&raw, &[structural_findings::UNKNOWN_PROGRAM.code], false, out);
}

/// Text that is no shell as a whole, or SQL handed to a shell: each line that is a command may run.
/// What is no shell is passed over as a shell would pass over it, and reading goes on behind it.
fn line_by_line(text: &str, ctx: &Context<'_>, except: &[&str], out: &mut Findings) {
    let (mut from, mut tries, mut bytes) = (0, 0, 0);
    while let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
        tries += 1;
        bytes += rest.len();
        if !RESTARTS.admits(tries, out, None) || !READ_AGAIN.admits(bytes, out, None) {
            return;
        }
        let line_from = |at: usize| {
            let behind = rest.get(at..).unwrap_or_default();
            behind.find('\n').map_or(rest.len(), |end| at + end + 1)
        };
        let end = match countersign_shell::posix::check(rest) {
            Ok(()) => rest.len(),
            Err((PosixProblem::Unexpected, at)) => line_from(at),
            Err(_) => line_from(0),
        };
        let piece = rest.get(..end).unwrap_or(rest);
        let mut shell = Findings::default();
        ctx.read_shell(piece, from, 0, &mut shell);
        if shell.has_doubt(Doubt::Unreadable) && countersign_shell::posix::check(piece).is_err() {
            for (at, part) in parts(piece, out) {
                ctx.read_shell(part, from + at, 0, &mut shell);
            }
        }
        add_grave(&shell, except, true, out);
        from += end.max(1);
    }
}

/// The parts of a text that may be commands, each once, with its place. Separators count with
/// quotes and without: where a quote does not end, one inside may count after all. Of too many
/// parts the first and the last are read.
fn parts<'a>(text: &'a str, out: &mut Findings) -> Vec<(usize, &'a str)> {
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    for quotes in [true, false] {
        let mut at = 0;
        for part in separated(text, quotes) {
            let bare = without_openers(part.trim_end_matches(SEPARATORS));
            if seen.insert(bare.trim()) {
                found.push((at + part.find(bare).unwrap_or(0), bare));
            }
            at += part.len();
        }
    }
    PARTS.cut_middle(&mut found, out, None);
    found
}

/// What ends a command.
const SEPARATORS: [char; 4] = [';', '\n', '|', '&'];

/// The parts of a text that end with a separator; `quotes` if one inside quotes is none.
fn separated(text: &str, quotes: bool) -> Vec<&str> {
    let (mut open, mut escaped) = (None, false);
    let ends = |c: char| {
        let was_escaped = std::mem::take(&mut escaped);
        match (c, open) {
            _ if !quotes => {}
            ('\\', None | Some('"')) if !was_escaped => escaped = true,
            ('\'' | '"', None) if !was_escaped => open = Some(c),
            (_, Some(quote)) if c == quote && !was_escaped => open = None,
            _ => {}
        }
        open.is_none() && SEPARATORS.contains(&c)
    };
    text.split_inclusive(ends).collect()
}

/// A piece of shell without what only opens a block.
fn without_openers(piece: &str) -> &str {
    const WORDS: [&str; 8] = ["if ", "then ", "elif ", "else ", "while ", "until ", "do ", "time "];
    let mut rest = piece;
    loop {
        let trimmed = rest.trim_start_matches(['{', '(', '!', ' ', '\t', '\r']);
        let name = trimmed.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let function = trimmed.get(name..).and_then(|rest| rest.strip_prefix("()"));
        let worded = WORDS.iter().find_map(|word| trimmed.strip_prefix(word));
        let bare = worded.or(function).unwrap_or(trimmed);
        if bare.len() == rest.len() {
            return rest;
        }
        rest = bare;
    }
}

/// Adds what asks a person in another reading of the same text, except for these codes.
/// `placed`: its places are those of the text.
fn add_grave(other: &Findings, except: &[&str], placed: bool, out: &mut Findings) {
    let counts =
        |f: &&Finding| f.weight.tier() >= Tier::Medium && !except.contains(&f.code.as_ref());
    let mut grave = other.iter().filter(counts).peekable();
    if grave.peek().is_none() {
        return;
    }
    out.effects.extend(other.effects);
    if other.is_irreversible() {
        out.irreversible();
    }
    for finding in grave {
        out.add(Finding { span: finding.span.filter(|_| placed), ..finding.clone() });
    }
}

/// The text with full-width letters as plain ones, if it has any.
fn narrowed(text: &str) -> Option<String> {
    let wide = |c: char| ('\u{ff01}'..='\u{ff5e}').contains(&c);
    text.contains(wide).then(|| {
        text.chars()
            .map(|c| if wide(c) { char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c) } else { c })
            .collect()
    })
}

/// What the text would do if its full-width letters were plain: some tools fold them.
fn wide_letters(ascii: &str, ctx: &Context<'_>, out: &mut Findings) {
    let mut folded = Findings::default();
    ctx.read_shell(ascii, 0, 0, &mut folded);
    if folded.tier() > out.tier() && folded.tier() >= Tier::Medium {
        add(out, &structural_findings::HIDDEN, None);
        out.absorb(folded, |finding| Finding { span: None, ..finding });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(text: &str) -> Tier {
        let mut out = Findings::default();
        let ctx = Context { readers: crate::readers::all(), ..Context::default() };
        read(text, &ctx, &mut out);
        out.tier()
    }

    #[test]
    fn terminal_codes_cover_nothing() {
        assert_eq!(tier("\u{1b}]0;title\u{7}rm -rf /"), Tier::Critical);
        assert_eq!(tier("\u{1b}[31mls\u{1b}[0m -la"), Tier::Safe);
        assert_eq!(tier("\u{1b}]52;c;aGk=\u{7}"), Tier::Medium);
    }

    #[test]
    fn hidden_letters_are_seen() {
        assert_eq!(tier("echo \u{202e}dlrow"), Tier::Medium);
        assert_eq!(tier("\u{ff52}\u{ff4d} -\u{ff52}\u{ff46} /"), Tier::Critical);
        assert_eq!(tier("echo '\u{26a0}\u{fe0f} careful'"), Tier::Safe);
        assert_eq!(tier("git commit -m '修复\u{ff1a}x'"), Tier::Low);
    }

    #[test]
    fn a_person_in_danger_is_not_a_command() {
        assert_eq!(tier("I want to kill myself"), Tier::Critical);
        assert_eq!(tier("I want to die"), Tier::Critical);
    }

    #[test]
    fn bare_sql_is_sql() {
        assert_eq!(tier("DROP TABLE users"), Tier::Medium);
    }
}
