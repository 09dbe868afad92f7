//! Where a call happens: platform, directory, environment.

use serde::Serialize;

use crate::facts::CallFacts;
use crate::session::SessionMemory;
use crate::tool_label::ToolLabel;

/// The surface the agent's user sits at; each has its own threshold (mission 3.1).
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
    /// The agent program that runs the tool, by its host name. Its own tools are known by their
    /// exact names.
    pub host: Option<&'a str>,
    /// What the session did before, if the caller keeps it.
    pub session: Option<&'a SessionMemory>,
    /// What an observer found on the machine. `assess` fills it in from the call.
    pub facts: Option<&'a CallFacts>,
    /// What a person says that the tool does, if this very tool was labelled.
    pub label: Option<ToolLabel>,
}
