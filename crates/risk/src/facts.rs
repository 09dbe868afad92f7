//! Facts about the machine: what the assessment would like to know about a call, and the answers.
//!
//! The assessment itself looks at nothing. It names its questions; an observer on the machine where
//! the call would run answers them, and the answers are part of the input. An agent's own answers
//! can only raise a tier, and a question without an answer is assessed as if there were no facts.

use serde::{Deserialize, Serialize};

use countersign_json::canonical::Digest;

mod current;
mod lines;
mod plan;
mod proof;
pub mod snapshot_claim;

#[cfg(test)]
mod tests;

pub use current::{CurrentFact, LikelyEnvironment, RemoteSystem};
pub use lines::fact_lines;
pub use plan::{MAX_PLAN_LINES, PlanFact, PlanTool, plan_lines};
pub use proof::{FactsClaim, FactsKey, covered};

/// The most questions about one call.
pub const MAX_QUERIES: usize = 16;

/// One question about the machine. Paths are absolute, start with `~`, or are relative to the
/// working directory of the call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum FactQuery {
    /// A path that is deleted: what is there.
    Path {
        /// The path.
        path: String,
    },
    /// A path that is read or written: where its symlinks lead.
    Target {
        /// The path.
        path: String,
    },
    /// The work tree of a folder: what git knows about it, without ignored folders.
    Worktree {
        /// The folder in which `git` starts.
        folder: String,
    },
    /// A file whose text is about to run.
    Script {
        /// The file.
        path: String,
    },
    /// A script of the closest `package.json`.
    PackageScript {
        /// The folder in which the package manager starts.
        folder: String,
        /// The script's name.
        name: String,
    },
    /// A target of the folder's makefile.
    MakeTarget {
        /// The folder in which `make` starts.
        folder: String,
        /// The makefile, if the call names one.
        file: Option<String>,
        /// The target; the first one of the file if the call names none.
        target: Option<String>,
    },
    /// Where a push goes.
    GitRemote {
        /// The folder in which `git` starts.
        folder: String,
        /// The remote's name; the branch's own remote if the call names none.
        remote: Option<String>,
    },
    /// The account, cluster or machine that a tool works on unless it is told otherwise.
    Current {
        /// The tool's system.
        system: RemoteSystem,
    },
    /// What a tool would do, as its own files say.
    Plan {
        /// The tool.
        tool: PlanTool,
        /// The folder in which it starts.
        folder: String,
        /// The words behind its subcommand, the subcommand first; none if they are not all known.
        words: Option<Vec<String>>,
        /// Whether no earlier command of the call could change what the tool finds.
        is_first: bool,
    },
}

impl FactQuery {
    /// Whether its answer can only raise a tier: what runs, where a path or a push leads, which
    /// machine is meant. Without an answer to one of these a call must not pass.
    pub fn can_only_raise(&self) -> bool {
        let changes_nothing = matches!(self, FactQuery::Plan { .. });
        !matches!(self, FactQuery::Path { .. } | FactQuery::Worktree { .. }) && !changes_nothing
    }

    /// Whether it asks for a text that is about to run.
    pub fn is_about_code(&self) -> bool {
        matches!(
            self,
            FactQuery::Script { .. }
                | FactQuery::PackageScript { .. }
                | FactQuery::MakeTarget { .. }
        )
    }
}

/// Who looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactObserver {
    /// The agent's hook, on the machine where the call would run.
    Hook,
    /// Anybody else: the agent itself, code that it can change, or the MCP proxy, whose server may
    /// have other files.
    Agent,
}

impl FactObserver {
    /// Whether an answer may make a call look harmless.
    pub const fn can_lower(self) -> bool {
        match self {
            FactObserver::Hook => true,
            FactObserver::Agent => false,
        }
    }
}

/// The answers of one look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallFacts {
    /// Who looked.
    pub observer: FactObserver,
    /// One answer for each question, in the order of the questions.
    pub found: Vec<Fact>,
    /// Who claims to have looked, with a proof that the daemon checks.
    #[serde(skip)]
    pub claim: Option<FactsClaim>,
}

impl CallFacts {
    /// The facts of an observer who has not looked yet. An assessment with them lists its
    /// questions.
    pub fn none(observer: FactObserver) -> CallFacts {
        CallFacts { observer, found: Vec::new(), claim: None }
    }

    /// Whether the facts may make a call look harmless.
    pub fn can_lower(&self) -> bool {
        self.observer.can_lower()
    }

    /// Whether a question was asked before, answered or not.
    pub fn has(&self, query: &FactQuery) -> bool {
        self.found.iter().any(|fact| fact.query == *query)
    }

    /// The digests of the files whose text would run, sorted. They are part of what is approved.
    pub fn script_digests(&self) -> Vec<Digest> {
        let digest = |fact: &Fact| match &fact.answer {
            FactAnswer::Script(script) => script.digest,
            _ => None,
        };
        let mut digests: Vec<Digest> = self.found.iter().filter_map(digest).collect();
        digests.sort_unstable_by_key(|digest| *digest.as_bytes());
        digests.dedup();
        digests
    }

