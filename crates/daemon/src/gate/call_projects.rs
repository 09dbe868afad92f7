//! The rules of the projects that a call belongs to: read by the daemon itself where it can, and
//! as the hook or another caller saw them. Whoever brings a text, it can only restrict, unless an
//! administrator adopted exactly this text for this folder.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use countersign_facts::{ProjectFile, ProjectLook};
use countersign_json::canonical::Digest;
use countersign_policy::{PolicyFacts, ProjectPolicy, unreadable_project};
use countersign_risk::assess::Assessment;
use countersign_risk::policy_ruling::PolicyRuling;
use countersign_risk::route::passes_everywhere;
use countersign_types::PROJECT_FILE;
use countersign_types::tier::Tier;
use tokio::sync::Semaphore;

use super::adopted_projects::AdoptedProjects;
use super::places_to_look::PlacesToLook;
use crate::config::DaemonRules;
use crate::config::policy::unknown_route;

/// How many looks may run at once: one that hangs keeps its thread.
const MAX_LOOKS: usize = 32;
/// How many compiled files are kept; all are forgotten when there are more.
const MAX_COMPILED: usize = 256;

/// The rules of the projects of a call.
#[derive(Debug, Clone, Default)]
pub struct CallProjects(Vec<FoundRules>);

#[derive(Debug, Clone)]
enum FoundRules {
    Rules {
        policy: Arc<ProjectPolicy>,
        /// Whether the rules that allow count.
        is_adopted: bool,
        /// Whether no person adopted them.
        waits: bool,
        /// Whether a person adopted this text: then the channels that it names are told.
        has_routes: bool,
        /// Whether only a caller brings this text: then its words are not on the card.
        is_brought: bool,
    },
    Unreadable {
        /// None if only the caller names it.
        folder: Option<String>,
        problem: String,
    },
    /// A person adopted rules for this folder, and nobody knows them any more.
    Lost { folder: String },
}

/// What people read about rules that a caller brings, and that are wrong.
const INVALID: &str = "its rules are not valid";
/// What people read about a folder that only the agent can enter.
const UNSEEN: &str = "the daemon may not enter this folder, so that the rules of its project are \
                      unknown";
/// What people read about rules that only a caller brings.
const BROUGHT: &str = "a rule of a project file that only the caller names and no administrator \
                       adopted";
/// What people read about lost rules.
const LOST: &str = "its adopted rules are lost, because policy.adopted was deleted or replaced; \
                    an administrator must adopt them again or revoke them";

/// Compiled project files, and the adopted ones.
pub struct ProjectRules {
    pub(super) adopted: AdoptedProjects,
    compiled: Mutex<HashMap<(String, Digest, Tier), CompiledFile>>,
    pub(super) looks: Arc<Semaphore>,
}

type CompiledFile = Result<Arc<ProjectPolicy>, String>;

impl Default for ProjectRules {
    fn default() -> ProjectRules {
        ProjectRules {
            adopted: AdoptedProjects::default(),
            compiled: Mutex::default(),
            looks: Arc::new(Semaphore::new(MAX_LOOKS)),
        }
    }
}

impl CallProjects {
    /// Whether no project has a say.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the projects say about a call. Only a call that plainly reads goes on where the rules
    /// could not be read.
    pub(super) fn rulings(&self, facts: &PolicyFacts, seen: &Assessment) -> Vec<PolicyRuling> {
        let reads = passes_everywhere(seen);
        let ruling = |found: &FoundRules| match found {
            FoundRules::Rules { policy, is_adopted, has_routes, is_brought, .. } => {
                let ruling = policy.decide(facts, seen, *is_adopted).ruling;
                let ruling = if *is_brought { ruling.map(without_words) } else { ruling };
                if *has_routes { ruling } else { ruling.map(without_routes) }
            }
            FoundRules::Unreadable { folder, problem } => {
                (!reads).then(|| unreadable(folder.as_deref(), problem))
            }
            // The lost rules may have been about calls that only read.
            FoundRules::Lost { folder } => Some(unreadable_project(folder, LOST)),
        };
        self.0.iter().filter_map(ruling).collect()
    }

    /// The sentences about rules that wait for adoption.
    pub(super) fn waiting(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().filter_map(|found| match found {
            FoundRules::Rules { policy, waits: true, .. } => policy.waiting_sentence(),
            _ => None,
        })
    }

    /// Where nothing could be read.
    pub(super) fn unreadable(folder: String, problem: &str) -> CallProjects {
        let (folder, problem) = (Some(folder), problem.to_owned());
        CallProjects(vec![FoundRules::Unreadable { folder, problem }])
    }
}

