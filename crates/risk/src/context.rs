//! Where a call happens: platform, directory, environment.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::facts::CallFacts;
use crate::finding::{Doubt, Findings};
use crate::language::Language;
use crate::session::SessionMemory;
use crate::structural_findings;
use crate::tool_label::ToolLabel;

/// The surface the agent's user sits at; each has its own threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Platform {
    /// A terminal: a trusted operator.
    #[default]
    Cli,
    /// Callers over the network: untrusted.
    Api,
    /// Telegram.
    Telegram,
    /// Discord.
    Discord,
    /// Any other surface; treated like the API.
    Other,
}

impl Platform {
    /// Reads a name; what is not known is `Other`, the strictest.
    pub fn parse(text: &str) -> Platform {
        match text.to_ascii_lowercase().as_str() {
            "cli" | "terminal" => Platform::Cli,
            "api" | "http" => Platform::Api,
            "telegram" => Platform::Telegram,
            "discord" => Platform::Discord,
            _ => Platform::Other,
        }
    }
}

/// What kind of machine the call would run on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// Somebody's own machine: work exists only here.
    #[default]
    Workstation,
    /// A live system: any change asks.
    Production,
    /// A continuous-integration job: the checkout is disposable.
    Ci,
    /// A container build or sandbox: the file system is disposable.
    Container,
}

impl Environment {
    /// Reads a name; an unknown one is refused by the caller, never guessed.
    pub fn parse(text: &str) -> Option<Environment> {
        match text.to_ascii_lowercase().as_str() {
            "workstation" | "local" | "dev" | "development" => Some(Environment::Workstation),
            "production" | "prod" | "live" => Some(Environment::Production),
            "ci" => Some(Environment::Ci),
            "container" | "sandbox" => Some(Environment::Container),
            _ => None,
        }
    }

    /// The one name under which it is written and hashed.
    pub const fn label(self) -> &'static str {
        match self {
            Environment::Workstation => "workstation",
            Environment::Production => "production",
            Environment::Ci => "ci",
            Environment::Container => "container",
        }
    }

    /// Whether the local file system can be thrown away.
    pub fn is_disposable(self) -> bool {
        matches!(self, Environment::Ci | Environment::Container)
    }
}

/// The context every reader is given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'a> {
    /// Surface.
    pub platform: Platform,
    /// Kind of machine.
    pub environment: Environment,
    /// Working directory, if the caller told us.
    pub cwd: Option<&'a str>,
    /// Root folder of the project the session works in, if the caller told us.
    pub project: Option<&'a str>,
    /// Folders that a shell text may have entered before it ran this one. Relative paths are seen
    /// from there as well.
    pub folders: &'a [String],
    /// The agent program that runs the tool, by its host name. Its own tools are known by their
    /// exact names.
    pub host: Option<&'a str>,
    /// What the session did before, if the caller keeps it.
    pub session: Option<&'a SessionMemory>,
    /// What an observer found on the machine. `assess` fills it in from the call.
    pub facts: Option<&'a CallFacts>,
    /// What a person says that the tool does, if this very tool was labelled.
    pub label: Option<ToolLabel>,
    /// The readers of texts in other languages. The entry points in `assess` fill it in.
    pub readers: TextReaders<'a>,
}

/// The readers that a program has for the texts in a call. A program that links only the basic ones
/// stays small; it learns that a text was left unread.
#[derive(Clone, Copy, Default)]
pub struct TextReaders<'a> {
    set: Option<&'static ReaderSet>,
    left_unread: Option<&'a AtomicBool>,
}

impl<'a> TextReaders<'a> {
    /// All that are in the set.
    pub(crate) fn of(set: &'static ReaderSet) -> TextReaders<'static> {
        TextReaders { set: Some(set), left_unread: None }
    }

    /// Those in the set; `left_unread` becomes true when a text needs another one.
    pub(crate) fn partial(set: &'static ReaderSet, left_unread: &'a AtomicBool) -> TextReaders<'a> {
        TextReaders { set: Some(set), left_unread: Some(left_unread) }
    }
}

impl std::fmt::Debug for TextReaders<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextReaders").finish_non_exhaustive()
    }
}

/// One function for each language.
pub(crate) struct ReaderSet {
    /// Shell text that starts at this place of its argument, inside of this many texts.
    pub shell: fn(&str, usize, &Context<'_>, u8, &mut Findings),
    /// Code of a programming language.
    pub code: fn(Language, &str, &Context<'_>, &mut Findings),
    /// Whether all of a code is read and nothing in it asks for a person.
    pub is_harmless_code: fn(Language, &str, &Context<'_>) -> bool,
    /// A whole PowerShell text.
    pub powershell: ReadText,
    /// The same without a look at hidden characters.
    pub plain_powershell: ReadText,
    /// A whole text for cmd.
    pub cmd: ReadText,
    /// Words of a person: a cry for help.
    pub screen: ReadText,
}

/// Reads a text and adds what it would do.
pub(crate) type ReadText = fn(&str, &Context<'_>, &mut Findings);

impl Context<'_> {
    /// Reports that no reader of this program reads a text. The flag of the call cannot be lost
    /// with findings that do not count.
    pub(crate) fn leave_unread(&self, out: &mut Findings) {
        if let Some(flag) = self.readers.left_unread {
            flag.store(true, Ordering::Relaxed);
        }
        out.doubt(Doubt::Unreadable);
        out.add(structural_findings::UNREADABLE.finding());
    }

    /// Reads shell text; `base` is where it starts in its argument, `depth` how many texts it is
    /// inside of.
    pub(crate) fn read_shell(&self, text: &str, base: usize, depth: u8, out: &mut Findings) {
        match self.readers.set {
            Some(set) => (set.shell)(text, base, self, depth, out),
            None => self.leave_unread(out),
        }
    }

    /// Reads code of a programming language.
    pub(crate) fn read_code(&self, language: Language, text: &str, out: &mut Findings) {
        match self.readers.set {
            Some(set) => (set.code)(language, text, self, out),
            None => self.leave_unread(out),
        }
    }

    /// Whether all of a code is read and nothing in it asks for a person.
    pub(crate) fn is_harmless_code(&self, language: Language, text: &str) -> bool {
        self.readers.set.is_some_and(|set| (set.is_harmless_code)(language, text, self))
    }

    /// Reads a text with the reader that `choose` takes from the set.
    pub(crate) fn read_text(
        &self,
        choose: fn(&ReaderSet) -> ReadText,
        text: &str,
        out: &mut Findings,
    ) {
        match self.readers.set {
            Some(set) => choose(set)(text, self, out),
            None => self.leave_unread(out),
        }
    }
}
