//! `countersign install` and `uninstall`: shows every change before it is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use countersign_client::AgentClient as Asker;
use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_gateways::agents::AgentDescriptor;
use countersign_gateways::install::plan::{
    self, AppliedEdit, InstallAction, PlannedEdit, plan_edits,
};
use countersign_gateways::install::record::InstallRecord;
use countersign_gateways::install::{HookCommand, InstallScope, MAX_PATIENCE};
use countersign_gateways::status::{self, Protection};
use serde::Serialize;

use super::args;
use super::edit_view::{Detail, show_edit};
use super::scopes::{install_failure, known, scope, shown};
use crate::failure::Failure;
use crate::gate::credential::PromptTerminal;
use crate::gate::reach::{self, ProcessEnvironment};
use crate::gate::{output, page};
use crate::hook_program::hook_program;

/// Installs the gate.
pub fn install(args: &args::Install) -> Result<ExitCode, Failure> {
    let installation = Installation::new(&args.agent, args.project.as_deref(), args.patience)?;
    installation.run(InstallAction::Install, &args.manner)
}

/// Removes the gate.
pub fn uninstall(args: &args::Uninstall) -> Result<ExitCode, Failure> {
    let installation = Installation::new(&args.agent, args.project.as_deref(), MAX_PATIENCE)?;
    installation.run(InstallAction::Uninstall, &args.manner)
}

/// The installation of one agent in one scope.
struct Installation {
    agent: &'static AgentDescriptor,
    /// Its key in the record.
    key: String,
    scope: InstallScope,
    command: HookCommand,
    state: PathBuf,
    project: Option<PathBuf>,
}

/// The result as JSON.
#[derive(Default, Serialize)]
struct Outcome {
    agent: &'static str,
    written: bool,
    files: Vec<ChangedFile>,
    state: Option<Protection>,
    why: Vec<String>,
}

#[derive(Serialize)]
struct ChangedFile {
    path: PathBuf,
    removed: bool,
    backup: Option<PathBuf>,
}

impl Installation {
    fn new(name: &str, project: Option<&Path>, patience: u32) -> Result<Installation, Failure> {
        let agent = known(name)?;
        let scope = scope(project)?;
        let daemon_key = Some(reach::installed_key());
        let command = HookCommand { program: hook_program(&scope)?, patience, daemon_key };
        let state = reach::gateways_folder();
        let key = scope.key(agent.name);
        Ok(Installation { agent, key, scope, command, state, project: project.map(Path::to_owned) })
    }

