//! The state of one call, part by part.

use std::sync::Arc;

use super::budget::Budget;
use super::combinations::Asked;
use super::counters::Totals;
use super::facts_hold::FactsHold;
use super::files::WrittenFiles;
use super::folder_state::FolderState;
use super::functions::Functions;
use super::memo::Memo;
use super::position::{Position, Rights};
use super::processes::Processes;
use super::variables::{Variable, Variables};
use crate::command_tables::{CodeLanguage, Spec};
use crate::context::Context;
use crate::finding::{Finding, Findings, Span};
use crate::flow::Flow;
use crate::language::Language;
use crate::limit::Excess;
use crate::paths::workspace::Workspace;
use crate::paths::{PathAction, PathClass};
use crate::shell::command_word::CommandWord;
use crate::structural_findings::StructuralRule;

/// The readers that a command may need and that depend on this state themselves. The dispatcher
/// (`readers`) fills it in.
pub(crate) struct Dispatch {
    /// Reads code inside of this many texts; also whether all of it was read and needs no person.
    pub code: fn(Language, &str, &Context<'_>, u8, &mut Findings) -> bool,
    /// Starts PowerShell or cmd with these words; none where it would only open a session.
    pub launch: Launch,
    /// Runs a text in PowerShell; returns what it would write.
    pub run_powershell: fn(&mut EvalState<'_, '_>, &str, Span) -> Flow,
    /// Brings the options of a Windows command into the form of the rules.
    pub bind: Bind,
}

type Bind = fn(&mut EvalState<'_, '_>, &'static Spec, &[CommandWord], &Flow) -> Vec<CommandWord>;
type Launch = fn(&mut EvalState<'_, '_>, CodeLanguage, &[CommandWord], &Flow, Span) -> Option<Flow>;

/// What all evaluators of one call share.
pub(crate) struct EvalState<'c, 'o> {
    pub ctx: &'c Context<'c>,
    pub dispatch: &'static Dispatch,
    /// The project and the folder the text starts in.
    pub workspace: Workspace,
    pub out: &'o mut Findings,
    pub variables: Variables,
    pub files: WrittenFiles,
    pub folders: FolderState,
    pub functions: Functions,
    pub processes: Processes,
    pub budget: Budget,
    pub rights: Rights,
    pub position: Position,
    pub(super) memo: Memo,
    /// What the pipeline being walked read that had another value before.
    pub(super) asked: Vec<Asked>,
    /// Whether the folder in which programs look for their settings was moved.
    home_moved: bool,
    /// Remotes of a repository that the call has set.
    pub new_remotes: Vec<String>,
    /// Files of the session that were read as scripts so far.
    pub scripts_read: Vec<String>,
    /// Whether what an observer saw before the call still holds for the next command.
    pub facts_hold: FactsHold,
    /// The subjects of the commands that were assessed where the memo is used.
    pub assessed_subjects: Vec<Arc<str>>,
}

impl<'c, 'o> EvalState<'c, 'o> {
    /// The state before a text that starts at `base` of its argument, at this depth of texts inside
    /// texts.
    pub fn new(
        ctx: &'c Context<'c>,
        base: usize,
        depth: u8,
        dispatch: &'static Dispatch,
        out: &'o mut Findings,
    ) -> EvalState<'c, 'o> {
        EvalState {
            ctx,
            dispatch,
            workspace: Workspace::of(ctx),
            out,
            variables: Variables::default(),
            files: WrittenFiles::default(),
            folders: FolderState::start(ctx),
            functions: Functions::default(),
            processes: Processes::default(),
            budget: Budget::new(depth),
            rights: Rights::default(),
            position: Position::new(base),
            memo: Memo::default(),
            asked: Vec::new(),
            home_moved: false,
            new_remotes: Vec::new(),
            scripts_read: Vec::new(),
            facts_hold: FactsHold::at_depth(depth),
            assessed_subjects: Vec::new(),
        }
    }

    /// The counters of all parts.
    pub(super) fn totals(&self) -> Totals {
        self.variables.totals()
            + self.files.totals()
            + self.folders.totals()
            + self.functions.totals()
            + self.processes.totals()
            + self.budget.totals()
    }

    /// How often anything got another value.
    pub fn changes(&self) -> u32 {
        self.totals().changes
    }

    /// The same, and whatever else can be seen later; what was put back as it was does not count.
    pub fn edits(&self) -> u32 {
        self.totals().edits
    }

    /// Adds the finding of an exceeded bound.
    pub fn exceeded(&mut self, excess: Excess, span: Option<Span>) {
        excess.report(self.out, span.or(self.position.fixed()));
    }

    /// Adds a structural finding.
    pub fn report(&mut self, rule: &StructuralRule, span: Option<Span>) {
        let span = span.or(self.position.fixed());
        self.out.add(Finding { span, ..rule.finding() });
    }
}

/// Variables, files and folders as commands see them.
impl EvalState<'_, '_> {
    /// The newest value of a variable. A pipeline that reads a variable which had other values
    /// before is walked again with each of them.
    pub fn variable(&mut self, name: &str) -> Option<&Variable> {
        let known = |a: &Asked| matches!(a, Asked::Variable(n) if n == name);
        if self.variables.has_former_of(name) && !self.asked.iter().any(known) {
            self.asked.push(Asked::Variable(name.to_owned()));
        }
        self.variables.get(name)
    }

    /// Whether this text wrote a file before.
    pub fn has_written(&self) -> bool {
        !self.files.is_empty()
    }

    /// What this text wrote into a file before.
    pub fn known_file(&mut self, path: &str) -> Option<Flow> {
        if self.files.is_empty() {
            return None;
        }
        let names = self.names_of(path);
        let content = self.files.read(&names)?;
        if let Some(name) = content.name.filter(|name| self.files.has_former_of(name)) {
            let asked = Asked::File(name);
            if !self.asked.contains(&asked) {
                self.asked.push(asked);
            }
        }
        Some(content.flow)
    }

    /// Remembers what a command wrote into a file.
    pub fn write_file(&mut self, path: &str, append: bool, flow: &Flow) {
        for name in self.names_of(path) {
            let before = self.files.content(&name);
            let flow = match before {
                // Nothing stays in there: what cannot be told apart is not worth a new state.
                _ if name == "/dev/null" && flow.text.is_none() => {
                    Flow::unknown(before.map_or(flow.taint, |f| f.taint.and(flow.taint)))
                }
                Some(content) if append => content.clone().then(flow.clone()),
                _ => flow.clone(),
            };
            self.files.hold(name, flow);
        }
    }

    /// A file of this name that this text wrote.
    pub fn program_file(&self, name: &str) -> Option<String> {
        let named = |path: &str| path.strip_suffix(name).is_some_and(|p| p.ends_with('/'));
        self.files.find_name(named).map(str::to_owned)
    }

    /// The names a path may have, seen from where the text began.
    pub fn names_of(&self, path: &str) -> Vec<String> {
        self.folders.names_of(path, &self.workspace)
    }

    /// The most severe class a path may be, wherever the command runs.
    pub fn class_for(&self, act: PathAction, path: &str) -> &'static PathClass {
        self.folders.class_for(act, path, &self.workspace)
    }

    /// From now on this name leads to that target.
    pub fn link(&mut self, name: &str, target: &str, copy: bool) {
        if let Err(excess) = self.folders.link(name, target, copy, &self.workspace) {
            self.exceeded(excess, None);
        }
    }

    /// Programs look for their settings in another folder from now on. Commands assessed before
    /// were assessed with the home folder in its place.
    pub fn move_home(&mut self) {
        self.home_moved = true;
        self.memo.clear();
    }

    /// Something changed on which the commands assessed before depend.
    pub fn forget_assessed(&mut self) {
        self.memo.clear();
    }

    /// Notes whether the commands so far changed what an observer saw. Commands assessed before
    /// were assessed with it.
    pub fn check_facts(&mut self) {
        if self.ctx.facts.is_some() && self.facts_hold.end_by(self.out.effects) {
            self.memo.clear();
        }
    }

    pub fn has_moved_home(&self) -> bool {
        self.home_moved
    }
}
