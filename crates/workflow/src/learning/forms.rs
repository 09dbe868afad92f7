//! Commands of one form that people approved in a row: `gh run view 12` and `gh run view 13` have
//! the form `gh run view <number>`.
//!
//! A learned grant lists exactly the commands that people saw and approved, so that an agent that
//! asks for many harmless ones widens nothing. Only a person gives a grant with holes.

use std::collections::HashMap;

use crate::grant::{CallProfile, CommandPattern, CommandShape, MAX_COMMANDS, ShownCommand};

use super::{RepeatedAnswer, may_suggest};

/// A command that a person answered.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredCommand<'a> {
    /// The agent as authenticated.
    pub agent: &'a str,
    /// The repository that it ran in, as the daemon found it.
    pub repository: Option<&'a str>,
    /// The command that was shown.
    pub call: &'a ShownCommand,
    /// Whether its session was in a crisis.
    pub crisis: bool,
    /// The answer.
    pub answer: RepeatedAnswer,
}

/// The form of a command: who runs it, where, and its words without numbers and paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandForm {
    agent: String,
    tool: String,
    repository: Option<String>,
    /// Where there is no repository.
    folder: Option<String>,
    pattern: String,
}

impl CommandForm {
    /// The form of a command; none if no pattern can stand for it.
    pub fn new(agent: &str, repository: Option<&str>, call: &ShownCommand) -> Option<CommandForm> {
        let place = (repository, call.folder.as_deref());
        CommandForm::at(place, agent, &call.tool, &call.command)
    }

    /// The form of the commands of a grant for one agent.
    pub fn of_shape(agent: &str, shape: &CommandShape) -> Option<CommandForm> {
        let command = shape.commands.first()?.to_string();
        let place = (shape.repository.as_deref(), shape.folder.as_deref());
        CommandForm::at(place, agent, &shape.tool, &command)
    }

    fn at(
        (repository, folder): (Option<&str>, Option<&str>),
        agent: &str,
        tool: &str,
        command: &str,
    ) -> Option<CommandForm> {
        let pattern = CommandPattern::generalize(command, repository)
            .or_else(|| CommandPattern::exactly(command))?;
        Some(CommandForm {
            agent: agent.to_owned(),
            tool: tool.to_owned(),
            repository: repository.map(ToOwned::to_owned),
            folder: folder.filter(|_| repository.is_none()).map(ToOwned::to_owned),
            pattern: pattern.to_string(),
        })
    }

    /// The commands, with holes.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The agent.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The repository.
    pub fn repository(&self) -> Option<&str> {
        self.repository.as_deref()
    }
}

/// The approvals of one form since the last denial.
#[derive(Debug, Clone)]
pub struct ApprovedForm {
    /// How many.
    pub approvals: u32,
    /// The approved commands, each once.
    pub commands: Vec<String>,
    /// What the first of them did; the others did no more.
    profile: CallProfile,
}

impl ApprovedForm {
    /// A grant for exactly the approved commands.
    pub fn listed_shape(&self, form: &CommandForm) -> Option<CommandShape> {
        let commands = self.commands.iter().map(|command| CommandPattern::exactly(command));
        Some(CommandShape {
            tool: form.tool.clone(),
            commands: commands.collect::<Option<Vec<_>>>()?,
            repository: form.repository.clone(),
            folder: form.folder.clone(),
            profile: self.profile.clone(),
        })
    }
}

/// How often people approved commands of each form in a row.
#[derive(Debug, Default)]
pub struct FormCounts {
    forms: HashMap<CommandForm, ApprovedForm>,
}

impl FormCounts {
    /// Notes an answer; the oldest first. A denial starts again from zero, and so does an answer
    /// about a call of this form that may not be learned, or that does more than the first.
    pub fn note(&mut self, answered: &AnsweredCommand<'_>) {
        let AnsweredCommand { agent, call, repository, .. } = *answered;
        let Some(form) = CommandForm::new(agent, repository, call) else { return };
        let is_harmless = call.profile.may_have_pattern()
            && call.profile.tier().is_some_and(|tier| may_suggest(tier, answered.crisis));
        if answered.answer == RepeatedAnswer::Denied || !is_harmless {
            self.forms.remove(&form);
            return;
        }
        let first =
            || ApprovedForm { approvals: 0, commands: Vec::new(), profile: call.profile.clone() };
        let known = self.forms.entry(form).or_insert_with(first);
        if !known.profile.includes(&call.profile, repository) {
            *known = first();
        }
        known.approvals = known.approvals.saturating_add(1);
        if known.commands.len() < MAX_COMMANDS && !known.commands.contains(&call.command) {
            known.commands.push(call.command.clone());
        }
    }

