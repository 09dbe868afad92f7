//! `rules/brief.toml` → the clauses of the one sentence about a call.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::effects::NAMES;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    unknown: String,
    neutral_unknown: String,
    neutral: Vec<Neutral>,
    clause: Vec<Clause>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clause {
    id: String,
    #[serde(default)]
    impact: String,
    #[serde(default)]
    effects: Vec<String>,
    codes: Vec<String>,
    #[serde(default)]
    mail: bool,
    #[serde(default)]
    only_leads: bool,
    say: String,
    #[serde(default)]
    call: String,
    #[serde(default)]
    says: String,
}

/// What an effect is called where nothing of the call may be said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Neutral {
    effect: String,
    say: String,
}

fn neutral(file: &File, source: &mut String) -> Result<(), String> {
    let _ = writeln!(source, "static NEUTRAL_UNKNOWN: &str = {:?};", file.neutral_unknown);
    source.push_str("static NEUTRAL: &[(Effect, &str)] = &[\n");
    for one in &file.neutral {
        let known = NAMES.iter().find(|(name, _)| *name == one.effect);
        let (_, variant) = known.ok_or_else(|| format!("unknown effect `{}`", one.effect))?;
        let _ = writeln!(source, "(Effect::{variant}, {:?}),", one.say);
    }
    source.push_str("];\n");
    let listed = |name: &str| file.neutral.iter().filter(|one| one.effect == name).count();
    match NAMES.iter().find(|(name, _)| listed(name) != 1) {
        Some((name, _)) => Err(format!("the effect `{name}` needs one neutral sentence")),
        None => Ok(()),
    }
}

/// Reads the file and writes the table into `out`.
pub fn generate(path: &Path, out: &Path) -> Result<(), String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
    let mut source = format!("static UNKNOWN: &str = {:?};\n", file.unknown);
    source.push_str("static CLAUSES: &[Clause] = &[\n");
    for clause in &file.clause {
        let said = clause.say.to_lowercase();
        if ["safe", "harmless", "no risk"].iter().any(|word| said.contains(word)) {
            return Err(format!("{name}: {}: no sentence may say that all is well", clause.id));
        }
        if clause.impact.is_empty() && clause.effects.is_empty() {
            return Err(format!("{name}: {}: needs an impact or effects", clause.id));
        }
        let list = match clause.impact.as_str() {
            "" => "Nothing",
            "money" => "Money",
            "recipients" => "Recipients",
            "deletes" => "Deletes",
            "writes" => "Writes",
            "rows" => "Rows",
            "services" => "Services",
            "secrets" => "Secrets",
            "hosts" => "Hosts",
            "programs" => "Programs",
            other => return Err(format!("{name}: {}: unknown impact `{other}`", clause.id)),
        };
        let mut effects = Vec::new();
        for effect in &clause.effects {
            let known = NAMES.iter().find(|(listed, _)| listed == effect);
            let (_, variant) =
                known.ok_or_else(|| format!("{name}: {}: unknown effect `{effect}`", clause.id))?;
            effects.push(format!("Effect::{variant}"));
        }
        let _ = writeln!(
            source,
            "Clause {{ list: List::{list}, effects: &[{}], codes: &{:?}, mail: {}, \
             only_leads: {}, say: {:?}, #[cfg(test)] call: {:?}, #[cfg(test)] says: {:?} }},",
            effects.join(", "),
            clause.codes,
            clause.mail,
            clause.only_leads,
            clause.say,
            clause.call,
            clause.says
        );
    }
    source.push_str("];\n");
    neutral(&file, &mut source).map_err(|e| format!("{name}: {e}"))?;
    fs::write(out.join("brief.rs"), source).map_err(|e| format!("brief.rs: {e}"))
}
