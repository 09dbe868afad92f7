//! The commands that a call runs, at any depth, as words: what policy rules are about.

use countersign_shell::UNKNOWN;

/// How many commands of a call are noted; beyond it the list says that it is incomplete.
const MAX_COMMANDS: usize = 64;
/// How many operands and how many options of a command are noted.
const MAX_WORDS: usize = 6;
/// The longest noted word, in bytes; a longer one counts as not known.
const MAX_WORD: usize = 256;

/// One command: its program without folder, its first operands and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWords {
    /// The program, then the operands as far as they are known.
    pub words: Vec<String>,
    /// The options, without values that are joined to them.
    pub options: Vec<String>,
    /// A word is only known when the command runs, or was left out.
    pub is_open: bool,
}

impl CommandWords {
    /// From the words of a command, the program first.
    pub(crate) fn new<'w>(
        program: &'w str,
        operands: impl Iterator<Item = &'w str>,
        options: impl Iterator<Item = &'w str>,
    ) -> CommandWords {
        let name = program.rsplit('/').next().unwrap_or_default();
        let mut noted = CommandWords { words: Vec::new(), options: Vec::new(), is_open: false };
        for word in std::iter::once(name).chain(operands).take(MAX_WORDS) {
            if !is_known(word) {
                noted.is_open = true;
                break;
            }
            noted.words.push(word.to_owned());
        }
        for (at, option) in options.enumerate() {
            let name = option.split('=').next().unwrap_or_default();
            if at >= MAX_WORDS * 2 || !is_known(name) {
                noted.is_open = true;
                break;
            }
            noted.options.push(name.to_owned());
        }
        noted
    }
}

fn is_known(word: &str) -> bool {
    word.len() <= MAX_WORD && !word.contains(UNKNOWN)
}

/// The commands of a call, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandList {
    list: Vec<CommandWords>,
    is_cut: bool,
}

impl CommandList {
    pub(crate) fn add(&mut self, command: CommandWords) {
        if self.list.contains(&command) {
            return;
        }
        if self.list.len() < MAX_COMMANDS {
            self.list.push(command);
        } else {
            self.is_cut = true;
        }
    }

    /// Adds the commands of another reading.
    pub fn absorb(&mut self, other: CommandList) {
        self.is_cut |= other.is_cut;
        if self.list.is_empty() {
            self.list = other.list;
            return;
        }
        other.list.into_iter().for_each(|command| self.add(command));
    }

    /// The commands in the order in which they were read.
    pub fn iter(&self) -> std::slice::Iter<'_, CommandWords> {
        self.list.iter()
    }

    /// Whether there are more commands than were noted.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl<'a> IntoIterator for &'a CommandList {
    type Item = &'a CommandWords;
    type IntoIter = std::slice::Iter<'a, CommandWords>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::assess;
    use crate::call::Call;
    use crate::verdict::Policy;

    fn commands(text: &str) -> Vec<String> {
        let seen = assess(&Call::shell(text), &Policy::default());
        seen.commands.iter().map(|one| one.words.join(" ")).collect()
    }

    #[test]
    fn commands_are_noted_at_any_depth() {
        for text in [
            "terraform destroy",
            "terraform -chdir=infra destroy -auto-approve",
            "cd infra && terraform destroy",
            "sudo terraform destroy",
            "bash -c 'terraform destroy'",
            "env A=b nice terraform destroy",
            "echo $(terraform destroy)",
            "if true; then /usr/bin/terraform destroy; fi",
            "X=terraform; $X destroy",
            "xargs terraform destroy < list",
            "terraform destroy; terraform destroy",
            "alias t='terraform destroy'; ls | terraform destroy",
            "python3 -c 'import os; os.system(\"terraform destroy\")'",
        ] {
            let found = commands(text);
            assert!(found.iter().any(|one| one == "terraform destroy"), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_is_not_known_leaves_a_command_open() {
        let seen = assess(&Call::shell("terraform $ACTION"), &Policy::default());
        let found: Vec<_> = seen.commands.iter().collect();
        assert!(found.iter().any(|one| one.words == ["terraform"] && one.is_open), "{found:?}");
        let seen = assess(&Call::shell("mytool --force=yes deploy"), &Policy::default());
        let found: Vec<_> = seen.commands.iter().collect();
        let fits = |one: &&&super::CommandWords| one.words == ["mytool", "deploy"];
        assert_eq!(found.iter().find(fits).map(|one| &*one.options), Some(&["--force".into()][..]));
    }
}
