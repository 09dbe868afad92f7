//! `countersign screen`: signs of a person in crisis, and the card to show.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::args;
use crate::engine::{self, Concern, ScreenSettings, Screening, Value};
use crate::failure::Failure;
use crate::gate::args::Asker;
use crate::gate::{output, reach};
use crate::input::{self, Files};
use crate::stream::{self, LineError};
use crate::terminal::{CRISIS, Paint, columns};

/// How wide the card's text is.
const CARD_COLUMNS: usize = 76;

/// What is said instead of a kind where no rule matched.
const BY_WEIGHT: &str = "by weighted words";

/// Runs the command.
pub fn run(args: &args::Screen) -> Result<ExitCode, Failure> {
    let settings =
        ScreenSettings { country: args.country.as_deref(), preset: args.preset.as_deref() };
    // Invalid options are reported before anything is read.
    engine::screen("", &settings).map_err(Failure::Input)?;
    if args.batch {
        let input = stream::standard_input("texts");
        stream::answer_each(input, io::stdout().lock(), |item, out| {
            let text = item.value.get("text").and_then(Value::as_str);
            let text = text.ok_or_else(|| LineError::Bad("no string `text`".to_owned()))?;
            Ok(serde_json::to_writer(out, &engine::screen(text, &settings)?)?)
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(given) = &args.text else {
        return Err(Failure::Input(
            "nothing to screen; give a text, `-` or --batch (see --help)".to_owned(),
        ));
    };
    let text = input::text(given, "text", Files::AreText)?;
    if args.daemon {
        return ask_daemon(args, &text);
    }
    let screening = engine::screen(&text, &settings).map_err(Failure::Input)?;
    let stdout = io::stdout();
    let paint = Paint::of(&stdout);
    let mut out = io::BufWriter::new(stdout.lock());
    if args.json {
        serde_json::to_writer_pretty(&mut out, &screening)?;
        out.write_all(b"\n")?;
    } else {
        print(&mut out, &text, &screening, paint)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Screens with the daemon: its guard model, and what the session said before.
fn ask_daemon(args: &args::Screen, text: &str) -> Result<ExitCode, Failure> {
    let role = args.role.as_deref().unwrap_or("user");
    let asker = Asker::default();
    let found = reach::agent(&asker)?.screen_as(role, text, args.session.as_deref())?;
    if args.json {
        return output::json(&found);
    }
    let word = |pointer: &str| {
        let word = found.pointer(pointer).and_then(serde_json::Value::as_str);
        engine::sanitize(word.unwrap_or("-"), 2000)
    };
    output::say(|out, paint| {
        let decision = format!("Decision: {}", word("/decision"));
        writeln!(out, "{}", paint.strong(decision))?;
        writeln!(out, "concern {}, session {}", word("/concern"), word("/context"))?;
        let named = found.pointer("/guard/categories").and_then(serde_json::Value::as_array);
        let codes: Vec<&str> = named
            .into_iter()
            .flatten()
            .filter_map(|one| one.get("code").and_then(serde_json::Value::as_str))
            .collect();
        let codes = engine::sanitize(&codes.join(", "), 200);
        writeln!(out, "guard {} {codes}", word("/guard/state"))?;
        let card = found.pointer("/card/text").and_then(serde_json::Value::as_str);
        for line in card.unwrap_or_default().lines() {
            writeln!(out, "  {}", engine::sanitize(line, 400))?;
        }
        Ok(())
    })
}

fn print(out: &mut dyn Write, text: &str, screening: &Screening, paint: Paint) -> io::Result<()> {
    let word = match screening.concern {
        Concern::None => {
            writeln!(out, "{}", paint.strong("No signs of a person in crisis."))?;
            return writeln!(out, "level {} of 6, read as {}", screening.level, screening.lang);
        }
        Concern::Possible => "A person may need help: a short check-in is shown.",
        Concern::Likely if screening.imminent => "A person may be in danger right now.",
        Concern::Likely => "A person may be in crisis.",
    };
    writeln!(out, "{}", paint.with(CRISIS, format!("\u{1f49c} {word}")))?;
    let kind = if screening.by_rules { engine::kind_word(screening) } else { BY_WEIGHT.to_owned() };
    writeln!(out, "level {} of 6, {kind}, read as {}", screening.level, screening.lang)?;
    writeln!(out)?;
    // A signal that a modifier lowered to zero is not shown.
    for signal in screening.signals.iter().filter(|s| s.level > 0) {
        let (start, end) = (signal.span.start as usize, signal.span.end as usize);
        let part = text.get(start..end).unwrap_or_default();
        let part = engine::sanitize(part, 120);
        writeln!(out, "  {}  {}", paint.with("4", part), paint.faint(signal.rule))?;
    }
    let words: Vec<String> = screening
        .evidence
        .words
        .iter()
        .filter_map(|span| text.get(span.start as usize..span.end as usize))
        .map(|word| engine::sanitize(word, 40))
        .collect();
    if !words.is_empty() {
        let score = f64::from(screening.evidence.score) / 1000.0;
        let named = words.join(", ");
        writeln!(out, "  {}", paint.faint(format!("weighted words: {named} (score {score:.1})")))?;
    }
    if let Some(card) = engine::card_text(screening) {
        writeln!(out)?;
        for line in card.lines().flat_map(|line| wrapped(line, CARD_COLUMNS)) {
            let bar = paint.with(CRISIS, "\u{2502}");
            let line = engine::sanitize(&line, 400);
            writeln!(out, "{}", format!("  {bar} {line}").trim_end())?;
        }
    }
    Ok(())
}

/// Wraps a line between words, so that no one has to scroll sideways for help.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let Some(last) = lines.last_mut() else { continue };
        if !last.is_empty() && columns(last) + 1 + columns(word) > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("", 7), [""]);
        assert_eq!(wrapped("longerthanthat x", 7), ["longerthanthat", "x"]);
    }
}
