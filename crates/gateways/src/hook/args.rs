//! The arguments of a hook, as the installer and our plugins write them.

use std::path::PathBuf;
use std::time::Duration;

use crate::agents::{self, HookAgent};

/// The patience if none is given: the shortest known time limit of an agent is 30 s.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(25);

/// The arguments of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookArgs {
    /// An agent's name, or `plugin`.
    pub host: String,
    /// The agent of a plugin, or the name that people see.
    pub agent: Option<String>,
    /// How long the agent waits, in seconds.
    pub patience: Option<u32>,
    /// The file with the daemon's public key.
    pub daemon_key: Option<PathBuf>,
}

impl HookArgs {
    /// Parses them in the form that we write. `None`: the full argument parser has to read them.
    pub fn parse(words: &[&str]) -> Option<HookArgs> {
        let [_, host, rest @ ..] = words else { return None };
        let (agent, rest) = match rest {
            ["--agent", name, rest @ ..] => (Some((*name).to_owned()), rest),
            rest => (None, rest),
        };
        let (patience, rest) = match rest {
            ["--patience", seconds, rest @ ..] => (Some(seconds.parse().ok()?), rest),
            rest => (None, rest),
        };
        let daemon_key = match rest {
            [] => None,
            ["--daemon-key", file] => Some(PathBuf::from(file)),
            _ => return None,
        };
        let plain = !host.starts_with('-') && agent.as_deref().is_none_or(|a| !a.starts_with('-'));
        plain.then(|| HookArgs { host: (*host).to_owned(), agent, patience, daemon_key })
    }

    /// The agent and the name that people see; an unknown agent's name as the error.
    pub fn agent(&self) -> Result<(&'static HookAgent, String), String> {
        let host = match (self.host.as_str(), &self.agent) {
            ("plugin", Some(name)) => name,
            _ => &self.host,
        };
        let agent = agents::hook_named(host).ok_or_else(|| host.clone())?;
        Ok((agent, self.agent.clone().unwrap_or_else(|| agent.name.to_owned())))
    }

    /// The same arguments with the patience that is left, at least one second.
    pub fn with_patience(&self, left: Duration) -> Vec<String> {
        let mut words = vec!["hook".to_owned(), self.host.clone()];
        words.extend(self.agent.iter().flat_map(|name| ["--agent".to_owned(), name.clone()]));
        words.extend(["--patience".to_owned(), left.as_secs().max(1).to_string()]);
        if let Some(file) = &self.daemon_key {
            words.extend(["--daemon-key".to_owned(), file.display().to_string()]);
        }
        words
    }

    /// How long the agent waits.
    pub fn patience(&self) -> Duration {
        self.patience.map_or(DEFAULT_PATIENCE, |seconds| Duration::from_secs(seconds.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_form_is_parsed() {
        let parse = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            HookArgs::parse(&words).map(|found| (found.host, found.agent, found.patience))
        };
        let hook = Some(("claude".to_owned(), None, Some(570)));
        assert_eq!(parse("hook claude --patience 570"), hook);
        assert_eq!(parse("hook claude"), Some(("claude".to_owned(), None, None)));
        let plugin = Some(("plugin".to_owned(), Some("hermes".to_owned()), Some(5)));
        assert_eq!(parse("hook plugin --agent hermes --patience 5"), plugin);
        let words = ["hook", "claude", "--patience", "5", "--daemon-key", "/k"];
        let pinned = HookArgs::parse(&words).unwrap();
        assert_eq!(pinned.daemon_key.as_deref(), Some(std::path::Path::new("/k")));
        assert_eq!(pinned.with_patience(Duration::from_secs(5)), words);
        for other in [
            "hook",
            "hook --help",
            "hook --patience 570 claude",
            "hook claude --patience soon",
            "hook claude --patience 5 more",
            "hook plugin --agent",
            "hook plugin --agent --patience 5",
            "hook drain --spool x",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
