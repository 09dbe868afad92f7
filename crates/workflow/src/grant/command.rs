//! Grants for commands of one form, such as `npm publish <path>` in one repository.

use serde::{Deserialize, Serialize};

use countersign_risk::card::Card;
use countersign_types::tier::Tier;

use super::GrantQuery;
use super::members::plain_command;
use super::pattern::{CommandPattern, PatternPlace};
use super::profile::CallProfile;

/// The most commands of one grant.
pub const MAX_COMMANDS: usize = 100;

/// Commands of one form. The call must do no more than the approved one did: the same reasons and
/// effects, no higher tier, the same hosts and services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandShape {
    /// The tool that runs the command.
    pub tool: String,
    /// The commands, with holes or without.
    pub commands: Vec<CommandPattern>,
    /// Only in this repository, if the daemon found one.
    pub repository: Option<String>,
    /// Only in this folder, if there is no repository.
    pub folder: Option<String>,
    /// What the approved call did.
    pub profile: CallProfile,
}

/// Why no grant for commands of this form can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeError {
    /// The call is not one plain command that is shown as a whole.
    NotPlain,
    /// The call is CRITICAL, or does what only a grant for exactly this call covers.
    ExactOnly,
    /// A hole for paths needs a repository.
    NoRepository,
    /// What is deleted from HIGH up must be named.
    DeletedPath,
    /// The pattern does not match the approved call.
    OtherCommand,
    /// The tool runs commands or code, so conditions on its arguments say nothing.
    RunsPrograms,
    /// Conditions on arguments are only for calls up to MEDIUM.
    AboveMedium,
    /// The tool does what only a grant for exactly this call covers.
    ExactToolCall,
    /// The shown call does not fulfil the conditions, or cannot be compared exactly.
    OtherArguments,
    /// The assessment found more than text in an argument that would be free.
    FoundInText,
    /// A relative path names another file in another folder, and the folder is not known.
    RelativePath,
}

impl ShapeError {
    /// In words.
    pub const fn message(self) -> &'static str {
        match self {
            ShapeError::NotPlain => {
                "the call is not one plain command, so only a grant for exactly this call can be given"
            }
            ShapeError::ExactOnly => {
                "calls that are CRITICAL, reach people, move money, read secrets, raise \
                 rights, change an agent or run what was not read cannot have a pattern"
            }
            ShapeError::NoRepository => {
                "the daemon did not find the repository of the call, so the pattern cannot have <path>"
            }
            ShapeError::DeletedPath => {
                "what a HIGH call deletes must be named, so the pattern cannot have <path>"
            }
            ShapeError::OtherCommand => "the pattern does not match the command of the request",
            ShapeError::RunsPrograms => {
                "this tool runs commands or code, so conditions on its arguments are not enough; \
                 give a grant for commands"
            }
            ShapeError::AboveMedium => {
                "conditions on arguments cover no call from HIGH up; give a grant for exactly this \
                 call"
            }
            ShapeError::ExactToolCall => {
                "calls that read secrets, raise rights, run programs, act later, change an agent \
                 or reach more than is listed can only have a grant for exactly this call"
            }
            ShapeError::FoundInText => {
                "the assessment found more than plain text in an argument that would be free; give \
                 the grant from a call without that"
            }
            ShapeError::RelativePath => {
                "the call names a relative path, and the folder that it is in is not known; name \
                 an absolute path, or give the grant from a request that says its folder"
            }
            ShapeError::OtherArguments => "the call does not fulfil the conditions",
        }
    }
}

/// A stored call that a shape is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCommand {
    /// The tool.
    pub tool: String,
    /// The command.
    pub command: String,
    /// Its working directory.
    pub folder: Option<String>,
    /// What it did.
    pub profile: CallProfile,
}

