//! `countersign install`, `uninstall` and `status`: shows every change before it is written.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use countersign_client::AgentClient as Asker;
use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_gateways::agents::{AGENTS, AgentDescriptor, named, names};
use countersign_gateways::hook::programs::small_program_beside;
use countersign_gateways::install::diff::{DiffLine, diff};
use countersign_gateways::install::plan::{
    self, AppliedEdit, InstallAction, PlannedEdit, plan_edits,
};
use countersign_gateways::install::record::InstallRecord;
use countersign_gateways::install::status::{self, AgentStatus, Protection};
use countersign_gateways::install::{
    HookCommand, InstallError, InstallScope, MAX_PATIENCE, is_program,
};
use serde::Serialize;

use super::args;
use crate::failure::Failure;
use crate::gate::credential::PromptTerminal;
use crate::gate::reach::{self, ProcessEnvironment};
use crate::gate::{output, page};
use crate::terminal::Paint;

/// The longest line of a difference that is shown.
const LONGEST_LINE: usize = 400;
/// The most lines of a new file that are shown with the question.
const MOST_LINES: usize = 60;

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

/// Reports which agents are protected.
pub fn status(args: &args::Status) -> Result<ExitCode, Failure> {
    let agents = match &args.agent {
        Some(name) => vec![known(name)?],
        None => AGENTS.to_vec(),
    };
    let record = InstallRecord::read(&reach::gateways_folder()).map_err(install_failure)?;
    let home = scope(None)?;
    let command = HookCommand { program: hook_program(&home)?, patience: MAX_PATIENCE };
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
        let command = HookCommand { program: hook_program(&scope)?, patience };
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

/// How much of a new file is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// All of it.
    Whole,
    /// Only its name and length, if it is long.
    Brief,
}

pub(super) fn show_edit(
    out: &mut dyn Write,
    paint: Paint,
    edit: &PlannedEdit,
    detail: Detail,
) -> Result<(), Failure> {
    let path = shown(&edit.path);
    let whole_file = match (&edit.before, &edit.after) {
        (None, Some(text)) => Some(("new", text)),
        (Some(text), None) => Some(("removed", text)),
        _ => None,
    };
    if let Some((word, text)) = whole_file {
        let lines = text.lines().count();
        writeln!(out, "{} ({word}, {lines} lines)", paint.strong(path))?;
        // A long file would scroll the question away.
        if detail == Detail::Brief && lines > MOST_LINES {
            return Ok(writeln!(out, "  `--dry-run` shows all of it\n")?);
        }
    } else {
        writeln!(out, "{}", paint.strong(path))?;
    }
    let old = edit.before.as_deref().unwrap_or_default();
    let new = edit.after.as_deref().unwrap_or_default();
    let lines = diff(old, new);
    for line in &lines {
        let safe = |text: &str| page::safe(text, LONGEST_LINE);
        match line {
            DiffLine::Same(text) => writeln!(out, "  {}", safe(text))?,
            DiffLine::Out(text) => {
                writeln!(out, "{}", paint.with("31", format!("- {}", safe(text))))?;
            }
            DiffLine::In(text) => {
                writeln!(out, "{}", paint.with("32", format!("+ {}", safe(text))))?;
            }
            DiffLine::Gap => writeln!(out, "{}", paint.faint("  …"))?,
        }
    }
    if lines.is_empty() {
        writeln!(out, "  only the line ends change")?;
    }
    Ok(writeln!(out)?)
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

fn known(name: &str) -> Result<&'static AgentDescriptor, Failure> {
    let unknown = || format!("unknown agent; use {}", names(" or "));
    named(name).ok_or_else(|| Failure::at(name, unknown()))
}

pub(super) fn scope(project: Option<&Path>) -> Result<InstallScope, Failure> {
    InstallScope::new(project, |name| ProcessEnvironment.get(name)).map_err(install_failure)
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
pub(super) fn install_failure(error: InstallError) -> Failure {
    Failure::Input(page::safe(&error.to_string(), 4000))
}

pub(super) fn shown(path: &Path) -> String {
    page::safe(&path.display().to_string(), 4096)
}

/// The path of this program as it is written into files: the one on the PATH if that is the same
/// program, because it stays valid after an update.
pub(super) fn program(scope: &InstallScope) -> Result<String, Failure> {
    let running = env::current_exe()?;
    let real = fs::canonicalize(&running).map_err(|_| {
        Failure::Input("this program was replaced while it was running; start it again".to_owned())
    })?;
    let on_path = scope.program(&["countersign"]);
    let lasting = on_path.filter(|path| fs::canonicalize(path).is_ok_and(|path| path == real));
    let path = lasting.unwrap_or(running);
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    let text = text.filter(|text| {
        Path::new(text)
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("countersign"))
    });
    text.map(str::to_owned).ok_or_else(|| {
        Failure::at(&path.display().to_string(), "this program must have the name `countersign`")
    })
}

/// The program that hooks start: the small one beside this program if it exists, because it is
/// started before each call.
pub fn hook_program(scope: &InstallScope) -> Result<String, Failure> {
    let program = program(scope)?;
    let small = small_program_beside(Path::new(&program));
    let small = small.to_str().filter(|_| is_program(&small)).map(str::to_owned);
    Ok(small.unwrap_or(program))
}

fn is_temporary(program: &str) -> bool {
    let named = ProcessEnvironment.get("TMPDIR").map(PathBuf::from);
    let folders = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    folders.into_iter().chain(named).any(|folder| Path::new(program).starts_with(folder))
}
