//! The rules of projects: read for `check` and `explain`, adopted, listed, revoked.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use countersign_client::{AdoptedProjectList, git_root, home_folder};
use countersign_facts::{ProjectFile, ProjectLook};
use countersign_policy::{ProjectPolicy, ProjectReading, unreadable_project};
use countersign_risk::verdict::Policy;
use countersign_types::PROJECT_FILE;
use countersign_types::tier::Tier;
use serde_json::{Value, json};

use super::counted::counted;
use crate::failure::Failure;
use crate::gate::args::PersonArgs;
use crate::gate::credential::PersonSession;
use crate::gate::{output, page};

/// A project file with everything that is wrong with it.
pub struct CheckedProject {
    folder: String,
    rules: Option<ProjectPolicy>,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// The project files of a call in this folder, with the rules that count before an adoption.
pub fn readings(cwd: Option<&str>, project: Option<&str>, limit: Tier) -> Vec<ProjectReading> {
    let here = env::current_dir().ok();
    let cwd = cwd.map(PathBuf::from).or(here);
    let look = ProjectLook::new(cwd.as_deref(), project.map(Path::new));
    let read = |file: ProjectFile| {
        let text = file.text.ok_or_else(|| file.problem.unwrap_or_default());
        let rules = text.and_then(|text| {
            ProjectPolicy::compile(&file.folder, &text, limit).map_err(|error| error.to_string())
        });
        rules.map_err(|problem| unreadable_project(&file.folder, &problem))
    };
    look.files.into_iter().map(read).collect()
}

/// Checks the project files of this folder and runs their tests.
pub fn checked(folder: Option<&Path>, settings: &Policy, limit: Tier) -> Vec<CheckedProject> {
    let here = folder.map(Path::to_owned).or_else(|| env::current_dir().ok());
    let files = ProjectLook::new(here.as_deref(), None).files;
    let check = |file: ProjectFile| {
        let text = file.text.ok_or_else(|| file.problem.unwrap_or_default());
        let compiled = text.and_then(|text| {
            ProjectPolicy::compile(&file.folder, &text, limit).map_err(|error| error.to_string())
        });
        let (rules, problems) = match compiled {
            Ok(rules) => {
                let failed = rules.run_cases(settings);
                let failed = failed.iter().map(|failed| format!("test {failed}")).collect();
                (Some(rules), failed)
            }
            Err(problem) => (None, problem.lines().map(str::to_owned).collect()),
        };
        CheckedProject { folder: file.folder, rules, problems }
    };
    files.into_iter().map(check).collect()
}

impl CheckedProject {
    /// As JSON.
    pub fn document(&self) -> Value {
        let rules = self.rules.as_ref();
        json!({
            "folder": self.folder,
            "rules": rules.map(|rules| rules.rules().rules().len()),
            "tests": rules.map(|rules| rules.rules().case_count()),
            "wait_for_adoption": rules.map(ProjectPolicy::allowing_rules),
            "digest": rules.map(|rules| rules.digest().to_string()),
            "problems": self.problems,
        })
    }

