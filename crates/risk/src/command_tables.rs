//! The shape of the command tables that the build makes from `rules/commands/*.toml`.

use crate::effect::Effect;
use crate::name_key::sorted_names::SortedNames;
use crate::rule_glob::static_list::{StaticList, TableValue};
use crate::rule_glob::{Glob, Globs, GlobsRef};
use countersign_text::glob::GlobShape;
use countersign_types::tier::Tier;

/// What a program does with one of its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentUse {
    /// Nothing we care about.
    Skip,
    /// Nobody said what happens to it: read, if it is where secrets are kept.
    Named,
    /// Reads the path.
    Read,
    /// Creates or overwrites the path.
    Write,
    /// Reads the path, or overwrites it: a write where that would be grave.
    MayWrite,
    /// Creates or overwrites the path with what was compiled from source files.
    Build,
    /// Adds to the path.
    Append,
    /// Deletes the path.
    Delete,
    /// Changes owner, mode or attributes of the path.
    Change,
    /// Takes the path away from where it is, with all below.
    Move,
    /// Runs the file at the path.
    Run,
    /// Shell text.
    Shell,
    /// Shell text if it begins with `!` or `:!`, as editors write it.
    Bang,
    /// Code in the program's own language.
    Code,
    /// SQL text.
    Sql,
    /// Talks to the URL or host.
    Net,
    /// Sends the named file out (`@file`, `file`).
    Upload,
    /// Sends the named file out; the word can only be a path.
    UploadFile,
    /// Text that is sent along with a request.
    Sent,
}

/// Files of a work tree that a command may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostFiles {
    /// Tracked files that were changed since they were added.
    Changed,
    /// Files that git neither tracks nor ignores.
    Untracked,
}

/// What a person approves for the rest of a session by saying yes once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionApproval {
    /// The same program.
    Program,
    /// The same subcommand of the same program.
    Subcommand,
    /// The same hosts.
    Host,
}

/// How the words after the options are meant, e.g. `read* write`.
#[derive(Debug, Clone, Copy)]
pub struct Operands {
    /// One touch for each leading operand.
    pub lead: StaticList<ArgumentUse>,
    /// For all between lead and tail.
    pub rest: ArgumentUse,
    /// For the last ones.
    pub tail: StaticList<ArgumentUse>,
}

/// What the inner words of a runner are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// A command as separate words: `sudo rm x`.
    Argv,
    /// The words joined are shell text: `ssh host 'rm x'`.
    Shell,
    /// Every word is shell text by itself: `concurrently 'a b' 'c d'`.
    Each,
    /// Text in another language: `rails runner 'User.count'`.
    Code(CodeLanguage),
}

/// Where the inner command of a runner starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At an operand.
    Operand,
    /// Behind `--` only.
    Dashes,
    /// At the value of an option.
    Option,
    /// In any word, behind a prefix.
    Word,
}

/// One way in which a program runs another command named in its own words.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the rule files")]
pub struct Runner {
    /// The programs that have this way.
    pub programs: StaticList<&'static str>,
    /// Which subcommands run it (`docker exec`); empty for the program itself.
    pub sub: StaticList<StaticList<Glob>>,
    /// Options with which the words are no command (`screen -X title x`).
    pub unless: StaticList<&'static str>,
    /// Where the inner command starts.
    pub start: Start,
    /// Operands before the inner command starts.
    pub skip: u8,
    /// Options whose value is the command.
    pub options: StaticList<&'static str>,
    /// The command follows one of these, in an option's value or in any word; `*` at most once.
    pub prefixes: StaticList<&'static str>,
    /// Put before the text of the command: `git ` for an alias of git.
    pub lead: &'static str,
    /// Words or text.
    pub inner: Inner,
    /// `NAME=value` words may stand before the command.
    pub assignments: bool,
    /// The inner command has more rights.
    pub root: bool,
    /// Options with which it runs in the home folder of the user that it runs as.
    pub login: StaticList<&'static str>,
    /// Without an inner command a shell starts.
    pub shell_when_bare: bool,
    /// Words from standard input are appended (`xargs`).
    pub feeds: bool,
    /// The inner command runs in a container, not on this file system.
    pub elsewhere: bool,
    /// The inner command runs on another machine.
    pub remote: bool,
    /// The inner command is a program of the project's dependencies.
    pub project: bool,
}

