//! `countersign config`: checked, shown, found.

use std::process::ExitCode;

use countersign_daemon::config::{DaemonConfig, EXAMPLE};

use super::args_house::{self, ConfigWhat};
use super::{house, page, reach};
use crate::failure::Failure;

/// Runs the command.
pub fn run(args: &args_house::Config) -> Result<ExitCode, Failure> {
    match &args.what {
        ConfigWhat::Example => house::say(|out, _| Ok(out.write_all(EXAMPLE.as_bytes())?)),
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
                return house::json(&object);
            }
            let rows = rows.map(|(name, path)| vec![name.to_owned(), page::safe(&path, 4096)]);
            house::say(|out, _| Ok(page::table(out, &rows)?))
        }
        ConfigWhat::Check { file, json } => check(file.as_deref(), *json),
    }
}

fn check(file: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let paths = reach::paths(file, None)?;
    let there = paths.config.exists();
    let place = page::safe(&paths.config.display().to_string(), 4096);
    match DaemonConfig::load(&paths) {
        Ok(config) => {
            let hash = config.rules.hash.to_string();
            if json {
                return house::json(&serde_json::json!({
                    "file": place, "exists": there, "ok": true, "policy": hash,
                }));
            }
            let what = if there { "is fine" } else { "is not there: the defaults hold" };
            house::line(&format!("{place} {what}. Policy {}.", hash.get(..16).unwrap_or(&hash)))
        }
        Err(error) => {
            let error = error.to_string();
            if json {
                house::json(&serde_json::json!({
                    "file": place, "exists": there, "ok": false, "error": error,
                }))?;
            } else {
                house::say(|out, _| {
                    writeln!(out, "{place} is refused:")?;
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