    /// In words.
    pub fn print(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let place = page::safe(&self.folder, 1000);
        for problem in &self.problems {
            writeln!(out, "{place}/{PROJECT_FILE}: {}", page::safe(problem, 1000))?;
        }
        let Some(rules) = self.rules.as_ref().filter(|_| self.problems.is_empty()) else {
            return Ok(());
        };
        let (number, tests) = (rules.rules().rules().len(), rules.rules().case_count());
        let (number, tests) = (counted(number, "rule"), counted(tests, "test"));
        writeln!(out, "{place}/{PROJECT_FILE}: {number}, {tests} passed.")?;
        if let Some(waiting) = rules.waiting_sentence() {
            let listed = "Adopted files: countersign policy projects.";
            writeln!(out, "{} {listed}", page::safe(&waiting, 1000))?;
        }
        Ok(())
    }
}

/// Runs `policy adopt`. What is shown is what is adopted: the file is read once.
pub fn adopt(path: Option<&str>, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let folder = root_folder(path)?;
    let look = ProjectLook::new(Some(Path::new(&folder)), None);
    let place = format!("{folder}/{PROJECT_FILE}");
    let file = look.files.into_iter().find(|file| file.folder == folder);
    let file = file.ok_or_else(|| Failure::Input(format!("{place}: file not found")))?;
    let problem = file.problem.unwrap_or_default();
    let text = file.text.ok_or_else(|| Failure::Input(format!("{place}: {problem}")))?;
    if look.root.as_deref() != Some(&*folder) {
        let why = "rules are adopted for a git repository, in its root folder";
        return Err(Failure::Input(format!("{folder}: {why}")));
    }
    let rules = ProjectPolicy::compile(&folder, &text, Tier::Medium)
        .map_err(|error| Failure::Input(format!("{place}: {error}")))?;
    if !person.json {
        output::say(|out, _| {
            for rule in rules.rules().rules() {
                writeln!(out, "// {} {}", rule.word(), page::safe(rule.name(), 200))?;
                for line in rule.text.lines() {
                    writeln!(out, "{}", page::safe(line, 2000))?;
                }
            }
            Ok(())
        })?;
    }
    let number = PersonSession::open_to_change(person)?.adopt_project(&folder, &text)?;
    if person.json {
        return output::json(&json!({
            "folder": folder, "rules": number, "digest": rules.digest().to_string(),
        }));
    }
    let number = counted(number, "rule");
    output::line(&format!("Adopted: {number} of {}.", page::safe(&place, 1000)))
}

/// Runs `policy projects`.
pub fn list(person: &PersonArgs) -> Result<ExitCode, Failure> {
    let listed = PersonSession::open(person)?.adopted_projects()?;
    if person.json {
        return output::json(&json!(listed));
    }
    let AdoptedProjectList { projects, lost_projects } = listed;
    output::say(|out, _| {
        for one in &projects {
            let state = if one.allows { "adopted" } else { "only restricts; adopt it again" };
            let digest = one.digest.get(..16).unwrap_or(&one.digest);
            let (folder, by) = (page::safe(&one.folder, 1000), page::safe(&one.by, 100));
            writeln!(out, "{folder}  {state} by {by} at {}  {digest}", one.at)?;
        }
        for folder in &lost_projects {
            let folder = page::safe(folder, 1000);
            writeln!(out, "{folder}  lost: every call there is a question; adopt it or revoke it")?;
        }
        if projects.is_empty() && lost_projects.is_empty() {
            writeln!(out, "No project is adopted.")?;
        }
        Ok(())
    })
}

/// Runs `policy revoke`. The folder may not exist any more.
pub fn revoke(path: &str, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let folder = root_folder(Some(path)).or_else(|error| match path {
        absolute if absolute.starts_with('/') => Ok(absolute.to_owned()),
        _ => Err(error),
    })?;
    PersonSession::open_to_change(person)?.revoke_project(&folder)?;
    if person.json {
        return output::json(&json!({ "folder": folder }));
    }
    output::line(&format!("Revoked: the rules of {} only restrict.", page::safe(&folder, 1000)))
}

/// The folder with every symlink resolved; by default the repository of this folder.
fn root_folder(path: Option<&str>) -> Result<String, Failure> {
    let start = match path {
        Some(path) => PathBuf::from(path),
        None => env::current_dir().map_err(|error| Failure::at(".", error))?,
    };
    let shown = start.display().to_string();
    let start = fs::canonicalize(&start).map_err(|error| Failure::at(&shown, error))?;
    let folder = match path {
        Some(_) if start.is_dir() => start,
        Some(_) => start.parent().map(Path::to_owned).unwrap_or_default(),
        None => git_root(&start, home_folder().as_deref()).unwrap_or(start),
    };
    let text = folder.into_os_string().into_string();
    text.map_err(|_| Failure::Input(format!("{shown}: the name of the folder is not UTF-8")))
}