/// Languages of code on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeLanguage {
    /// A POSIX-like shell.
    Shell,
    /// Python.
    Python,
    /// JavaScript.
    JavaScript,
    /// Perl.
    Perl,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// awk.
    Awk,
    /// sed.
    Sed,
    /// SQL.
    Sql,
    /// Redis commands.
    Redis,
    /// Mongo shell.
    Mongo,
    /// PowerShell.
    PowerShell,
    /// The command interpreter of Windows.
    Cmd,
    /// Something else with the common signs.
    Other,
}

/// A program that runs code.
#[derive(Debug, Clone, Copy)]
pub struct Interpreter {
    /// Its language.
    pub language: CodeLanguage,
    /// Runs standard input when no script is named.
    pub stdin: bool,
    /// The first operand is a script file.
    pub script: bool,
    /// Code given on the command line is at least this tier.
    pub inline: Tier,
    /// Without code to run it is an interactive session of this tier.
    pub bare: Tier,
    /// How many operands a session may have (a database client's database).
    pub bare_operands: u8,
}

/// A flag as rules name it.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// `-f`, `--force`, `-delete`.
    pub text: &'static str,
    /// Its letter if it has only one, so that it is found inside `-rf`.
    pub letter: Option<char>,
    /// Set where the name holds a star.
    pub glob: Option<&'static Glob>,
    /// The bytes the options together must hold behind their first for this to be one of them.
    pub needs: u64,
}

/// How a path pattern is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathShape {
    /// This path only.
    Exact,
    /// This folder and everything below it.
    Tree,
    /// The shell's own star in this folder: everything here, not any one name.
    Star,
    /// Part by part, with globs.
    Parts,
    /// Part by part, and everything below.
    PartsTree,
}

/// A path pattern with the index of its class.
#[derive(Debug, Clone, Copy)]
pub struct PathPattern {
    /// Without the marks that its shape stands for.
    pub text: &'static str,
    /// Its shape.
    pub shape: PathShape,
    /// Index into `CLASSES`.
    pub class: u8,
}

/// Where a protected path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardedKind {
    /// In the root folder.
    Root,
    /// In a home folder.
    Home,
    /// In any folder.
    Inside,
    /// The last part of any path.
    Name,
}

/// A path that no pattern and no parent may reach unseen.
#[derive(Debug, Clone, Copy)]
pub struct GuardedPath {
    /// Where it begins.
    pub kind: GuardedKind,
    /// Its parts.
    pub parts: &'static [&'static str],
    /// Everything below it as well.
    pub tree: bool,
    /// Index into `CLASSES`.
    pub class: u8,
}

