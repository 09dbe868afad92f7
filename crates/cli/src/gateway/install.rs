//! `countersign install`, `uninstall` and `status`: what would change is shown before it does.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use countersign_client::Agent as Asker;
use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_gateways::agents::{AGENTS, Agent, named};
use countersign_gateways::hook::alone::first_program;
use countersign_gateways::install::diff::{Line, diff};
use countersign_gateways::install::plan::{self, Aim, Done, Edit};
use countersign_gateways::install::record::Record;
use countersign_gateways::install::status::{self, Seen, Stand};
use countersign_gateways::install::{LONGEST_PATIENCE, Ours, Place, Refused, is_program};
use serde::Serialize;

use super::args;
use crate::failure::Failure;
use crate::gate::credential::Terminal;
use crate::gate::reach::{self, ProcessEnvironment};
use crate::gate::{house, page};
use crate::terminal::Paint;

/// Longest line of a difference that is shown.
const LONGEST_LINE: usize = 400;
/// Most lines of a file of ours that are shown with the question.
const MOST_LINES: usize = 60;

/// Puts the gate in.
pub fn install(args: &args::Install) -> Result<ExitCode, Failure> {
    let visit = Visit::new(&args.agent, args.project.as_deref(), args.patience)?;
    visit.run(Aim::Install, &args.manner)
}

/// Takes the gate out.
pub fn uninstall(args: &args::Uninstall) -> Result<ExitCode, Failure> {
    let visit = Visit::new(&args.agent, args.project.as_deref(), LONGEST_PATIENCE)?;
    visit.run(Aim::Uninstall, &args.manner)
}