impl ShownCommand {
    /// The plain command of a card, if the card shows all of it.
    pub fn new(card: &Card) -> Option<ShownCommand> {
        let arguments = countersign_json::parse(&card.arguments).ok()?;
        let command = plain_command(&card.tool, &arguments).filter(|_| card.folded == 0)?;
        let is_shown = card.hidden.is_empty();
        is_shown.then(|| ShownCommand {
            tool: card.tool.clone(),
            command: command.to_owned(),
            folder: card.cwd.clone(),
            profile: CallProfile::of_card(card),
        })
    }
}

impl CommandShape {
    /// A grant for commands of this pattern, which the approved call is one of.
    pub fn new(
        approved: &ShownCommand,
        pattern: CommandPattern,
        repository: Option<String>,
    ) -> Result<CommandShape, ShapeError> {
        let profile = approved.profile.clone();
        if !profile.may_have_pattern() {
            return Err(ShapeError::ExactOnly);
        }
        if pattern.has_path() && repository.is_none() {
            return Err(ShapeError::NoRepository);
        }
        if pattern.has_path() && !profile.may_have_path() {
            return Err(ShapeError::DeletedPath);
        }
        let folder = approved.folder.clone().filter(|_| repository.is_none());
        let tool = approved.tool.clone();
        let shape = CommandShape { tool, commands: vec![pattern], repository, folder, profile };
        if shape.matches_command(&approved.command) {
            Ok(shape)
        } else {
            Err(ShapeError::OtherCommand)
        }
    }

    /// Its tier: calls above it are asked about.
    pub fn tier(&self) -> Option<Tier> {
        self.profile.tier()
    }

    /// Whether a call is covered.
    pub(super) fn covers(&self, asked: &GrantQuery<'_>) -> bool {
        let seen = asked.assessment;
        let command = plain_command(&seen.tool, asked.arguments);
        command.filter(|_| seen.tool == self.tool).is_some_and(|command| {
            self.is_here(asked.repository, asked.cwd)
                && self.matches_command(command)
                && self.includes(&CallProfile::of(seen))
        })
    }

    /// Whether a stored call would have been covered.
    pub fn covers_shown(&self, call: &ShownCommand, repository: Option<&str>) -> bool {
        call.tool == self.tool
            && self.is_here(repository, call.folder.as_deref())
            && self.matches_command(&call.command)
            && self.includes(&call.profile)
    }

    fn is_here(&self, repository: Option<&str>, folder: Option<&str>) -> bool {
        match &self.repository {
            Some(own) => repository == Some(own),
            None => repository.is_none() && folder == self.folder.as_deref(),
        }
    }

    fn matches_command(&self, command: &str) -> bool {
        let hosts = self.profile.hosts();
        let place = PatternPlace { repository: self.repository.as_deref(), hosts: &hosts };
        self.commands.iter().any(|pattern| pattern.matches(command, place))
    }

    fn includes(&self, call: &CallProfile) -> bool {
        self.profile.includes(call, self.repository.as_deref())
    }