/// One rule about a program.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the rule files")]
pub struct Rule {
    /// The bytes that the words of every call it fits hold together.
    pub gate: u64,
    /// Bytes of which those words hold at least one; all where nothing is sure.
    pub marks: u64,
    /// Bytes of which the first operand holds at least one.
    pub head_marks: u64,
    /// Bytes of which the options hold at least one behind their first.
    pub flag_marks: u64,
    /// Bytes that the options hold all of, behind their first.
    pub flag_gate: u64,
    /// Stable id, `family.what.which`.
    pub id: &'static str,
    /// What matching it costs.
    pub tier: Tier,
    /// A sentence for people.
    pub message: &'static str,
    /// The safer way.
    pub suggestion: Option<&'static str>,
    /// Subcommand paths, any of them: `push`, `s3 rm`, `* delete-*`.
    pub sub: StaticList<StaticList<Glob>>,
    /// Any of these flags.
    pub flags: StaticList<Flag>,
    /// All of these; alternatives with `|`.
    pub all_flags: StaticList<StaticList<Flag>>,
    /// None of these.
    pub not_flags: StaticList<Flag>,
    /// Any operand after the subcommand matches any of these globs.
    pub operand: GlobsRef,
    /// No operand matches any of these globs.
    pub not_operand: GlobsRef,
    /// The first operand after the subcommand matches any of these globs.
    pub first: GlobsRef,
    /// The first operand after the subcommand matches none of these globs.
    pub not_first: GlobsRef,
    /// The last word matches any of these globs (and is not the only one).
    pub last: GlobsRef,
    /// Any word at all matches any of these globs.
    pub arg: GlobsRef,
    /// The value of an option (`-v|--volume`) matches any of the globs.
    pub option: StaticList<(StaticList<&'static str>, Globs)>,
    /// At least so many operands after the subcommand.
    pub min_operands: u8,
    /// At most so many.
    pub max_operands: u8,
    /// Only when standard input is piped or redirected in.
    pub stdin: bool,
    /// Only under `sudo` and its kin.
    pub root: bool,
    /// What a person approves for the rest of a session by saying yes once.
    pub once: Option<SessionApproval>,
    /// Only where neither a project nor a working directory is known.
    pub unplaced: bool,
    /// Only where a word of `arg` names a file whose text is not known from this session.
    pub unseen: bool,
    /// Only in a folder, or with one as operand, that was cloned or unpacked from the network.
    pub fetched: bool,
    /// Files of a work tree that are lost. Where facts say that there are none, the tier is LOW.
    pub loses: Option<LostFiles>,
    /// Only when the home folder or that of the settings was moved before.
    pub home: bool,
    /// Only when an operand is computed by another command.
    pub computed: bool,
    /// Prints settings for the shell, made to be evaluated (`eval "$(ssh-agent)"`).
    pub settings: bool,
    /// Effects it has.
    pub effects: StaticList<Effect>,
    /// Cannot be undone by ordinary means.
    pub irreversible: bool,
}

/// What setting a variable costs.
#[derive(Debug)]
pub struct AssignmentRule {
    /// Stable id.
    pub id: &'static str,
    /// Variable names (globs).
    pub names: Globs,
    /// Values (globs); empty for any.
    pub values: Globs,
    /// The value is shell text that other programs will run.
    pub shell: bool,
    /// Moves the folder in which programs look for their settings.
    pub home: bool,
    /// Cost.
    pub tier: Tier,
    /// A sentence for people.
    pub message: &'static str,
}

/// Everything known of one program.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the rule files")]
pub struct Spec {
    /// Its family: the rule file it is in.
    pub family: &'static str,
    /// Tier when no rule matches.
    pub base: Tier,
    /// Sentence for the base tier.
    pub message: &'static str,
    /// Code of the base tier.
    pub ordinary: &'static str,
    /// Long options begin with one dash (`-delete`), so letters never cluster.
    pub single_dash: bool,
    /// Options stop at the first operand.
    pub posix: bool,
    /// The options of one letter among `values`, one bit each.
    pub letters: u128,
    /// Options that take the next word as their value.
    pub values: StaticList<&'static str>,
    /// All long options that the tables know of its programs, sorted.
    pub long_names: StaticList<&'static str>,
    /// What an option's value is.
    pub touches: StaticList<(&'static str, ArgumentUse)>,
    /// Options whose following words up to `;` or `+` are a command.
    pub exec: StaticList<&'static str>,
    /// What operands are.
    pub operands: Operands,
    /// Flags that make the first operand ordinary (`grep -e`).
    pub first_if: StaticList<Flag>,
    /// Flags that turn operand reads into writes (`sed -i`).
    pub in_place: StaticList<Flag>,
    /// Flags with which files are read and stay as they are (`gzip -c`).
    pub only_reads: StaticList<Flag>,
    /// Flags that make deletes and changes recursive.
    pub recursive: StaticList<Flag>,
    /// Flags under which nothing is changed (`--dry-run`).
    pub dry: StaticList<Flag>,
    /// Operands of the form `key=value` that are touches (`of=`).
    pub keys: StaticList<(&'static str, ArgumentUse)>,
    /// It runs code.
    pub interpreter: Option<Interpreter>,
    /// Its output comes from the network.
    pub fetches: bool,
    /// It sends its input out.
    pub sends: bool,
    /// Its words are text only and never run (`echo`, `grep`).
    pub inert: bool,
    /// A PowerShell command: its parameters may be abbreviated and are bound before rules are held
    /// against it.
    pub cmdlet: bool,
    /// The parameters that a cmdlet's words without a name stand for, in order; names with `|`.
    pub positions: StaticList<&'static str>,
    /// The parameters of a cmdlet that take no value.
    pub switches: StaticList<&'static str>,
    /// A cmdlet whose input through the pipe names the paths it works on.
    pub input_paths: bool,
    /// A program of Windows whose options begin with a slash.
    pub slash_options: bool,
    /// A cmdlet that hands on what it is given through the pipe.
    pub filter: bool,
    /// Only its name and its kind are known: the rules for undescribed programs hold as well.
    pub named_only: bool,
    /// Effects it always has.
    pub effects: StaticList<Effect>,
}

/// Effect of one kind on one class of path.
#[derive(Debug, Clone, Copy)]
pub struct PathClass {
    /// Its name in reasons: `system`, `credentials`, …
    pub id: &'static str,
    /// Words for people: "system settings".
    pub name: &'static str,
    /// Reading it.
    pub read: Tier,
    /// Writing or adding to it.
    pub write: Tier,
    /// Deleting one of it.
    pub delete: Tier,
    /// Deleting it with all below.
    pub delete_tree: Tier,
    /// Changing owner or mode of it.
    pub change: Tier,
    /// Changing owner or mode with all below.
    pub change_tree: Tier,
}

include!(concat!(env!("OUT_DIR"), "/commands.rs"));

/// A program's description, the rules that may speak of it, and how it runs other programs.
pub type Known = (&'static Spec, &'static [&'static Rule], &'static [&'static Runner]);

/// The specification of a program by its name.
pub fn spec(name: &str) -> Option<Known> {
    let meaning = *NAME_MEANINGS.get(PROGRAM_NAMES.find(name)?)?;
    let (spec, rules, runners) = MEANINGS.get(usize::from(meaning))?;
    Some((SPECS.get(usize::from(*spec))?, rules.values(), runners.values()))
}

/// The names of all described programs, sorted.
pub fn names() -> impl Iterator<Item = String> {
    PROGRAM_NAMES.all()
}

/// The cmdlet behind an alias of PowerShell, by its name in lower case.
pub fn cmdlet_of_alias(alias: &str) -> Option<&'static str> {
    let at = CMDLET_ALIASES.binary_search_by(|(name, _)| (*name).cmp(alias)).ok()?;
    CMDLET_ALIASES.get(at).map(|(_, cmdlet)| *cmdlet)
}

#[cfg(test)]
mod tests {
    use super::{NAME_MEANINGS, names, spec};

    #[test]
    fn every_name_is_found_and_no_near_miss() {
        let all: Vec<String> = names().collect();
        assert_eq!(all.len(), NAME_MEANINGS.len());
        assert!(all.is_sorted());
        for name in &all {
            assert!(spec(name).is_some(), "{name}");
            let near = [format!("{name}\0"), format!("{name}zz"), format!(" {name}")];
            let cut = name.get(..name.len() - 1).unwrap_or_default().to_owned();
            for other in near.into_iter().chain([cut]) {
                let is_name = all.binary_search(&other).is_ok();
                assert_eq!(spec(&other).is_some(), is_name, "{other:?}");
            }
        }
        assert!(spec("").is_none());
        assert!(spec("\u{ff}").is_none());
    }

    #[test]
    fn a_name_stands_for_its_own_program() {
        for (name, family) in [("git", "git"), ("rm", "filesystem"), ("kubectl", "kubernetes")] {
            assert_eq!(spec(name).map(|(spec, _, _)| spec.family), Some(family));
        }
    }
}
