//! The manifests that `kubectl` would send, read from the files and not from the cluster.

use std::fs;
use std::path::{Path, PathBuf};

use countersign_risk::facts::{PlanFact, RemoteSystem, UnknownReason};

use super::manifest::{ManifestObject, objects};
use super::parts::{PlanParts, counted};
use crate::local_look::LocalLook;
use crate::{current, files};

/// Bounds of the files.
const MAX_FILES: usize = 200;
const MAX_FILE: u64 = 1 << 20;
const MAX_DEPTH: usize = 8;
/// How many objects are listed.
const MAX_LISTED: usize = 8;
/// Options with a value that do not choose what is sent.
const VALUES: [&str; 5] = ["-n", "--namespace", "--context", "--cluster", "--field-manager"];
/// Options without a value that do not choose what is sent.
const FLAGS: [&str; 9] = [
    "--force",
    "--force-conflicts",
    "--ignore-not-found",
    "--overwrite",
    "--now",
    "--save-config",
    "--server-side",
    "--validate",
    "--wait",
];
/// The same with a value behind `=`.
const WITH_VALUE: [&str; 10] = [
    "--cascade",
    "--context",
    "--field-manager",
    "--grace-period",
    "--ignore-not-found",
    "--namespace",
    "--output",
    "--timeout",
    "--validate",
    "--wait",
];

/// What a command with manifests would do.
pub fn plan(
    look: &LocalLook<'_>,
    folder: &Path,
    words: &[String],
) -> Result<PlanFact, UnknownReason> {
    let named = ManifestWords::parse(words).ok_or(UnknownReason::Unsupported)?;
    let mut paths = Vec::new();
    for name in &named.files {
        if name == "-" {
            return Err(UnknownReason::NotRegular);
        }
        if name.contains("://") {
            return Err(UnknownReason::Unsupported);
        }
        let path = files::absolute(name, folder, look.place.home.as_deref());
        collect(&path.ok_or(UnknownReason::Unsupported)?, named.is_recursive, &mut paths, 0)?;
    }
    let mut parts = PlanParts::default();
    let mut found = Vec::new();
    for path in &paths {
        if look.budget.is_plan_over() {
            return Err(UnknownReason::Deadline);
        }
        let text = files::read_text(path, MAX_FILE)?;
        parts.bind(&path.display().to_string(), text.as_bytes());
        found.extend(objects(&text).ok_or(UnknownReason::Unsupported)?);
    }
    // The same files do something else in another cluster.
    let context = current::find(look, RemoteSystem::Kubernetes).map(|found| found.name);
    parts.bind("context", context.unwrap_or_default().as_bytes());
    let command = words.first().map(String::as_str).unwrap_or_default();
    describe(&mut parts, command, &found, paths.len());
    Ok(parts.finish())
}

fn describe(parts: &mut PlanParts, command: &str, found: &[ManifestObject], files: usize) {
    let verb = match command {
        "apply" => "applies",
        "create" => "creates",
        "delete" => "deletes",
        _ => "replaces",
    };
    let (objects, files) = (counted(found.len(), "object"), counted(files, "file"));
    let source = "read from the files, not from the cluster";
    parts.line(&format!("{verb} {objects} of {files} ({source})"));
    for object in found.iter().take(MAX_LISTED) {
        let namespace = object.namespace.as_ref();
        let namespace = namespace.map(|name| format!(" in {name}")).unwrap_or_default();
        parts.line(&format!("{verb} {} {}{namespace}", object.kind, object.name));
    }
    if found.len() > MAX_LISTED {
        parts.line(&format!("and {}", counted(found.len() - MAX_LISTED, "more object")));
    }
}

/// The manifests that a command names.
#[derive(Debug, Default, PartialEq, Eq)]
struct ManifestWords {
    files: Vec<String>,
    is_recursive: bool,
}

impl ManifestWords {
    /// `None` for options that are not described here: they may choose other objects.
    fn parse(words: &[String]) -> Option<ManifestWords> {
        let mut found = ManifestWords::default();
        let mut words = words.iter().skip(1).map(String::as_str);
        while let Some(word) = words.next() {
            let joined = word.split_once('=').map_or(word, |(name, _)| name);
            let file = match word {
                "-f" | "--filename" => Some(words.next()?),
                _ if word.starts_with("-f") => {
                    word.strip_prefix("-f").map(|w| w.trim_start_matches('='))
                }
                _ => word.strip_prefix("--filename="),
            };
            match (file, word) {
                (Some(names), _) => found.files.extend(names.split(',').map(ToOwned::to_owned)),
                (_, "-R" | "--recursive" | "--recursive=true") => found.is_recursive = true,
                (_, word) if VALUES.contains(&word) => drop(words.next()?),
                (_, word) if FLAGS.contains(&word) => {}
                (_, word) if word != joined && WITH_VALUE.contains(&joined) => {}
                _ => return None,
            }
        }
        (!found.files.is_empty()).then_some(found)
    }
}

/// Adds the files of a path in the order in which they are sent.
fn collect(
    path: &Path,
    is_recursive: bool,
    found: &mut Vec<PathBuf>,
    depth: usize,
) -> Result<(), UnknownReason> {
    let metadata = fs::metadata(path).map_err(|error| files::reason(&error))?;
    if !metadata.is_dir() {
        found.push(path.to_path_buf());
        return if found.len() <= MAX_FILES { Ok(()) } else { Err(UnknownReason::TooLarge) };
    }
    if depth >= MAX_DEPTH {
        return Err(UnknownReason::TooLarge);
    }
    let listed = fs::read_dir(path).map_err(|error| files::reason(&error))?;
    let listed = listed.take(MAX_FILES * 4 + 1).filter_map(Result::ok);
    let mut entries: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    if entries.len() > MAX_FILES * 4 {
        return Err(UnknownReason::TooLarge);
    }
    entries.sort();
    for entry in entries {
        let is_folder = entry.is_dir();
        let ending = entry.extension().and_then(|ending| ending.to_str());
        let is_manifest = ending.is_some_and(|ending| ["json", "yaml", "yml"].contains(&ending));
        if (is_folder && is_recursive) || (!is_folder && is_manifest) {
            collect(&entry, is_recursive, found, depth + 1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Option<ManifestWords> {
        ManifestWords::parse(&words.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_that_choose_other_objects_have_no_dry_run() {
        let found = parse("apply -n shop -f a.yaml,b.yaml --filename=c -fd -R").unwrap();
        assert_eq!(found.files, ["a.yaml", "b.yaml", "c", "d"]);
        assert!(found.is_recursive);
        for words in [
            "apply -f a.yaml --prune",
            "apply -k .",
            "apply -f a.yaml -l app=x",
            "delete -f a.yaml --all",
            "delete -f a.yaml pod x",
            "apply --kubeconfig x -f a.yaml",
            "apply",
        ] {
            assert_eq!(parse(words), None, "{words}");
        }
    }
}