impl ProjectRules {
    /// The rules in a text, compiled once.
    pub(super) fn compiled(&self, folder: &str, text: &str, permit_up_to: Tier) -> CompiledFile {
        let key = (folder.to_owned(), Digest::of(text.as_bytes()), permit_up_to);
        let known = self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return known;
        }
        let compiled = ProjectPolicy::compile(folder, text, permit_up_to);
        let compiled = compiled.map(Arc::new).map_err(|errors| errors.summary());
        let mut all = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_COMPILED {
            all.clear();
        }
        all.insert(key, compiled.clone());
        compiled
    }

    /// Reads the rules of a call.
    pub(super) fn read(&self, look: &PlacesToLook, rules: &DaemonRules) -> CallProjects {
        let own = ProjectLook::new(look.cwd.as_deref(), look.project.as_deref());
        self.combine(own, look, rules)
    }

    /// The rules that the daemon found itself, those that the caller found, and the adopted ones.
    fn combine(&self, own: ProjectLook, look: &PlacesToLook, rules: &DaemonRules) -> CallProjects {
        let permit_up_to = rules.policy.permit_up_to();
        let ProjectLook { root, is_hidden, files } = own;
        // Where the daemon cannot look, nobody else can say which repository a folder is in.
        let is_place = |folder: &str| is_hidden && look.cwd.as_deref() == Some(Path::new(folder));
        let own = files.into_iter().map(|file| (true, root.as_ref() == Some(&file.folder), file));
        let observed = look.observed.iter().flat_map(|look| look.files.iter().cloned());
        let observed = observed.map(|file| {
            // A text of the caller's own must not be on the card.
            let problem = file.problem.map(|_| "the caller could not read it".to_owned());
            (false, is_place(&file.folder), ProjectFile { problem, ..file })
        });
        let mut found: Vec<FoundRules> = Vec::new();
        for (is_own, is_root, ProjectFile { folder, text, problem }) in own.chain(observed) {
            let read = match (text, problem) {
                (Some(text), None) => {
                    let read = known_routes(self.compiled(&folder, &text, permit_up_to), rules);
                    // What is wrong with a text may repeat it.
                    if is_own { read } else { read.map_err(|_| INVALID.to_owned()) }
                }
                (_, problem) => Err(problem.unwrap_or_else(|| "it was not read".to_owned())),
            };
            found.push(match read {
                Ok(policy) => {
                    let is_new = !self.adopted.allows(&policy);
                    let has_routes = self.adopted.has(&policy);
                    let is_adopted = is_root && look.is_local && !is_new;
                    // The card names no folder that only the caller names.
                    let (waits, is_brought) = (is_new && is_own, !is_own && !has_routes);
                    FoundRules::Rules { policy, is_adopted, waits, has_routes, is_brought }
                }
                Err(problem) => {
                    let is_shown = is_own || look.is_around(&folder);
                    FoundRules::Unreadable { folder: is_shown.then_some(folder), problem }
                }
            });
        }
        if let Some(place) = look.unseen_place(is_hidden) {
            let (folder, problem) = (Some(place), UNSEEN.to_owned());
            found.push(FoundRules::Unreadable { folder, problem });
        }
        self.with_adopted(CallProjects(found), &look.places(root.as_deref()), rules)
    }

    /// What was adopted restricts also after the file was changed or deleted.
    pub(super) fn with_adopted(
        &self,
        found: CallProjects,
        places: &[PathBuf],
        rules: &DaemonRules,
    ) -> CallProjects {
        let mut found = found.0;
        let permit_up_to = rules.policy.permit_up_to();
        for (folder, adopted) in self.adopted.around(places) {
            let is_same = |one: &FoundRules| match one {
                FoundRules::Rules { policy, .. } => {
                    policy.folder() == folder && policy.digest() == adopted.digest()
                }
                FoundRules::Unreadable { .. } | FoundRules::Lost { .. } => false,
            };
            if found.iter().any(is_same) {
                continue;
            }
            let compiled = self.compiled(&folder, &adopted.text, permit_up_to);
            found.push(match known_routes(compiled, rules) {
                Ok(policy) => FoundRules::Rules {
                    policy,
                    is_adopted: false,
                    waits: false,
                    has_routes: true,
                    is_brought: false,
                },
                Err(problem) => FoundRules::Unreadable { folder: Some(folder), problem },
            });
        }
        let lost = self.adopted.lost_around(places).into_iter();
        found.extend(lost.map(|folder| FoundRules::Lost { folder }));
        CallProjects(found)
    }
}

/// A ruling of rules that only a caller brings: it holds, but an agent could choose the words.
fn without_words(ruling: PolicyRuling) -> PolicyRuling {
    PolicyRuling { rules: vec![PROJECT_FILE.to_owned()], reason: BROUGHT.to_owned(), ..ruling }
}

/// A ruling of rules that no person adopted: whoever writes them must not choose who is paged.
fn without_routes(mut ruling: PolicyRuling) -> PolicyRuling {
    let route = std::mem::take(&mut ruling.route).join(", ");
    if !route.is_empty() {
        let note = format!("{route} is told only after an administrator adopts these rules");
        let reason = std::mem::take(&mut ruling.reason);
        ruling.reason = if reason.is_empty() { note } else { format!("{reason}; {note}") };
    }
    ruling
}

fn unreadable(folder: Option<&str>, problem: &str) -> PolicyRuling {
    let mut ruling = unreadable_project(folder.unwrap_or_default(), problem);
    if folder.is_none() {
        ruling.reason = format!("a project file that only the caller names: {problem}");
    }
    ruling
}

/// The rules, unless they name a channel or rota that does not exist.
fn known_routes(compiled: CompiledFile, rules: &DaemonRules) -> CompiledFile {
    let policy = compiled?;
    let is_known = |name: &str| rules.is_channel_or_rota(name);
    unknown_route(policy.rules(), is_known).map_or(Ok(policy), Err)
}

#[cfg(test)]
mod tests;
