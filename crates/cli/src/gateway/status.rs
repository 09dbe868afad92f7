//! `countersign status`: which agents are protected.

use std::io::Write;
use std::process::ExitCode;

use countersign_gateways::agents::{AGENTS, AgentDescriptor};
use countersign_gateways::install::record::InstallRecord;
use countersign_gateways::install::{HookCommand, MAX_PATIENCE};
use countersign_gateways::status::{self, AgentStatus, Protection};

use super::args;
use super::scopes::{install_failure, known, scope, shown};
use crate::failure::Failure;
use crate::gate::reach;
use crate::gate::{output, page};
use crate::hook_program::hook_program;
use crate::terminal::Paint;

/// Reports which agents are protected.
pub fn status(args: &args::Status) -> Result<ExitCode, Failure> {
    let agents = match &args.agent {
        Some(name) => vec![known(name)?],
        None => AGENTS.to_vec(),
    };
    let record = InstallRecord::read(&reach::gateways_folder()).map_err(install_failure)?;
    let home = scope(None)?;
    let command = HookCommand {
        program: hook_program(&home)?,
        patience: MAX_PATIENCE,
        daemon_key: Some(reach::installed_key()),
    };
    let project = args.project.as_deref().map(|folder| scope(Some(folder))).transpose()?;
    let inspect = |agent: &&'static AgentDescriptor| {
        let of_user = status::inspect(agent, &home, &command, &record);
        let of_project =
            project.as_ref().map(|project| status::inspect(agent, project, &command, &record));
        // A gate of the user also protects the project; otherwise the project's own files count.
        match of_project {
            Some(status) if of_user.state != Protection::Protected && !status.files.is_empty() => {
                status
            }
            _ => of_user,
        }
    };
    let all: Vec<AgentStatus> = agents.iter().map(inspect).collect();
    if args.json {
        output::json(&all)?;
    } else {
        output::say(|out, paint| print_status(out, paint, &all))?;
    }
    let one = args.agent.is_some();
    let fine = |state| state == Protection::Protected || state == Protection::Absent && !one;
    let protected = all.iter().all(|status| fine(status.state));
    Ok(if protected { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_status(out: &mut dyn Write, paint: Paint, all: &[AgentStatus]) -> Result<(), Failure> {
    let word = |state: Protection| match state {
        Protection::Protected => ("38;5;35", "protected"),
        Protection::Unprotected => ("1;38;5;202", "NOT PROTECTED"),
        Protection::NoGate => ("38;5;172", "no gate"),
        Protection::Absent => ("2", "not installed"),
    };
    for one in all {
        let (style, state) = word(one.state);
        let state = paint.with(style, format!("{state:<13}")).to_string();
        let what = match one.state {
            Protection::Protected => one.files.first().map(|path| shown(path)).unwrap_or_default(),
            Protection::NoGate => format!("countersign install {}", one.agent),
            Protection::Unprotected | Protection::Absent => String::new(),
        };
        let line = format!("{:<18}  {state}  {what}", one.title);
        writeln!(out, "{}", line.trim_end())?;
        for why in &one.why {
            writeln!(out, "{:<18}  {}", "", page::safe(why, 2000))?;
        }
    }
    if all.iter().any(|one| one.state == Protection::Unprotected) {
        writeln!(
            out,
            "\nCalls of an agent that is not protected run unchecked: countersign install AGENT"
        )?;
    }
    Ok(())
}