    fn run(&self, action: InstallAction, manner: &args::Manner) -> Result<ExitCode, Failure> {
        if manner.json && !manner.yes && !manner.dry_run {
            return Err(Failure::Input("--json needs --yes or --dry-run".to_owned()));
        }
        let open = if manner.dry_run { InstallRecord::read } else { InstallRecord::open };
        let mut record = open(&self.state).map_err(install_failure)?;
        let files = self.agent.file_edits(&self.scope, &self.command).map_err(install_failure)?;
        let edits = plan_edits(&self.key, &files, action, &record).map_err(install_failure)?;
        let mut outcome = Outcome { agent: self.agent.name, ..Outcome::default() };
        if manner.dry_run {
            outcome.files.extend(edits.iter().map(planned));
        }
        if !manner.json {
            let detail = if manner.dry_run { Detail::Whole } else { Detail::Brief };
            self.show(action, &edits, detail)?;
        }
        if manner.dry_run {
            return self.finish(&outcome, manner, ExitCode::SUCCESS);
        }
        if !edits.is_empty() && !manner.yes && !agreed(action)? {
            output::line("Nothing was written.")?;
            return Ok(ExitCode::FAILURE);
        }
        self.write(action, &edits, &mut record, &mut outcome, manner)?;
        if action == InstallAction::Uninstall {
            plan::forget(&self.key, &files, &mut record).map_err(install_failure)?;
            return self.finish(&outcome, manner, ExitCode::SUCCESS);
        }
        let follow_up = (self.agent.setup.follow_up)(&self.scope, &self.command);
        let more =
            plan_edits(&self.key, &follow_up.edits, action, &record).map_err(install_failure)?;
        if !manner.json && !more.is_empty() {
            self.show(action, &more, Detail::Brief)?;
        }
        self.write(action, &more, &mut record, &mut outcome, manner)?;
        let status = status::inspect(self.agent, &self.scope, &self.command, &record);
        outcome.state = Some(status.state);
        // The agent's own messages are more precise than the state of its files.
        let messages = follow_up.messages;
        outcome.why = if messages.is_empty() { status.why } else { messages };
        let protected = status.state == Protection::Protected;
        let code = if protected { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        self.finish(&outcome, manner, code)
    }

    fn write(
        &self,
        action: InstallAction,
        edits: &[PlannedEdit],
        record: &mut InstallRecord,
        outcome: &mut Outcome,
        manner: &args::Manner,
    ) -> Result<(), Failure> {
        let done = plan::apply(&self.key, edits, action, &self.command, record)
            .map_err(install_failure)?;
        outcome.written |= !done.is_empty();
        for AppliedEdit { path, removed, backup } in done {
            if !manner.json {
                let what = if removed { "Removed" } else { "Wrote" };
                let kept = backup.as_ref().map_or_else(String::new, |backup| {
                    format!("; the old text is in {}", shown(backup))
                });
                output::line(&format!("{what} {}{kept}.", shown(&path)))?;
            }
            outcome.files.push(ChangedFile { path, removed, backup });
        }
        Ok(())
    }

    /// Shows the changes, file by file.
    fn show(
        &self,
        action: InstallAction,
        edits: &[PlannedEdit],
        detail: Detail,
    ) -> Result<(), Failure> {
        let title = self.agent.title;
        if edits.is_empty() {
            let words = match action {
                InstallAction::Install => format!("{title}: the gate is already installed."),
                InstallAction::Uninstall => format!("{title}: the gate is not installed."),
            };
            output::line(&words)?;
            return Ok(());
        }
        output::say(|out, paint| {
            for edit in edits {
                show_edit(out, paint, edit, detail)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    fn finish(
        &self,
        outcome: &Outcome,
        manner: &args::Manner,
        code: ExitCode,
    ) -> Result<ExitCode, Failure> {
        if manner.json {
            output::json(outcome)?;
            return Ok(code);
        }
        let title = self.agent.title;
        if manner.dry_run {
            output::line("Nothing was written, because of --dry-run.")?;
            return Ok(code);
        }
        let Some(state) = outcome.state else {
            if outcome.written {
                output::line(&format!(
                    "The gate of {title} was removed; its calls are no longer checked."
                ))?;
            }
            return Ok(code);
        };
        let where_to = self.project.as_ref().map_or_else(String::new, |project| {
            format!(" in {}", shown(&fs::canonicalize(project).unwrap_or_else(|_| project.clone())))
        });
        output::line(&if state == Protection::Protected {
            format!("\n{title} is protected{where_to}. {}", self.agent.restart_hint)
        } else {
            format!("\n{title} is not protected{where_to} yet:")
        })?;
        for why in &outcome.why {
            output::line(&format!("  {}", page::safe(why, 2000)))?;
        }
        for limit in self.agent.limits {
            output::line(&format!("Note: {limit}"))?;
        }
        if is_temporary(&self.command.program) {
            output::line(&format!(
                "Note: {} is in a folder for temporary files. When it is removed, every call of \
                 {title} is denied.",
                page::safe(&self.command.program, 4096)
            ))?;
        }
        next_step(self.agent.name)?;
        Ok(code)
    }
}

fn planned(edit: &PlannedEdit) -> ChangedFile {
    ChangedFile { path: edit.path.clone(), removed: edit.after.is_none(), backup: None }
}

pub(super) fn agreed(action: InstallAction) -> Result<bool, Failure> {
    let mut terminal = PromptTerminal::open().map_err(|_| {
        Failure::Input(
            "this needs a person at a terminal, or --yes; nothing was written".to_owned(),
        )
    })?;
    let question = match action {
        InstallAction::Install => "Write this?",
        InstallAction::Uninstall => "Remove this?",
    };
    Ok(terminal.agrees(question)?)
}

/// The next step, which depends on whether the daemon is running.
fn next_step(agent: &str) -> Result<(), Failure> {
    let api = reach::agent_endpoint(None, false);
    let answers = api.is_ok_and(|api| Asker::new(api, None).health().is_ok());
    let serve = if answers {
        ""
    } else {
        "  countersign serve                     start the daemon; until then risky calls are \
         blocked\n"
    };
    output::line(&format!(
        "\nNext:\n{serve}  countersign status {agent:<18} check the gate's files\n  \
         countersign doctor                    how well this installation protects you"
    ))?;
    Ok(())
}

fn is_temporary(program: &str) -> bool {
    let named = ProcessEnvironment.get("TMPDIR").map(PathBuf::from);
    let folders = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    folders.into_iter().chain(named).any(|folder| Path::new(program).starts_with(folder))
}