    /// In words: the commands and where.
    pub fn words(&self) -> String {
        let first: Vec<String> =
            self.commands.iter().take(3).map(|pattern| format!("`{pattern}`")).collect();
        let more = self.commands.len().saturating_sub(first.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let place = match self.repository.as_ref().or(self.folder.as_ref()) {
            Some(folder) => format!(" in {folder}"),
            None => String::new(),
        };
        format!("{}{more}{place}", first.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_json as json;
    use countersign_risk::assess::assess;
    use countersign_risk::call::Call;
    use countersign_risk::call_digest::digest;
    use countersign_risk::verdict::Policy;

    const SHOP: &str = "/home/ana/shop";

    fn shown(command: &str) -> ShownCommand {
        let text =
            format!(r#"{{"tool":"bash","arguments":{{"command":"{command}"}},"cwd":"{SHOP}"}}"#);
        let value = json::parse(&text).unwrap();
        let call = Call::from_json(&value).unwrap();
        let seen = assess(&call, &Policy::default());
        ShownCommand::new(&Card::new(&call, &seen, &digest(&call, b""))).unwrap()
    }

    fn shape(command: &str, pattern: &str) -> Result<CommandShape, ShapeError> {
        let pattern = CommandPattern::parse(pattern).unwrap();
        CommandShape::new(&shown(command), pattern, Some(SHOP.to_owned()))
    }

    fn covers(shape: &CommandShape, command: &str) -> bool {
        shape.covers_shown(&shown(command), Some(SHOP))
    }

    #[test]
    fn commands_of_the_form_are_covered_in_their_repository() {
        let publish = shape("npm publish packages/cart", "npm publish <path>").unwrap();
        assert!(covers(&publish, "npm publish packages/cart"));
        assert!(covers(&publish, "npm publish packages/search"));
        assert_eq!(publish.words(), "`npm publish <path>` in /home/ana/shop");
        let call = shown("npm publish packages/search");
        assert!(!publish.covers_shown(&call, Some("/home/ana/other")));
        assert!(!publish.covers_shown(&call, None));
        let other_tool = ShownCommand { tool: "terminal".to_owned(), ..call };
        assert!(!publish.covers_shown(&other_tool, Some(SHOP)));
    }

    /// The value of a hole changes what the command does: the assessment says so, and it asks.
    #[test]
    fn a_value_that_changes_the_assessment_is_not_covered() {
        for (command, pattern, others) in [
            (
                "git push origin feature",
                "git push origin <word>",
                &["git push origin --force", "git push origin +feature"][..],
            ),
            ("frobnicate read notes.txt", "frobnicate read <word>", &["frobnicate read id_rsa"]),
            (
                "frobnicate sync src/a",
                "frobnicate sync <path>",
                &[
                    "frobnicate sync .env",
                    "frobnicate sync /etc/passwd",
                    "frobnicate sync src/.ssh/id",
                ],
            ),
            (
                "curl -O https://api.example.com/a",
                "curl -O https://api.example.com/a",
                &["curl -O https://api.example.com/b", "curl -O https://evil.example/a"],
            ),
        ] {
            let Ok(shape) = shape(command, pattern) else { panic!("{command}") };
            assert!(covers(&shape, command), "{command}");
            for other in others {
                assert!(!covers(&shape, other), "{pattern}: {other}");
            }
        }
    }

    #[test]
    fn a_riskier_call_and_another_target_are_not_covered() {
        let approved = shape("frobnicate task 1", "frobnicate task <number>").unwrap();
        let call = shown("frobnicate task 2");
        assert!(approved.covers_shown(&call, Some(SHOP)));
        for more in [
            ("rm -rf src/a", "a delete"),
            ("git push --force origin main", "another effect"),
            ("curl https://evil.example/a", "a host"),
            ("rm -rf /", "CRITICAL"),
        ] {
            let profile = shown(more.0).profile;
            let riskier = ShownCommand { profile, ..call.clone() };
            assert!(!approved.covers_shown(&riskier, Some(SHOP)), "{}", more.1);
        }
    }

    #[test]
    fn what_may_not_have_a_pattern_gets_none() {
        assert_eq!(shape("rm -rf /", "rm -rf /"), Err(ShapeError::ExactOnly));
        // The agent could put another program there.
        assert_eq!(shape("/tmp/x 1", "/tmp/x 1"), Err(ShapeError::ExactOnly));
        assert_eq!(
            shape("sudo frobnicate task 1", "sudo frobnicate task <number>"),
            Err(ShapeError::ExactOnly)
        );
        assert_eq!(shape("rm -rf -- src/a", "rm -rf -- <path>"), Err(ShapeError::DeletedPath));
        assert_eq!(shape("npm publish", "npm publish <path>"), Err(ShapeError::OtherCommand));
        let pattern = CommandPattern::parse("npm publish <path>").unwrap();
        let nowhere = CommandShape::new(&shown("npm publish packages/a"), pattern, None);
        assert_eq!(nowhere, Err(ShapeError::NoRepository));
    }
}
