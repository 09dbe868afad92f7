//! What a look at this machine found about a call.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use countersign_client::{git_root, home_folder};
use countersign_facts::LookPlace;
use countersign_risk::facts::{
    CallFacts, FactAnswer, FactQuery, GitCounts, PathFact, PathKind, RemoteSystem, UnknownReason,
};

use crate::engine::{self, Assessment, Call, thousands};
use crate::terminal::Paint;

/// The longest text of one line.
const LINE: usize = 160;

/// Assesses a call with a look at what it names, as a hook does before the call runs.
pub fn assess(call: &Call<'_>) -> (Assessment, Arc<CallFacts>) {
    let home = home_folder();
    let cwd = call.context.cwd.map(PathBuf::from).or_else(|| env::current_dir().ok());
    let cwd = cwd.unwrap_or_default();
    let named = call.context.project.map(PathBuf::from);
    let project = named.or_else(|| git_root(&cwd, home.as_deref()));
    let variable = |name: &str| env::var(name).ok();
    let place = LookPlace { cwd, project, home, variable };
    engine::assess_with_look(call, &place)
}

/// Prints one line for each question.
pub fn print(out: &mut impl Write, facts: &CallFacts, paint: Paint) -> io::Result<()> {
    if facts.found.is_empty() {
        return writeln!(out, "\n  {}  the call names nothing to look at", paint.faint("facts   "));
    }
    for (at, fact) in facts.found.iter().enumerate() {
        let label = if at == 0 { "facts   " } else { "        " };
        let gap = if at == 0 { "\n" } else { "" };
        let line = format!("{}: {}", question(&fact.query), answer(&fact.answer));
        writeln!(out, "{gap}  {}  {}", paint.faint(label), engine::sanitize(&line, LINE))?;
    }
    Ok(())
}

fn question(query: &FactQuery) -> String {
    match query {
        FactQuery::Path { path } => path.clone(),
        FactQuery::Target { path } => format!("target of {path}"),
        FactQuery::Worktree { .. } => "work tree".to_owned(),
        FactQuery::Script { path } => format!("script {path}"),
        FactQuery::PackageScript { name, .. } => format!("package.json script {name}"),
        FactQuery::MakeTarget { target, .. } => {
            format!("make target {}", target.as_deref().unwrap_or("(the first)"))
        }
        FactQuery::GitRemote { remote, .. } => {
            format!("git remote {}", remote.as_deref().unwrap_or("(of the branch)"))
        }
        FactQuery::Plan { .. } => "dry run".to_owned(),
        FactQuery::Current { system } => match system {
            RemoteSystem::Kubernetes => "Kubernetes context".to_owned(),
            RemoteSystem::Docker => "Docker context".to_owned(),
            RemoteSystem::Aws => "AWS profile".to_owned(),
            RemoteSystem::GoogleCloud => "Google Cloud configuration".to_owned(),
        },
    }
}

fn answer(answer: &FactAnswer) -> String {
    match answer {
        FactAnswer::Path(found) => path(found),
        FactAnswer::Target(found) => found.resolved.clone(),
        FactAnswer::Worktree(git) => {
            let states = git_states(git);
            if states.is_empty() { "clean".to_owned() } else { states.join(", ") }
        }
        FactAnswer::Script(found) => {
            let whole = if found.is_complete { "" } else { ", not all that would run" };
            format!("{} bytes in {}{whole}", thousands(found.text.len() as u64), found.file)
        }
        FactAnswer::Remote(found) => format!("{} ({})", found.name, found.urls.join(", ")),
        FactAnswer::Current(found) => found.name.clone(),
        FactAnswer::Plan(found) => found.lines.join("; "),
        FactAnswer::Unknown { reason } => unknown(*reason).to_owned(),
    }
}

fn path(found: &PathFact) -> String {
    let (at_least, size) = (if found.size.is_exact { "" } else { "at least " }, found.size);
    let mut parts = vec![match found.kind {
        PathKind::Missing => return "does not exist".to_owned(),
        PathKind::File => format!("file, {} bytes", thousands(size.bytes)),
        PathKind::Folder => format!(
            "folder, {at_least}{} files, {} bytes",
            thousands(size.files),
            thousands(size.bytes)
        ),
        PathKind::Symlink => {
            format!("symlink to {}", found.resolved.as_deref().unwrap_or("an unknown place"))
        }
        PathKind::Special => "device, pipe or socket".to_owned(),
    }];
    if !found.in_project {
        parts.push("outside the project".to_owned());
    }
    if found.has_repository {
        parts.push("contains a git repository".to_owned());
    }
    if let Some(git) = &found.git {
        parts.extend(git_states(git));
    }
    parts.join(", ")
}

fn git_states(git: &GitCounts) -> Vec<String> {
    let states = [
        (git.unchanged, "unchanged in git"),
        (git.changed, "changed"),
        (git.untracked, "untracked"),
        (git.ignored, "ignored"),
        (git.built, "build output"),
    ];
    let states = states.iter().filter(|(count, _)| *count > 0);
    states.map(|(count, state)| format!("{} {state}", thousands(*count))).collect()
}

const fn unknown(reason: UnknownReason) -> &'static str {
    match reason {
        UnknownReason::Deadline => "unknown: the time was over",
        UnknownReason::Missing => "not found",
        UnknownReason::Unreadable => "unknown: permission denied",
        UnknownReason::NotRegular => "unknown: not a regular file",
        UnknownReason::NotText => "unknown: not text",
        UnknownReason::TooLarge => "unknown: too large",
        UnknownReason::Changed => "unknown: it changed while it was read",
        UnknownReason::Unsupported => "unknown: this form is not supported",
    }
}