/// Says how the gates stand.
pub fn status(args: &args::Status) -> Result<ExitCode, Failure> {
    let agents = match &args.agent {
        Some(name) => vec![known(name)?],
        None => AGENTS.to_vec(),
    };
    let record = Record::look(&reach::gateways_folder()).map_err(said)?;
    let home = place(None)?;
    let ours = Ours { program: hook_program(&home)?, patience: LONGEST_PATIENCE };
    let project = args.project.as_deref().map(|folder| place(Some(folder))).transpose()?;
    let look = |agent: &&'static Agent| {
        let everywhere = status::look(agent, &home, &ours, &record);
        let here = project.as_ref().map(|project| status::look(agent, project, &ours, &record));
        // Gated for the person is gated in the project; else what the project says counts.
        match here {
            Some(here) if everywhere.state != Stand::Gated && !here.files.is_empty() => here,
            _ => everywhere,
        }
    };
    let seen: Vec<Seen> = agents.iter().map(look).collect();
    if args.json {
        house::json(&seen)?;
    } else {
        house::say(|out, paint| tell(out, paint, &seen))?;
    }
    let fine = |seen: &Seen| matches!(seen.state, Stand::Gated | Stand::Absent);
    let asked_for_one = args.agent.is_some();
    let shut = seen.iter().all(|seen| fine(seen) && !(asked_for_one && seen.state != Stand::Gated));
    Ok(if shut { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One agent at one place.
struct Visit {
    agent: &'static Agent,
    /// Its name in the record.
    key: String,
    place: Place,
    ours: Ours,
    state: PathBuf,
    project: Option<PathBuf>,
}

/// What came of it, for programs.
#[derive(Default, Serialize)]
struct Outcome {
    agent: &'static str,
    written: bool,
    files: Vec<Touched>,
    state: Option<Stand>,
    why: Vec<String>,
}

#[derive(Serialize)]
struct Touched {
    path: PathBuf,
    removed: bool,
    backup: Option<PathBuf>,
}

impl Visit {
    fn new(name: &str, project: Option<&Path>, patience: u32) -> Result<Visit, Failure> {
        let agent = known(name)?;
        let place = place(project)?;
        let ours = Ours { program: hook_program(&place)?, patience };
        let state = reach::gateways_folder();
        let key = place.key(agent.name);
        Ok(Visit { agent, key, place, ours, state, project: project.map(Path::to_owned) })
    }

    fn run(&self, aim: Aim, manner: &args::Manner) -> Result<ExitCode, Failure> {
        if manner.json && !manner.yes && !manner.dry_run {
            return Err(Failure::Input("--json needs --yes or --dry-run".to_owned()));
        }
        let look = if manner.dry_run { Record::look } else { Record::open };
        let mut record = look(&self.state).map_err(said)?;
        let pieces = self.agent.pieces(&self.place, &self.ours).map_err(said)?;
        let edits = plan::edits(&self.key, &pieces, aim, &record).map_err(said)?;
        let mut outcome = Outcome { agent: self.agent.name, ..Outcome::default() };
        if manner.dry_run {
            outcome.files.extend(edits.iter().map(planned));
        }
        if !manner.json {
            let detail = if manner.dry_run { Detail::Whole } else { Detail::Brief };
            self.show(aim, &edits, detail)?;
        }
        if manner.dry_run {
            return self.finish(&outcome, manner, ExitCode::SUCCESS);
        }
        if !edits.is_empty() && !manner.yes && !agreed(aim)? {
            house::line("Nothing was written.")?;
            return Ok(ExitCode::FAILURE);
        }
        self.write(aim, &edits, &mut record, &mut outcome, manner)?;
        if aim == Aim::Uninstall {
            plan::forget(&self.key, &pieces, &mut record).map_err(said)?;
            return self.finish(&outcome, manner, ExitCode::SUCCESS);
        }
        let then = (self.agent.setup.then)(&self.place, &self.ours);
        let more = plan::edits(&self.key, &then.pieces, aim, &record).map_err(said)?;
        if !manner.json && !more.is_empty() {
            self.show(aim, &more, Detail::Brief)?;
        }
        self.write(aim, &more, &mut record, &mut outcome, manner)?;
        let seen = status::look(self.agent, &self.place, &self.ours, &record);
        outcome.state = Some(seen.state);
        // What the agent was asked says more than what can be seen afterwards.
        outcome.why = if then.say.is_empty() { seen.why } else { then.say };
        let code = if seen.state == Stand::Gated { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        self.finish(&outcome, manner, code)
    }

    fn write(
        &self,
        aim: Aim,
        edits: &[Edit],
        record: &mut Record,
        outcome: &mut Outcome,
        manner: &args::Manner,
    ) -> Result<(), Failure> {
        let done = plan::apply(&self.key, edits, aim, &self.ours, record).map_err(said)?;
        outcome.written |= !done.is_empty();
        for Done { path, removed, kept } in done {
            if !manner.json {
                let what = if removed { "Removed" } else { "Wrote" };
                let kept = kept.as_ref().map_or_else(String::new, |kept| {
                    format!("; what was there is in {}", shown(kept))
                });
                house::line(&format!("{what} {}{kept}.", shown(&path)))?;
            }
            outcome.files.push(Touched { path, removed, backup: kept });
        }
        Ok(())
    }

    /// What would change, file by file.
    fn show(&self, aim: Aim, edits: &[Edit], detail: Detail) -> Result<(), Failure> {
        let title = self.agent.title;
        if edits.is_empty() {
            let words = match aim {
                Aim::Install => format!("{title}: the gate is already in its files."),
                Aim::Uninstall => format!("{title}: there is nothing of ours in its files."),
            };
            house::line(&words)?;
            return Ok(());
        }
        house::say(|out, paint| {
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
            house::json(outcome)?;
            return Ok(code);
        }
        let title = self.agent.title;
        if manner.dry_run {
            house::line("Nothing was written: this only shows what would be.")?;
            return Ok(code);
        }
        let Some(state) = outcome.state else {
            if outcome.written {
                house::line(&format!("{title} is no longer gated."))?;
            }
            return Ok(code);
        };
        let where_to = self.project.as_ref().map_or_else(String::new, |project| {
            format!(" in {}", shown(&fs::canonicalize(project).unwrap_or_else(|_| project.clone())))
        });
        house::line(&if state == Stand::Gated {
            format!(
                "\n{title} is gated{where_to}. Start it anew: sessions that run keep their rules."
            )
        } else {
            format!("\n{title} is not gated{where_to} yet:")
        })?;
        for why in &outcome.why {
            house::line(&format!("  {}", page::safe(why, 2000)))?;
        }
        for note in self.agent.setup.notes {
            house::line(&format!("Know this: {note}"))?;
        }
        if in_a_passing_folder(&self.ours.program) {
            house::line(&format!(
                "Know this: {} lies in a folder for passing files. When it is gone, every call of \
                 {title} is refused.",
                page::safe(&self.ours.program, 4096)
            ))?;
        }
        next_step(self.agent.name)?;
        Ok(code)
    }
}

/// How much of a file that is all ours is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// All of it.
    Whole,
    /// That it comes or goes.
    Brief,
}

pub(super) fn show_edit(
    out: &mut dyn Write,
    paint: Paint,
    edit: &Edit,
    detail: Detail,
) -> Result<(), Failure> {
    let path = shown(&edit.path);
    let ours_alone = match (&edit.before, &edit.after) {
        (None, Some(text)) => Some(("new", text)),
        (Some(text), None) => Some(("goes", text)),
        _ => None,
    };
    if let Some((word, text)) = ours_alone {
        let lines = text.lines().count();
        writeln!(out, "{} ({word}, {lines} lines)", paint.strong(path))?;
        // A whole program would scroll the question away.
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
            Line::Same(text) => writeln!(out, "  {}", safe(text))?,
            Line::Out(text) => writeln!(out, "{}", paint.with("31", format!("- {}", safe(text))))?,
            Line::In(text) => writeln!(out, "{}", paint.with("32", format!("+ {}", safe(text))))?,
            Line::Gap => writeln!(out, "{}", paint.faint("  …"))?,
        }
    }
    if lines.is_empty() {
        writeln!(out, "  only its line ends change")?;
    }
    Ok(writeln!(out)?)
}

fn planned(edit: &Edit) -> Touched {
    Touched { path: edit.path.clone(), removed: edit.after.is_none(), backup: None }
}

pub(super) fn agreed(aim: Aim) -> Result<bool, Failure> {
    let mut terminal = Terminal::open().map_err(|_| {
        Failure::Input(
            "this needs a person at a terminal, or --yes; nothing was written".to_owned(),
        )
    })?;
    let question = match aim {
        Aim::Install => "Write this?",
        Aim::Uninstall => "Take this out?",
    };
    Ok(terminal.agrees(question)?)
}

/// What to do next, which depends on whether somebody would be asked at all.
fn next_step(agent: &str) -> Result<(), Failure> {
    let door = reach::agents_door(None, false);
    let answers = door.is_ok_and(|door| Asker::new(door, None).health().is_ok());
    let serve = if answers {
        ""
    } else {
        "  countersign serve                     no daemon answers yet: until then risky calls \
         are refused\n"
    };
    house::line(&format!(
        "\nNext:\n{serve}  countersign status {agent:<18} see that it stays so\n  \
         countersign doctor                    how well this installation protects you"
    ))?;
    Ok(())
}

fn tell(out: &mut dyn Write, paint: Paint, seen: &[Seen]) -> Result<(), Failure> {
    let word = |state: Stand| match state {
        Stand::Gated => ("38;5;35", "gated"),
        Stand::Open => ("1;38;5;202", "open"),
        Stand::NotGated => ("38;5;172", "not gated"),
        Stand::Absent => ("2", "not here"),
    };
    for one in seen {
        let (style, state) = word(one.state);
        let state = paint.with(style, format!("{state:<9}")).to_string();
        let what = match one.state {
            Stand::Gated => one.files.first().map(|path| shown(path)).unwrap_or_default(),
            Stand::NotGated => format!("countersign install {}", one.agent),
            Stand::Open | Stand::Absent => String::new(),
        };
        let line = format!("{:<18}  {state}  {what}", one.title);
        writeln!(out, "{}", line.trim_end())?;
        for why in &one.why {
            writeln!(out, "{:<18}  {}", "", page::safe(why, 2000))?;
        }
    }
    if seen.iter().any(|one| one.state == Stand::Open) {
        writeln!(out, "\nWhat is open lets calls run unasked. `countersign install` closes it.")?;
    }
    Ok(())
}

fn known(name: &str) -> Result<&'static Agent, Failure> {
    named(name).ok_or_else(|| {
        let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
        Failure::at(name, format!("no such agent; there are {}", names.join(", ")))
    })
}

pub(super) fn place(project: Option<&Path>) -> Result<Place, Failure> {
    Place::new(project, |name| ProcessEnvironment.get(name)).map_err(said)
}

#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
pub(super) fn said(refused: Refused) -> Failure {
    Failure::Input(page::safe(&refused.to_string(), 4000))
}

pub(super) fn shown(path: &Path) -> String {
    page::safe(&path.display().to_string(), 4096)
}

/// Our own path as it is written into files: the one on the PATH where that is us, because it
/// stays the same when a new version comes.
pub(super) fn program(place: &Place) -> Result<String, Failure> {
    let running = env::current_exe()?;
    let real = fs::canonicalize(&running).map_err(|_| {
        Failure::Input("this program was replaced while it ran; start it again".to_owned())
    })?;
    let on_path = place.program(&["countersign"]);
    let lasting = on_path.filter(|path| fs::canonicalize(path).is_ok_and(|path| path == real));
    let path = lasting.unwrap_or(running);
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    let text = text.filter(|text| {
        Path::new(text)
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("countersign"))
    });
    text.map(str::to_owned).ok_or_else(|| {
        Failure::at(&path.display().to_string(), "this program must be called countersign")
    })
}

/// The program that hooks start: the small one beside us where there is one, because it is started
/// before each call.
pub fn hook_program(place: &Place) -> Result<String, Failure> {
    let program = program(place)?;
    let first = first_program(Path::new(&program));
    let first = first.to_str().filter(|_| is_program(&first)).map(str::to_owned);
    Ok(first.unwrap_or(program))
}

fn in_a_passing_folder(program: &str) -> bool {
    let named = ProcessEnvironment.get("TMPDIR").map(PathBuf::from);
    let folders = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    folders.into_iter().chain(named).any(|folder| Path::new(program).starts_with(folder))
}
