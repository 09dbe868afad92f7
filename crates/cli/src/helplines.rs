//! `countersign helplines check`: which helplines this build shows, and when they were checked.

use std::process::ExitCode;

use countersign_crisis::{
    CHECK_BY, CHECKED, Country, Grade, HOW_CHECKED, Helpline, countries, helplines_due,
};
use serde_json::json;

use crate::args;
use crate::failure::Failure;
use crate::gate::{now, output};

/// Runs the command. Exit code 1 means that the numbers have to be checked again.
pub fn run(args: &args::Helplines) -> Result<ExitCode, Failure> {
    let args::HelplinesWhat::Check { country, json } = &args.what;
    let chosen =
        |one: &&Country| country.as_ref().is_none_or(|code| one.code.eq_ignore_ascii_case(code));
    let list: Vec<&Country> = countries().iter().filter(chosen).collect();
    if list.is_empty() {
        return Err(Failure::Input("unknown country; use a two-letter code such as US".to_owned()));
    }
    let due = helplines_due(&today());
    if *json {
        print_json(&list, due)?;
    } else {
        print(&list, due)?;
    }
    Ok(if due { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Today as a date, in UTC.
fn today() -> String {
    now::now().to_string().chars().take(10).collect()
}

fn print_json(list: &[&Country], due: bool) -> Result<ExitCode, Failure> {
    let unverified = |line: &Helpline| line.grade == Grade::C;
    let countries: Vec<_> = list
        .iter()
        .map(|country| {
            let lines: Vec<_> = country
                .lines
                .iter()
                .map(|line| json!({ "line": line, "unverified": unverified(line) }))
                .collect();
            json!({
                "code": country.code, "name": country.name, "emergency": country.emergency,
                "lines": lines,
            })
        })
        .collect();
    output::json(&json!({
        "checked": CHECKED, "check_by": CHECK_BY, "how": HOW_CHECKED, "due": due,
        "countries": countries,
    }))
}

fn print(list: &[&Country], due: bool) -> Result<ExitCode, Failure> {
    output::say(|out, paint| {
        let state = if due { "Check them again now" } else { "To be checked again" };
        let head = format!("Checked {CHECKED} ({HOW_CHECKED}). {state}: by {CHECK_BY}.");
        writeln!(out, "{}", if due { paint.with("31", head) } else { paint.strong(head) })?;
        for country in list {
            writeln!(out, "{} {}: emergency {}", country.code, country.name, country.emergency)?;
            if country.lines.is_empty() {
                writeln!(out, "   no helpline is known")?;
            }
            for line in country.lines {
                let mark = if line.grade == Grade::C { ", unverified: not shown" } else { "" };
                let (name, number, channel) = (line.name, line.number, line.channel);
                writeln!(out, "   {name}: {number} ({channel}), {}{mark}", line.hours)?;
            }
        }
        let lines = list.iter().flat_map(|country| country.lines);
        let (all, unverified) = lines.fold((0, 0), |(all, unverified), line| {
            (all + 1, unverified + u32::from(line.grade == Grade::C))
        });
        Ok(writeln!(out, "{} countries, {all} lines, {unverified} unverified", list.len())?)
    })
}
