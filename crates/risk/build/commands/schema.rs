//! The rule files' shape.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(default)]
    pub program: Vec<Program>,
    #[serde(default)]
    pub rule: Vec<Rule>,
    #[serde(default)]
    pub assignment: Vec<Assignment>,
    #[serde(default)]
    pub runner: Vec<Runner>,
    pub anywhere: Option<Anywhere>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the rule files")]
pub struct Program {
    pub names: Vec<String>,
    pub base: String,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub single_dash: bool,
    #[serde(default)]
    pub posix: bool,
    #[serde(default)]
    pub values: Vec<String>,
    #[serde(default)]
    pub touches: BTreeMap<String, String>,
    #[serde(default)]
    pub exec: Vec<String>,
    #[serde(default)]
    pub operands: String,
    #[serde(default)]
    pub first_if: Vec<String>,
    #[serde(default)]
    pub in_place: Vec<String>,
    #[serde(default)]
    pub only_reads: Vec<String>,
    #[serde(default)]
    pub recursive: Vec<String>,
    #[serde(default)]
    pub dry: Vec<String>,
    #[serde(default)]
    pub keys: BTreeMap<String, String>,
    pub interpreter: Option<Interpreter>,
    #[serde(default)]
    pub fetches: bool,
    #[serde(default)]
    pub sends: bool,
    #[serde(default)]
    pub inert: bool,
    #[serde(default)]
    pub cmdlet: bool,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub positions: Vec<String>,
    #[serde(default)]
    pub switches: Vec<String>,
    #[serde(default)]
    pub input_paths: bool,
    #[serde(default)]
    pub slash_options: bool,
    #[serde(default)]
    pub filter: bool,
    #[serde(default)]
    pub named_only: bool,
    #[serde(default)]
    pub effects: Vec<String>,
}

/// A program that runs another program, and where in its words that command stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the rule files")]
pub struct Runner {
    pub programs: Vec<String>,
    #[serde(default)]
    pub sub: Vec<String>,
    #[serde(default)]
    pub unless: Vec<String>,
    #[serde(default)]
    pub start: Option<String>,
    #[serde(default)]
    pub skip: u8,
    #[serde(default)]
    pub options: Vec<String>,
    #[serde(default)]
    pub prefixes: Vec<String>,
    #[serde(default)]
    pub lead: String,
    #[serde(default)]
    pub inner: Option<String>,
    #[serde(default)]
    pub place: Option<String>,
    #[serde(default)]
    pub values: Vec<String>,
    #[serde(default)]
    pub assignments: bool,
    #[serde(default)]
    pub root: bool,
    #[serde(default)]
    pub login: Vec<String>,
    #[serde(default)]
    pub shell_when_bare: bool,
    #[serde(default)]
    pub feeds: bool,
    pub example: String,
}

/// Where any program at all may be handed a command.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Anywhere {
    pub options: Vec<String>,
    pub commands: Vec<String>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Interpreter {
    pub language: String,
    #[serde(default)]
    pub stdin: bool,
    #[serde(default)]
    pub script: bool,
    pub inline: String,
    pub bare: String,
    #[serde(default)]
    pub bare_operands: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the rule files")]
pub struct Rule {
    pub id: String,
    #[serde(default)]
    pub programs: Vec<String>,
    pub scope: Option<Scope>,
    pub tier: String,
    pub message: String,
    pub suggestion: Option<String>,
    #[serde(default)]
    pub sub: Vec<String>,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub all_flags: Vec<String>,
    #[serde(default)]
    pub not_flags: Vec<String>,
    #[serde(default)]
    pub operand: Vec<String>,
    #[serde(default)]
    pub not_operand: Vec<String>,
    #[serde(default)]
    pub first: Vec<String>,
    #[serde(default)]
    pub not_first: Vec<String>,
    #[serde(default)]
    pub last: Vec<String>,
    #[serde(default)]
    pub arg: Vec<String>,
    #[serde(default)]
    pub option: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub min_operands: u8,
    pub max_operands: Option<u8>,
    #[serde(default)]
    pub stdin: bool,
    #[serde(default)]
    pub root: bool,
    #[serde(default)]
    pub home: bool,
    #[serde(default)]
    pub computed: bool,
    #[serde(default)]
    pub settings: bool,
    pub once: Option<SessionApproval>,
    #[serde(default)]
    pub unplaced: bool,
    #[serde(default)]
    pub unseen: bool,
    #[serde(default)]
    pub fetched: bool,
    pub loses: Option<LostFiles>,
    #[serde(default)]
    pub effects: Vec<String>,
    #[serde(default)]
    pub irreversible: bool,
    pub examples: Vec<String>,
    pub counter_examples: Vec<String>,
}

/// Files of a work tree that are lost; where there are none, the rule's tier is LOW.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostFiles {
    Changed,
    Untracked,
}

/// What a person approves for the rest of a session by saying yes once.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SessionApproval {
    /// The same program.
    Program,
    /// The same subcommand of the same program.
    Subcommand,
    /// The same hosts.
    Host,
}

/// The programs of a rule that names none.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Programs that no file describes.
    Undescribed,
    /// All programs whose words are not plain text (`inert`).
    EveryProgram,
    /// Programs that no file describes; a match means that the call only reads.
    UndescribedReadOnly,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    pub id: String,
    pub names: Vec<String>,
    #[serde(default)]
    pub values: Vec<String>,
    #[serde(default)]
    pub shell: bool,
    #[serde(default)]
    pub home: bool,
    pub tier: String,
    pub message: String,
    pub examples: Vec<String>,
    pub counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathFile {
    /// Folders of a project that its own tools make again.
    pub rebuilt: Vec<String>,
    /// The same, where the project is known.
    pub rebuilt_in_project: Vec<String>,
    pub class: Vec<PathClass>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathClass {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub guard: bool,
    pub paths: Vec<String>,
    pub read: String,
    pub write: String,
    pub delete: String,
    pub delete_tree: String,
    pub change: String,
    pub change_tree: String,
    pub examples: Vec<String>,
    pub counter_examples: Vec<String>,
}
