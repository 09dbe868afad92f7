//! A comparison as text.

use std::io::{self, Write};

use super::compare::{ReplayReport, ReplayedCall};
use crate::engine::thousands;
use crate::gate::page;
use crate::terminal::{Paint, accent};

/// Prints the comparison.
pub fn print(out: &mut dyn Write, report: &ReplayReport, paint: Paint) -> io::Result<()> {
    let more = if report.partial { " (there are more)" } else { "" };
    let calls = thousands(report.calls);
    writeln!(out, "{}{more}", paint.strong(format!("{calls} recorded calls")))?;
    let (approved, denied) = (thousands(report.approved), thousands(report.denied));
    writeln!(out, "People approved {approved} of them and denied {denied}.")?;
    if report.observed > 0 {
        let observed = thousands(report.observed);
        writeln!(out, "{observed} of them were only observed: no person answered.")?;
    }
    writeln!(out)?;
    let row = |name: &str, now: String, then: String| vec![format!("  {name}"), now, then];
    let (now, then) = (&report.now, &report.then);
    page::table(
        out,
        &[
            row("", "now".to_owned(), "then".to_owned()),
            row("mode", now.mode.to_owned(), then.mode.to_owned()),
            row("questions", thousands(now.questions), thousands(then.questions)),
            row("refused", thousands(now.refused), thousands(then.refused)),
        ],
    )?;
    let (fewer, added) = (thousands(report.fewer), thousands(report.more));
    writeln!(out, "\n{fewer} questions fewer, {added} more.")?;
    list(
        out,
        "Questions that would be asked in addition, for example",
        &report.new_questions,
        paint,
    )?;
    list(
        out,
        "Questions that would not be asked any more, for example",
        &report.gone_questions,
        paint,
    )?;
    not_comparable(out, report, paint)?;
    match report.denied_passed.len() {
        0 if report.passes_no_denied() => writeln!(out, "No denied call would pass.")?,
        _ => list(out, "Denied calls that would pass", &report.denied_passed, paint)?,
    }
    if report.denied_pass_now > 0 {
        let count = thousands(report.denied_pass_now);
        writeln!(out, "{count} denied calls pass already with the settings in force.")?;
    }
    Ok(())
}

/// Calls whose rules need what was not recorded.
fn not_comparable(out: &mut dyn Write, report: &ReplayReport, paint: Paint) -> io::Result<()> {
    let calls = match report.not_comparable {
        0 => return Ok(()),
        1 => "1 call".to_owned(),
        many => format!("{} calls", thousands(many)),
    };
    writeln!(out, "{calls} cannot be compared: policy rules need what was not recorded.")?;
    list(out, "Denied calls among them that may pass", &report.denied_unknown, paint)
}

fn list(out: &mut dyn Write, title: &str, calls: &[ReplayedCall], paint: Paint) -> io::Result<()> {
    if calls.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", paint.strong(format!("{title}:")))?;
    for call in calls {
        let tier = paint.with(accent(call.tier), call.tier.label());
        writeln!(out, "  {tier} {} {}", call.place, call.call)?;
    }
    Ok(())
}