    /// The answer to a question, if it was asked and could be answered.
    pub fn answer(&self, query: &FactQuery) -> Option<&FactAnswer> {
        let fact = self.found.iter().find(|fact| fact.query == *query)?;
        match &fact.answer {
            FactAnswer::Unknown { .. } => None,
            known => Some(known),
        }
    }

    /// Why the answer to a question is not known, if an observer tried.
    pub fn why_unknown(&self, query: &FactQuery) -> Option<UnknownReason> {
        let fact = self.found.iter().find(|fact| fact.query == *query)?;
        match fact.answer {
            FactAnswer::Unknown { reason } => Some(reason),
            _ => None,
        }
    }
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The question.
    pub query: FactQuery,
    /// The answer.
    pub answer: FactAnswer,
}

/// What an observer found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FactAnswer {
    /// What is at the path.
    Path(PathFact),
    /// Where the path leads.
    Target(TargetFact),
    /// What git knows about the work tree.
    Worktree(GitCounts),
    /// The text that would run.
    Script(ScriptFact),
    /// Where a push goes.
    Remote(RemoteFact),
    /// What a tool works on.
    Current(CurrentFact),
    /// What a tool would do.
    Plan(PlanFact),
    /// Nothing is known.
    Unknown {
        /// Why.
        reason: UnknownReason,
    },
}

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownReason {
    /// The time was over.
    Deadline,
    /// There is no such file, script, target or setting.
    Missing,
    /// This user may not read it.
    Unreadable,
    /// It is a pipe, a socket, a device or a folder, so reading it was not tried.
    NotRegular,
    /// It is not text.
    NotText,
    /// It is larger than what is read.
    TooLarge,
    /// It changed while it was read.
    Changed,
    /// It is written in a form that the observer does not read.
    Unsupported,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathFact {
    /// What it is, without following a symlink.
    pub kind: PathKind,
    /// Where it is, with the symlinks on the way to it resolved but not itself.
    pub located: String,
    /// Where it leads, with every symlink resolved.
    pub resolved: Option<String>,
    /// Whether it is in the project, and what it leads to as well.
    pub in_project: bool,
    /// Its files.
    pub size: TreeSize,
    /// Whether a git repository is in it, which would be gone with it.
    pub has_repository: bool,
    /// What git knows about its files, if it is in a repository.
    pub git: Option<GitCounts>,
}

impl PathFact {
    /// Whether git or the project's own tools can bring back everything that is there.
    pub fn is_recoverable(&self) -> bool {
        let by_git = self.git.is_some_and(|git| git.is_recoverable());
        self.size.is_exact && !self.has_repository && by_git
    }
}

/// Where a path leads. The project's and the user's folders have the names that the call uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFact {
    /// The path with every symlink resolved, as far as it exists.
    pub resolved: String,
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// Nothing.
    Missing,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Symlink,
    /// A pipe, a socket or a device.
    Special,
}

/// How much is at a path. A symlink counts as one file without content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeSize {
    /// Files, at least.
    pub files: u64,
    /// Their bytes, at least.
    pub bytes: u64,
    /// Whether everything was counted.
    pub is_exact: bool,
}

/// How many files are in each state. Every file is in one of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCounts {
    /// The same as in git's index: `git restore` brings them back.
    pub unchanged: u64,
    /// Tracked, but not the same as in the index or not compared.
    pub changed: u64,
    /// Not tracked and not ignored.
    pub untracked: u64,
    /// Not tracked, because a rule ignores them, and not build output.
    pub ignored: u64,
    /// Ignored, and in a folder that the project's own tools make again.
    pub built: u64,
    /// Whether every file was looked at.
    pub is_exact: bool,
    /// Whether the index is exactly the last commit. Known only of a whole work tree.
    #[serde(default)]
    pub is_index_committed: bool,
    /// Whether a branch keeps the last commit. Known only of a whole work tree.
    #[serde(default)]
    pub is_on_branch: bool,
}

impl GitCounts {
    /// Whether git or the project's own tools can bring back everything that is there.
    pub const fn is_recoverable(&self) -> bool {
        self.is_exact && self.changed == 0 && self.untracked == 0 && self.ignored == 0
    }
}

/// Text that would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFact {
    /// The file it is in.
    pub file: String,
    /// The text, or its beginning.
    pub text: String,
    /// Whether this is all that would run. Included files and computed parts are not followed.
    pub is_complete: bool,
    /// SHA-256 of the file, as far as it was read.
    pub digest: Option<Digest>,
}

/// Where a push goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFact {
    /// The remote's name.
    pub name: String,
    /// Its addresses, without passwords.
    pub urls: Vec<String>,
    /// The addresses of the remote `origin`.
    pub origin: Vec<String>,
    /// Whether other files of the configuration could say something else.
    pub is_complete: bool,
}
