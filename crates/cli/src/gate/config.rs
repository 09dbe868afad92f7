//! `countersign config`: check, confirm, confirm-mode, example, paths.

use std::process::ExitCode;

use countersign_daemon::config::{DaemonConfig, EXAMPLE};

use super::args::PersonArgs;
use super::args_admin::{self, ConfigWhat};
use super::credential::PersonSession;
use super::{output, page, reach};
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &args_admin::Config) -> Result<ExitCode, Failure> {
    match &args.what {
        ConfigWhat::Example => output::say(|out, _| Ok(out.write_all(EXAMPLE.as_bytes())?)),
        ConfigWhat::Path { json } => {
            let paths = reach::paths(None, None)?;
            let rows = [
                ("config", paths.config.display().to_string()),
                ("state", paths.state.display().to_string()),
                ("runtime", paths.runtime.display().to_string()),
            ];
            if *json {
                let object: serde_json::Map<String, serde_json::Value> =
                    rows.into_iter().map(|(name, path)| (name.to_owned(), path.into())).collect();
                return output::json(&object);
            }
            let rows = rows.map(|(name, path)| vec![name.to_owned(), page::safe(&path, 4096)]);
            output::say(|out, _| Ok(page::table(out, &rows)?))
        }
        ConfigWhat::Check { file, json } => check(file.as_deref(), *json),
        ConfigWhat::Confirm { hash: Some(hash), person } => confirm(hash, person),
        ConfigWhat::Confirm { hash: None, person } => waiting(person),
        ConfigWhat::ConfirmMode { mode, person } => confirm_mode(mode, person),
    }
}

/// Shows the settings that wait for confirmation.
fn waiting(person: &PersonArgs) -> Result<ExitCode, Failure> {
    let waiting = PersonSession::open(person)?.waiting_config()?;
    if person.json {
        let waiting =
            waiting.map(|(hash, changes)| serde_json::json!({ "hash": hash, "changes": changes }));
        return output::json(&serde_json::json!({ "requested": waiting }));
    }
    let Some((hash, changes)) = waiting else {
        return output::line("No settings wait for confirmation.");
    };
    output::say(|out, _| {
        writeln!(out, "These settings of the file wait for confirmation and are not in force:")?;
        for change in &changes {
            writeln!(out, "  {}", page::safe(change, 400))?;
        }
        let hash = page::safe(hash.get(..16).unwrap_or(&hash), 16);
        Ok(writeln!(out, "To confirm them: countersign config confirm {hash}")?)
    })
}

fn confirm(hash: &str, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let now = PersonSession::open_to_change(person)?.confirm_config(hash)?;
    if person.json {
        return output::json(&now);
    }
    output::line("Confirmed. The settings of the file are in force.")
}

fn confirm_mode(mode: &str, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let now = PersonSession::open_to_change(person)?.confirm_mode(mode)?;
    if person.json {
        return output::json(&serde_json::json!({ "mode": now }));
    }
    let now = page::safe(&now, 40);
    output::line(&format!("The mode is {now}. Risky calls are recorded, but not stopped."))
}

fn check(file: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let paths = reach::paths(file, None)?;
    let there = paths.config.exists();
    let place = page::safe(&paths.config.display().to_string(), 4096);
    match DaemonConfig::load(&paths) {
        Ok(config) => {
            let hash = config.rules.hash.to_string();
            if json {
                return output::json(&serde_json::json!({
                    "file": place, "exists": there, "ok": true, "policy": hash,
                }));
            }
            let what = if there { "is valid" } else { "does not exist; the defaults apply" };
            output::line(&format!("{place} {what}. Policy {}.", hash.get(..16).unwrap_or(&hash)))
        }
        Err(error) => {
            let error = error.to_string();
            if json {
                output::json(&serde_json::json!({
                    "file": place, "exists": there, "ok": false, "error": error,
                }))?;
            } else {
                output::say(|out, _| {
                    writeln!(out, "{place} is invalid:")?;
                    for line in error.lines() {
                        writeln!(out, "  {}", page::safe(line, 400))?;
                    }
                    Ok(())
                })?;
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
