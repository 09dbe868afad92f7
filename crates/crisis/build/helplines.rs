//! `helplines.toml` → a static table; rejects entries without source, grade or date.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    checked: String,
    check_by: String,
    how: String,
    directory: String,
    sources: BTreeMap<String, String>,
    retired: Vec<Retired>,
    country: Vec<Country>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Retired {
    country: String,
    number: String,
    replaced_by: String,
    since: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Country {
    code: String,
    name: String,
    emergency: String,
    emergency_sources: Vec<String>,
    #[serde(default)]
    line: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    number: String,
    channel: String,
    hours: String,
    audience: String,
    grade: String,
    sources: Vec<String>,
}

/// Reads and checks the helplines and writes them as a table.
pub fn generate(path: &Path, out: &mut String) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    check(&file)?;
    warn_if_due(&file);
    let _ = writeln!(
        out,
        "/// When the numbers were compiled.\npub static CHECKED: &str = {:?};\n\
         /// When they have to be checked again.\npub static CHECK_BY: &str = {:?};\n\
         /// How they were checked.\npub static HOW_CHECKED: &str = {:?};\n\
         static DIRECTORY: &str = {:?};",
        file.checked, file.check_by, file.how, file.directory
    );
    let retired: Vec<(&str, &str)> =
        file.retired.iter().map(|r| (r.country.as_str(), r.number.as_str())).collect();
    let _ = writeln!(
        out,
        "/// Numbers that must never be shown any more: country and number.\n\
         pub static RETIRED: &[(&str, &str)] = &{retired:?};"
    );
    out.push_str("static COUNTRIES: &[Country] = &[\n");
    for c in &file.country {
        let _ = write!(
            out,
            "Country {{ code: {:?}, name: {:?}, emergency: {:?}, lines: &[",
            c.code, c.name, c.emergency
        );
        for l in &c.line {
            let _ = write!(
                out,
                "Helpline {{ name: {:?}, number: {:?}, channel: {:?}, hours: {:?}, audience: {:?}, \
                 grade: Grade::{} }}, ",
                l.name, l.number, l.channel, l.hours, l.audience, l.grade
            );
        }
        out.push_str("] },\n");
    }
    out.push_str("];\n");
    Ok(())
}

/// A build warns if the numbers have to be checked again. The table does not depend on the clock.
#[expect(clippy::disallowed_methods, reason = "only the warning depends on the date")]
fn warn_if_due(file: &File) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = now.map_or(0, |since| since.as_secs() / 86_400);
    let due: Vec<u64> = file.check_by.split('-').filter_map(|part| part.parse().ok()).collect();
    let [year, month, day] = due.as_slice() else { return };
    // Months of 31 days are late by less than a week, which is near enough for a warning.
    let years = year.saturating_sub(1970);
    let due = years * 365 + (years + 1) / 4 + month.saturating_sub(1) * 31 + day;
    if days > due {
        println!(
            "cargo::warning=the helplines had to be checked by {}: see rules/helplines.toml",
            file.check_by
        );
    }
}

fn check(file: &File) -> Result<(), String> {
    let date = |d: &str| d.len() == 10 && d.split('-').all(|p| p.parse::<u16>().is_ok());
    if !date(&file.checked) || !date(&file.check_by) || file.check_by <= file.checked {
        return Err("helplines: `checked` and `check_by` are dates, in this order".into());
    }
    if file.how.is_empty() || file.sources.values().any(String::is_empty) {
        return Err("helplines: say how they were checked, and by which sources".into());
    }
    let mut seen = BTreeSet::new();
    for c in &file.country {
        let code = c.code.len() == 2 && c.code.chars().all(|x| x.is_ascii_uppercase());
        let sourced = !c.emergency.is_empty() && !c.emergency_sources.is_empty();
        if !code || !sourced || c.name.is_empty() || !seen.insert(&c.code) {
            return Err(format!("helplines: {}: bad code, twice, or no source", c.code));
        }
        for l in &c.line {
            let graded = ["A", "B", "C"].contains(&l.grade.as_str()) && !l.sources.is_empty();
            let full = [&l.name, &l.number, &l.channel, &l.hours, &l.audience];
            if !graded || full.iter().any(|f| f.is_empty()) {
                return Err(format!("helplines: {} {}: incomplete", c.code, l.name));
            }
            let retired = |r: &Retired| r.country == c.code && r.number == l.number;
            if file.retired.iter().any(retired) {
                return Err(format!("helplines: {} {} is retired", c.code, l.number));
            }
        }
    }
    let replaced = |r: &Retired| !r.replaced_by.is_empty() && !r.since.is_empty();
    if file.retired.iter().all(replaced) {
        Ok(())
    } else {
        Err("helplines: retired for what".into())
    }
}
