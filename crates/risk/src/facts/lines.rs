//! Facts in words, one line for each, for the people who decide.

use super::{CallFacts, FactAnswer, FactQuery, GitCounts, PathFact, PathKind, RemoteSystem};
use countersign_text::humanize::thousands;

/// The most lines of a card.
const MAX_LINES: usize = 6;

/// What was found that matters for a decision, one line for each.
pub fn fact_lines(facts: &CallFacts) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in &facts.found {
        if let Some(line) = line(&fact.query, &fact.answer)
            && !lines.contains(&line)
            && lines.len() < MAX_LINES
        {
            lines.push(line);
        }
    }
    lines
}

fn line(query: &FactQuery, answer: &FactAnswer) -> Option<String> {
    match (query, answer) {
        (FactQuery::Path { path }, FactAnswer::Path(found)) => {
            Some(format!("{path}: {}", at_path(found)))
        }
        (FactQuery::Target { path }, FactAnswer::Target(found)) => {
            let is_elsewhere = !found.resolved.ends_with(path.trim_start_matches("./"));
            is_elsewhere.then(|| format!("{path} leads to {}", found.resolved))
        }
        (FactQuery::Worktree { .. }, FactAnswer::Worktree(git)) => {
            Some(format!("work tree: {}", states(git)))
        }
        (_, FactAnswer::Script(found)) => {
            let (name, count) = (name_of(&found.file), found.text.lines().count() as u64);
            let plural = if count == 1 { "" } else { "s" };
            let read = if found.is_complete { "read" } else { "read in part" };
            Some(match query {
                FactQuery::PackageScript { name: script, .. } => {
                    format!("runs script {script} of {name} ({read})")
                }
                FactQuery::MakeTarget { .. } => format!("runs a recipe of {name} ({read})"),
                _ => format!("runs {name} ({} line{plural}, {read})", thousands(count)),
            })
        }
        (_, FactAnswer::Remote(found)) => {
            Some(format!("pushes to {} ({})", found.urls.join(", "), found.name))
        }
        (FactQuery::Current { system }, FactAnswer::Current(found)) => {
            let what = match system {
                RemoteSystem::Kubernetes => "Kubernetes context",
                RemoteSystem::Docker => "Docker context",
                RemoteSystem::Aws => "AWS profile",
                RemoteSystem::GoogleCloud => "Google Cloud configuration",
            };
            Some(format!("{what} {}", found.name))
        }
        _ => None,
    }
}

fn at_path(found: &PathFact) -> String {
    let count = found.size.files;
    let at_least = if found.size.is_exact { "" } else { "at least " };
    let plural = if count == 1 { "" } else { "s" };
    let mut text = match found.kind {
        PathKind::Missing => return "does not exist".to_owned(),
        PathKind::Symlink => {
            let target = found.resolved.as_deref().unwrap_or("an unknown place");
            return format!("leads to {target}");
        }
        PathKind::Special => return "a device, pipe or socket".to_owned(),
        PathKind::File => "1 file".to_owned(),
        PathKind::Folder => format!("{at_least}{} file{plural}", thousands(count)),
    };
    if let Some(git) = found.git.filter(|git| git.is_exact) {
        text.push_str(", ");
        text.push_str(&states(&git));
    } else if found.git.is_none() {
        text.push_str(", not in git");
    }
    if found.has_repository {
        text.push_str(", with a git repository");
    }
    text
}

/// "3 of them changed since the last commit", or that nothing would be lost.
fn states(git: &GitCounts) -> String {
    let counted = [
        (git.changed, "changed since the last commit"),
        (git.untracked, "not in git"),
        (git.ignored, "ignored by git"),
    ];
    let parts: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{} of them {state}", thousands(*count)))
        .collect();
    if parts.is_empty() { "nothing that git does not have".to_owned() } else { parts.join(", ") }
}

/// The last part of a path.
fn name_of(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}