    /// The approvals of a form.
    pub fn get(&self, form: &CommandForm) -> Option<&ApprovedForm> {
        self.forms.get(form)
    }

    /// The forms with at least so many approvals.
    pub fn approved(&self, needed: u32) -> impl Iterator<Item = (&CommandForm, &ApprovedForm)> {
        self.forms.iter().filter(move |(_, form)| form.approvals >= needed.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_json as json;
    use countersign_risk::assess::assess;
    use countersign_risk::call::Call;
    use countersign_risk::verdict::Policy;

    const REPOSITORY: &str = "/home/ana/shop";

    fn shown(command: &str) -> ShownCommand {
        let text = format!(
            r#"{{"tool":"bash","arguments":{{"command":"{command}"}},"cwd":"{REPOSITORY}"}}"#
        );
        let value = json::parse(&text).unwrap();
        let seen = assess(&Call::from_json(&value).unwrap(), &Policy::default());
        let profile = CallProfile::of(&seen);
        let folder = Some(REPOSITORY.to_owned());
        ShownCommand { tool: "bash".to_owned(), command: command.to_owned(), folder, profile }
    }

    fn note(counts: &mut FormCounts, command: &str, answer: RepeatedAnswer) {
        let call = shown(command);
        counts.note(&AnsweredCommand {
            agent: "claude",
            repository: Some(REPOSITORY),
            call: &call,
            crisis: false,
            answer,
        });
    }

    fn learned(counts: &FormCounts, command: &str, needed: u32) -> Option<CommandShape> {
        let form = CommandForm::new("claude", Some(REPOSITORY), &shown(command))?;
        let found = counts.get(&form).filter(|found| found.approvals >= needed)?;
        found.listed_shape(&form)
    }

    fn covers(shape: &CommandShape, command: &str) -> bool {
        shape.covers_shown(&shown(command), Some(REPOSITORY))
    }

    /// The agent asks for many harmless commands of one form, to have others of it pass.
    #[test]
    fn farming_widens_nothing_that_was_not_shown() {
        let mut counts = FormCounts::default();
        for number in 0..50 {
            note(&mut counts, &format!("frobnicate task {number}"), RepeatedAnswer::Approved);
        }
        for name in ["a", "b", "c", "d"] {
            note(&mut counts, &format!("frobnicate sync src/{name}"), RepeatedAnswer::Approved);
        }
        let tasks = learned(&counts, "frobnicate task 7", 10).unwrap();
        assert!(covers(&tasks, "frobnicate task 7") && covers(&tasks, "frobnicate task 49"));
        for other in [
            "frobnicate task 50",
            "frobnicate task 7 --force",
            "frobnicate task 7 8",
            "frobnicate drop 7",
            "frobnicate task",
            "sudo frobnicate task 7",
            "frobnicate sync src/a",
        ] {
            assert!(!covers(&tasks, other), "{other}");
        }
        let sync = learned(&counts, "frobnicate sync src/a", 4).unwrap();
        assert!(covers(&sync, "frobnicate sync src/c"));
        for other in ["frobnicate sync src/e", "frobnicate sync src", "frobnicate sync ../x"] {
            assert!(!covers(&sync, other), "{other}");
        }
        // Elsewhere, with another tool, or for another agent nothing was learned.
        let elsewhere = shown("frobnicate task 7");
        assert!(!tasks.covers_shown(&elsewhere, Some("/home/ana/other")));
        assert!(!tasks.covers_shown(&elsewhere, None));
        let form = CommandForm::new("codex", Some(REPOSITORY), &elsewhere).unwrap();
        assert!(counts.get(&form).is_none());
    }

    #[test]
    fn a_denial_or_a_riskier_call_of_the_form_starts_again() {
        let mut counts = FormCounts::default();
        for number in 0..9 {
            note(&mut counts, &format!("frobnicate task {number}"), RepeatedAnswer::Approved);
        }
        assert!(learned(&counts, "frobnicate task 1", 10).is_none());
        note(&mut counts, "frobnicate task 99", RepeatedAnswer::Denied);
        note(&mut counts, "frobnicate task 1", RepeatedAnswer::Approved);
        assert!(learned(&counts, "frobnicate task 1", 2).is_none());
        // HIGH is never learned, however often people approve it.
        for _ in 0..20 {
            note(&mut counts, "git push --force origin main", RepeatedAnswer::Approved);
        }
        assert!(learned(&counts, "git push --force origin main", 1).is_none());
    }
}
